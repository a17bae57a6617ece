"""The table of requests is the protocol's, and type checkers see through it."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import NoneType

import msgspec
import pytest
from mypy import api

from pid.client import Client, Request, SessionCalls, pages, plain, raw
from pid.client.calls import PromptCalls
from pid.protocol import METHODS
from pid.protocol.base import wire_name

EXAMPLE = """
from pid.client import Client, pages
from pid.protocol import DidChangeNotice

async def example(client: Client) -> None:
    state = await client.session.open(path="/a")
    reveal_type(state.leaf_id)  # tells: Revealed type is "str | None"
    reveal_type(await client.session.close(session_id="s"))  # tells: Revealed type is "None"
    await client.session.open(pth="/a")  # tells: Unexpected keyword argument "pth"
    await client.session.get_tree(session_id=5)  # tells: Argument "session_id"
    await client.session.get_state()  # tells: Missing named argument "session_id"
    async for page in pages(client.session.get_tree, session_id="s", content="none"):
        reveal_type(page.nodes)  # tells: Revealed type is "list[pid.protocol.tree.TreeNode]"
    pages(client.session.get_state, session_id="s")  # tells: Value of type variable "Page"
    with client.listen(DidChangeNotice) as changes:
        async for change in changes:
            reveal_type(change.revision)  # tells: Revealed type is "int"
"""


ROWS = {
    f"{noun}/{attribute}": row
    for noun, calls in {"session": SessionCalls, "prompt": PromptCalls}.items()
    for attribute, row in vars(calls).items()
    if isinstance(row, Request)
}


def test_every_request_that_the_daemon_serves_is_a_method() -> None:
    rows = {row.name: row for row in ROWS.values()}
    served = {row.name: row for row in METHODS.values() if row.direction == "toServer"}
    assert rows.keys() == served.keys()
    for name, row in rows.items():
        assert row.params is served[name].params
        assert row.result is (served[name].result or NoneType)


def test_methods_are_called_as_on_the_wire() -> None:
    for called, row in ROWS.items():
        assert row.name == wire_name(called)
        assert row.__doc__ == row.params.__doc__


def test_each_noun_is_there() -> None:
    client = Client((), None, 1.0)
    for called in ROWS:
        noun, verb = called.split("/")
        assert callable(getattr(getattr(client, noun), verb))


def test_type_checkers_know_params_and_results(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    kept = getattr(pytestconfig, "cache", None)  # none with `-p no:cacheprovider`
    cache = str(kept.mkdir("mypy") if kept else tmp_path)
    (tmp_path / "example.py").write_text(EXAMPLE)
    out, err, _ = api.run([str(tmp_path / "example.py"), "--cache-dir", cache, "--python-executable", sys.executable])
    assert not err
    told = {int(line.split(":")[1]): line for line in out.splitlines() if line.count(":") > 2}
    for number, line in enumerate(EXAMPLE.splitlines(), 1):
        assert line.partition("# tells: ")[2] in told.pop(number, ""), out
    assert not told


def test_values_to_and_from_raw_json() -> None:
    assert msgspec.json.encode([raw({"a": "ü"})]) == '[{"a":"ü"}]'.encode()
    assert plain(raw({"a": [1, None]})) == {"a": [1, None]}


@pytest.mark.anyio
async def test_pages_follow_the_cursor() -> None:
    class Page(msgspec.Struct):
        asked: str | None
        next_cursor: str | None = None

    async def call(*, limit: int, cursor: str | None = None) -> Page:
        return Page(cursor, {None: "a", "a": "b", "b": None}[cursor])

    gathered: AsyncIterator[Page] = pages(call, limit=1)
    assert [page.asked async for page in gathered] == [None, "a", "b"]
