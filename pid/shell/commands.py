"""The commands for people: `pid list`, `tree`, `context`, `fork`, `compact`, `doctor`, `prompt` and `demo`.

All but `prompt` start a daemon of their own and ask it over the wire, so that what people see is what programs get.
Only `compact` writes to a session; `fork` makes a new one. Exit codes: 0; 1 for what `doctor` found and a `demo` that
fails; 2 for what cannot be shown. What they need is imported when one is run: serving does not wait for it.
"""

import argparse
import asyncio
import datetime
import os
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, get_args, get_type_hints

from pid.entries import MAX_DEPTH
from pid.errors import PidError
from pid.protocol import ContextParams

if TYPE_CHECKING:
    from pid.shell.screen import Screen

Perform = Callable[[argparse.Namespace, "Screen"], Awaitable[int]]
FORMATS: Final[tuple[str, ...]] = get_args(get_type_hints(ContextParams)["format"])


def add_commands(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the commands; each sets `run`, to be called with the parsed arguments."""
    command = _command(subparsers, "list", _list, "list the sessions of a directory, the last message first")
    command.add_argument("directory", metavar="DIR", nargs="?", default=".")
    command.add_argument("--all", action="store_true", help="the sessions of every directory")
    command.add_argument("--query", metavar="TEXT", help="only those with this text in the name or the first message")
    command.add_argument("--empty", action="store_true", help="also those without a message")
    command.add_argument("--session-dir", metavar="DIR", help="where to look, instead of pi's directories")
    command = _command(subparsers, "tree", _tree, "draw the tree of a session file")
    command.add_argument("file", metavar="FILE")
    command.add_argument("--short", action="store_true", help="only questions, summaries, labels and branches")
    command = _command(subparsers, "context", _context, "show what the model sees at the leaf")
    command.add_argument("file", metavar="FILE")
    command.add_argument("--format", choices=FORMATS, default="llm", help="the form of the messages (default: llm)")
    command.add_argument("--leaf", metavar="ID", help="at this entry instead")
    command = _command(subparsers, "fork", _fork, "make a new session from a session file, and print its path")
    command.add_argument("file", metavar="FILE")
    command.add_argument("--entry", metavar="ID", help="take only the path to this entry")
    command.add_argument("--cwd", metavar="DIR", help="the new session's working directory (default: the old one's)")
    command.add_argument("--session-dir", metavar="DIR", help="where the new file goes, instead of pi's directory")
    command = _command(subparsers, "compact", _compact, "summarise the older part of a session's context")
    command.add_argument("file", metavar="FILE")
    command.add_argument("--preview", action="store_true", help="only say what it would do; write nothing")
    command.add_argument("--summarizer", choices=("auto", "anthropic", "extractive"), help="what writes the summary")
    kept = "how much of the newest to keep as it is (default: the setting keepRecentTokens)"
    command.add_argument("--keep", type=_tokens, metavar="TOKENS", help=kept)
    command.add_argument("--instructions", metavar="TEXT", help="what the summary should look after")
    command = _command(subparsers, "doctor", _doctor, "look for damage in session files, entry by entry")
    command.add_argument("files", metavar="FILE", nargs="+")
    command = _command(subparsers, "prompt", _prompt, "print the system prompt for a directory")
    command.add_argument("directory", metavar="DIR", nargs="?", default=".")
    _command(subparsers, "demo", _demo, "see the daemon at work on a sample session")


def _command(
    subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, perform: Perform, text: str
) -> argparse.ArgumentParser:
    command = subparsers.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    command.add_argument("--json", action="store_true", help="print JSON, in the shapes of the protocol")
    command.set_defaults(run=run, perform=perform, name=name)
    return command


def _tokens(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of tokens")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Performs the command that `args` names: its exit code. One clear line says why it cannot."""
    from pid.shell.screen import Screen

    sys.setrecursionlimit(2 * MAX_DEPTH)  # files may be nested so deep, and msgspec goes no deeper than Python
    screen = Screen(f"pid {args.name}: ", sys.stdout, sys.stderr)
    try:
        code = asyncio.run(args.perform(args, screen))
        screen.flush()
        return int(code)
    except BrokenPipeError:  # `| head` has read enough
        screen.abandon()
        return 0
    except (PidError, ConnectionError) as error:  # the latter: the daemon is gone
        screen.complain(str(error))
    except OSError as error:
        screen.abandon()
        screen.complain(f"the output cannot be written: {error.strerror}")
    return 2


async def _prompt(args: argparse.Namespace, screen: "Screen") -> int:
    from pid.shell import prompt_command

    today = datetime.datetime.now().astimezone().date()
    return prompt_command.run(
        args.directory, as_json=args.json, environment=os.environ, today=today, out=sys.stdout, err=sys.stderr
    )


async def _list(args: argparse.Namespace, screen: "Screen") -> int:
    from pid.shell.list_commands import list_sessions

    return await list_sessions(args, screen)


async def _fork(args: argparse.Namespace, screen: "Screen") -> int:
    from pid.shell.list_commands import fork

    return await fork(args, screen)


async def _tree(args: argparse.Namespace, screen: "Screen") -> int:
    from pid.shell.views import show_tree

    return await show_tree(args, screen)


async def _context(args: argparse.Namespace, screen: "Screen") -> int:
    from pid.shell.views import show_context

    return await show_context(args, screen)


async def _compact(args: argparse.Namespace, screen: "Screen") -> int:
    from pid.shell.compact_command import compact

    return await compact(args, screen)


async def _doctor(args: argparse.Namespace, screen: "Screen") -> int:
    from pid.shell.views import examine

    return await examine(args, screen)


async def _demo(args: argparse.Namespace, screen: "Screen") -> int:
    from pid.shell.demo import demonstrate

    return await demonstrate(args, screen)
