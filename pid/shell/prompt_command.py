"""`pid prompt [DIR]`: prints the system prompt that `prompt/build` gives for a directory.

The prompt goes to `out`, what could not be taken to `err`, so that the prompt can be piped into a file.
"""

import datetime
import os
from collections.abc import Mapping
from typing import TextIO

import msgspec

from pid.adapters.catalog import Places
from pid.errors import InvalidParams
from pid.protocol.prompt import PromptParams, PromptResult
from pid.service.prompting import build_prompt


def run(
    directory: str,
    *,
    as_json: bool,
    environment: Mapping[str, str],
    today: datetime.date,
    out: TextIO,
    err: TextIO,
) -> int:
    """Prints the prompt, or with `as_json` the whole answer of `prompt/build`; gives the exit code.

    2: there is no such directory. Files and skills that cannot be taken are told, and leave it at 0.
    """
    if not os.path.isdir(directory):
        err.write(f"pid prompt: {directory}: there is no such directory\n")
        return 2
    try:
        params = PromptParams(cwd=os.path.abspath(directory))
        agent_dir = Places.of(environment).agent_dir
        home = environment.get("HOME") or os.path.expanduser("~")
        answer = build_prompt(params, home=home, agent_dir=agent_dir, today=today)
    except InvalidParams as error:
        err.write(f"pid prompt: {error.message}\n")
        return 2
    out.write(_json(answer) if as_json else f"{answer.prompt}\n")
    for problem in answer.problems:
        err.write(f"{problem.path}: {problem.message} ({problem.kind})\n")
    return 0


def _json(answer: PromptResult) -> str:
    return msgspec.json.format(msgspec.json.encode(answer), indent=2).decode() + "\n"
