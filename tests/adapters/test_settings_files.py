"""Settings on disk: what is taken, what is told, and whose projects are read."""

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pid.adapters.catalog import Places
from pid.adapters.settings_files import FileSettings, SettingsFiles, read_settings
from pid.protocol import ModelRef


def read(tmp_path: Path, content: Any, cwd: str = "/proj") -> FileSettings:
    path = tmp_path / "settings.json"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return read_settings(str(path), cwd)


def fields(found: FileSettings) -> dict[str, Any]:
    """The settings that a file names."""
    given = {name: getattr(found.update, name) for name in found.update.__struct_fields__} if found.update else {}
    return {name: value for name, value in given.items() if value is not msgspec.UNSET}


def test_pis_names_and_our_own(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        {
            "theme": "dark",
            "compaction": {"enabled": True, "reserveTokens": 1000, "keepRecentTokens": 0, "modelOverrides": {"a/b": 1}},
            "pid": {"contextWindow": 200000, "reserveTokens": 2000, "model": {"provider": "p", "modelId": "m"}},
        },
    )
    assert found.problems == ()
    assert fields(found) == {
        "auto_compact": True,
        "reserve_tokens": 2000,
        "keep_recent_tokens": 0,
        "context_window": 200000,
        "model": ModelRef(provider="p", model_id="m"),
    }


BAD = {
    "a text for a number": ({"compaction": {"reserveTokens": "many", "enabled": True}}, "compaction.reserveTokens"),
    "a negative number": ({"compaction": {"keepRecentTokens": -1, "enabled": True}}, "compaction.keepRecentTokens"),
    "a broken number": ({"compaction": {"keepRecentTokens": 1.5, "enabled": True}}, "compaction.keepRecentTokens"),
    "a number for a truth": ({"compaction": {"enabled": 1}, "pid": {"autoCompact": True}}, "compaction.enabled"),
    "no window": ({"pid": {"contextWindow": 0, "autoCompact": True}}, "pid.contextWindow"),
    "a wrong word": ({"pid": {"durability": "maybe", "autoCompact": True}}, "pid.durability"),
    "half a model": ({"pid": {"model": {"provider": "p"}, "autoCompact": True}}, "pid.model"),
    "a name that is none": ({"pid": {"contextwindow": 5, "autoCompact": True}}, "pid.contextwindow"),
    "no object": ({"compaction": [], "pid": {"autoCompact": True}}, "compaction"),
    "no path": ({"sessionDir": 5, "pid": {"autoCompact": True}}, "sessionDir"),
    "an empty path": ({"sessionDir": "", "pid": {"autoCompact": True}}, "sessionDir"),
    "a path with a NUL": ({"sessionDir": "/a\0b", "pid": {"autoCompact": True}}, "sessionDir"),
}


@pytest.mark.parametrize(("content", "key"), BAD.values(), ids=BAD)
def test_a_bad_value_is_told_and_the_others_count(tmp_path: Path, content: Any, key: str) -> None:
    found = read(tmp_path, content)
    [problem] = found.problems
    assert (problem.path, problem.key) == (str(tmp_path / "settings.json"), key)
    assert problem.message
    assert fields(found) == {"auto_compact": True}
    assert found.session_dir is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'"x"', b"\xff\xfe", b"[" * 5000, b"\0", b"null"])
def test_a_bad_file_is_told(tmp_path: Path, content: bytes) -> None:
    found = read(tmp_path, content)
    assert [problem.key for problem in found.problems] == [None]
    assert fields(found) == {}


def test_null_is_absent_and_a_byte_order_mark_is_none(tmp_path: Path) -> None:
    content = {"sessionDir": None, "compaction": None, "pid": {"contextWindow": None}}
    assert read(tmp_path, b"\xef\xbb\xbf" + json.dumps(content).encode()) == read(tmp_path, {})


def test_what_is_no_file(tmp_path: Path) -> None:
    assert read_settings(str(tmp_path / "none.json"), "/proj") == FileSettings()
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "folder.json").mkdir()
    for name in ("pipe.json", "folder.json"):
        [problem] = read_settings(str(tmp_path / name), "/proj").problems
        assert problem.path == str(tmp_path / name)


DIRECTORIES = {"/abs/olute": "/abs/olute", "rel": "/proj/rel", "../x/./y": "/x/y", "~/s": os.path.expanduser("~/s")}


@pytest.mark.parametrize(("written", "meant"), DIRECTORIES.items())
def test_where_sessions_are(tmp_path: Path, written: str, meant: str) -> None:
    assert read(tmp_path, {"sessionDir": written}).session_dir == meant


@pytest.fixture
def user(tmp_path: Path) -> Path:
    """A home with an agent directory and two projects, each with settings."""
    for place, name in (("agent", "own"), ("work/a/.pi", "a"), ("work/b/.pi", "b"), ("worker/.pi", "c")):
        folder = tmp_path / place
        folder.mkdir(parents=True)
        (folder / "settings.json").write_text(json.dumps({"sessionDir": f"/{name}"}))
    return tmp_path


def test_the_project_precedes_the_user(user: Path) -> None:
    files = SettingsFiles(str(user / "agent"))
    assert [settings.session_dir for settings in files.of(str(user / "work/a"))] == ["/a", "/own"]
    assert files.session_dir(str(user / "work/a")) == "/a"
    assert files.session_dir(str(user)) == "/own"


def test_only_trusted_projects_are_read(user: Path) -> None:
    (user / "link").symlink_to(user / "work")
    files = SettingsFiles(str(user / "agent"), [str(user / "link")])
    named = {place: files.session_dir(str(user / place)) for place in ("work/a", "link/b", "work/../worker", "worker")}
    assert named == {"work/a": "/a", "link/b": "/b", "work/../worker": "/own", "worker": "/own"}
    assert not SettingsFiles(str(user / "agent"), []).trusts(str(user / "work/a"))


@pytest.mark.parametrize("cwd", ["", "rel", "/a\0b", "C:\\x", "../.."])
def test_a_header_that_names_no_path_is_not_trusted(user: Path, cwd: str) -> None:
    assert not SettingsFiles(str(user / "agent")).trusts(cwd)
    assert SettingsFiles(str(user / "agent")).session_dir(cwd) == "/own"


def test_what_wins_for_the_directory_of_sessions(user: Path) -> None:
    cwd = str(user / "work/a")
    environment = {"PI_CODING_AGENT_DIR": str(user / "agent")}
    places = Places.of(environment)
    assert places.directory(cwd, "/param") == "/param"
    assert Places.of(environment | {"PI_CODING_AGENT_SESSION_DIR": "/env"}).directory(cwd) == "/env"
    assert Places.of(environment, session_dir="/option").directory(cwd) == "/option"
    assert places.directory(cwd) == "/a"
    assert places.directory("/elsewhere") == "/own"
    (user / "agent/settings.json").unlink()
    assert places.directory("/else/where") == str(user / "agent/sessions/--else-where--")
    assert places.directory("/else//where/") == places.directory("/else/where")


def test_all_directories(user: Path) -> None:
    for name in ("--b--", "--a--"):
        (user / "agent/sessions" / name).mkdir(parents=True)
    (user / "agent/sessions/file").touch()
    places = Places.of({"PI_CODING_AGENT_DIR": str(user / "agent")})
    own = [str(user / "agent/sessions" / name) for name in ("--a--", "--b--")]
    assert list(places.directories()) == ["/own", *own]
    (user / "agent/settings.json").write_text('{"sessionDir": "relative"}')
    assert list(places.directories()) == own
    assert list(Places.of({"PI_CODING_AGENT_DIR": "/nowhere"}).directories()) == []
