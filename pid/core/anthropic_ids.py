"""Names and ids as the Messages API takes them: the same for the same input, and no two alike."""

import hashlib
import re
from typing import Final

MAX_CALL_ID: Final = 64
MAX_TOOL_NAME: Final = 128
_UNFIT: Final = re.compile(r"[^a-zA-Z0-9_-]")
_is_fit_id: Final = re.compile(rf"[a-zA-Z0-9_-]{{1,{MAX_CALL_ID}}}").fullmatch
_is_fit_tool_name: Final = re.compile(rf"[a-zA-Z0-9_-]{{1,{MAX_TOOL_NAME}}}").fullmatch


def fit_id(original: str) -> str:
    """The id of a tool call if the API takes it, else one in its place."""
    return original if _is_fit_id(original) else _instead(original, MAX_CALL_ID)


def fit_tool_name(name: str) -> str:
    """The name of a tool if the API takes it, else one in its place."""
    return name if _is_fit_tool_name(name) else _instead(name, MAX_TOOL_NAME)


def _instead(name: str, longest: int) -> str:
    # It ends in 16 digits of a hash, so that no two names meet.
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:16]
    return f"{_UNFIT.sub('_', name[: longest - 17])}_{digest}"


class CallIds:
    """Ids of the tool calls of one payload: of the API's pattern, and no two the same."""

    def __init__(self) -> None:
        self._given: dict[str, tuple[str, str | None]] = {}
        self._repeats: dict[str, int] = {}

    def give(self, original: str, entry_id: str | None) -> str:
        """The id for one more call, which bears `original` in its entry."""
        call_id = fit_id(original)
        while call_id in self._given:
            count = self._repeats[original] = self._repeats.get(original, 1) + 1
            call_id = repeated_id(original, str(count))
        self._given[call_id] = original, entry_id
        return call_id

    def original(self, call_id: str) -> str:
        return self._given[call_id][0]

    def entry_id(self, call_id: str) -> str | None:
        return self._given[call_id][1]


def repeated_id(original: str, number: str) -> str:
    """The id for the second, third, … call that bears `original`."""
    return fit_id(f"{original}#{number}")


_repeat_in: Final = re.compile(r".*_(\d+)_[0-9a-f]{16}").fullmatch


def repeat_number(call_id: str) -> str | None:
    """The number in an id that `repeated_id` may have given."""
    repeat = _repeat_in(call_id)
    return repeat and repeat[1]
