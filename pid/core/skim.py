"""What a listing shows of a session, gathered from its lines as they pass: no tree, no index, and few bodies.

A message is counted by the beginning and the end of its line, as the index does it; a line that pi would not have
written so is parsed. The rules are pi's: the first user message that has a text is the title, and a session is as new
as the newest of its user and assistant messages. Pure.
"""

import re
from typing import Any, Final

import msgspec

from pid.core.batch import Batch
from pid.core.lines import Scanner
from pid.core.messages import ms_of
from pid.core.pieces import Piece
from pid.entries import FORMAT_VERSION, name_text

MAX_TITLE: Final = 4096
"""Code points of a first message that a listing keeps; a longer one ends with an ellipsis."""
LAST_MS: Final = 253_402_300_799_999
"""The end of the year 9999: no later time can be written."""

_MESSAGE: Final = b'{"type":"message",'
_ROLE_KEY: Final = b'"message":{"role":"'
_TIMED: Final = (b'user"', b'assistant"')
_HEAD_BYTES: Final = 300
_ID: Final = rb', ?"id": ?"[!#-\[\]-~]{1,64}", ?"parentId": ?(?:null|"[!#-\[\]-~]{1,64}")'
_silent = re.compile(rb'\{"type": ?"(?!message"|session_info"|session")\w{1,64}"').match
_FLAT_MEMBER: Final = rb', ?"\w{1,64}": ?(?:"(?:[^"\\]++|\\.)*+"|[\w.+-]++)'
_TAIL: Final = rb'"timestamp": ?(\d{1,15})(?:' + _FLAT_MEMBER + rb")*+\}(?:" + _ID + rb")?\}\r?"
_tail = re.compile(_TAIL, re.DOTALL).fullmatch
_TIME_KEY: Final = b'"timestamp"'
_TIME_LAST: Final = b'"timestamp":'  # behind it, in a line as pi writes it, 13 digits and two braces
_TIME_END: Final = 15
_LAST_BYTES: Final = len(_TIME_LAST) + _TIME_END
_ENDS: Final = b"}\r"
_PARENT_KEY: Final = b'"parentId"'


class Skimmed(msgspec.Struct, frozen=True, array_like=True):
    """What is shown of a session. Times are ms since 1970; `first_message` is "" if no user message has a text."""

    id: str
    cwd: str
    parent_session: str | None
    created_ms: int | None
    name: str | None = None
    message_count: int = 0
    first_message: str = ""
    newest_ms: int | None = None


