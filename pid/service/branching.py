"""Moving the leaf with a summary of the branch that is left.

The summary is written first, beside everything else; then the leaf moves and the `branch_summary` entry stands at the
target, in one write. If the leaf is not where it was any more, or the summary fails, tree and leaf stay as they were.
"""

import asyncio
import secrets
from functools import partial
from typing import Any, Final

import orjson

from pid.core.appending import read_sent
from pid.core.overlay import Overlay, Planned, Stamp, check_leaf, plan_append
from pid.core.replies import Spent
from pid.core.tree import ROOT
from pid.errors import CompactionSuperseded
from pid.protocol import ModelRef, Placement, SetLeafParams, SummarizeOptions
from pid.service.aside import Reader
from pid.service.compactor import Compactor
from pid.service.drafts import BranchDraft, branch_draft_of, details_of
from pid.service.summarizing import Asking, Report, Summarizer, choose, write_summary
from pid.service.writing import Written

_NO_LEAF: Final = "root"  # what pi writes for the leaf before the first entry


async def move_with_summary(compactor: Compactor, params: SetLeafParams, report: Report) -> Written:
    """Moves the leaf to an entry and summarises there the branch that is left. It ends with the session.

    Raises `EntryNotFound`, `LeafConflict`, `NothingToCompact`, `SummarizerUnavailable`, `SummarizerFailed`,
    `RequestCancelled`, and `CompactionSuperseded` if the leaf is another one when the summary is ready.
    """
    return await compactor.watched(asyncio.create_task(_move(compactor, params, report)))


async def _move(compactor: Compactor, params: SetLeafParams, report: Report) -> Written:
    session = compactor.session
    await compactor.order.settled()
    check_leaf(Overlay(session.tree, session.leaf, session.body), params.expected_leaf_id)
    options = params.summarize if isinstance(params.summarize, SummarizeOptions) else SummarizeOptions()
    tree, leaf, leaf_id = session.tree, session.leaf, session.leaf_id
    target = ROOT if params.entry_id is None else tree.find(params.entry_id)
    chosen = choose(
        options.summarizer or session.settings.summarizer,
        compactor.workshop.summarizers,
        fallback=session.settings.fallback,
    )

    def make(bodies: Reader) -> BranchDraft:
        return branch_draft_of(tree, compactor.gauge.snapshot(leaf, bodies), target, options.instructions)

    found = await compactor.aside(make)
    model = options.model or session.settings.model or found.snapshot.effect.model
    async with compactor.workshop.free:
        text, _, spent = await write_summary(
            chosen,
            partial(_ask, compactor, found, model, report),
            partial(compactor.aside, lambda bodies: found.extract().text()),
            found.tokens,
            found.replaced,
        )
    entry = _entry(leaf_id, text, found, spent)
    return await compactor.order.write(partial(_plan, params, leaf_id, entry), "setLeaf")


async def _ask(
    compactor: Compactor,
    found: BranchDraft,
    model: ModelRef | None,
    report: Report,
    summarizer: Summarizer,
    spent: Spent,
) -> str:
    asking = Asking(summarizer, model, compactor.session.session_id, secrets.token_hex(4), report, spent)
    answer = await asking.answer(partial(compactor.made, found.task), found.tokens, found.replaced)
    return found.summary(answer).text()


def _entry(leaf_id: str | None, text: str, found: BranchDraft, spent: Spent) -> dict[str, Any]:
    usage = {"usage": spent.usage} if spent.usage else {}
    details = details_of(found.material.files)
    return {"type": "branch_summary", "fromId": leaf_id or _NO_LEAF, "summary": text, "details": details, **usage}


def _plan(params: SetLeafParams, leaf_id: str | None, entry: dict[str, Any], overlay: Overlay, stamp: Stamp) -> Planned:
    if overlay.leaf_id != leaf_id:
        message = "The leaf moved while the branch was being summarised. Nothing was written."
        raise CompactionSuperseded(message)
    where = Placement(session_id=params.session_id, parent_id=params.entry_id, new_root=params.entry_id is None)
    return plan_append(overlay, where, [read_sent(orjson.dumps(entry), "summary")], stamp)
