"""What a compaction or a branch summary is made of: the plan, the material, the requests, the entry.

A draft is made in a thread, from a snapshot, and changes nothing; a long history is streamed through it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, takewhile
from typing import Any, Final

from pid.core import extractive
from pid.core.compaction import Limits, Plan, left_rows, plan, system_message
from pid.core.context import Bodies, InEffect, marks_of, messages_in_effect, rows_of_kinds
from pid.core.files import NO_FILES, merged, recorded, uses_of
from pid.core.material import Material
from pid.core.prompts import Capacity, Part, Purpose, Task, newest_parts, reckoned, task
from pid.core.speech import Entry
from pid.core.summary import Summary
from pid.core.transcript import RESULT_UNITS
from pid.core.tree import Tree
from pid.core.usage import Fill, fill
from pid.entries import Kind, read_body
from pid.errors import NothingToCompact
from pid.protocol import CompactionPlan, FileDetails, Overflow, SummaryRequest
from pid.service.aside import Reader
from pid.service.file_uses import FileUses
from pid.service.gauge import Snapshot

_LATER_NOTES: Final = "(the notes on the pieces before this one)"
_WITH_FILES: Final = marks_of(Kind.COMPACTION, Kind.BRANCH_SUMMARY)
_RESULTS: Final = marks_of(Kind.TOOL_RESULT)
_BESIDE: Final = 500
"""Bytes of a line beside its text: ids, times, usage, signatures."""
Make = Callable[[Capacity], Task]


@dataclass(frozen=True, slots=True)
class Draft:
    """A compaction before its summary is written. `system` is the replayed system prompt, if there is one; `filled`
    says how full the context was.
    """

    tree: Tree
    snapshot: Snapshot
    filled: Fill
    plan: Plan
    material: Material
    system: dict[str, Any] | None
    instructions: str | None

    @property
    def first_kept_id(self) -> str | None:
        """The id of the cut point; None if nothing is kept."""
        return self.tree.ids[self.plan.kept[0]] if self.plan.kept else None

    @property
    def replaced(self) -> int:
        """The tokens that the summary stands for."""
        return max(1, self.plan.tokens_before - self.plan.tokens_kept - self.snapshot.limits.overhead)

    def tokens(self, text: str) -> int:
        """The estimate of a text."""
        return self.snapshot.estimator.text(text)

    def tasks(self) -> list[Make]:
        """The tasks, each to be made for a capacity: the history, then the head of a split turn, where there is any."""
        found: list[Make] = []
        if self.material.history:
            found.append(lambda capacity: self._task("history", self.material.history, capacity))
        if self.plan.is_split_turn and self.material.turn_head:
            found.append(lambda capacity: self._task("turnPrefix", self.material.turn_head, capacity))
        return found

    def _task(self, purpose: Purpose, parts: Sequence[Part], capacity: Capacity) -> Task:
        earlier = self.material.notes if purpose == "history" else None
        reply = capacity.reply(self.snapshot.limits.reserve, purpose)
        return task(
            purpose,
            parts,
            capacity,
            self.tokens,
            max_tokens=reply,
            earlier=earlier or None,
            instructions=self.instructions,
        )

    def summary(self, answers: Sequence[str]) -> Summary:
        """The summary of the answers to `tasks`; earlier notes go on where the history has nothing new."""
        rest = list(answers)
        history = rest.pop(0) if self.material.history else self.material.notes
        return self.material.summary(history, rest[0] if rest else "")

    def extract(self) -> Summary:
        """The summary without a model."""
        return extractive.summary(self.material, self.snapshot.limits.window)

    def tokens_after(self, text: str) -> int:
        """The estimate of the context with this summary."""
        return self.snapshot.limits.overhead + self.tokens(text) + self.plan.tokens_kept

    def entry(self, text: str, usage: dict[str, Any] | None, now: int) -> dict[str, Any]:
        """The `compaction` entry; `now` in ms."""
        system = {"systemMessage": {**self.system, "timestamp": now}} if self.system else {}
        return {
            "type": "compaction",
            "summary": text,
            "firstKeptEntryId": self.first_kept_id,
            "tokensBefore": self.plan.tokens_before,
            "details": details_of(self.material.files),
            **({"usage": usage} if usage else {}),
            **system,
        }

    def preview(self, capacity: Capacity) -> CompactionPlan:
        """The plan as clients see it, with the requests that a summarizer of this capacity would get."""
        sent = [request for make in self.tasks() for request in requests_of(make(capacity))]
        return self._shown(len(sent), sum(self.tokens(request.system + request.prompt) for request in sent), sent)

    def outline(self, capacity: Capacity) -> CompactionPlan:
        """The plan as clients see it, of a draft that read nothing but the files: how much a summarizer of this
        capacity would get is reckoned from the sizes of the entries.
        """
        parts = list(self._parts())
        found = [
            reckoned(
                purpose,
                weight,
                capacity,
                self.tokens,
                max_tokens=capacity.reply(self.snapshot.limits.reserve, purpose),
                earlier=notes or None,
                instructions=self.instructions,
            )
            for (purpose, _, notes), weight in zip(parts, self._weights([rows for _, rows, _ in parts]), strict=True)
        ]
        return self._shown(sum(count for count, _ in found), sum(tokens for _, tokens in found), None)

    def _parts(self) -> Iterator[tuple[Purpose, Sequence[int], str]]:
        if self.plan.history:
            yield "history", self.plan.history, self.material.notes
        if self.plan.turn_head:
            yield "turnPrefix", self.plan.turn_head, ""

    def _weights(self, parts: Sequence[Sequence[int]]) -> list[int]:
        """The tokens of each part in a transcript, which shortens results, at the rate of all that is summarised."""
        results = [rows_of_kinds(self.tree, rows, _RESULTS) for rows in parts]
        whole = [self._bytes_above(_BESIDE, rows) for rows in parts]
        cut = [self._bytes_above(_BESIDE + RESULT_UNITS, rows) for rows in results]
        return [self.replaced * (size - less) // max(1, sum(whole)) for size, less in zip(whole, cut, strict=True)]

    def _bytes_above(self, least: int, rows: Sequence[int]) -> int:
        """The bytes of rows beyond the first so many of each."""
        sizes = self.tree.sizes
        longer = [size for row in rows if (size := sizes[row]) > least]
        return sum(longer) - least * len(longer)

    def _shown(self, count: int, tokens: int, requests: list[SummaryRequest] | None) -> CompactionPlan:
        ids, found = self.tree.ids, self.plan
        return CompactionPlan(
            first_kept_entry_id=self.first_kept_id,
            is_split_turn=found.is_split_turn,
            turn_start_entry_id=ids[found.turn_head[0]] if found.is_split_turn else None,
            summarize_entry_ids=[ids[row] for row in found.history],
            turn_prefix_entry_ids=[ids[row] for row in found.turn_head],
            keep_entry_ids=[ids[row] for row in found.kept],
            previous_summary=self.material.earlier or None,
            tokens_before=found.tokens_before,
            tokens_after=found.tokens_after,
            details=self.material.files,
            request_count=count,
            request_tokens=tokens,
            requests=requests,
        )


MakeDraft = Callable[[Tree, Snapshot, Overflow | None, str | None], Draft]
"""Makes a draft from a snapshot; what is asked of an overflow, and the instructions, come with it."""


def details_of(files: FileDetails) -> dict[str, list[str]]:
    """File lists as pi stores them in `details`."""
    return {"readFiles": list(files.read_files), "modifiedFiles": list(files.modified_files)}


def requests_of(made: Task) -> Iterable[SummaryRequest]:
    """The requests of a task, with a stand-in for notes that are not written yet."""
    return (made.request(index, _LATER_NOTES) for index in range(len(made.pieces)))


def draft_of(
    tree: Tree, snapshot: Snapshot, overflow: Overflow | None, instructions: str | None, *, for_model: bool
) -> Draft:
    """The draft of a compaction; unless it is `for_model`, there are no tasks. Raises `NothingToCompact`."""
    draft = _planned(tree, snapshot, overflow, instructions, transcribed=for_model)
    speech, found, material = snapshot.speech, draft.plan, draft.material
    _take_in(material, tree, speech.stream(found.begin, found.turn_start), in_turn_head=False)
    _take_in(material, tree, speech.stream(found.turn_start, found.cut), in_turn_head=True)
    for part in speech.stream(found.cut, len(found.rows)):
        for entry in part:
            for message in entry.messages:
                material.keep(message)
    return replace(draft, system=system_message(speech))


def outline_of(
    tree: Tree, snapshot: Snapshot, overflow: Overflow | None, instructions: str | None, *, uses: FileUses
) -> Draft:
    """The draft of a compaction for an outline: what is summarised is read for the files that its calls name alone.

    Raises `NothingToCompact`.
    """
    draft = _planned(tree, snapshot, overflow, instructions, transcribed=False)
    effect, bodies, material = snapshot.effect, snapshot.bodies, draft.material
    rows = [*draft.plan.history, *draft.plan.turn_head]
    edited = [row for row in rows if row in effect.edits] if effect.edits else []
    material.use(uses.of(tree, [row for row in rows if row not in effect.edits] if edited else rows, bodies))
    for row in edited:
        for _, message in messages_in_effect(tree, effect, [row], bodies([row]), []):
            material.use(uses_of(read_body(bytes(message))))
    return draft


_MOST_BYTES_A_TOKEN: Final = 8
ReadAhead = Callable[[Tree, Reader, InEffect, Limits], None]
"""Reads what a draft will need, before there is a plan."""


def read_ahead(uses: FileUses, tree: Tree, reader: Reader, effect: InEffect, limits: Limits) -> None:
    """Looks through what is so far back that hardly any plan keeps it, for the files that its calls name."""
    newest_first = accumulate(map(tree.sizes.__getitem__, reversed(effect.rows)))
    near = sum(1 for _ in takewhile(lambda size: size <= _MOST_BYTES_A_TOKEN * limits.keep, newest_first))
    uses.read(tree, effect.rows[: len(effect.rows) - near], reader)


def _planned(
    tree: Tree, snapshot: Snapshot, overflow: Overflow | None, instructions: str | None, *, transcribed: bool
) -> Draft:
    """The draft as far as the plan goes. Raises `NothingToCompact`."""
    speech = snapshot.speech
    filled = snapshot.known or fill(speech, snapshot.estimator, snapshot.limits.overhead)
    found = plan(speech, snapshot.estimator, snapshot.limits, overflow, filled)
    earlier = str(speech[0].messages[-1].get("summary") or "") if found.begin else ""
    files = _recorded(tree, snapshot.bodies, found.rows[: found.cut])
    material = Material(snapshot.estimator.text, earlier, files, transcribed=transcribed)
    return Draft(tree, snapshot, filled, found, material, None, instructions)


def _take_in(material: Material, tree: Tree, parts: Iterable[list[Entry]], *, in_turn_head: bool) -> None:
    for part in parts:
        for entry in part:
            for message in entry.messages:
                if message.get("role") != "system":
                    material.add(tree.ids[entry.row], message, in_turn_head=in_turn_head)


def _recorded(tree: Tree, bodies: Bodies, rows: Sequence[int]) -> FileDetails:
    """The files that the compactions and branch summaries among these rows have in their `details`."""
    chosen = rows_of_kinds(tree, rows, _WITH_FILES)
    details = [read_body(body).get("details") for row in chosen if (body := bodies([row])[0])]
    return merged(*map(recorded, details)) if details else NO_FILES


@dataclass(frozen=True, slots=True)
class BranchDraft:
    """A summary of the branch that is left, before it is written."""

    snapshot: Snapshot
    material: Material
    instructions: str | None

    def tokens(self, text: str) -> int:
        """The estimate of a text."""
        return self.snapshot.estimator.text(text)

    @property
    def replaced(self) -> int:
        """The tokens of what the summary tells."""
        return sum(tokens for _, tokens in self.material.history)

    def task(self, capacity: Capacity) -> Task:
        """The task: the newest parts of the branch that fit one request."""
        reply = capacity.reply(self.snapshot.limits.reserve, "branch")
        parts = newest_parts(self.material.history, (capacity.window - reply) * 3 // 4)
        return task("branch", parts, capacity, self.tokens, max_tokens=reply, instructions=self.instructions)

    def summary(self, answer: str) -> Summary:
        """The summary with these notes."""
        return self.material.summary(answer)

    def extract(self) -> Summary:
        """The summary without a model."""
        return extractive.summary(self.material, self.snapshot.limits.window)


def branch_draft_of(tree: Tree, snapshot: Snapshot, target: int, instructions: str | None) -> BranchDraft:
    """The draft of a branch summary, from the common ancestor to the old leaf. Raises `NothingToCompact`."""
    left = set(left_rows(tree, snapshot.effect, target))
    speech = snapshot.speech
    material = Material(snapshot.estimator.text, "", _recorded(tree, snapshot.bodies, sorted(left)))
    for part in speech.stream(0, len(speech)):
        _take_in(material, tree, [[entry for entry in part if entry.row in left]], in_turn_head=False)
    if not material.history:
        raise NothingToCompact("The branch that is left says nothing to summarise.")
    return BranchDraft(snapshot, material, instructions)
