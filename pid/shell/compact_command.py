"""`pid compact FILE`: a compaction for people, or with `--preview` what one would do.

How far it is shows as a bar in a terminal, and goes nowhere else; the summary goes to the output.
"""

from argparse import Namespace
from collections.abc import Callable, Iterator

from pid.client import Client
from pid.protocol import CompactionPlan, CompactionResult, FileDetails, WorkDoneProgress
from pid.shell.drawing import Line
from pid.shell.screen import Screen
from pid.shell.views import opened


async def compact(args: Namespace, screen: Screen) -> int:
    """`pid compact FILE [--preview]`: 0. Raises `PidError` and `DaemonGone`."""
    async with opened(args.file) as (client, state):
        if args.preview:
            plan = await client.session.preview_compaction(
                session_id=state.session_id,
                summarizer=args.summarizer,
                keep_recent_tokens=args.keep,
                instructions=args.instructions,
            )
            return _show(args, screen, plan, _planned(plan))
        result = await _run(args, screen, client, state.session_id)
        return _show(args, screen, result, _done(result))


async def _run(args: Namespace, screen: Screen, client: Client, session_id: str) -> CompactionResult:
    with screen.bar("Compacting") as show, client.progress(_words(show)) as token:
        call = client.session.compact(
            session_id=session_id,
            summarizer=args.summarizer,
            keep_recent_tokens=args.keep,
            instructions=args.instructions,
            work_done_token=token,
        )
        return await call


def _words(show: Callable[[str], None]) -> Callable[[WorkDoneProgress], None]:
    return lambda progress: show(progress.message or "")


def _show(args: Namespace, screen: Screen, value: object, lines: Iterator[Line]) -> int:
    if args.json:
        screen.json(value)
    else:
        screen.lines(lines, cut=False)
    return 0


def _planned(plan: CompactionPlan) -> Iterator[Line]:
    summarised = len(plan.summarize_entry_ids) + len(plan.turn_prefix_entry_ids)
    split = ", the last of them from the turn in progress" if plan.is_split_turn else ""
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
    yield [("entry       ", "bold"), (f"{result.entry_id}, written by {result.summarizer}", "")]
    yield _sizes(result.tokens_before, result.tokens_after)
    yield [("kept from   ", "bold"), (result.first_kept_entry_id or "(nothing is kept)", "")]


def _sizes(before: int, after: int) -> Line:
    return [("tokens      ", "bold"), (f"{before:,} before, about {after:,} after", "")]


def _files(details: FileDetails) -> Iterator[Line]:
    for name, paths in (("read", details.read_files), ("modified", details.modified_files)):
        yield from ([(f"{name:12}", "dim"), (path, "")] for path in paths)
