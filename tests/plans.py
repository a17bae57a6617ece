"""Plans of trees and of session files, for tests: what a plan says in ids, as pi says it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pid.core.compaction import Limits, Plan, plan
from pid.core.context import InEffect, entries_in_effect
from pid.core.files import files_of
from pid.core.speech import Estimator, Speech, speech_of
from pid.core.tokens import Message
from pid.protocol import Overflow
from tests.trees import Loaded, load, tree_of

Json = dict[str, Any]
CHARS4 = Estimator()


@dataclass(frozen=True)
class View:
    """A session at a leaf."""

    session: Loaded
    effect: InEffect
    speech: Speech

    def plan(self, keep: int, overflow: Overflow | None = None, **limits: int) -> Plan:
        return plan(self.speech, CHARS4, Limits(keep=keep, **limits), overflow)

    def ids(self, rows: Any) -> list[str]:
        return self.session.ids(rows)

    def said(self, start: int, stop: int) -> list[tuple[str, Message]]:
        """What entries say that is summarised: all but the system prompt."""
        entries = self.speech.ahead(start, stop)
        ids = self.session.tree.ids
        return [(ids[entry.row], m) for entry in entries for m in entry.messages if m.get("role") != "system"]

    def first_kept(self, found: Plan) -> str | None:
        return self.session.tree.ids[found.kept[0]] if found.kept else None

    def as_pi(self, found: Plan) -> Json:
        """The plan in the words of pi's `prepareCompaction`."""
        summarised = [message for _, message in self.said(found.begin, found.cut)]
        files = files_of(summarised)
        return {
            "firstKeptEntryId": self.first_kept(found),
            "isSplitTurn": found.is_split_turn,
            "tokensBefore": found.tokens_before,
            "previousSummary": self.speech[0].messages[-1]["summary"] if found.begin else None,
            "messagesToSummarize": len(self.said(found.begin, found.turn_start)),
            "turnPrefixMessages": len(self.said(found.turn_start, found.cut)),
            "fileOps": {"readFiles": files.read_files, "modifiedFiles": files.modified_files},
        }


def view(session: Loaded, leaf: int | None = None) -> View:
    effect = entries_in_effect(session.tree, session.tree.last if leaf is None else leaf, session.bodies)
    return View(session, effect, speech_of(session.tree, effect, session.bodies))


def view_of(text: str) -> View:
    """A tree written as text (`tests.trees`), at its last entry."""
    return view(tree_of(text))


def view_of_bytes(data: bytes) -> View:
    return view(load(data))
