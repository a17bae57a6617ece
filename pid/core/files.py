"""Which files a conversation read and modified, by its tool calls and by what earlier summaries recorded.

A call counts, whatever its result was. pi knows `read`, `write` and `edit` with a `path`; here the names that other
agents give to the same tools count too. Nothing here looks at a disk.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pid.core.tokens import Message, blocks_of
from pid.protocol import FileDetails

NO_FILES: Final = FileDetails(read_files=[], modified_files=[])

Use = tuple[str, str]
"""How a file was used (`read`, `modified`), and its path."""
_READ, _MODIFIED = "read", "modified"
_TOOLS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("read", "readfile", "view", "viewfile", "openfile", "notebookread"), _READ),
    **dict.fromkeys(("write", "writefile", "writetofile", "create", "createfile", "insert"), _MODIFIED),
    **dict.fromkeys(("edit", "editfile", "multiedit", "notebookedit", "strreplace", "replace"), _MODIFIED),
    **dict.fromkeys(("strreplaceeditor", "strreplacebasededittool", "texteditor", "searchreplace"), _MODIFIED),
}
"""By the tool's name in lower case, without `_` and `-`."""
_PATHS: Final = ("path", "file_path", "filePath", "filename", "target_file", "notebook_path", "absolute_path")
_PATCHED: Final = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$", re.MULTILINE)


def files_of(messages: Iterable[Message]) -> FileDetails:
    """The files that the tool calls of messages name."""
    return details_of(used for message in messages for used in uses_of(message))


def uses_of(message: Message) -> list[Use]:
    """How the tool calls of one message use files."""
    return [used for call in _calls(message) for used in _uses(call)]


def merged(*lists: FileDetails) -> FileDetails:
    """All of them. A file that was modified once is not among those that were only read."""
    reads = ((_READ, path) for files in lists for path in files.read_files)
    writes = ((_MODIFIED, path) for files in lists for path in files.modified_files)
    return details_of([*reads, *writes])


def recorded(details: object) -> FileDetails:
    """The `details` of an earlier summary; what has another shape records nothing."""
    if not isinstance(details, Mapping):
        return NO_FILES
    return FileDetails(read_files=_paths(details.get("readFiles")), modified_files=_paths(details.get("modifiedFiles")))


def _paths(value: object) -> list[str]:
    return [path for path in value if isinstance(path, str) and path] if isinstance(value, list) else []


def details_of(used: Iterable[Use]) -> FileDetails:
    """The uses as two lists, each file once."""
    paths: dict[str, set[str]] = {_READ: set(), _MODIFIED: set()}
    for how, path in used:
        paths[how].add(path)
    return FileDetails(
        read_files=sorted(paths[_READ] - paths[_MODIFIED], key=_utf16),
        modified_files=sorted(paths[_MODIFIED], key=_utf16),
    )


def _utf16(path: str) -> bytes:
    return path.encode("utf-16-be", "surrogatepass")  # pi sorts by UTF-16 units


def _calls(message: Message) -> Iterator[Mapping[str, Any]]:
    if message.get("role") == "assistant":
        yield from (block for block in blocks_of(message.get("content")) if block.get("type") == "toolCall")
    elif message.get("role") == "toolResult" and isinstance(nested := message.get("nestedCalls"), Mapping):
        listed = nested.get("calls")  # the calls that a script made, recorded on its result
        yield from (call for call in listed if isinstance(call, dict)) if isinstance(listed, list) else ()


def _uses(call: Mapping[str, Any]) -> Iterator[Use]:
    name, arguments = call.get("name"), call.get("arguments")
    if not isinstance(name, str) or not isinstance(arguments, Mapping):
        return
    plain = name.lower().replace("_", "").replace("-", "")
    if plain == "applypatch":
        patch = next((text for text in arguments.values() if isinstance(text, str) and "*** " in text), "")
        yield from ((_MODIFIED, (match[1] or match[2]).strip()) for match in _PATCHED.finditer(patch))
    elif how := _TOOLS.get(plain):
        path = next((arguments[key] for key in _PATHS if isinstance(arguments.get(key), str)), "")
        if path:
            yield (_READ if arguments.get("command") == "view" else how), path
