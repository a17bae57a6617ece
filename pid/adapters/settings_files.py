"""Settings on disk: `<agent dir>/settings.json` and, where it is trusted, `<project>/.pi/settings.json`.

Both are pi's own files. Read from them are pi's `sessionDir`, `compaction.enabled`, `compaction.reserveTokens` and
`compaction.keepRecentTokens`, and under `pid` any setting of this daemon by its own name; all else is left to pi. A
bad value is told and counts as absent. Nothing here writes, raises for what it finds, or keeps anything.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from pid.adapters import files
from pid.adapters.files import Unusable
from pid.protocol import SettingsProblem, SettingsUpdate

_NAMES: Final = {field.encode_name for field in msgspec.structs.fields(SettingsUpdate)}
_OF_PI: Final[Mapping[str, str]] = {
    "enabled": "autoCompact",
    "reserveTokens": "reserveTokens",
    "keepRecentTokens": "keepRecentTokens",
}
"""pi's `compaction.*`, and what it is called here."""


@dataclass(frozen=True, slots=True)
class FileSettings:
    """What one file says: settings, where sessions are (None: nothing), and what is wrong in it."""

    update: SettingsUpdate | None = None
    session_dir: str | None = None
    problems: tuple[SettingsProblem, ...] = ()


@dataclass(frozen=True, slots=True)
class SettingsFiles:
    """The files of one user. `trusted_roots`: only projects below these are read; None: all are."""

    agent_dir: str
    trusted_roots: Sequence[str] | None = None

    def of(self, cwd: str) -> tuple[FileSettings, FileSettings]:
        """What the project's file says, then the user's own, which it precedes."""
        own = read_settings(os.path.join(self.agent_dir, "settings.json"), cwd)
        if not self.trusts(cwd):
            return FileSettings(), own
        return read_settings(os.path.join(cwd, ".pi", "settings.json"), cwd), own

    def session_dir(self, cwd: str) -> str | None:
        """Where the sessions of a working directory are, if a file says so."""
        return next((settings.session_dir for settings in self.of(cwd) if settings.session_dir), None)

    def trusts(self, cwd: str) -> bool:
        """Whether a project's own files may be read. Headers may name any text: what is no path is not trusted."""
        if not cwd.startswith("/") or "\0" in cwd:
            return False
        if self.trusted_roots is None:
            return True
        real = os.path.realpath(cwd)
        return any(os.path.commonpath((real, root)) == root for root in map(os.path.realpath, self.trusted_roots))


def read_settings(path: str, cwd: str) -> FileSettings:
    """What a file says to sessions of a working directory; nothing if it is not there."""
    try:
        if not files.is_regular(path):
            return FileSettings()
        content = msgspec.json.decode(files.BoundedReader(files.MAX_FILE_BYTES).read(path))
    except Unusable as error:
        return FileSettings(problems=(SettingsProblem(path=path, message=error.reason),))
    except (msgspec.DecodeError, RecursionError) as error:
        return FileSettings(problems=(SettingsProblem(path=path, message=f"it is not JSON: {error}"),))
    if not isinstance(content, dict):
        return FileSettings(problems=(SettingsProblem(path=path, message="it is no JSON object"),))
    return _taken(path, content, cwd)


def _taken(path: str, content: dict[str, Any], cwd: str) -> FileSettings:
    values: dict[str, Any] = {}
    problems: list[SettingsProblem] = []
    for key, name, value in _entries(content):
        reason = _fault(name, value)
        if reason is None:
            values[name] = value
        else:
            problems.append(SettingsProblem(path=path, key=key, message=reason))
    session_dir = content.get("sessionDir")
    if session_dir is not None and not (isinstance(session_dir, str) and session_dir and "\0" not in session_dir):
        problems.append(SettingsProblem(path=path, key="sessionDir", message="it is no path"))
        session_dir = None
    return FileSettings(
        msgspec.convert(values, SettingsUpdate),
        os.path.normpath(os.path.join(cwd, os.path.expanduser(session_dir))) if session_dir else None,
        tuple(problems),
    )


def _entries(content: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Each setting: its key in the file, its name here, its value. What stands under `pid` comes last, and wins."""
    for group, names in (("compaction", _OF_PI), ("pid", None)):
        values = content.get(group)
        if isinstance(values, dict):
            known = values if names is None else values.keys() & names.keys()
            for key in known:
                if values[key] is not None:
                    yield f"{group}.{key}", key if names is None else names[key], values[key]
        elif values is not None:
            yield group, "", values


def _fault(name: str, value: Any) -> str | None:
    """What is wrong with a value; None if nothing is."""
    if not name:
        return "it is no JSON object"
    if name not in _NAMES:
        return "there is no such setting"
    try:
        msgspec.convert({name: value}, SettingsUpdate)
    except msgspec.ValidationError as error:
        return str(error).partition(" - at ")[0]
    return None
