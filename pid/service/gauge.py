"""How full a session's context is, kept as it grows: each append costs what it added.

Nothing here waits for the tokenizer: a guess by characters answers until it is loaded, which happens off the loop
when a session first has a window to watch. A long walk (no reported usage in reach) runs in a thread.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pid.adapters.tokenizer import Tokenizer
from pid.core.compaction import Limits, is_due
from pid.core.context import Bodies, InEffect, entries_in_effect
from pid.core.speech import Estimator, Speech, speech_of, speech_of_path
from pid.core.tokens import Calibration, Size, TokenCounter, calibration_for
from pid.core.tree import ROOT
from pid.core.usage import Fill, estimator_for, fill, learned_overhead, reported
from pid.entries import DamagedLine, Kind, clean
from pid.protocol import ContextUsage, Settings
from pid.service.session import Session

_NEAR: Final = 64  # entries behind the last known fill that are added up instead of walking the context again


def bodies_aside(session: Session) -> Bodies:
    """A body reader for a thread: it marks nothing and tells nobody. Raises `ReadFailed`, `SessionChangedOnDisk`."""
    journal, starts, sizes = session.journal, session.tree.starts, session.tree.sizes

    def cleaned(raw: bytes) -> bytes:
        try:
            return clean(raw)
        except DamagedLine:
            return b""

    def bodies(rows: Sequence[int]) -> list[bytes]:
        return [cleaned(raw) for raw in journal.read([(starts[row], sizes[row]) for row in rows])]

    return bodies


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A leaf as a plan sees it. It is used in a thread, and stays what it is while the session goes on."""

    leaf: int
    effect: InEffect
    speech: Speech
    estimator: Estimator
    limits: Limits


@dataclass(frozen=True, slots=True)
class _Known:
    leaf: int
    fill: Fill


class Gauge:
    """The gauge of one session. `sizes` are kept by row: an entry is measured once."""

    def __init__(self, session: Session, tokenizer: Tokenizer) -> None:
        self.session = session
        self._tokenizer = tokenizer
        self._sizes: dict[int, Size] = {}
        self._counted = False  # `sizes` were made with the tokenizer
        self._calibration: Calibration | None = None
        self._overhead: int | None = None
        self._known: _Known | None = None

    async def usage(self, leaf: int) -> ContextUsage:
        """How full the context at a leaf is."""
        found = self._near(leaf)
        if found is None:
            found = await self._in_thread(leaf)
        if leaf == self.session.leaf:
            self._known = _Known(leaf, found)
        return self._told(leaf, found)

    def limits(self, settings: Settings, *, reserve: int | None = None, keep: int | None = None) -> Limits:
        """The limits that the settings give; a call may name its own."""
        overhead = settings.overhead_tokens if settings.overhead_tokens is not None else self._overhead
        return Limits(
            window=settings.context_window,
            reserve=settings.reserve_tokens if reserve is None else reserve,
            keep=settings.keep_recent_tokens if keep is None else keep,
            overhead=overhead or 0,
        )

    def snapshot(self, leaf: int, limits: Limits) -> Snapshot:
        """A leaf with all that a plan needs; for a thread: it loads the tokenizer, and may read the whole context."""
        tree, bodies = self.session.tree, bodies_aside(self.session)
        count = self._counter(self._tokenizer.load() if self._is_calibrated else None)
        effect = entries_in_effect(tree, leaf, bodies)
        speech = speech_of(tree, effect, bodies, count=count, sizes=self._sizes)
        estimator = Estimator()
        if self._is_calibrated:
            estimator = estimator_for(speech, effect.model.model_id if effect.model else None, count)
            self._calibration = estimator.calibration
        return Snapshot(leaf, effect, speech, estimator, limits)

    @property
    def _is_calibrated(self) -> bool:
        return self.session.settings.token_estimator == "calibrated"

    def _counter(self, counter: TokenCounter | None) -> TokenCounter | None:
        if counter is not None and not self._counted:
            self._sizes.clear()
            self._counted = True
            self._known = None
        return counter

    def _near(self, leaf: int) -> Fill | None:
        """The fill at a leaf a few entries behind a reported usage or the last known leaf; None if it takes a walk."""
        tree, known = self.session.tree, self._known
        rows: list[int] = []
        row = leaf
        while row != ROOT and len(rows) < _NEAR and tree.kinds[row] not in (Kind.COMPACTION, Kind.CONTEXT_EDIT):
            if known is not None and row == known.leaf:
                return self._added(known.fill, rows)
            rows.append(row)
            row = tree.parents[row]
        return Fill(0, 0, 0.0) if leaf == ROOT else None

    def _added(self, before: Fill, rows: list[int]) -> Fill:
        rows.reverse()
        effect = InEffect(rows[-1] if rows else ROOT, rows, ROOT, {}, "", None, ())
        count = self._tokenizer.counter if self._counted else None
        speech = speech_of(self.session.tree, effect, self.session.bodies, count=count, sizes=self._sizes)
        estimator = Estimator(self._calibration or calibration_for(None), count) if self._is_calibrated else Estimator()
        usage, estimated = before.usage, before.estimated
        for entry in speech.ahead(0, len(rows)):
            if report := reported(entry.message):
                usage, estimated = report.total, 0
            else:
                estimated += estimator.entry(speech, entry)
        return Fill(usage, estimated, estimator.error)

    async def _in_thread(self, leaf: int) -> Fill:
        settings = self.session.settings
        loop = asyncio.get_running_loop()

        def walk() -> Fill:
            found = self.snapshot(leaf, self.limits(settings))
            if settings.overhead_tokens is None and self._overhead is None:
                self._overhead = self._learned(found)
            return fill(found.speech, found.estimator, self.limits(settings).overhead)

        return await loop.run_in_executor(self.session.around.threads, walk)

    def _learned(self, found: Snapshot) -> int:
        count = self._tokenizer.counter if self._counted else None
        path = speech_of_path(self.session.tree, found.effect, bodies_aside(self.session), count=count)
        return learned_overhead(path, found.estimator)

    def _told(self, leaf: int, found: Fill) -> ContextUsage:
        session = self.session
        return ContextUsage(
            tokens=found.tokens if found.tokens or leaf == ROOT or len(session.tree) else None,
            context_window=session.settings.context_window,
            source=found.source,
            usage_tokens=found.usage,
            estimated_tokens=found.estimated,
            error_bound=found.error,
            should_compact=is_due(found.tokens, self.limits(session.settings)),
            leaf_id=session.tree.id_of(leaf),
            revision=session.revision,
        )