class Skim(Scanner):
    """A scanner that keeps no rows. `so_far` goes on where an earlier reading of the same file ended."""

    def __init__(self, so_far: Skimmed | None = None) -> None:
        super().__init__(())
        self._found = so_far
        if so_far is not None:
            self.header, self.version = {"type": "session"}, FORMAT_VERSION
        self._name = so_far.name if so_far else None
        self._count = so_far.message_count if so_far else 0
        self._title = so_far.first_message if so_far else ""
        self._newest = (so_far and so_far.newest_ms) or 0

    @property
    def found(self) -> Skimmed:
        """What the lines so far hold; only once there is a header."""
        return msgspec.structs.replace(
            self._found or _of_header(self.header or {}),
            name=self._name,
            message_count=self._count,
            first_message=self._title,
            newest_ms=self._newest or None,
        )

    def scan(self, view: bytes | bytearray, stop: int, offset: int) -> Batch:
        """Takes in `view[:stop]`: whole lines."""
        at, batch = 0, Batch()
        while self.header is None and at < stop and not self.foreign:
            at = self._scan_line(view, at, stop, offset, batch)
        if self.header is not None:
            self._skim(view, at, stop)
        return batch

    def scan_long(self, head: bytes, tail: bytes, offset: int, size: int) -> Batch:
        """Takes in a line too long to be held, by its first and last bytes."""
        role = head.find(_ROLE_KEY, 0, _HEAD_BYTES) if head.startswith(_MESSAGE) else -1
        if role > 0 and not self._take_message(head + tail, role + len(_ROLE_KEY), len(head) + len(tail)):
            self._count += 1
        return Batch()

    def _skim(self, view: bytes | bytearray, at: int, stop: int) -> None:
        """The lines of a slice; once more, with a closer look, if one may hold two entries (see `Scanner`)."""
        before = self._name, self._count, self._title, self._newest
        if self._skim_lines(view, at, stop, careful=False) != view.count(_PARENT_KEY, at, stop):
            self._name, self._count, self._title, self._newest = before
            self._skim_lines(view, at, stop, careful=True)

    def _skim_lines(self, view: bytes | bytearray, at: int, stop: int, *, careful: bool) -> int:
        """Takes in lines; how many `parentId` keys they should hold altogether."""
        find, starts, keys = view.find, view.startswith, 0
        while at < stop:
            end = find(b"\n", at, stop)
            role = find(_ROLE_KEY, at, at + _HEAD_BYTES) if starts(_MESSAGE, at) else -1
            held = 1 if role > 0 and not careful else view.count(_PARENT_KEY, at, end)
            known = role > 0 and held == 1 and self._title != ""
            taken = known and self._take_message(view, role + len(_ROLE_KEY), end)
            if not taken and (held > 1 or not _silent(view, at, end)):
                self._scan_line(view, at, stop, 0, Batch())
            keys += held
            at = end + 1
        return keys

    def _take_message(self, view: bytes | bytearray, role: int, end: int) -> bool:
        """Counts a message by the end of its line; False if the line must be read."""
        if view.startswith(_TIMED, role):
            time = view[end - _TIME_END : end - 2]
            if not (time.isdigit() and view.startswith(_TIME_LAST, end - _LAST_BYTES) and view[end - 2 : end] == b"}}"):
                tail = _tail(view, view.rfind(_TIME_KEY, role, end), end)
                if tail is None:
                    return False
                time = tail[1]
            self._note_time(int(time))
        elif view[end - 1] not in _ENDS:
            return False
        self._count += 1
        return True

    def _note_time(self, ms: int | None) -> None:
        if ms is not None and self._newest < ms <= LAST_MS:
            self._newest = ms

    # Lines that are parsed

    def _take_entry(self, piece: Piece, body: dict[str, Any], offset: int, index: int, batch: Batch) -> None:
        if piece.body is None:
            return
        if body.get("type") == "session_info":
            self._name = shown(name_text(body.get("name")))
        elif body.get("type") == "message":
            self._count += 1
            self._note_time(_message_time(body))
            message = body.get("message")
            if not self._title and isinstance(message, dict) and message.get("role") == "user":
                self._title = title_of(message.get("content"))


def title_of(content: object) -> str:
    """The text of a message's content: its text blocks, a space between them; the first `MAX_TITLE` code points."""
    if isinstance(content, list):
        blocks = (block for block in content if isinstance(block, dict) and block.get("type") == "text")
        content = " ".join(block["text"] for block in blocks if isinstance(block.get("text"), str))
    text = shown(content) or ""
    return text if len(text) <= MAX_TITLE else text[: MAX_TITLE - 1] + "…"


def shown(text: object) -> str | None:
    """A text as it may go out: lone surrogates become U+FFFD; what is no text is none."""
    if not isinstance(text, str):
        return None
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _of_header(header: dict[str, Any]) -> Skimmed:
    return Skimmed(
        id=shown(header.get("id")) or "",
        cwd=shown(header.get("cwd")) or "",
        parent_session=shown(header.get("parentSession")),
        created_ms=_time_of(header.get("timestamp")),
    )


# Times


def _message_time(body: dict[str, Any]) -> int | None:
    """When a user or assistant message was made: by its own time, or else by its entry's; None for any other."""
    message = body.get("message")
    if (
        body.get("type") != "message"
        or not isinstance(message, dict)
        or message.get("role") not in ("user", "assistant")
    ):
        return None
    own = message.get("timestamp")
    return _time_of(own if isinstance(own, int | float) else body.get("timestamp"))


def _time_of(stored: object) -> int | None:
    ms = ms_of(stored) if isinstance(stored, int | float | str) and not isinstance(stored, bool) else None
    return ms if ms is not None and 0 < ms <= LAST_MS else None
