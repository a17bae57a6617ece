"""What was read of session files for listings, kept in the cache directory: a file for each directory of sessions.

It saves reading and is never trusted over the files: an entry holds only while its file looks exactly as it did when
it was read, and an index that is missing, damaged, of another version or another user's is an empty one. Daemons may
share the directory: an index is replaced as a whole, and of two written at once one is lost, which costs reading.
"""

import contextlib
import hashlib
import logging
import os
import stat
import zlib
from typing import Final, NamedTuple

import msgspec

from pid.adapters.looks import Look, look_at, look_of
from pid.core.skim import Skimmed

logger = logging.getLogger(__name__)

_MAGIC: Final = b"pid listing 1\n"
"""To be counted up whenever what is kept changes its shape or its meaning."""
_LARGEST: Final = 256 << 20
_MOST_HELD: Final = 4 << 20
"""Bytes of indexes that are held in memory, where they take about twice as many."""
_STALE_SECONDS: Final = 90 * 86_400
_READING: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITING: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


class Known(msgspec.Struct, frozen=True, array_like=True):
    """What was read of a file (None: it is no session), and how it looked then.

    `read_ns` is when it was read (ns since 1970), `end` where reading can go on once it grew (0: at the beginning
    only), `mark` the journal's fingerprint there.
    """

    found: Skimmed | None
    look: Look
    read_ns: int
    end: int
    mark: bytes


class _Content(msgspec.Struct, frozen=True, array_like=True):
    directory: str
    files: dict[str, Known]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Content).decode


class Index(NamedTuple):
    """What is known of the files of a directory, by name, and the size of its index in bytes.

    It holds as long as the index's file looks so (None: as long as there is none). `unwritten` counts the bytes of
    sessions that were read since that file was written: what another process would have to read again.
    """

    look: Look | None
    files: dict[str, Known]
    size: int = 0
    unwritten: int = 0


class ListingIndex:
    """The indexes in one cache directory. Nothing here raises for what it finds there, or cannot write.

    What was read or found out lately is held in memory, up to some MB, until somebody writes another index.
    """

    def __init__(self, cache_dir: str) -> None:
        self._folder = os.path.join(cache_dir, "listings")
        self._held: dict[str, Index] = {}  # by directory, the last used one last

    def load(self, directory: str) -> Index:
        """What is known of a directory."""
        look = look_at(self._path(directory))
        held = self._held.get(directory)
        if held is None or held.look != look:
            held = self._load(directory, look)
        self._hold(directory, held)
        return held

    def keep(self, directory: str, files: dict[str, Known], unwritten: int) -> None:
        """Holds what is known of a directory now without writing it."""
        if held := self._held.get(directory):
            self._hold(directory, held._replace(files=files, unwritten=unwritten))

    def _hold(self, directory: str, held: Index) -> None:
        self._held.pop(directory, None)
        self._held[directory] = held
        while sum(one.size for one in self._held.values()) > _MOST_HELD:
            del self._held[next(iter(self._held))]

    def _load(self, directory: str, look: Look | None) -> Index:
        try:
            raw = _read(self._path(directory))
            body = raw[len(_MAGIC) + 4 :]
            if raw[: len(_MAGIC)] != _MAGIC or raw[len(_MAGIC) :][:4] != _checksum(body):
                return Index(look, {})
            content = _decode(body)
        except (OSError, msgspec.DecodeError) as error:
            logger.debug("no index of %s: %s", directory, error)
            return Index(look, {})
        return Index(look, content.files, len(raw)) if content.directory == directory else Index(look, {})

    def save(self, directory: str, files: dict[str, Known]) -> None:
        """Replaces what is known of a directory."""
        body = _encode(_Content(directory, files))
        path = self._path(directory)
        temporary = f"{path}.{os.getpid()}"
        try:
            os.makedirs(self._folder, 0o700, exist_ok=True)
            _write(temporary, (_MAGIC, _checksum(body), body))
            os.replace(temporary, path)
            written = os.stat(path)
            self._hold(directory, Index(look_of(written), files, written.st_size))
            self._forget_stale(written.st_mtime)
        except OSError as error:
            logger.info("the index of %s was not kept: %s", directory, error)
            with contextlib.suppress(OSError):
                os.unlink(temporary)

    def _path(self, directory: str) -> str:
        return os.path.join(self._folder, hashlib.blake2b(directory.encode(), digest_size=16).hexdigest())

    def _forget_stale(self, now: float) -> None:
        """Removes what nobody has written for long: indexes of directories that are gone, leavings of a crash."""
        for entry in os.scandir(self._folder):
            if entry.stat(follow_symlinks=False).st_mtime < now - _STALE_SECONDS:
                os.unlink(entry.path)


def _read(path: str) -> bytes:
    fd = os.open(path, _READING)
    with os.fdopen(fd, "rb") as file:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_size > _LARGEST:
            raise OSError(f"{path} is no index")
        return file.read(_LARGEST)


def _write(path: str, parts: tuple[bytes, ...]) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)  # of a crashed process with the same number
    with os.fdopen(os.open(path, _WRITING, 0o600), "wb") as file:
        file.writelines(parts)


def _checksum(body: bytes) -> bytes:
    return zlib.crc32(body).to_bytes(4, "big")
