"""Small text files of unknown origin: whether one is there, and its text within bounds.

Nothing here blocks on a FIFO, opens a device, reads past its bound, or gives a mixture of two versions of a
file. It never writes, and never opens a session file (`journal.py` does).
"""

import errno
import os
import stat

from pid.protocol.prompt import ResourceProblem

MAX_FILE_BYTES = 1 << 20
"""The largest file that is read, in bytes."""

ATTEMPTS = 3
"""How often a file that changes while it is read is read again."""

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_CHUNK = 1 << 16


class Unusable(Exception):
    """A file or directory that cannot be taken: `kind` is the kind of a problem, `reason` says why."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason


def problem(path: str, error: Unusable) -> ResourceProblem:
    """What is wrong with a file, as a client reads it."""
    return ResourceProblem(path=tellable(path), kind=error.kind, message=error.reason)


def unusable(error: OSError) -> Unusable:
    """What an error of the system means to a reader."""
    if error.errno == errno.ELOOP:
        return Unusable("linkCircle", "its links lead round in a circle")
    return Unusable("unreadable", error.strerror or str(error))


class BoundedReader:
    """Reads files until they hold `total` characters together; the one that passes it and all after fail."""

    def __init__(self, total: int) -> None:
        self._total = self._left = total

    def read(self, path: str) -> str:
        """As `read_text`, and raises `Unusable` (`tooMuch`) past the bound."""
        text = read_text(path) if self._left >= 0 else ""
        self._left -= len(text)
        if self._left < 0:
            raise Unusable("tooMuch", f"with it there would be more than {self._total} characters")
        return text


def is_regular(path: str) -> bool:
    """Whether a regular file is there, through links; False if nothing is.

    Raises `Unusable` for what is there under the name and is no regular file (`notAFile`), leads nowhere
    (`brokenLink`) or round in a circle (`linkCircle`), cannot be looked at (`unreadable`), or is a file whose
    path is not UTF-8 (`badName`).
    """
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        if os.path.islink(path):
            raise Unusable("brokenLink", "the link leads nowhere") from None
        return False
    except OSError as error:
        raise unusable(error) from error
    if not stat.S_ISREG(mode):
        raise Unusable("notAFile", "it is not a regular file")
    if tellable(path) != path:
        raise Unusable("badName", "its path is not UTF-8, so no message can name it")
    return True


def tellable(path: str) -> str:
    """A path that a message can carry: bytes in it that are not UTF-8 become U+FFFD."""
    return os.fsencode(path).decode("utf-8", "replace")


def read_text(path: str, limit: int = MAX_FILE_BYTES) -> str:
    """The text of a regular file: UTF-8, a byte order mark taken off, CR LF as LF.

    Raises `Unusable`: as `is_regular`, and `tooLarge`, `binary`, `invalidUtf8`, `changedWhileRead`.
    """
    for _ in range(ATTEMPTS):
        data = _read_once(path, limit)
        if data is not None:
            return _text(data)
    raise Unusable("changedWhileRead", f"it changed during each of {ATTEMPTS} readings")


def _read_once(path: str, limit: int) -> bytes | None:
    """The bytes of the file, or None if it was written or replaced meanwhile."""
    try:
        descriptor = os.open(path, _FLAGS)
        try:
            before = os.fstat(descriptor)
            data = _read_bounded(descriptor, before, limit)
            versions = {_version(at) for at in (before, os.fstat(descriptor), os.stat(path))}
        finally:
            os.close(descriptor)
    except OSError as error:
        raise unusable(error) from error
    return data if len(versions) == 1 else None


def _read_bounded(descriptor: int, found: os.stat_result, limit: int) -> bytes:
    if not stat.S_ISREG(found.st_mode):
        raise Unusable("notAFile", "it is not a regular file")
    data = bytearray()
    # The size alone proves nothing: files of /proc have none, and a file may grow.
    while found.st_size <= limit and len(data) <= limit:
        chunk = os.read(descriptor, _CHUNK)
        if not chunk:
            return bytes(data)
        data += chunk
    raise Unusable("tooLarge", f"it is larger than {limit} bytes")


def _version(found: os.stat_result) -> tuple[int, int, int, int]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _text(data: bytes) -> str:
    if b"\0" in data:
        raise Unusable("binary", "it holds NUL bytes, so it is not text")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise Unusable("invalidUtf8", f"it is not UTF-8 (byte {error.start})") from None
