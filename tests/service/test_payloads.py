"""`session/buildContext` with `format: "anthropic"` on real files: valid payloads, marks that stay, told mends."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pid.core.tree import ROOT
from pid.protocol import PAYLOAD_MENDS, ContextParams, ContextResult, ModelRef, PruneToolResults
from pid.service.answers import build_context
from pid.service.session import Session
from tests import agent_messages, interop
from tests.agent_messages import Json, assistant, call, image, png, result, thinking, user
from tests.payload_rules import payload_problems
from tests.service.daemon import make_store, open_path
from tests.trees import iso_of, session_bytes

pytestmark = pytest.mark.anyio
EAGER = PruneToolResults(protect_tokens=0, minimum_saving=0, keep_turns=0)


async def opened(folder: Path, *entries: Json | str) -> Session:
    """A session of these entries, each on the one before unless it names a parent; or of a tree written as text."""
    path = folder / "s.jsonl"
    if entries and isinstance(entries[0], str):
        path.write_bytes(session_bytes(entries[0]))
        return (await open_path(make_store(folder), path)).session
    above, lines = None, [session_bytes("").strip()]
    for number, entry in enumerate(entries, 1):
        head = {"type": "message", "id": f"e{number}", "parentId": above, "timestamp": iso_of(number * 1000)}
        whole = entry if "type" in entry else {"message": entry}
        lines.append(agent_messages.utf8({**head, **whole}))
        above = f"e{number}"
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return (await open_path(make_store(folder), path)).session


async def context(session: Session, **params: Any) -> ContextResult:
    return await build_context(session, ContextParams(session_id="s", format="anthropic", **params))


def body(found: ContextResult) -> Json:
    """The payload as a client gets it, proven valid."""
    payload: Json = msgspec.json.decode(msgspec.json.encode(found.payload))
    assert len(found.entry_ids) == len(payload["messages"])
    if payload["messages"]:
        assert payload_problems(payload) == []
    else:
        assert "emptyContext" in kinds(found)
    return payload


def kinds(found: ContextResult) -> dict[str, list[str | None]]:
    told: dict[str, list[str | None]] = {}
    for warning in found.warnings:
        told.setdefault(warning.kind, []).append(warning.entry_id)
    return told


async def check_every_leaf(session: Session, step: int = 1) -> None:
    """Whole and pruned, kept and dropped, at every leaf (or each `step`th) and before the first entry."""
    ids = session.tree.ids
    for leaf in (None, *(ids[row] for row in range(0, len(ids), step))):
        for found in (
            await context(session, leaf_id=leaf, cache_breakpoints=4),
            await context(session, leaf_id=leaf, trailing_assistant="drop", prune_tool_results=EAGER),
        ):
            body(found)
            assert {warning.entry_id for warning in found.warnings} - {None} <= set(ids)
            assert {entry_id for message in found.entry_ids for entry_id in message} <= set(ids)


@pytest.mark.skipif(not interop.CASES, reason="no interop files beside the repository")
@pytest.mark.parametrize("case", interop.CASES)
async def test_every_leaf_of_an_interop_case(case: str, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(interop.case_file(case).read_bytes())
    try:
        session = (await open_path(make_store(tmp_path), path)).session
    except Exception as error:
        pytest.skip(f"no session: {error}")
    await check_every_leaf(session)


@pytest.mark.skipif(not interop.CASES, reason="no interop files beside the repository")
async def test_every_tenth_leaf_of_a_real_session(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes((interop.FOLDER / "real-session-v1.jsonl").read_bytes())
    session = (await open_path(make_store(tmp_path), path)).session
    for row in range(0, len(session.tree), 10):
        body(await context(session, leaf_id=session.tree.ids[row], cache_breakpoints=4))
    pruned = await context(session, prune_tool_results=PruneToolResults())
    whole = len(msgspec.json.encode((await context(session)).payload))
    assert len(msgspec.json.encode(body(pruned))) < whole * 0.9


NAMED = st.integers(0, 14).map(lambda number: f"e{number}")
TEXTS = st.sampled_from(["", "words", "\ud800", "long " * 100])
OTHER_ENTRIES = st.one_of(
    st.builds(
        lambda kept, text: {"type": "compaction", "summary": text, "firstKeptEntryId": kept, "tokensBefore": 1},
        NAMED,
        TEXTS,
    ),
    st.builds(lambda left, text: {"type": "branch_summary", "fromId": left, "summary": text}, NAMED, TEXTS),
    st.builds(
        lambda target, content: {"type": "context_edit", "targetId": target, "replacement": content},
        NAMED,
        st.none() | st.builds(lambda text: {"content": text}, TEXTS | st.lists(agent_messages.text_blocks, max_size=2)),
    ),
    st.builds(lambda text: {"type": "custom_message", "customType": "x", "content": text, "display": True}, TEXTS),
    st.builds(lambda target, text: {"type": "label", "targetId": target, "label": text}, NAMED, TEXTS),
    st.builds(
        lambda model: {"type": "model_change", "provider": "anthropic", "modelId": model}, st.sampled_from(["opus"])
    ),
    st.sampled_from(
        [
            {"type": "thinking_level_change", "thinkingLevel": "high"},
            {"type": "session_info", "name": "n"},
            {"type": "custom", "customType": "x", "data": 1},
            {"type": "usage", "kind": "k", "provider": "p", "model": "m", "usage": {}},
            {"type": "future_thing"},
            {"type": "message", "message": None},
        ]
    ),
)
BRANCHING = st.one_of(st.just({}), st.just({}), NAMED.map(lambda parent: {"parentId": parent}))
MESSAGES = st.one_of(
    *[agent_messages.users, agent_messages.assistants, agent_messages.results] * 2, agent_messages.others
)
ENTRIES = st.builds(
    lambda entry, parent: entry | parent,
    MESSAGES.map(lambda message: {"type": "message", "message": message}) | OTHER_ENTRIES,
    BRANCHING,
)


@settings(max_examples=150)
@given(entries=st.lists(ENTRIES, max_size=14))
async def test_every_leaf_of_any_session(entries: list[Json], tmp_path_factory: pytest.TempPathFactory) -> None:
    await check_every_leaf(await opened(tmp_path_factory.mktemp("s"), *entries))


# Marks, trailing replies, results that are shortened


def marked(payload: Json) -> list[str]:
    """The marked blocks, by what the cache would know them by: all that stands before their ends."""
    ends: list[str] = []
    before = ""
    parts = [payload.get("tools", []), payload.get("system", [])]
    for block in (
        block for part in (*parts, *(message["content"] for message in payload["messages"])) for block in part
    ):
        mark = block.pop("cache_control", None)
        before += msgspec.json.encode(block).decode()
        ends += [before] * (mark is not None)
    return ends


async def test_a_call_finds_in_the_cache_what_the_last_one_wrote(tmp_path: Path) -> None:
    """The ends of the system prompt and of the last message of one call are marked in the next one too."""
    read = {"name": "read", "parameters": {"type": "object"}}
    system = {"role": "system", "content": "Be brief.", "toolsAdded": [read]}
    talk = [system, user("go"), *(part for n in range(6) for part in (assistant(call(f"c{n}")), result(f"c{n}", "r")))]
    session = await opened(tmp_path, *talk)
    before: list[str] = []
    for number in range(2, len(talk) + 1, 2):
        ends = marked(body(await context(session, leaf_id=f"e{number}", cache_breakpoints=4)))
        assert len(ends) == min(4, number // 2 + 2)
        assert set(before[:2] + before[-1:]) <= set(ends)
        before = ends


async def test_a_trailing_reply_is_dropped_on_request_and_told_otherwise(tmp_path: Path) -> None:
    session = await opened(tmp_path, user("a"), assistant("b "), assistant(call("c1")))
    kept, dropped = await context(session), await context(session, trailing_assistant="drop")
    assert [message["role"] for message in body(kept)["messages"]] == ["user", "assistant", "user"]
    assert kinds(kept) == {"missingToolResult": ["e3"]}
    assert [message["role"] for message in body(dropped)["messages"]] == ["user"]
    assert kinds(dropped) == {"trailingDropped": ["e2", "e3"]}
    assert kinds(await context(session, leaf_id="e2")) == {"trailingAssistant": ["e2"], "trailingBlanks": ["e2"]}


async def test_each_mend_names_its_entry(tmp_path: Path) -> None:
    session = await opened(
        tmp_path,
        assistant(thinking(signature=None), "first"),
        user("", image(data="?"), image(media_type="image/jpeg")),
        assistant(call("no good", "bad name"), {**call("c2"), "arguments": [1]}, model="other"),
        result("c2", "two"),
        result("c2", "again"),
        result("nobody", "orphan"),
        {"role": "user", "content": 7},
        {"role": "stranger", "content": "x"},
        user({"type": "video"}),
    )
    told = kinds(found := await context(session))
    body(found)
    assert told == {
        "thinkingDropped": ["e1"],
        "firstMessage": ["e1"],
        "emptyText": ["e2"],
        "imageDropped": ["e2"],
        "imageType": ["e2"],
        "toolName": ["e3"],
        "toolCallId": ["e3"],
        "toolArguments": ["e3"],
        "missingToolResult": ["e3"],
        "duplicateToolResult": ["e5"],
        "orphanToolResult": ["e6"],
        "malformedContent": ["e7"],
        "emptyMessage": ["e7"],
        "unknownRole": ["e8"],
        "unsupportedBlock": ["e9"],
    }
    assert set(told) <= set(PAYLOAD_MENDS)


async def test_the_model_that_reads_may_be_named(tmp_path: Path) -> None:
    session = await opened(tmp_path, user("a"), assistant(thinking(), "b"), user("c"))
    for model, thinks in ((None, True), ("sonnet", True), ("opus", False)):
        named = model and ModelRef(provider="anthropic", model_id=model)
        found = await context(session, context_model=named)
        assert (body(found)["messages"][1]["content"][0]["type"] == "thinking") is thinks
        assert kinds(found) == ({} if thinks else {"thinkingDropped": ["e2"]})


@pytest.mark.parametrize("form", ["agent", "llm", "anthropic"])
async def test_old_results_are_shortened_in_every_form_and_only_there(tmp_path: Path, form: Any) -> None:
    long = "word " * 2000
    session = await opened(
        tmp_path,
        user("a"),
        assistant(call("c1"), call("c2"), call("c3")),
        result("c1", long),
        result("c2", long, error=True),
        result("c3", "short"),
        user("b"),
        assistant(call("c4")),
        result("c4", long, image(png() + "A" * 40_000)),
    )
    path = Path(str(session.journal.path))
    before = path.read_bytes()
    params = ContextParams(
        session_id="s",
        format=form,
        prune_tool_results=PruneToolResults(protect_tokens=0, minimum_saving=0, keep_turns=1),
    )
    found = await build_context(session, params)
    sent = msgspec.json.encode(found).decode()
    assert sent.count("The entry e3 holds the whole result.") == 1
    assert sent.count("holds the whole result.") == 1
    assert sent.count(long) == 2
    assert path.read_bytes() == before
    whole = await build_context(session, ContextParams(session_id="s", format=form))
    assert msgspec.json.encode(whole).decode().count(long) == 3


async def test_before_the_first_entry_there_is_nothing_to_send(tmp_path: Path) -> None:
    session = await opened(tmp_path, "u1 a1")
    found = await context(session, leaf_id=None)
    assert body(found) == {"messages": []}
    assert (found.leaf_id, kinds(found)) == (None, {"emptyContext": [None]})
    assert session.leaf != ROOT
