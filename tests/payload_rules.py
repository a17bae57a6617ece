"""What the Messages API refuses, as a list of problems: the judge of every payload in these tests.

Written from the API's documented rules (API reference of `POST /v1/messages`; guides on tool use, extended
thinking, vision and prompt caching) and from the texts of its own 400 answers, and from nothing in `pid`: it
must not share a mistake with what it judges. It is stricter than the API in one place: the API merges messages
of one role that follow each other, while `pid` promises that roles alternate.
"""

import base64
import binascii
import json
import re
import struct
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

Json = dict[str, Any]

MAX_REQUEST_BYTES = 32 * 1000 * 1000
MAX_IMAGES = 100
MAX_IMAGE_BASE64 = 5 * 1024 * 1024
MAX_IMAGE_SIDE = 8000
MANY_IMAGES = 20
MAX_SIDE_OF_MANY = 2000
MAX_CACHE_MARKS = 4
MEDIA_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
CALL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
TOOL_FIELDS = {"name", "description", "input_schema", "cache_control"}
SOURCE_FIELDS = {"type", "media_type", "data"}
THINKING = ("thinking", "redacted_thinking")
SAMPLING = {"temperature", "top_p", "top_k"}
NO_SAMPLING_SINCE = "2026-10-21"  # the version of the API, as in `anthropic-version`
REQUEST_FIELDS = {
    *("model", "max_tokens", "messages", "system", "tools", "tool_choice", "stream", "stop_sequences", "metadata"),
    *("thinking", "output_config", "service_tier", "cache_control", "container", "inference_geo", "speed"),
    *("diagnostics", *SAMPLING),
}

# type of a block -> the fields it must have, the fields it may have
BLOCKS: dict[str, tuple[set[str], set[str]]] = {
    "text": ({"text"}, {"cache_control"}),
    "image": ({"source"}, {"cache_control"}),
    "tool_use": ({"id", "name", "input"}, {"cache_control"}),
    "tool_result": ({"tool_use_id"}, {"content", "is_error", "cache_control"}),
    "thinking": ({"thinking", "signature"}, set()),
    "redacted_thinking": ({"data"}, set()),
}
ALLOWED_IN = {
    "system": ("text",),
    "user": ("text", "image", "tool_result"),
    "assistant": ("text", "tool_use", "thinking", "redacted_thinking"),
    "tool_result": ("text", "image"),
}


def payload_problems(payload: Json) -> list[str]:
    """What is wrong with `{system?, messages, tools?}`; empty when the API takes it."""
    extra = payload.keys() - {"system", "messages", "tools"}
    return [f"{key}: Extra inputs are not permitted" for key in extra] + list(_problems(payload))


def request_problems(body: Json, version: str = NO_SAMPLING_SINCE) -> list[str]:
    """What is wrong with the whole body of a request, `model` and `max_tokens` included."""
    extra = body.keys() - REQUEST_FIELDS | (body.keys() & SAMPLING if version >= NO_SAMPLING_SINCE else set())
    problems = [f"{key}: Extra inputs are not permitted" for key in sorted(extra)]
    if not (isinstance(body.get("model"), str) and body["model"]):
        problems.append("model: Field required")
    limit = body.get("max_tokens")
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
        problems.append("max_tokens: Input should be greater than or equal to 0")
    return problems + list(_problems(body))


def _problems(body: Json) -> Iterator[str]:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        yield "messages: at least one message is required"
        return
    try:
        size = len(json.dumps(body, ensure_ascii=False, allow_nan=False).encode())
    except (ValueError, UnicodeEncodeError, RecursionError) as error:
        yield f"The request body is not valid JSON: {type(error).__name__}"
        return
    if size > MAX_REQUEST_BYTES:
        yield f"Request exceeds the maximum size: {size} bytes"
    yield from _system(body.get("system"))
    yield from _tools(body.get("tools"))
    shape = [problem for index, message in enumerate(messages) for problem in _message(index, message)]
    yield from shape
    if shape:
        return  # the rules below read well-formed messages
    yield from _order(messages)
    yield from _pairs(messages)
    yield from _images(messages)
    marks = sum(1 for _ in _cache_marks(body))
    if marks > MAX_CACHE_MARKS:
        yield f"A maximum of {MAX_CACHE_MARKS} blocks with cache_control may be provided. Found {marks}."


def _system(system: Any) -> Iterator[str]:
    if isinstance(system, str):
        if not system.strip():
            yield "system: text content blocks must be non-empty"
    elif system is not None:
        yield from _content("system", system, "system")


