"""How full a session's context is, kept as it grows: each append costs what it added.

Nothing here waits for the tokenizer on the event loop: `glance` answers at once from what is known and a guess by
characters, or not at all; `usage` walks and counts in a thread.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Final

from pid.core.compaction import Limits, is_due
from pid.core.context import InEffect, entries_in_effect
from pid.core.speech import Estimator, Speech, speech_of, speech_of_path
from pid.core.tokens import Calibration, Size, TextsCounter, calibration_for
from pid.core.tree import ROOT
from pid.core.usage import Fill, estimator_for, fill, learned_overhead, reported
from pid.entries import Kind
from pid.protocol import ContextUsage
from pid.service.aside import Reader, aside
from pid.service.session import Session

_NEAR: Final = 64  # entries behind the last known fill that are added up instead of walking the context again
_NEAR_BYTES: Final = 256 << 10  # more bytes than this are not parsed on the loop
_COUNTED_CHARACTERS: Final = 1_000_000  # of a snapshot; counting takes a second for some millions
_FAR_KINDS: Final = frozenset({Kind.COMPACTION, Kind.CONTEXT_EDIT, Kind.SYSTEM})
"""Entries that change more than they add."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a call says about the limits instead of the settings."""

    reserve: int | None = None
    keep: int | None = None


NOTHING_ASKED: Final = Asked()
Basis = tuple[str, int | None]
"""The settings that an estimate hangs on: the estimator, and what the system prompt and the tools take."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A leaf as a plan sees it. It is used in a thread, and stays what it is while the session goes on.

    `known` says how full the context is, where a walk through all of it found that before. `basis` are the settings
    that it was made with.
    """

    leaf: int
    effect: InEffect
    speech: Speech
    estimator: Estimator
    limits: Limits
    bodies: Reader
    basis: Basis
    known: Fill | None


@dataclass(frozen=True, slots=True)
class _Known:
    leaf: int
    fill: Fill
    basis: Basis
    counted: bool  # by the tokenizer, and not by a guess


