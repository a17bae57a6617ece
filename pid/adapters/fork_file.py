"""The file of a fork while it is made: nobody sees it before it is whole and durable.

It grows under a hidden name beside its place and gets its own name in one step that overwrites nothing. What fails
leaves nothing behind; a crash leaves at most the hidden file, which no listing shows. The bytes come from a `Held`
source, which a thread may read while the session itself goes on.
"""

import contextlib
import errno
import itertools
import os
from collections.abc import Callable
from typing import Final

from pid.adapters.directories import make_directory, sync_directory
from pid.adapters.failures import write_failed
from pid.adapters.held import Held, HeldBytes
from pid.adapters.journal import remove, sync_file
from pid.errors import SessionExists

CHUNK: Final = 8 << 20
"""Bytes that one step copies."""
_SMALL: Final = 256 << 10  # places up to this size are gathered in memory, and go out together
_ENDING: Final = "pid-fork"
_numbers = itertools.count(1)
_NO_KERNEL_COPY: Final = frozenset({errno.EXDEV, errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM})
_NO_LINKS: Final = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})


class ForkFile:
    """See the module. To be ended with `discard`, behind `finish` and `publish` or without; not thread-safe.

    `path` is where it is to stand, `hidden` where it stands until then.
    """

    def __init__(self, path: str, hidden: str, descriptor: int) -> None:
        self.path = path
        self.size = 0
        self.hidden = hidden
        self._fd = descriptor
        self._waiting: list[bytes] = []
        self._waiting_size = 0
        self._kernel_copies = hasattr(os, "copy_file_range")

    @classmethod
    def create(cls, path: str) -> "ForkFile":
        """Begins a file that is to stand at `path`: mode 0600, missing directories 0700.

        Raises `SessionExists`, `WriteFailed`.
        """
        folder, name = os.path.split(path)
        hidden = os.path.join(folder, f".{name}.{os.getpid()}-{next(_numbers)}.{_ENDING}")
        try:
            make_directory(folder)
            if os.path.lexists(path):
                raise _exists(path)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(hidden)  # of a process with the same number, which crashed
            fd = os.open(hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise write_failed(path, error) from None
        return cls(path, hidden, fd)

    def put(self, raw: bytes) -> None:
        """Adds bytes. Raises `WriteFailed`."""
        self._waiting.append(raw)
        self._waiting_size += len(raw)
        self.size += len(raw)
        if self._waiting_size >= CHUNK:
            self._flush()

    def copy(self, held: Held | HeldBytes, start: int, size: int, going_on: Callable[[], None]) -> None:
        """Adds the bytes at a place of the source; `going_on` is called between steps, and may raise.

        Raises `WriteFailed`, `ReadFailed`, `SessionChangedOnDisk`.
        """
        if size <= _SMALL or isinstance(held, HeldBytes):
            self.put(held.read(start, size))
            return
        self._flush()
        end = start + size
        while start < end:
            going_on()
            start += self._copy_some(held, start, min(CHUNK, end - start))
        self.size += size

    def finish(self) -> None:
        """Makes the file whole and durable. Raises `WriteFailed`."""
        self._flush()
        try:
            sync_file(self._fd)
        except OSError as error:
            raise write_failed(self.path, error) from None

    def publish(self) -> None:
        """Gives the finished file its name, durably. Raises `SessionExists`, `WriteFailed`."""
        named = False
        try:
            self._take_name()
            named = True
            sync_directory(os.path.dirname(self.path))
        except FileExistsError:
            raise _exists(self.path) from None
        except OSError as error:
            raise write_failed(self.path, error, gone=not named or remove(self.path)) from None

    def discard(self) -> None:
        """Ends it: what has no name of its own is gone."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            remove(self.hidden)

    def _take_name(self) -> None:
        try:
            os.link(self.hidden, self.path)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            if os.path.lexists(self.path):  # without links there is no such step: names are unique by themselves
                raise FileExistsError from None
            os.rename(self.hidden, self.path)

    def _copy_some(self, held: Held, start: int, size: int) -> int:
        if self._kernel_copies:
            try:
                copied = os.copy_file_range(held.descriptor, self._fd, size, start)
            except OSError as error:
                if error.errno not in _NO_KERNEL_COPY:
                    raise write_failed(self.path, error) from None
                copied = 0
            if copied:
                return copied
            self._kernel_copies = False
        self._write(held.read(start, size))
        return size

    def _flush(self) -> None:
        raw = b"".join(self._waiting)
        self._waiting.clear()
        self._waiting_size = 0
        self._write(raw)

    def _write(self, raw: bytes) -> None:
        done = 0
        try:
            while done < len(raw):
                done += os.write(self._fd, memoryview(raw)[done:])
        except OSError as error:
            raise write_failed(self.path, error) from None


def _exists(path: str) -> SessionExists:
    return SessionExists(f"There is a file {path} already.", path=path)