def _tools(tools: Any) -> Iterator[str]:
    if tools is None:
        return
    if not isinstance(tools, list):
        yield "tools: Input should be a valid list"
        return
    names = set()
    for index, tool in enumerate(tools):
        at = f"tools.{index}"
        if not isinstance(tool, dict) or tool.keys() - TOOL_FIELDS:
            yield f"{at}: Extra inputs are not permitted"
            continue
        name, schema = tool.get("name"), tool.get("input_schema")
        if not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
            yield f"{at}.name: String should match pattern"
        elif name in names:
            yield "tools: Tool names must be unique."
        names.add(name if isinstance(name, str) else "")
        if not isinstance(schema, dict) or schema.get("type") != "object":
            yield f"{at}.input_schema.type: Field required"
        if not isinstance(tool.get("description", ""), str):
            yield f"{at}.description: Input should be a valid string"


def _message(index: int, message: Any) -> Iterator[str]:
    at = f"messages.{index}"
    if not isinstance(message, dict) or message.keys() != {"role", "content"}:
        yield f"{at}: Extra inputs are not permitted or a field is missing"
    elif message["role"] not in ("user", "assistant"):
        yield f"{at}.role: Input should be 'user' or 'assistant'"
    elif isinstance(message["content"], str):
        if not message["content"].strip():
            yield f"{at}: all messages must have non-empty content"
    else:
        yield from _content(at, message["content"], message["role"])


def _content(at: str, blocks: Any, place: str) -> Iterator[str]:
    if not isinstance(blocks, list):
        yield f"{at}.content: Input should be a valid list"
    elif not blocks:
        yield f"{at}: all messages must have non-empty content"
    else:
        for index, block in enumerate(blocks):
            yield from _block(f"{at}.content.{index}", block, place)


def _block(at: str, block: Any, place: str) -> Iterator[str]:
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(kind, str) or kind not in ALLOWED_IN[place]:
        yield f"{at}: a block of type {kind!r} is not allowed in {place}"
        return
    must, may = BLOCKS[kind]
    if not must <= block.keys() or block.keys() - must - may - {"type"}:
        yield f"{at}.{kind}: Extra inputs are not permitted or a field is missing: {sorted(block)}"
        return
    if block.get("cache_control", {"type": "ephemeral"}) != {"type": "ephemeral"}:
        yield f"{at}.{kind}.cache_control: Input should be {{'type': 'ephemeral'}}"
    for field in must - {"source", "input"}:
        if not isinstance(block[field], str):
            yield f"{at}.{kind}.{field}: Input should be a valid string"
            return
    yield from CHECKS[kind](at, block)


def _text(at: str, block: Json) -> Iterator[str]:
    if not block["text"].strip():
        yield f"{at}: text content blocks must contain non-whitespace text"


def _tool_use(at: str, block: Json) -> Iterator[str]:
    if not CALL_ID.fullmatch(block["id"]):
        yield f"{at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
    if not TOOL_NAME.fullmatch(block["name"]):
        yield f"{at}.tool_use.name: String should match pattern"
    if not isinstance(block["input"], dict):
        yield f"{at}.tool_use.input: Input should be a valid dictionary"


def _tool_result(at: str, block: Json) -> Iterator[str]:
    content, is_error = block.get("content"), block.get("is_error", False)
    if not isinstance(is_error, bool):
        yield f"{at}.tool_result.is_error: Input should be a valid boolean"
    if is_error and not content:
        yield f"{at}.tool_result: content cannot be empty if `is_error` is true"
    if isinstance(content, list):
        yield from _content(f"{at}.tool_result", content, "tool_result")
        if is_error and any(isinstance(part, dict) and part.get("type") != "text" for part in content):
            yield f"{at}.tool_result: all content must be type `text` if `is_error` is true"
    elif not isinstance(content, str | None) or (isinstance(content, str) and not content.strip()):
        yield f"{at}.tool_result.content: Input should be a non-empty string"


def _thinking(at: str, block: Json) -> Iterator[str]:
    if not block["signature"]:
        yield f"{at}.thinking.signature: Field required"


def _redacted(at: str, block: Json) -> Iterator[str]:
    if not block["data"]:
        yield f"{at}.redacted_thinking.data: Field required"