class Gauge:
    """The gauge of one session. `threads` are for walks."""

    def __init__(self, session: Session, threads: Executor, count: TextsCounter) -> None:
        self.session = session
        self.threads = threads
        self._count = count
        self._sizes: dict[int, Size] = {}  # by row: an entry is counted once
        self._calibration: Calibration | None = None
        self._learned: int | None = None
        self._known: _Known | None = None

    # At once

    def glance(self, leaf: int) -> ContextUsage | None:
        """How full the context at a leaf is, a few entries behind one that is known; None if it takes a walk.

        Raises `SessionChangedOnDisk`, `ReadFailed`.
        """
        found, known = self._near(leaf), self._known
        if found is None:
            return None
        if leaf == self.session.leaf and known is not None:
            self._known = replace(known, leaf=leaf, fill=found)
        return self._told(leaf, found)

    async def usage(self, leaf: int, *, counted: bool = True) -> ContextUsage:
        """How full the context at a leaf is; without `counted`, nothing waits for the tokenizer.

        Raises `SessionChangedOnDisk`, `ReadFailed`.
        """
        if (told := self.glance(leaf)) is not None and (self.is_counted or not counted):
            return told
        basis, is_leaf = self._basis, leaf == self.session.leaf
        found = await aside(self.threads, self.session, lambda bodies: self._walk(leaf, bodies, counted))
        if is_leaf:
            self._known = _Known(leaf, found, basis, counted)
        return self._told(leaf, found)

    def note(self, snapshot: Snapshot, found: Fill) -> None:
        """Takes notice of how full the context of a snapshot is, for nobody to walk through it again."""
        if snapshot.leaf == self.session.leaf:
            self._known = _Known(snapshot.leaf, found, snapshot.basis, counted=True)

    @property
    def is_counted(self) -> bool:
        """Whether what is known was counted, as far as counting matters."""
        return self._known is not None and (self._known.counted or not self._is_calibrated)

    @property
    def _basis(self) -> Basis:
        settings = self.session.settings
        return settings.token_estimator, settings.overhead_tokens

    @property
    def _is_calibrated(self) -> bool:
        return self.session.settings.token_estimator == "calibrated"

    def _near(self, leaf: int) -> Fill | None:
        tree, known = self.session.tree, self._known
        rows: list[int] = []
        row, size = leaf, 0
        while row != ROOT and (known is None or row != known.leaf):
            size += tree.sizes[row]
            if len(rows) == _NEAR or size > _NEAR_BYTES or tree.kinds[row] in _FAR_KINDS:
                return None
            rows.append(row)
            row = tree.parents[row]
        if leaf == ROOT:
            return Fill(0, 0, 0.0)
        if known is None or row == ROOT or known.basis != self._basis:
            return None
        return self._added(known.fill, rows[::-1])

    def _added(self, before: Fill, rows: list[int]) -> Fill:
        session = self.session
        effect = InEffect(rows[-1] if rows else ROOT, rows, ROOT, {}, "", None, ())
        speech = speech_of(session.tree, effect, session.bodies)
        estimator = Estimator(self._calibration or calibration_for(None)) if self._is_calibrated else Estimator()
        found = before
        for entry in speech.ahead(0, len(rows)):
            if report := reported(entry.message):
                found = Fill(report.total, 0, estimator.error)
            else:
                found = found.with_entry(speech, entry, estimator)
        return found

    def _told(self, leaf: int, found: Fill) -> ContextUsage:
        session = self.session
        return ContextUsage(
            tokens=found.tokens if found.tokens or leaf == ROOT else None,
            context_window=session.settings.context_window,
            source=found.source,
            usage_tokens=found.usage,
            estimated_tokens=found.estimated,
            error_bound=found.error,
            should_compact=is_due(found.tokens, self._limits(NOTHING_ASKED)),
            leaf_id=session.tree.id_of(leaf),
            revision=session.revision,
        )

    # In a thread

    def snapshot(
        self,
        leaf: int,
        bodies: Reader,
        asked: Asked = NOTHING_ASKED,
        *,
        counted: bool = True,
        meanwhile: Callable[[InEffect, Limits], None] | None = None,
    ) -> Snapshot:
        """A leaf with all that a plan needs; for a thread: it may read the whole context, and waits for counts.

        `meanwhile` is what can be done already while the counting begins.
        """
        tree, basis = self.session.tree, self._basis
        known = self._walked(leaf, basis)
        effect = entries_in_effect(tree, leaf, bodies)
        count = self._counter() if self._is_calibrated and counted else None
        if meanwhile is not None:
            if count is not None:
                self._count(())
            meanwhile(effect, self._limits(asked))
        speech = speech_of(tree, effect, bodies, count=count, sizes=self._sizes if count else None)
        estimator = Estimator()
        if self._is_calibrated:
            estimator = estimator_for(speech, effect.model.model_id if effect.model else None)
            self._calibration = estimator.calibration
        _measure_tail(speech, estimator, self._limits(asked).keep)
        if self._learned is None and self.session.settings.overhead_tokens is None:
            path = speech_of_path(tree, effect, bodies, count=count)
            self._learned = learned_overhead(path, estimator)
        return Snapshot(leaf, effect, speech, estimator, self._limits(asked), bodies, basis, known)

    def _walked(self, leaf: int, basis: Basis) -> Fill | None:
        """What an earlier walk found. A report is never far away: then looking again costs little, and is exact."""
        known = self._known
        if known is None or (known.leaf, known.basis) != (leaf, basis) or known.fill.usage or not self.is_counted:
            return None
        return known.fill

    def _walk(self, leaf: int, bodies: Reader, counted: bool) -> Fill:
        found = self.snapshot(leaf, bodies, counted=counted)
        return fill(found.speech, found.estimator, found.limits.overhead)

    def _counter(self) -> TextsCounter:
        """Counts the first texts that it gets, and leaves the rest to be guessed: what is newest is asked for first."""
        left = _COUNTED_CHARACTERS

        def count(texts: Sequence[str]) -> Sequence[int] | None:
            nonlocal left
            left -= sum(map(len, texts))
            return self._count(texts) if left > 0 else None

        return count

    def _limits(self, asked: Asked) -> Limits:
        settings = self.session.settings
        overhead = settings.overhead_tokens if settings.overhead_tokens is not None else self._learned
        return Limits(
            window=settings.context_window,
            reserve=settings.reserve_tokens if asked.reserve is None else asked.reserve,
            keep=settings.keep_recent_tokens if asked.keep is None else asked.keep,
            overhead=overhead or 0,
        )


def _measure_tail(speech: Speech, estimator: Estimator, keep: int) -> None:
    """Sees to the sizes of about what a plan keeps, before anybody asks for those of what is older."""
    tokens, place = 0, len(speech)
    while place > 0 and tokens < 2 * keep:
        place -= 1
        tokens += estimator.entry(speech, speech[place])
