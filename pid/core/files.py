"""Which files a conversation read and modified, by its tool calls and by what earlier summaries recorded.

A call counts, whatever its result was. pi knows `read`, `write` and `edit` with a `path`; here the names that other
agents give to the same tools count too. Nothing here looks at a disk.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any, Final

from pid.core.tokens import Message, blocks_of
from pid.protocol import FileDetails

NO_FILES: Final = FileDetails(read_files=[], modified_files=[])

Use = tuple[str, str]
"""How a file was used (`read`, `modified`), and its path."""
_READ, _MODIFIED = "read", "modified"
PATCHED: Final = "patched"
_USUAL_NAME: Final = 64
_TOOLS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("read", "readfile", "view", "viewfile", "openfile", "notebookread"), _READ),
    **dict.fromkeys(("write", "writefile", "writetofile", "create", "createfile", "insert"), _MODIFIED),
    **dict.fromkeys(("edit", "editfile", "multiedit", "notebookedit", "strreplace", "replace"), _MODIFIED),
    **dict.fromkeys(("strreplaceeditor", "strreplacebasededittool", "texteditor", "searchreplace"), _MODIFIED),
    "applypatch": PATCHED,
}
"""By the tool's name in lower case, without `_` and `-`."""
PATH_KEYS: Final = ("path", "file_path", "filePath", "filename", "target_file", "notebook_path", "absolute_path")
"""The arguments that may name the file, in the order in which they count; `command` may say that it is only viewed."""
_IN_PATCH: Final = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$", re.MULTILINE)


def files_of(messages: Iterable[Message]) -> FileDetails:
    """The files that the tool calls of messages name."""
    return details_of(used for message in messages for used in uses_of(message))


def uses_of(message: Message) -> list[Use]:
    """How the tool calls of one message use files."""
    return [used for call in _calls(message) for used in uses_of_call(call.get("name"), call.get("arguments"))]


def merged(*lists: FileDetails) -> FileDetails:
    """All of them. A file that was modified once is not among those that were only read."""
    return details_of(chain.from_iterable(map(recorded_uses, lists)))


def recorded_uses(files: FileDetails) -> list[Use]:
    """The uses that lists of files stand for."""
    return [*((_READ, path) for path in files.read_files), *((_MODIFIED, path) for path in files.modified_files)]


def recorded(details: object) -> FileDetails:
    """The `details` of an earlier summary; what has another shape records nothing."""
    if not isinstance(details, Mapping):
        return NO_FILES
    return FileDetails(read_files=_paths(details.get("readFiles")), modified_files=_paths(details.get("modifiedFiles")))


def _paths(value: object) -> list[str]:
    return [path for path in value if isinstance(path, str) and path] if isinstance(value, list) else []


def details_of(used: Iterable[Use]) -> FileDetails:
    """The uses as two lists, each file once."""
    used = list(used)
    modified = {path for how, path in used if how == _MODIFIED}
    read = {path for how, path in used if how == _READ} - modified
    return FileDetails(read_files=_sorted(read), modified_files=_sorted(modified))


def _sorted(paths: set[str]) -> list[str]:
    return sorted(paths, key=None if all(map(str.isascii, paths)) else _utf16)


def _utf16(path: str) -> bytes:
    return path.encode("utf-16-be", "surrogatepass")  # pi sorts by UTF-16 units


def _calls(message: Message) -> Iterator[Mapping[str, Any]]:
    if message.get("role") == "assistant":
        yield from (block for block in blocks_of(message.get("content")) if block.get("type") == "toolCall")
    elif message.get("role") == "toolResult" and isinstance(nested := message.get("nestedCalls"), Mapping):
        listed = nested.get("calls")  # the calls that a script made, recorded on its result
        yield from (call for call in listed if isinstance(call, dict)) if isinstance(listed, list) else ()


def use_of_tool(name: object) -> str | None:
    """How a tool of this name uses files: `read`, `modified` or `patched`; None if it is not known to."""
    if not isinstance(name, str):
        return None
    return _use_of_tool(name) if len(name) <= _USUAL_NAME else _use_of_tool.__wrapped__(name)


@lru_cache(maxsize=64)
def _use_of_tool(name: str) -> str | None:
    return _TOOLS.get(name.lower().replace("_", "").replace("-", ""))


def uses_of_call(name: object, arguments: object) -> list[Use]:
    """How one call uses files."""
    how = use_of_tool(name)
    if how is None or not isinstance(arguments, dict):
        return []
    if how == PATCHED:
        patch = next((text for text in arguments.values() if isinstance(text, str) and "*** " in text), "")
        return [(_MODIFIED, (match[1] or match[2]).strip()) for match in _IN_PATCH.finditer(patch)]
    for key in PATH_KEYS:
        if isinstance(path := arguments.get(key), str):
            return [(_READ if arguments.get("command") == "view" else how, path)] if path else []
    return []
