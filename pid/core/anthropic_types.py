"""The parts of a request to the Messages API that a payload is made of. Long values are JSON text (`msgspec.Raw`).

Encoded with msgspec they are the API's own JSON; they are built by the ten thousand, and so are plain structs.
"""

from typing import Any, Literal

from msgspec import Raw, Struct

Json = dict[str, Any]


class CacheMark(Struct, frozen=True, tag_field="type", tag="ephemeral"):
    """A `cache_control` breakpoint."""


class ApiBlock(Struct, tag_field="type", omit_defaults=True, gc=False):
    """A block of content."""


class Markable(ApiBlock):
    """A block that a cache breakpoint may stand at; thinking is none."""

    cache_control: CacheMark | None = None


class Text(Markable, tag="text", kw_only=True):
    text: Raw


class ImageSource(Struct, tag_field="type", tag="base64", gc=False):
    media_type: str
    data: str


class Image(Markable, tag="image", kw_only=True):
    source: ImageSource


class ToolUse(Markable, tag="tool_use", kw_only=True):
    id: str
    name: str
    input: Raw


class ToolResult(Markable, tag="tool_result", kw_only=True):
    tool_use_id: str
    content: list[ApiBlock] | None = None
    is_error: bool = False


class Thinking(ApiBlock, tag="thinking"):
    thinking: Raw
    signature: str


class RedactedThinking(ApiBlock, tag="redacted_thinking"):
    data: str


THINKING = frozenset({Thinking, RedactedThinking})
"""Types, to be looked up by: `isinstance` is slow for structs."""


class ApiMessage(Struct, gc=False):
    role: Literal["user", "assistant"]
    content: list[ApiBlock]
