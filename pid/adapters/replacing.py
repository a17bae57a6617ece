"""Another file in the place of an old one: how a session of version 1 or 2 becomes one of version 3.

A draft (`Journal.draft`) is made whole beside the old file. `keep` makes it durable and gives the old file a second
name; `take_name` then puts the draft in its place with one rename. A crash at any point leaves one or the other
whole; a draft that it leaves behind is harmless. Nothing is ever overwritten but the name that is taken.
"""

import errno
import itertools
import os
from collections.abc import Iterator
from typing import Final

from pid.adapters.directories import sync_directory
from pid.adapters.failures import write_failed
from pid.adapters.journal import Found, Journal
from pid.errors import WriteFailed

DRAFT: Final = "pid-draft"
_COPY: Final = "pid-copy"
_NO_LINKS: Final = frozenset(
    {errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.EMLINK, errno.EXDEV, errno.EACCES, errno.EINVAL}
)
_PIECE: Final = 4 << 20


def keep(old: Journal, draft: Journal) -> str:
    """Makes the draft durable and keeps the old file under another name, `<its name>.v1`, which it returns.

    Blocks for the syncs. Raises `WriteFailed` (`notWritten`).
    """
    try:
        draft.sync()
        name = _linked(old) or _copied(old)
        sync_directory(os.path.dirname(old.path))
    except WriteFailed as error:
        raise WriteFailed(error.message, **error.details | {"outcome": "notWritten"}) from None
    except OSError as error:
        raise write_failed(old.path, error) from None
    return name


def take_name(old: Journal, draft: Journal) -> None:
    """Puts the draft in the place of the old file, which must be as it was read. Its next sync makes the name durable.

    Raises `WriteFailed` (`notWritten`), `SessionChangedOnDisk`.
    """
    if old.verify() is not Found.SAME:
        message = f"Nothing was written to {old.path}: another program wrote to it. Try again."
        raise WriteFailed(message, errno=errno.EAGAIN, outcome="notWritten")
    try:
        os.rename(draft.path, old.path)
    except OSError as error:
        raise write_failed(old.path, error) from None
    draft.path, draft.name_synced = old.path, False


def _names(old: Journal) -> Iterator[str]:
    """Names for the old file: the first that is free, or is this file already, after a crash."""
    yield f"{old.path}.v1"
    yield from (f"{old.path}.v1.{number}" for number in itertools.count(2))


def _linked(old: Journal) -> str | None:
    """The second name of the old file; None where there are no hard links."""
    for name in _names(old):
        try:
            os.link(old.path, name, follow_symlinks=False)
        except FileExistsError:
            if not _is(name, old.path):
                continue
        except OSError as error:
            if error.errno in _NO_LINKS:
                return None
            raise
        return name
    raise AssertionError("the names never end")


def _is(name: str, path: str) -> bool:
    found, other = os.lstat(name), os.stat(path)
    return (found.st_dev, found.st_ino) == (other.st_dev, other.st_ino)


def _copied(old: Journal) -> str:
    copy = Journal.draft(old, _COPY, {})
    try:
        size = os.stat(old.path).st_size
        for start in range(0, size, _PIECE):
            copy.put(old.read([(start, min(_PIECE, size - start))])[0])
        copy.sync()
        name = next(name for name in _names(old) if not os.path.lexists(name))
        os.rename(copy.path, name)
    except BaseException:
        copy.discard()
        raise
    copy.close()
    return name
