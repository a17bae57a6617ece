"""What the commands show of a session file: its tree, its context, its damage. All of it is asked over the wire."""

import os
from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from pid.client import Client, pages
from pid.errors import PidError
from pid.protocol import Problem, SessionState, TreeNode, TreeResult
from pid.shell.drawing import Line, tree
from pid.shell.screen import Screen
from pid.shell.transcript import transcript


@asynccontextmanager
async def opened(file: str) -> AsyncIterator[tuple[Client, SessionState]]:
    """A daemon that has the file open. Raises `PidError` and `DaemonGone`."""
    async with Client.spawn(log="capture") as client:
        yield client, await client.session.open(path=path_of(file))


def path_of(file: str) -> str:
    """The absolute path, as the wire wants it."""
    path = os.path.abspath(file)
    try:
        path.encode()
    except UnicodeEncodeError:
        raise PidError(f"{os.fsencode(path)!r}: JSON cannot carry a name that is not UTF-8") from None
    return path


async def show_tree(args: Namespace, screen: Screen) -> int:
    """`pid tree FILE`"""
    async with opened(args.file) as (client, state):
        whole = await whole_tree(client, state.session_id)
    if args.json:
        screen.json(whole)
        return 0
    screen.lines(heading(state, whole.nodes))
    screen.lines(tree(whole.nodes, whole.leaf_id, short=args.short))
    return 0


async def whole_tree(client: Client, session_id: str) -> TreeResult:
    """All pages of the tree as one."""
    nodes: list[TreeNode] = []
    async for page in pages(client.session.get_tree, session_id=session_id):
        nodes += page.nodes
    return msgspec.structs.replace(page, nodes=nodes)


def heading(state: SessionState, nodes: list[TreeNode]) -> list[Line]:
    """What the session is, in a few lines and an empty one."""
    ends = len(nodes) - len({node.parent_id for node in nodes} - {None})
    branches = f"{ends:,} {'branch' if ends == 1 else 'branches'}"
    facts = " · ".join((f"{len(nodes):,} entries", branches, f"version {state.version}", state.cwd))
    lines: list[Line] = [
        [(state.name or "(no name)", "bold")],
        [(state.path or "in memory", "dim")],
        [(facts, "dim")],
    ]
    if nodes and state.leaf_id is None:
        lines.append([("The leaf is before the first entry.", "yellow")])
    if state.problems:
        count = len(state.problems)
        lines.append([(f"{count:,} problem{'s' * (count > 1)} in the file: see `pid doctor`", "yellow")])
    return [*lines, []]


async def show_context(args: Namespace, screen: Screen) -> int:
    """`pid context FILE`"""
    async with opened(args.file) as (client, state):
        leaf: dict[str, Any] = {} if args.leaf is None else {"leaf_id": args.leaf}
        result = await client.session.build_context(session_id=state.session_id, format=args.format, **leaf)
    if args.json:
        screen.json(result)
        return 0
    model = f"{result.model.provider}/{result.model.model_id}" if result.model else "no model named"
    facts = [f"{len(result.entry_ids):,} messages", f"leaf {result.leaf_id}", model]
    facts.append(f"thinking {result.thinking_level}")
    screen.lines([[(" · ".join(facts), "bold")]])
    told = ((f"{warning.kind} {warning.entry_id or ''}".rstrip(), warning.message) for warning in result.warnings)
    screen.lines(([(f"{what}: {message}", "yellow")] for what, message in told), cut=False)
    screen.lines([[]])
    screen.lines(transcript(result), cut=False)
    return 0


class Finding(msgspec.Struct, rename="camel", omit_defaults=True):
    """What `doctor` says of a file."""

    path: str
    entry_count: int | None = None
    problems: list[Problem] = []
    error: str | None = None


async def examine(args: Namespace, screen: Screen) -> int:
    """`pid doctor FILE…`: reads every entry, so that each is proven."""
    findings = []
    async with Client.spawn(log="capture") as client:
        for file in args.files:
            finding = await _finding(client, file)
            findings.append(finding)
            if finding.error is not None:
                screen.complain(finding.error)
            elif not args.json:
                screen.lines(_verdict(file, finding), cut=False)
    if args.json:
        screen.json(findings)
    failed = any(finding.error is not None for finding in findings)
    return 2 if failed else int(any(finding.problems for finding in findings))


async def _finding(client: Client, file: str) -> Finding:
    path = path_of(file)
    try:
        session_id = (await client.session.open(path=path)).session_id
        async for _ in pages(client.session.get_entries, session_id=session_id):
            pass
        state = await client.session.get_state(session_id=session_id)
        await client.session.close(session_id=session_id)
    except PidError as error:
        return Finding(path, error=error.message)
    return Finding(path, state.entry_count, sorted(state.problems, key=lambda problem: problem.line))


def _verdict(file: str, finding: Finding) -> list[Line]:
    count = len(finding.problems)
    lines: list[Line] = []
    for problem in finding.problems:
        entry = f" (entry {problem.entry_id})" if problem.entry_id else ""
        place, kind = f"{file}:{problem.line}: ", f"{problem.kind}: "
        lines.append([(place, "bold"), (kind, "yellow"), (problem.message + entry, "")])
    told, style = (f"{count:,} problem{'s' * (count > 1)}", "yellow") if count else ("no problems", "green")
    return [*lines, [(f"{file}: ", "bold"), (f"{finding.entry_count:,} entries, ", ""), (told, style)]]
