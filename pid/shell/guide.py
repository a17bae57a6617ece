"""Where people read on: links into the `protocol.md` that belongs to this version of the daemon."""

from functools import cache
from pathlib import Path
from typing import Final

_NAME: Final = "protocol.md"
_HERE: Final = Path(__file__).resolve().parents[1]


@cache
def link_to(section: str) -> str | None:
    """The URI of a section, by its heading, in the installed package or the clone; None if neither has the document."""
    for folder in (_HERE / "data", _HERE.parent):
        if (folder / _NAME).is_file():
            return f"{(folder / _NAME).as_uri()}#{section.lower().replace(' ', '-')}"
    return None
