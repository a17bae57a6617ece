"""Every JSON block in `protocol.md` is what the line above it says, and the transcript is a conversation.

The line above a block is a comment: `params METHOD`, `result METHOD` (`METHOD` may be a notification), `type NAME`,
`error`, `settings` (a settings file), or `message client` and `message server` in the transcript.
"""

import json
import re
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from generators import schema
from jsonschema import Draft202012Validator

import pid.protocol as protocol
from pid.adapters.settings_files import read_settings
from pid.core.anthropic_messages import stored_messages
from pid.protocol import Envelope, ResponseError, Wire, decode_params, decode_value

TEXT = (Path(__file__).parents[2] / "protocol.md").read_text(encoding="utf-8")
METHODS = {**protocol.BASE_METHODS, **protocol.METHODS}
NOTIFICATIONS = {**protocol.BASE_NOTIFICATIONS, **protocol.NOTIFICATIONS}
ROWS = {**METHODS, **NOTIFICATIONS}
DEFINITIONS = schema.build()["$defs"]


class Block(NamedTuple):
    line: int
    what: str
    of: str
    text: str


def blocks() -> list[Block]:
    """The JSON blocks, with what the comment above each says."""
    found = []
    for match in re.finditer(r"(?:<!-- (\w+) ?(\S*) -->\n)?```json\n(.*?)```", TEXT, re.DOTALL):
        line = TEXT.count("\n", 0, match.start()) + 1
        found.append(Block(line, match[1] or "", match[2] or "", match[3]))
    return found


BLOCKS = blocks()
MESSAGES = [block for block in BLOCKS if block.what == "message"]


def check(kind: type[Wire], value: Any) -> None:
    """That a value is of a type, for the decoder and for the schema."""
    decode_params(kind, msgspec.json.encode(value))
    Draft202012Validator({"$ref": schema.REF + kind.__name__, "$defs": DEFINITIONS}).validate(value)


def check_result(method: str, value: Any) -> None:
    result = METHODS[method].result
    if result is None:
        assert value is None
    else:
        check(result, value)


def check_error(value: Any) -> None:
    """That an error is one of the tables, with the data that its kind has."""
    check(ResponseError, value)
    kind = value["data"]["kind"]
    if kind in protocol.ERRORS:
        error = protocol.ERRORS[kind].error
        assert (value["code"], value["data"]["retryable"]) == (error.code, error.retryable)
    else:
        assert protocol.RPC_ERRORS[value["code"]][0] == kind


def check_message(value: Any) -> None:
    """That a message is one of JSON-RPC; its result is looked at with the request that it answers."""
    check(Envelope, value)
    if "method" in value:
        assert ("id" in value) == (value["method"] in METHODS)
        check(ROWS[value["method"]].params, value.get("params", {}))
    elif "error" in value:
        check_error(value["error"])
    else:
        assert "result" in value


def check_settings_file(value: Any) -> None:
    """That a settings file is read without a problem."""
    with tempfile.NamedTemporaryFile("w") as file:
        json.dump(value, file)
        file.flush()
        assert read_settings(file.name, "/").problems == ()


CHECKS = {
    "settings": lambda of, value: check_settings_file(value),
    "params": lambda of, value: check(ROWS[of].params, value),
    "result": check_result,
    "type": lambda of, value: check(getattr(protocol, of), value),
    "error": lambda of, value: check_error(value),
    "message": lambda of, value: check_message(value),
}


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"line {block.line}")
def test_every_block_is_what_it_says(block: Block) -> None:
    assert block.what in CHECKS, f"the block at line {block.line} does not say what it is"
    CHECKS[block.what](block.of, json.loads(block.text))


def test_unknown_fields_in_blocks_are_slips() -> None:
    """The decoder ignores what it does not know; a document must not hold it."""
    for block in BLOCKS:
        kind = {"params": lambda of: ROWS[of].params, "result": lambda of: METHODS[of].result}.get(block.what)
        if kind and (known := kind(block.of)):
            assert json.loads(block.text).keys() <= DEFINITIONS[known.__name__]["properties"].keys(), block.line


def test_each_kind_of_request_that_writes_has_an_example() -> None:
    shown = {(block.what, block.of) for block in BLOCKS}
    for method in ("initialize", "session/open", "session/append", "session/appendBatch", "session/setLeaf"):
        assert {("params", method), ("result", method)} <= shown


def test_the_transcript_answers_each_request_once_and_ends() -> None:
    asked: dict[int, str] = {}
    for block in MESSAGES:
        message = json.loads(block.text)
        if block.of == "client":
            assert "method" in message
            if "id" in message:
                assert message["id"] not in asked
                asked[message["id"]] = message["method"]
        elif "id" in message:
            method = asked.pop(message["id"])
            if "result" in message:
                check_result(method, message["result"])
        else:
            assert message["method"] in NOTIFICATIONS
    assert asked == {}
    assert json.loads(MESSAGES[-1].text)["method"] == "exit"


def test_the_transcript_keeps_the_order_that_the_text_promises() -> None:
    """Revisions without a gap, and each append's response before the notification about it."""
    seen: list[tuple[str, int]] = []
    for block in MESSAGES:
        message = json.loads(block.text)
        if "revision" in (result := message.get("result") or {}) and "messages" not in result:
            seen.append(("response", result["revision"]))
        elif message.get("method") == "session/didChange":
            seen.append(("notification", message["params"]["revision"]))
    assert seen[0] == ("response", 0)
    assert seen[1:] == [(what, revision) for revision in (1, 2, 3) for what in ("response", "notification")]


def test_links_lead_somewhere() -> None:
    headings = re.findall(r"^#+ (.*)$", TEXT, re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert set(re.findall(r"\]\(#([^)]+)\)", TEXT)) <= anchors


def test_the_framing_example_counts_its_bytes() -> None:
    match = re.search(r"Content-Length: (\d+)\\r\\n\n\\r\\n\n(.*)\n", TEXT)
    assert match
    assert int(match[1]) == len(match[2].encode())


def test_an_entry_or_message_in_the_text_is_one_that_would_be_stored() -> None:
    for block in BLOCKS:
        if (block.what, block.of) == ("params", "session/append"):
            params = json.loads(block.text)
            if "entry" in params:
                decode_value(protocol.NewEntry, msgspec.json.encode(params["entry"]), "entry")
            else:
                assert stored_messages(params["message"], 0)
