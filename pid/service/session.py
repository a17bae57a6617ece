"""One resident session: its tree, its leaf, and the answers to who reads and writes it.

The tree says what is in the file and nothing else; the leaf is this daemon's own. Writes go through one `WriteOrder`;
a read waits for the writes that arrived before it. Knows no JSON-RPC, and opens no file itself.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Final, Protocol

from msgspec import Raw

from pid.adapters.failures import changed_on_disk
from pid.adapters.journal import Found, Journal
from pid.adapters.memory import MemoryJournal
from pid.core.lines import DAMAGED, PLAIN, PROVEN, UNCLEAN
from pid.core.messages import plain_message, proven_message
from pid.core.spans import Span
from pid.core.tree import ROOT, Change, Tree
from pid.entries import INVALID_UTF8, MESSAGE_KINDS, NO_TIME, NOT_UTF8, DamagedLine, clean, is_utf8, iso_of
from pid.errors import SessionChangedOnDisk
from pid.protocol import (
    DidCloseNotice,
    Problem,
    ProblemsNotice,
    RunningCompaction,
    SessionState,
    Settings,
    SettingsProblem,
    SettingsUpdate,
    Wire,
)
from pid.service.changes import ChangeLog
from pid.service.settings import resolve, update
from pid.service.turns import moment

SLICE_ROWS: Final = 512
"""Bodies that one slice of a long answer reads: with ordinary entries about 1 MiB, a few milliseconds."""
_STATE: Final = PROVEN | UNCLEAN | DAMAGED


class Outlet(Protocol):
    """Where notifications go: to the client, if it asked for them."""

    def wants(self, method: str) -> bool:
        """Whether the client named this notification."""

    def send(self, method: str, params: Wire) -> None:
        """Sends it, behind everything sent before."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What comes from outside: the way to the client, the clock (ms), ids, and threads for what blocks."""

    outlet: Outlet
    now: Callable[[], int]
    new_entry_id: Callable[[], str]
    new_session_id: Callable[[], str]
    new_epoch: Callable[[], str]
    threads: Executor


