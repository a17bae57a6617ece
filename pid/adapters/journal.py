"""Session files on disk: the only module that opens one.

A journal reads from where it stands to the end (`advance`), gives stored bytes by their place (`read`), appends
under the file's lock and syncs. It never rewrites a byte that is there, never writes to a file that is no session,
and never blocks on a lock; the one way in which another file takes its place is in `replacing.py`. What it has not
read yet it does not know: also its own lines are indexed by reading them back, so memory holds what the file holds.
Where operating systems differ stands in `_SYNC`.
"""

import contextlib
import errno
import fcntl
import hashlib
import os
import stat
import sys
from collections.abc import Callable, Container, Iterator, Sequence
from enum import Enum
from typing import Final, NamedTuple, NoReturn

from pid.adapters.directories import make_directory, sync_directory
from pid.adapters.failures import changed_on_disk, read_failed, sync_failed, write_failed
from pid.adapters.held import Held
from pid.core.batch import Batch
from pid.core.lines import Scanner
from pid.core.spans import READ_BYTES, Span, runs
from pid.errors import (
    NotASession,
    SessionExists,
    SessionNotFound,
    WriteFailed,
)
from pid.protocol import Problem

SLICE_BYTES: Final = 1 << 20
SLICE_LINES: Final = 1024
"""One step of `advance`, whichever is less: a few milliseconds of the loop's time."""
_SLICE_AT_LEAST: Final = 1 << 17  # also the first one, before it is known how long lines are
LONG_LINE: Final = 32 << 20
"""A line longer than this is indexed by its head and tail, without holding it."""
MAX_HEADER_BYTES: Final = 1 << 20
_FINGERPRINT_BYTES: Final = 4096
_HEAD_BYTES, _TAIL_BYTES = 65_536, 256
_CAREFULLY: Final = os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY  # nothing waits for a FIFO's other end
_CREATING: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
_NO_LOCKS: Final = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP})


def _full_sync(fd: int) -> None:
    fcntl.fcntl(fd, fcntl.F_FULLFSYNC)  # type: ignore[attr-defined,unused-ignore]


_SYNC: Final[dict[str, Callable[[int], None]]] = {
    "linux": os.fdatasync if sys.platform == "linux" else os.fsync,
    "darwin": _full_sync,  # fsync alone leaves the bytes in the drive's cache there
}
_sync = _SYNC.get(sys.platform, os.fsync)


class Found(Enum):
    """What a look at the file found: as it was read, longer, or another file under its name."""

    SAME = "same"
    GROWN = "grown"
    REPLACED = "replaced"


class _Seen(NamedTuple):
    """What tells cheaply that a file was touched."""

    device: int
    inode: int
    size: int
    mtime_ns: int


