"""Which setting wins, and what `session/configure` changes."""

import json

import pytest
from msgspec import UNSET

from pid.adapters.catalog import Places
from pid.protocol import CreateParams, OpenParams, SettingsUpdate
from pid.service.settings import resolve
from tests.service.daemon import make_store

pytestmark = pytest.mark.anyio


@pytest.fixture
def home(tmp_path):
    """An agent directory and a project, each with a settings file."""
    own = {"compaction": {"enabled": True, "reserveTokens": 1, "keepRecentTokens": 1}, "pid": {"contextWindow": 1}}
    project = {"compaction": {"reserveTokens": 2, "keepRecentTokens": "x"}, "pid": {"contextWindow": 2, "durabilty": 1}}
    for folder, content in ((tmp_path / "agent", own), (tmp_path / "proj/.pi", project)):
        folder.mkdir(parents=True)
        (folder / "settings.json").write_text(json.dumps(content))
    return tmp_path


def store_in(home, *layers, trusted_roots=None):
    store = make_store(home)
    store.places = Places.of({"PI_CODING_AGENT_DIR": str(home / "agent")}, trusted_roots=trusted_roots)
    store.layers = layers
    return store


async def created(store, home, **params):
    return (await store.create(CreateParams(cwd=str(home / "proj"), **params))).session


async def test_what_names_a_setting_first_wins(home):
    options = SettingsUpdate(context_window=3)
    session = await created(store_in(home, options), home, settings=SettingsUpdate(reserve_tokens=4, fallback=None))
    settings = session.settings
    assert (settings.reserve_tokens, settings.context_window) == (4, 3)  # opening, initializationOptions
    assert (settings.keep_recent_tokens, settings.auto_compact) == (1, True)  # the user's file
    assert (settings.durability, settings.fallback) == ("synced", True)
    plain = (await created(store_in(home), home, id="other")).settings
    assert (plain.reserve_tokens, plain.context_window) == (2, 2)  # the project's file


async def test_bad_values_are_told_in_the_state(home):
    state = (await created(store_in(home), home)).state()
    keys = {problem.key: problem.path for problem in state.settings_problems}
    file = str(home / "proj/.pi/settings.json")
    assert keys == {"compaction.keepRecentTokens": file, "pid.durabilty": file}
    assert state.problems == []


async def test_a_project_that_is_not_trusted_is_not_read(home):
    session = await created(store_in(home, trusted_roots=[str(home / "agent")]), home)
    assert (session.settings.reserve_tokens, session.state().settings_problems) == (1, ())


async def test_the_header_says_which_project(home):
    store = store_in(home)
    path = (await created(store, home)).journal.path
    await store.close_all()
    reopened = (await store.open(OpenParams(path=path))).session
    assert reopened.settings.context_window == 2


async def test_configuring_comes_first_and_null_takes_it_back(home):
    session = await created(store_in(home), home, settings=SettingsUpdate(reserve_tokens=4))
    assert session.configure(SettingsUpdate(reserve_tokens=9, context_window=9)).reserve_tokens == 9
    assert session.configure(SettingsUpdate(context_window=10)).reserve_tokens == 9
    back = session.configure(SettingsUpdate(reserve_tokens=None, context_window=None))
    assert (back.reserve_tokens, back.context_window) == (4, 2)
    assert session.state().settings == back
    assert session.configure(SettingsUpdate()) == back


def test_absent_and_null_leave_the_word_to_the_layers_below():
    layers = (
        None,
        SettingsUpdate(context_window=None),
        SettingsUpdate(context_window=UNSET),
        SettingsUpdate(context_window=7),
    )
    assert resolve(layers).context_window == 7
