"""The text of a summary: the notes, then what is never left to a model, in blocks that the next summary finds again.

The blocks are the newest request of the user, word for word, where no user message stands in the kept tail, and the
files that were read and modified. pi writes the file blocks too, so its summaries are taken apart the same way.
"""

import re
from dataclasses import dataclass
from typing import Final, NamedTuple

from pid.core.files import NO_FILES, merged
from pid.core.javascript import utf16_head
from pid.core.tokens import Message, blocks_of
from pid.protocol import FileDetails

TURN_HEADING: Final = "## The Turn So Far"
TURN_NOTE: Final = "The work in progress began before the messages that follow. Its beginning:"
REQUEST_UNITS: Final = 16_000
"""UTF-16 units of a request that are kept; of a longer one the beginning and the end."""


class Request(NamedTuple):
    """What the user asked for, and the entry that says so."""

    entry_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Summary:
    """The parts of a summary's text."""

    notes: str
    request: Request | None = None
    files: FileDetails = NO_FILES

    def text(self) -> str:
        """The whole text, as it goes into the entry."""
        blocks = [
            _block("newest-request", self.request.text, f' entry="{self.request.entry_id}"') if self.request else "",
            _block("read-files", "\n".join(map(_one_line, self.files.read_files))),
            _block("modified-files", "\n".join(map(_one_line, self.files.modified_files))),
        ]
        return "\n\n".join(filter(None, [self.notes.strip(), *blocks]))


def _block(tag: str, text: str, attribute: str = "") -> str:
    return f"<{tag}{attribute}>\n{_TAG_LINE.sub('> ', text)}\n</{tag}>" if text else ""


def _one_line(path: str) -> str:
    return path.replace("\r", " ").replace("\n", " ")


_TAGS: Final = "newest-request|read-files|modified-files"
_TAG_LINE: Final = re.compile(rf"^(?=</?(?:{_TAGS})\b)", re.MULTILINE)
_LAST_BLOCK: Final = re.compile(rf'(?:^|\n)<({_TAGS})(?: entry="([^"\n]*)")?>\n(?:(.*)\n)?</\1>\s*\Z', re.DOTALL)


def taken_apart(text: str) -> Summary:
    """The parts of a summary that pid or pi wrote; one without blocks is all notes."""
    request: Request | None = None
    files = NO_FILES
    while match := _last_block(text):
        tag, entry_id, content = match.groups()
        if tag == "newest-request":
            request = Request(entry_id or "", content or "")
        else:
            paths = (content or "").split("\n")
            files = merged(
                files,
                FileDetails(
                    read_files=paths if tag == "read-files" else [],
                    modified_files=paths if tag == "modified-files" else [],
                ),
            )
        text = text[: match.start()]
    return Summary(text.strip(), request, files)


def _last_block(text: str) -> re.Match[str] | None:
    end = text.rstrip()
    for tag in _TAGS.split("|"):
        if end.endswith(f"\n</{tag}>"):
            start = max(end.rfind(f"\n<{tag}>"), end.rfind(f"\n<{tag} "), 0)
            return _LAST_BLOCK.match(end, start)
    return None


def with_turn_head(notes: str, head: str) -> str:
    """The notes on the history, and under a heading of its own those on the beginning of the turn in progress."""
    return "\n\n".join(filter(None, [notes.strip(), f"{TURN_HEADING}\n{TURN_NOTE}\n\n{head.strip()}"]))


# A request


def request_text(message: Message) -> str:
    """What a user message says; images leave a word. Empty for any other message."""
    if message.get("role") != "user":
        return ""
    blocks = blocks_of(message.get("content"))
    said = ("[image]" if block.get("type") == "image" else block.get("text") for block in blocks)
    return "\n".join(text for text in said if isinstance(text, str) and text).strip()


def cut_request(text: str, entry_id: str, units: int = REQUEST_UNITS) -> str:
    """The text whole, or its beginning and end with a pointer to the entry that has all of it."""
    if len(text) <= units:
        return text
    head, tail = utf16_head(text, units * 3 // 4), text[-(units // 4) :]
    left = len(text) - len(head) - len(tail)
    return f"{head}\n[… {left:,} characters left out here; entry {entry_id} has them …]\n{tail}"
