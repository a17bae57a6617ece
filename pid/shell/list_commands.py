"""`pid list [DIR]` and `pid fork FILE`: which sessions there are, and a new one from an old one.

Asked over the wire, of a daemon of its own. Neither changes a session that is there.
"""

import os
from argparse import Namespace
from collections.abc import Iterator
from datetime import datetime

import msgspec

from pid.client import Client, pages
from pid.protocol import ListResult, SessionInfo
from pid.shell.drawing import Line
from pid.shell.screen import Screen
from pid.shell.views import path_of


async def list_sessions(args: Namespace, screen: Screen) -> int:
    """`pid list [DIR]`"""
    async with Client.spawn(log="capture") as client:
        whole = await _whole_listing(client, args, screen)
    if args.json:
        screen.json(whole)
    else:
        screen.lines(_listing(whole.sessions, args))
    return 0


async def _whole_listing(client: Client, args: Namespace, screen: Screen) -> ListResult:
    """All pages of the listing as one."""
    sessions: list[SessionInfo] = []
    with screen.bar("Listing sessions") as show, client.progress(show) as token:
        async for page in pages(
            client.session.list,
            cwd=None if args.all else path_of(args.directory),
            session_dir=args.session_dir and path_of(args.session_dir),
            all=args.all,
            query=args.query,
            include_empty=args.empty,
            work_done_token=token,
        ):
            sessions += page.sessions
    return msgspec.structs.replace(page, sessions=sessions)


def _listing(sessions: list[SessionInfo], args: Namespace) -> Iterator[Line]:
    if not sessions:
        whose = "anywhere" if args.all else f"of {os.path.abspath(args.directory)}"
        yield [(f"There are no sessions {whose}.", "dim")]
    for session in sessions:
        count = f"{session.message_count:,}"
        title = session.first_message.partition("\n")[0] or "(no message)"
        name = [(f"{session.name}  ", "bold")] if session.name else []
        yield [(f"{_local(session.modified_at)}  {count:>6}  ", "cyan"), *name, (title, "dim" if name else "")]
        yield [(f"    {session.path}", "dim"), (f"  {session.cwd}" if args.all else "", "dim")]


def _local(timestamp: str) -> str:
    return datetime.fromisoformat(timestamp).astimezone().strftime("%Y-%m-%d %H:%M")


async def fork(args: Namespace, screen: Screen) -> int:
    """`pid fork FILE [--entry ID]`"""
    async with Client.spawn(log="capture") as client:
        state = await client.session.fork(
            path=path_of(args.file),
            entry_id=args.entry,
            cwd=args.cwd and path_of(args.cwd),
            session_dir=args.session_dir and path_of(args.session_dir),
        )
    if args.json:
        screen.json(state)
    else:
        screen.lines([[(state.path or "", "")]], cut=False)
    return 0
