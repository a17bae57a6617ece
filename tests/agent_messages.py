"""Agent messages for tests: small ones by hand, any ones by hypothesis, and the payload that is built from them."""

import base64
import json
import struct
import zlib
from typing import Any

import msgspec
from hypothesis import strategies as st

from pid.core.anthropic_format import PayloadBuilder
from pid.protocol import ModelRef
from tests.payload_rules import payload_problems

Json = dict[str, Any]
SONNET = ModelRef(provider="anthropic", model_id="sonnet")


def png(width: int = 1, height: int = 1) -> str:
    """A picture's true header and no more: what the rules look at."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + header
    data = struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + data).decode()


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def image(data: str | None = None, media_type: str = "image/png") -> Json:
    return {"type": "image", "data": png() if data is None else data, "mimeType": media_type}


def call(id: str, name: str = "read", **arguments: Any) -> Json:
    return {"type": "toolCall", "id": id, "name": name, "arguments": arguments}


def thinking(words: str = "hm", signature: str | None = "c2ln", **more: Any) -> Json:
    return {"type": "thinking", "thinking": words, "thinkingSignature": signature, **more}


def user(*blocks: Json | str) -> Json:
    return {"role": "user", "content": [text(block) if isinstance(block, str) else block for block in blocks]}


def assistant(*blocks: Json | str, stop: str = "stop", model: str = "sonnet") -> Json:
    content = [text(block) if isinstance(block, str) else block for block in blocks]
    who = {"api": "anthropic-messages", "provider": "anthropic", "model": model, "stopReason": stop}
    return {"role": "assistant", "content": content, **who}


def result(id: str, *blocks: Json | str, error: bool = False) -> Json:
    content = [text(block) if isinstance(block, str) else block for block in blocks]
    return {"role": "toolResult", "toolCallId": id, "toolName": "read", "content": content, "isError": error}


class Built:
    """A payload as the API would get it, proven valid, with the mends by kind."""

    def __init__(
        self, *messages: Any, may_be_empty: bool = False, model: ModelRef | None = SONNET, **options: Any
    ) -> None:
        ids = [[f"e{number}"] for number in range(len(messages))]
        builder = PayloadBuilder(model)
        for message, entry_ids in zip(messages, ids, strict=True):
            builder.add(message, entry_ids)
        built = builder.finish(**options)
        self.payload = msgspec.json.decode(msgspec.json.encode(built.payload))
        self.entry_ids = built.entry_ids
        self.mends: dict[str, list[str | None]] = {}
        for warning in built.warnings:
            self.mends.setdefault(warning.kind, []).append(warning.entry_id)
        if self.payload["messages"] or not may_be_empty:
            assert payload_problems(self.payload) == []
        assert len(self.entry_ids) == len(self.messages)

    @property
    def messages(self) -> list[Json]:
        return self.payload["messages"]

    @property
    def said(self) -> list[tuple[str, list[Any]]]:
        """Each message in short: its role, and its blocks by their most telling field."""
        return [(message["role"], [_short(block) for block in message["content"]]) for message in self.messages]


def _short(block: Json) -> Any:
    kind = block["type"]
    if kind == "tool_result":
        return (block["tool_use_id"], [_short(part) for part in block.get("content", [])], block.get("is_error", False))
    fields = {"text": "text", "tool_use": "id", "thinking": "thinking", "redacted_thinking": "data"}
    return block[fields[kind]] if kind in fields else kind


texts = st.one_of(st.text(max_size=5), st.sampled_from(["", " ", "\n", "x ", "\ud800", "漢"]))
call_ids = st.sampled_from(["a", "b", "c", "a b", "x" * 70, "", "ü"])
text_blocks = st.builds(text, texts)
image_blocks = st.builds(
    image,
    st.sampled_from([png(), png(3000, 1), png(9000, 1), "", "AAAA", "?"]),
    st.sampled_from(["image/png", "image/jpeg", "image/bmp", ""]),
)
signatures = st.sampled_from([None, "", "c2ln"])
thoughts = st.builds(
    lambda words, signature, redacted: thinking(words, signature, redacted=redacted), texts, signatures, st.booleans()
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=4,
)
calls = st.builds(
    lambda id, name, arguments: {**call(id, name), "arguments": arguments},
    call_ids,
    st.sampled_from(["read", "a.b", ""]),
    anything,
)
odd_blocks = st.one_of(
    anything,
    st.builds(
        lambda kind, rest: {"type": kind, "text": rest, "id": rest},
        st.sampled_from(["text", "toolCall", "image", "video", None]),
        anything,
    ),
)
stops = st.sampled_from(["stop", "toolUse", "error", "aborted", "length"])
users = st.builds(lambda blocks: user(*blocks), st.lists(text_blocks | image_blocks, max_size=3))
assistants = st.builds(
    lambda blocks, stop, model: assistant(*blocks, stop=stop, model=model),
    st.lists(text_blocks | thoughts | calls, max_size=4),
    stops,
    st.sampled_from(["sonnet", "opus"]),
)
results = st.builds(
    lambda id, blocks, error: result(id, *blocks, error=error),
    call_ids,
    st.lists(text_blocks | image_blocks, max_size=2),
    st.booleans(),
)
others = st.one_of(
    st.builds(
        lambda words, hidden: {
            "role": "bashExecution",
            "command": words,
            "output": words,
            "excludeFromContext": hidden,
        },
        texts,
        st.booleans(),
    ),
    st.builds(
        lambda content: {"role": "custom", "customType": "x", "content": content},
        texts | st.lists(text_blocks | image_blocks, max_size=2),
    ),
    st.builds(lambda words: {"role": "branchSummary", "summary": words, "fromId": "x"}, texts),
    st.builds(lambda words: {"role": "compactionSummary", "summary": words, "tokensBefore": 1}, texts),
    st.builds(
        lambda words, sections: {"role": "system", "content": words, "sections": sections},
        texts,
        st.dictionaries(texts, texts | st.none(), max_size=2),
    ),
    st.builds(
        lambda role, content: {"role": role, "content": content},
        st.sampled_from(["user", "assistant", "toolResult", "weird", None]),
        anything | st.lists(odd_blocks, max_size=3),
    ),
)
conversations = st.lists(st.one_of(users, assistants, assistants, results, results, others), max_size=12)


def utf8(value: Any) -> bytes:
    """JSON as a file may hold it: what UTF-8 has no bytes for stands as an escape."""
    return json.dumps(value).encode()
