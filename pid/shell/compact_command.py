"""`pid compact FILE`: a compaction for people, or with `--preview` what one would do.

How far it is shows as a bar in a terminal, and goes nowhere else; the summary goes to the output.
"""

from argparse import Namespace
from collections.abc import Callable, Iterator
from typing import Final

from pid.client import Client
from pid.protocol import CompactionPlan, CompactionResult, FileDetails, WorkDoneProgress
from pid.shell.drawing import Line
from pid.shell.screen import Screen
from pid.shell.views import opened

Show = Callable[[WorkDoneProgress], None]
_OFFLINE: Final = "extractive"


async def compact(args: Namespace, screen: Screen) -> int:
    """`pid compact FILE [--preview]`: 0. Raises `PidError` and `DaemonGone`."""
    with screen.bar("Planning" if args.preview else "Compacting") as show:
        async with opened(args.file) as (client, state):
            found = await (_preview if args.preview else _run)(args, client, state.session_id, show)
    if args.json:
        screen.json(found)
    else:
        screen.lines(_planned(found) if isinstance(found, CompactionPlan) else _done(found), cut=False)
    return 0


async def _preview(args: Namespace, client: Client, session_id: str, show: Show) -> CompactionPlan:
    return await client.session.preview_compaction(
        session_id=session_id,
        summarizer=args.summarizer,
        keep_recent_tokens=args.keep,
        instructions=args.instructions,
    )


async def _run(args: Namespace, client: Client, session_id: str, show: Show) -> CompactionResult:
    with client.progress(show) as token:
        return await client.session.compact(
            session_id=session_id,
            summarizer=args.summarizer,
            keep_recent_tokens=args.keep,
            instructions=args.instructions,
            work_done_token=token,
        )


def _planned(plan: CompactionPlan) -> Iterator[Line]:
    summarised = len(plan.summarize_entry_ids) + len(plan.turn_prefix_entry_ids)
    split = f", the last {len(plan.turn_prefix_entry_ids):,} from the turn in progress" if plan.is_split_turn else ""
    yield [("summarised  ", "bold"), (f"{summarised:,} entries{split}", "")]
    yield [("kept        ", "bold"), (f"{len(plan.keep_entry_ids):,} entries, from {plan.first_kept_entry_id}", "")]
    yield _sizes(plan.tokens_before, plan.tokens_after)
    requests = f"{plan.request_count:,} of {plan.request_tokens:,} tokens together"
    yield [("requests    ", "bold"), (f"{requests}, if a model writes the summary", "")]
    yield from _files(plan.details)
    yield [("Nothing was written.", "dim")]


def _done(result: CompactionResult) -> Iterator[Line]:
    yield from ([(line, "")] for line in result.summary.split("\n"))
    yield []
    requests = f"{result.attempts} request{'' if result.attempts == 1 else 's'}"
    failed = f", for the model failed ({requests})" if result.summarizer == _OFFLINE and result.attempts else ""
    yield [("entry       ", "bold"), (f"{result.entry_id}, written by {result.summarizer}{failed}", "")]
    yield _sizes(result.tokens_before, result.tokens_after)
    yield [("kept from   ", "bold"), (result.first_kept_entry_id or "(nothing is kept)", "")]


def _sizes(before: int, after: int) -> Line:
    return [("tokens      ", "bold"), (f"{before:,} before, about {after:,} after", "")]


def _files(details: FileDetails) -> Iterator[Line]:
    for name, paths in (("read", details.read_files), ("modified", details.modified_files)):
        yield from ([(f"{name:12}", "dim"), (path, "")] for path in paths)