def _image(at: str, block: Json) -> Iterator[str]:
    source = block["source"]
    if not isinstance(source, dict) or source.keys() != SOURCE_FIELDS or source["type"] != "base64":
        yield f"{at}.image.source: not a base64 source"
        return
    data, declared = source["data"], source["media_type"]
    if declared not in MEDIA_TYPES:
        yield f"{at}.image.source.base64.media_type: Input should be one of {MEDIA_TYPES}"
    if not isinstance(data, str) or not data:
        yield f"{at}.image.source.base64: image cannot be empty"
        return
    if len(data) > MAX_IMAGE_BASE64:
        yield f"{at}.image.source.base64: image exceeds 5 MB maximum: {len(data)} bytes"
    try:
        found = image_header(base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        yield f"{at}.image.source.base64.data: Invalid base64 data"
        return
    if found and found[0] != declared:
        yield f"{at}.image.source.base64: specified using {declared}, but appears to be {found[0]}"
    if found and max(found[1:]) > MAX_IMAGE_SIDE:
        yield f"{at}.image.source.base64.data: At least one of the image dimensions exceeds 8000 pixels"


CHECKS = {
    "text": _text,
    "image": _image,
    "tool_use": _tool_use,
    "tool_result": _tool_result,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
}


def image_header(data: bytes) -> tuple[str, int, int] | None:
    """(media type, width, height) of an image's bytes; (0, 0) where only the type shows; None: no image."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png", *(struct.unpack(">II", data[16:24]) if len(data) >= 24 else (0, 0))
    if data[:6] in (b"GIF87a", b"GIF89a"):
        return "image/gif", *(struct.unpack("<HH", data[6:10]) if len(data) >= 10 else (0, 0))
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp", *_webp_size(data)
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg", *_jpeg_size(data)
    return None


def _webp_size(data: bytes) -> tuple[int, int]:
    if data[12:16] == b"VP8X" and len(data) >= 30:
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    if data[12:16] == b"VP8L" and len(data) >= 25:
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if data[12:16] == b"VP8 " and len(data) >= 30:
        width, height = struct.unpack("<HH", data[26:30])
        return width & 0x3FFF, height & 0x3FFF
    return 0, 0


def _jpeg_size(data: bytes) -> tuple[int, int]:
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return 0, 0


def _blocks(message: Json) -> list[Json]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _order(messages: list[Json]) -> Iterator[str]:
    if messages[0]["role"] != "user":
        yield 'messages: first message must use the "user" role'
    for index, (before, after) in enumerate(pairwise(messages)):
        if before["role"] == after["role"]:
            yield f"messages.{index + 1}: roles must alternate between user and assistant"
    for index, message in enumerate(messages):
        if message["role"] == "assistant":
            kinds = [block["type"] for block in _blocks(message)]
            if kinds[-1] in THINKING:
                yield f"messages.{index}: The final block in an assistant message cannot be `thinking`."
    last = _blocks(messages[-1])[-1]
    trailing = last["type"] == "text" and last["text"] != last["text"].rstrip()
    if messages[-1]["role"] == "assistant" and trailing:
        yield "messages: final assistant content cannot end with trailing whitespace"


def _pairs(messages: list[Json]) -> Iterator[str]:
    seen: set[str] = set()
    asked: list[str] = []
    for index, message in enumerate([*messages, {"role": "user", "content": []}]):
        blocks = _blocks(message)
        answers = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if any(block["type"] == "tool_result" for block in blocks[len(answers) :]):
            yield f"messages.{index}: tool_result blocks must come first in the content"
        if missing := set(asked) - set(answers):
            yield f"messages.{index - 1}: `tool_use` without `tool_result` blocks: {sorted(missing)}"
        if unexpected := set(answers) - set(asked):
            yield f"messages.{index}: unexpected `tool_use_id` in `tool_result` blocks: {sorted(unexpected)}"
        if len(set(answers)) < len(answers):
            yield f"messages.{index}: each tool_use must have a single result"
        asked = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if len(seen | set(asked)) < len(seen) + len(asked):
            yield f"messages.{index}: `tool_use` ids must be unique"
        seen.update(asked)


def _image_blocks(messages: list[Json]) -> Iterator[Json]:
    for message in messages:
        for block in _blocks(message):
            if block["type"] == "image":
                yield block
            elif block["type"] == "tool_result" and isinstance(block.get("content"), list):
                yield from (part for part in block["content"] if part["type"] == "image")


def _images(messages: list[Json]) -> Iterator[str]:
    images = list(_image_blocks(messages))
    if len(images) > MAX_IMAGES:
        yield f"messages: too many images: {len(images)} > {MAX_IMAGES}"
    if len(images) > MANY_IMAGES:
        headers = (image_header(base64.b64decode(image["source"]["data"])) for image in images)
        if any(header and max(header[1:]) > MAX_SIDE_OF_MANY for header in headers):
            yield "messages: image dimensions exceed 2000 pixels in a many-image request"


def _cache_marks(body: Json) -> Iterator[Json]:
    system = body.get("system")
    holders = [*(system if isinstance(system, list) else []), *(body.get("tools") or [])]
    for message in body["messages"]:
        for block in _blocks(message):
            holders.append(block)
            if block["type"] == "tool_result" and isinstance(block.get("content"), list):
                holders.extend(block["content"])
    return (holder for holder in holders if "cache_control" in holder)