class Journal:
    """One open session file. `scanner` has its header; `end` is the place up to which entries are indexed.

    Not thread-safe: one task uses it, except for `sync`, which a worker thread may run beside it.
    """

    def __init__(self, path: str, fd: int, *, writable: bool, taken: Container[str]) -> None:
        self.path = path
        self.scanner = Scanner(taken)
        self.end = 0
        self.locks = True
        self.name_synced = False  # whoever made or renamed the file may not have synced its directory
        self._fd = fd
        self._writable = writable
        self._closed_line = True  # the indexed bytes end with a line break
        self._half = 0  # bytes behind `end` that are half a line
        self._seen = _seen(os.fstat(fd))
        self._prints: list[tuple[int, bytes]] = []
        self._line_mark = (0, 1)  # a place, and the line that it is on

    # Opening

    @classmethod
    def open(cls, path: str, taken: Container[str]) -> "Journal":
        """Opens the file at `path` (absolute) without writing or blocking.

        Raises `SessionNotFound`, `NotASession` (a directory, FIFO or device) and `ReadFailed`. Whether it begins
        with a session header shows in the first `advance`.
        """
        path = os.path.realpath(path)
        try:
            _refuse_special(path, os.stat(path))
            fd, writable = _open_fd(path)
        except FileNotFoundError:
            raise SessionNotFound(f"There is no file {path}.", reason="noFile", path=path) from None
        except OSError as error:
            raise read_failed(path, error) from None
        try:
            _refuse_special(path, os.fstat(fd))
            return cls(path, fd, writable=writable, taken=taken)
        except BaseException:
            os.close(fd)
            raise

    @classmethod
    def glance(cls, path: str, scanner: Scanner, start: int = 0) -> "Journal":
        """Opens a file only to read it once, from `start`, with a scanner of the caller's; raises as `open`."""
        fd = -1
        try:
            fd = os.open(path, os.O_RDONLY | _CAREFULLY)
            _refuse_special(path, os.fstat(fd))
            journal = cls(path, fd, writable=False, taken=())
        except BaseException as error:
            if fd >= 0:
                os.close(fd)
            if isinstance(error, OSError):
                raise read_failed(path, error) from None
            raise
        journal.scanner, journal.end = scanner, start
        return journal

    @classmethod
    def create(cls, path: str, lines: bytes, taken: Container[str]) -> "Journal":
        """Makes the file with its header line, and what stands behind that, durably: mode 0600, directories 0700.

        Raises `SessionExists` and `WriteFailed`; nothing stays behind after a failure.
        """
        try:
            make_directory(os.path.dirname(path))
            fd = os.open(path, _CREATING, 0o600)
        except FileExistsError:
            raise SessionExists(f"There is a file {path} already.", path=path) from None
        except OSError as error:
            raise write_failed(path, error) from None
        journal = cls(os.path.realpath(path), fd, writable=True, taken=taken)
        try:
            journal.write(lines)
            journal.sync()
        except BaseException as error:
            journal.close()
            gone = remove(path)
            if isinstance(error, WriteFailed):
                raise write_failed(path, error.details["errno"], gone=gone) from None
            raise
        return journal

    @classmethod
    def draft(cls, old: "Journal", ending: str, taken: Container[str]) -> "Journal":
        """An empty file beside `old`, with its owner and mode, and locked; one that a crash left there is replaced.

        It is to take a name of its own later (`replacing.py`). Raises `WriteFailed`.
        """
        folder, name = os.path.split(old.path)
        path = os.path.join(folder, f".{name}.{ending}")
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            fd = os.open(path, _CREATING, 0o600)
        except OSError as error:
            raise write_failed(path, error) from None
        journal = cls(path, fd, writable=True, taken=taken)
        try:
            _make_alike(fd, os.fstat(old._fd))
            journal.try_lock()
        except OSError as error:
            journal.discard()
            raise write_failed(path, error) from None
        return journal

    def discard(self) -> None:
        """Closes a draft and removes it."""
        self.close()
        remove(self.path)

    def close(self) -> None:
        """Gives the descriptor back, and with it any lock."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def begin_at(self, header: bytes, end: int, line: int) -> None:
        """Takes what stands before `end`, which ends line `line`, for indexed: it is known from elsewhere.

        Nothing may have been read. `header` is the header's line with its line break.
        """
        self.scanner.scan(header, len(header), 0)
        self.end, self.scanner.line = end, line

    # Reading on

    def advance(self, *, opening: bool = False) -> Iterator[Batch]:
        """Indexes from `end` to the end of the file: a batch for each slice of up to 1 MiB.

        Half a line at the end stays where it is and is looked at again; `opening` tells it as a problem. Raises
        `NotASession` if no header comes first, `ReadFailed`, `SessionChangedOnDisk`.
        """
        before = _seen(os.fstat(self._fd))  # what comes while this reads shows in the next look
        behind = before.size - self.end
        buffer = bytearray(min(max(behind, 0) + 1, _SLICE_AT_LEAST))  # with room for one byte, to see the end
        while filled := self._pread_into(buffer, self.end):
            stop = buffer.rfind(b"\n", 0, filled) + 1
            if stop:
                batch = self._index(self.scanner.scan(buffer, stop, self.end), stop)
                self._closed_line = True
                yield batch
                _fit(buffer, stop * SLICE_LINES // max(len(batch.ids), 1), before.size - self.end)
            elif filled < len(buffer):
                yield from self._take_tail(bytes(buffer[:filled]), opening=opening)
                break
            elif len(buffer) < LONG_LINE:
                buffer.extend(bytes(min(len(buffer), LONG_LINE - len(buffer))))
            else:
                yield from self._take_long_line(buffer)
                if self._half:  # it goes on to the end of the file
                    yield from self._tell_torn(self._half, opening=opening)
                    break
            if self.scanner.header is None and max(self.end, len(buffer)) > MAX_HEADER_BYTES:
                break
        if self.scanner.header is None:
            self._refuse("it has no session header")
        self._remember(before)

    def _index(self, batch: Batch, size: int) -> Batch:
        if self.scanner.foreign:
            self._refuse("its first entry is no session header")
        self.end += size
        self._half = 0
        return batch

    def _take_tail(self, raw: bytes, *, opening: bool) -> Iterator[Batch]:
        batch = self.scanner.scan_tail(raw, self.end)
        if batch is not None:
            yield self._index(batch, len(raw))
            self._closed_line = False
            return
        self._half = len(raw)
        yield from self._tell_torn(len(raw.strip()), opening=opening)

    def _tell_torn(self, size: int, *, opening: bool) -> Iterator[Batch]:
        if opening and size:
            message = f"the last line was cut off after {size:,} bytes; they stay where they are"
            yield Batch(problems=[Problem(line=self.scanner.line + 1, kind="tornLine", message=message)])

    def _take_long_line(self, buffer: bytearray) -> Iterator[Batch]:
        head, size = bytes(buffer[:_HEAD_BYTES]), len(buffer)
        while filled := self._pread_into(buffer, self.end + size):
            if (stop := buffer.find(b"\n", 0, filled)) >= 0:
                size += stop
                tail = self._pread(_TAIL_BYTES, self.end + size - _TAIL_BYTES)
                yield self._index(self.scanner.scan_long(head, tail, self.end, size), size + 1)
                self._closed_line = True
                return
            size += filled
        self._half = size

    def _refuse(self, why: str) -> NoReturn:
        raise NotASession(f"{self.path} is not a session: {why}. It was left untouched.", path=self.path)

    # Whether the file is still the one that was read

    def verify(self) -> Found:
        """Whether the file is still the one that was indexed; one `stat` where nothing happened.

        Raises `SessionChangedOnDisk` if what was indexed is not there any more (offsets would lie), `ReadFailed`.
        """
        try:
            at_path = _seen(os.stat(self.path))
        except FileNotFoundError:
            self.lost("deleted")
        except OSError as error:
            raise read_failed(self.path, error) from None
        if at_path[:2] != self._seen[:2]:
            return Found.REPLACED
        if at_path != self._seen:
            self._compare(at_path)
        return Found.GROWN if at_path.size > self.end + self._half else Found.SAME

    def _compare(self, at_path: _Seen) -> None:
        if at_path.size < self.end:
            self.lost("truncated")
        for start, expected in self._prints:
            if self._pread(len(expected), start) != expected:
                self.lost("rewritten")
        self._seen = at_path

    def lost(self, reason: str) -> NoReturn:
        """Raises `SessionChangedOnDisk` with the reason."""
        raise changed_on_disk(self.path, reason)

    def _remember(self, seen: _Seen) -> None:
        start = max(0, self.end - _FINGERPRINT_BYTES)
        if not self._prints:
            self._prints = [(0, self._pread(min(self.end, _FINGERPRINT_BYTES), 0)), (0, b"")]
        self._prints[1] = (start, self._pread(self.end - start, start))
        self._seen = seen

    def is_file(self, found: os.stat_result) -> bool:
        """Whether this is the file that was found, under whatever name."""
        return (found.st_dev, found.st_ino) == self._seen[:2]

    def size(self) -> int:
        """Bytes of the file as it is now."""
        return os.fstat(self._fd).st_size

    def read(self, spans: Sequence[Span]) -> list[bytes]:
        """The stored bytes at each place, neighbours in one call. Raises `ReadFailed`, `SessionChangedOnDisk`."""
        return [run[start : start + size] for run, places in self.runs(spans) for start, size in places]

    def runs(self, spans: Sequence[Span]) -> Iterator[tuple[bytes, list[Span]]]:
        """The stored bytes of neighbours together, and where in them each place is, in order; raises as `read`."""
        for first, last in runs(spans):
            base = spans[first][0]
            run = self._pread(sum(spans[last - 1]) - base, base)
            yield run, [(start - base, size) for start, size in spans[first:last]]

    def hold(self) -> Held:
        """A second hold on what is stored, for a thread; it outlives this journal."""
        return Held(os.dup(self._fd), self.path)

    @property
    def identity(self) -> tuple[int, int]:
        """The file's device and inode."""
        return self._seen[:2]

    @property
    def ends_whole(self) -> bool:
        """Whether what is indexed ends with a line break."""
        return self._closed_line

    def fingerprint(self) -> bytes:
        """A digest of the last bytes before `end`: whether these are the bytes that were read once."""
        size = min(self.end, _FINGERPRINT_BYTES)
        return hashlib.blake2b(self._pread(size, self.end - size), digest_size=8).digest()

    def line_at(self, offset: int) -> int:
        """The line (from 1) that a place is on. It counts from the nearest place whose line is known."""
        known = (0, 1), self._line_mark, (self.end, self.scanner.line + self._closed_line)
        place, line = min(known, key=lambda mark: abs(mark[0] - offset))
        first, last = sorted((place, offset))
        breaks = 0
        for start in range(first, last, READ_BYTES):
            breaks += self._pread(min(READ_BYTES, last - start), start).count(b"\n")
        self._line_mark = offset, line + (breaks if offset > place else -breaks)
        return self._line_mark[1]

    def _pread(self, size: int, offset: int) -> bytes:
        try:
            raw = os.pread(self._fd, size, offset)
            while len(raw) < size and (more := os.pread(self._fd, size - len(raw), offset + len(raw))):
                raw += more
        except OSError as error:
            raise read_failed(self.path, error) from None
        if len(raw) < size:
            self.lost("truncated")
        return raw

    def _pread_into(self, buffer: bytearray, offset: int) -> int:
        try:
            return os.preadv(self._fd, [buffer], offset)
        except OSError as error:
            raise read_failed(self.path, error) from None

    # Writing

    def try_lock(self) -> bool:
        """Takes the file's lock without waiting; whether it is ours now. True where there are no locks at all."""
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise write_failed(self.path, error) from None
            self.locks = False
        return True

    def unlock(self) -> None:
        """Gives the lock back."""
        if self.locks and self._fd >= 0:
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def write(self, lines: bytes) -> None:
        """Appends whole lines (each but the last with its line break) behind everything there.

        To be called under the lock, with nothing left to `advance` over; they are indexed by the next `advance`.
        Raises `WriteFailed`: `notWritten` if a part that went out could be cut back, `unknown` if another writer
        stands behind it.
        """
        self.put(b"".join((b"" if self._closed_line and not self._half else b"\n", lines, b"\n")))

    def put(self, data: bytes) -> None:
        """Appends bytes as they are; else as `write`."""
        if not self._writable:
            raise WriteFailed(f"{self.path} is read-only.", errno=errno.EACCES, outcome="notWritten", retryable=False)
        done = 0
        try:
            while done < len(data):
                done += os.write(self._fd, memoryview(data)[done:])
        except OSError as error:
            raise write_failed(self.path, error, gone=self._cut_back(done)) from None

    def _cut_back(self, done: int) -> bool:
        """Whether nothing of a write remains. What does remain is read again, and gets a line break behind it."""
        try:
            end = os.lseek(self._fd, 0, os.SEEK_CUR) if done else 0  # where the last part went
            if done and os.fstat(self._fd).st_size == end:
                os.ftruncate(self._fd, end - done)
                return True
        except OSError:
            return False
        return not done

    def sync(self) -> None:
        """Makes what was written durable, the first time also the file's name. Raises `WriteFailed` (`unknown`)."""
        try:
            _sync(self._fd)
            if not self.name_synced:
                sync_directory(os.path.dirname(self.path))
        except OSError as error:
            raise sync_failed(self.path, error) from None
        self.name_synced = True