class Session:
    """See the module. `leaf` is a row; `revision` counts changes within `epoch`."""

    def __init__(self, journal: Journal | MemoryJournal, tree: Tree, around: Surroundings) -> None:
        self.journal = journal
        self.tree = tree
        self.around = around
        self.session_id = journal.scanner.session_id
        self.epoch = around.new_epoch()
        self.leaf = ROOT
        self.problems: list[Problem] = []
        self.opens = 1
        self.lost: SessionChangedOnDisk | None = None
        self.settings = Settings()
        self.settings_problems: tuple[SettingsProblem, ...] = ()
        self._layers: tuple[SettingsUpdate | None, ...] = (None,)
        self.log = ChangeLog()
        self._glanced: object | None = None  # the moment in which the file was found to be the same

    @property
    def revision(self) -> int:
        """The number of changes since the session was loaded."""
        return self.log.revision

    @property
    def leaf_id(self) -> str | None:
        """The id of the leaf."""
        return self.tree.id_of(self.leaf)

    def set_settings(self, *layers: SettingsUpdate | None) -> None:
        """Sets the layers of the session's settings below what `configure` changes, the highest first."""
        self._layers = (None, *layers)
        self.settings = resolve(self._layers)

    def give(self, opening: SettingsUpdate) -> None:
        """Takes the settings of another opening in the place of those of the one before."""
        own, _, *below = self._layers
        self._layers = (own, opening, *below)
        self.settings = resolve(self._layers)

    def configure(self, change: SettingsUpdate) -> Settings:
        """Changes settings, above all layers; null takes one back to what these say. Returns those in effect."""
        own, *below = self._layers
        self._layers = (update(own, change), *below)
        self.settings = resolve(self._layers)
        return self.settings

    @property
    def cwd(self) -> str:
        """The working directory that the header names; "" if it names none."""
        return _text((self.journal.scanner.header or {}).get("cwd")) or ""

    # Loading

    def begin(self, change: Change) -> None:
        """Takes what loading found: the session's first state. The leaf is the file's last sound entry."""
        self.problems = list(change.problems)
        self.leaf = self._last_sound()
        self.log.begin(len(self.tree))

    def follow(self, rows: Iterable[int]) -> None:
        """Moves the leaf along what others appended, as far as that extends it and is sound."""
        self._last_sound()
        chain = [self.leaf]
        for row in rows:
            if self.tree.parents[row] == chain[-1] and not self.tree.is_hidden(row):
                chain.append(row)
        while len(chain) > 1 and not self._sound(chain[-1]):
            chain.pop()
        self.leaf = chain[-1]

    def take_file(self, journal: Journal, tree: Tree) -> None:
        """Goes on with another file under the same name, whose first rows are those of the present one."""
        self.journal.close()
        self.journal, self.tree = journal, tree

    def _last_sound(self) -> int:
        """The leaf as the file says; what is found damaged on the way is marked so, and is no leaf any more."""
        tree = self.tree
        for row in range(len(tree) - 1, -1, -1):
            if tree.flags[row] & DAMAGED or not (tree.is_hidden(row) or self._sound(row)):
                continue
            shown = tree.visible(row)
            while shown != ROOT and not self._sound(shown):
                shown = tree.parents[shown]
            return shown
        return ROOT

    # Bodies

    def bodies(self, rows: Sequence[int]) -> list[bytes]:
        """The stored bytes of rows as they may go out, b"" for a damaged one; proven at their first use.

        Raises `SessionChangedOnDisk`, `ReadFailed`. For a few hundred rows at a time: it holds the loop.
        """
        found = self.stored(rows)
        flags = self.tree.flags
        for index, row in enumerate(rows):
            if flags[row] & _STATE != PROVEN:
                found[index] = self._proved(row, found[index])
        return found

    def messages(self, rows: Sequence[int]) -> list[bytes | Raw]:
        """`bodies`, but of a plain line the message alone, as `Raw`: cut out of what was read in one go."""
        flags, left = self.tree.flags, iter(rows)
        found: list[bytes | Raw] = []
        for run, places in self.journal.runs(self._spans(rows)):
            for (start, size), row in zip(places, left, strict=False):
                if flags[row] & PLAIN:
                    found.append(Raw(plain_message(run, start, start + size)))
                elif (message := self._plain(row, run, start, size)) is not None:
                    found.append(Raw(message))
                else:
                    body = run[start : start + size]
                    found.append(body if flags[row] & _STATE == PROVEN else self._cleaned(row, body))
        return found

    def stored(self, rows: Sequence[int]) -> list[bytes]:
        """The bytes of rows as they stand in the file, unproven; raises as `bodies` does."""
        if len(rows) > 1 and rows[0] > rows[-1]:  # from the leaf up: neighbours are read in one go in file order only
            return self.journal.read(self._spans(rows[::-1]))[::-1]
        return self.journal.read(self._spans(rows))

    def _spans(self, rows: Sequence[int]) -> list[Span]:
        """Where rows stand in the file, which is as it was read."""
        if self.glance() is Found.REPLACED:  # for this read alone: the next one looks into the new file
            raise changed_on_disk(str(self.journal.path), "replaced")
        starts, sizes = self.tree.starts, self.tree.sizes
        return [(starts[row], sizes[row]) for row in rows]

    def body(self, row: int) -> bytes:
        """The bytes of one row; see `bodies`."""
        return self.bodies((row,))[0]

    def _sound(self, row: int) -> bool:
        return bool(self.body(row))

    def _proved(self, row: int, raw: bytes) -> bytes:
        return self._cleaned(row, raw) if self._plain(row, raw, 0, len(raw)) is None else raw

    def _plain(self, row: int, raw: bytes, start: int, size: int) -> bytes | None:
        """The message of a row that was not looked at yet, if it turns out to be plain."""
        flags = self.tree.flags
        if flags[row] & (_STATE | PLAIN) or self.tree.kinds[row] not in MESSAGE_KINDS:
            return None
        message = proven_message(raw, start, start + size)
        if message is not None:
            flags[row] |= PROVEN | PLAIN
        return message

    def _cleaned(self, row: int, raw: bytes) -> bytes:
        flags = self.tree.flags
        if flags[row] & DAMAGED:
            return b""
        try:
            cleaned = clean(raw)
        except DamagedLine as error:
            flags[row] |= DAMAGED
            self._tell_of(row, error.kind, str(error))
            return b""
        if cleaned is not raw and not flags[row] & UNCLEAN:
            flags[row] |= UNCLEAN
            if not is_utf8(raw):
                self._tell_of(row, INVALID_UTF8, NOT_UTF8)
        flags[row] |= PROVEN
        return cleaned

    def _tell_of(self, row: int, kind: str, message: str) -> None:
        line = self.journal.line_at(self.tree.starts[row])
        self.tell(Problem(line=line, kind=kind, message=message, entry_id=self.tree.ids[row]))

    def check(self) -> Found:
        """Whether the file is as it was read; raises `SessionChangedOnDisk` once and for ever if it is lost."""
        if self.lost:
            raise self.lost
        try:
            return self.journal.verify()
        except SessionChangedOnDisk as error:
            self.lose(error)
            raise

    def glance(self) -> Found:
        """`check` for reads, made once for all that begin together: each was asked for before it."""
        now = moment()
        if now is not None and now is self._glanced:
            return Found.SAME
        found = self.check()
        self._glanced = now if found is Found.SAME else None
        return found

    def lose(self, error: SessionChangedOnDisk) -> None:
        """The file is gone or another: nothing more is read or written, and the client is told."""
        if self.lost is None:
            self.lost = error
            reason = str(error.details["reason"])
            self.around.outlet.send("session/didClose", DidCloseNotice(session_id=self.session_id, reason=reason))

    def tell(self, *problems: Problem) -> None:
        """Adds problems to the session's state and tells the client."""
        if problems:
            self.problems += problems
            self.around.outlet.send(
                "session/problems", ProblemsNotice(session_id=self.session_id, added=list(problems))
            )

    # State

    def state(self, compaction: RunningCompaction | None = None) -> SessionState:
        """The session as it is now, with the compaction that goes on."""
        header = self.journal.scanner.header or {}
        tree = self.tree
        return SessionState(
            session_id=self.session_id,
            path=self.journal.path,
            cwd=self.cwd,
            name=tree.name,
            parent_session=_text(header.get("parentSession")),
            version=self.journal.scanner.version,
            leaf_id=self.leaf_id,
            file_leaf_id=tree.id_of(tree.last),
            revision=self.revision,
            epoch=self.epoch,
            entry_count=tree.visible_count,
            created_at=_text(header.get("timestamp")),
            modified_at=self._modified_at() or _text(header.get("timestamp")),
            settings=self.settings,
            compaction=compaction,
            problems=self.problems,
            settings_problems=self.settings_problems,
        )

    def _modified_at(self) -> str | None:
        """The time of the newest message, or else of the newest entry."""
        times, kinds = self.tree.times, self.tree.kinds
        newest = NO_TIME
        for row in range(len(times) - 1, -1, -1):
            if times[row] == NO_TIME or self.tree.is_hidden(row):
                continue
            if kinds[row] in MESSAGE_KINDS:
                return iso_of(times[row])
            newest = max(newest, times[row])
        return None if newest == NO_TIME else iso_of(newest)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