def sync_file(fd: int) -> None:
    """Makes what was written to a file durable. Raises `OSError`."""
    _sync(fd)


def remove(path: str) -> bool:
    """Takes back a file that was made a moment ago; whether it is gone."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _fit(buffer: bytearray, size: int, remaining: int) -> None:
    """Gives the buffer this size, within the bounds of a slice; it grows only for what remains."""
    size = min(max(size, _SLICE_AT_LEAST), SLICE_BYTES)
    if len(buffer) < remaining:
        size = min(size, remaining + 1)
        buffer.extend(bytes(max(size - len(buffer), 0)))
    del buffer[size:]


def _open_fd(path: str) -> tuple[int, bool]:
    flags = os.O_APPEND | _CAREFULLY
    try:
        return os.open(path, os.O_RDWR | flags), True
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EROFS, errno.EPERM, errno.ETXTBSY):
            raise
    return os.open(path, os.O_RDONLY | flags), False


def _make_alike(fd: int, other: os.stat_result) -> None:
    own = os.fstat(fd)
    if (own.st_uid, own.st_gid) != (other.st_uid, other.st_gid):
        os.fchown(fd, other.st_uid, other.st_gid)
    os.fchmod(fd, stat.S_IMODE(other.st_mode))


def _refuse_special(path: str, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        what = "a directory" if stat.S_ISDIR(found.st_mode) else "no regular file"
        raise NotASession(f"{path} is {what}, not a session.", path=path)


def _seen(found: os.stat_result) -> _Seen:
    return _Seen(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
