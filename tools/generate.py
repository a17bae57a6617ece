"""Writes what is made of `pid.protocol`: the schema, the reference in `protocol.md`, the editors' types.

    python tools/generate.py            write what is out of date
    python tools/generate.py --check    write nothing; exit with 1 and say what differs

An output whose directory is not there (an editor's, before its plugin) is left out.
"""

import argparse
import difflib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # the types of this tree, not of another `pid` that is installed

from generators import lua, markdown, schema, typescript  # noqa: E402

SHOWN_LINES = 40


class Output(NamedTuple):
    """A generated file: its path in the project, the directory without which it is left out, its text."""

    path: str
    needs: str
    text: Callable[[schema.Schema, str], str]  # of the schema and what the file holds now


OUTPUTS = (
    Output("pid/protocol/protocol.schema.json", ".", lambda tables, _: schema.text(tables)),
    Output("protocol.md", ".", lambda tables, old: markdown.spliced(old, markdown.reference(tables))),
    Output("editors/vscode/src/protocol.gen.ts", "editors/vscode", lambda tables, _: typescript.source(tables)),
    Output("editors/nvim/lua/pid/_meta/protocol.lua", "editors/nvim", lambda tables, _: lua.source(tables)),
)


def stale() -> Iterator[tuple[Path, str, str]]:
    """Each file that is out of date: its path, its text now (empty if there is none), the right text."""
    tables = schema.build()
    for output in OUTPUTS:
        path = ROOT / output.path
        if (ROOT / output.needs).is_dir():
            old = path.read_text(encoding="utf-8") if path.exists() else ""
            new = output.text(tables, old)
            if new != old:
                yield path, old, new


def differences(path: Path, old: str, new: str) -> str:
    """The first lines in which a file differs from what it should be."""
    name = str(path.relative_to(ROOT))
    lines = list(
        difflib.unified_diff(old.splitlines(), new.splitlines(), name, f"{name} (generated)", lineterm="", n=0)
    )
    more = [f"… {len(lines) - SHOWN_LINES} more lines"] if len(lines) > SHOWN_LINES else []
    return "\n".join(lines[:SHOWN_LINES] + more)


def main() -> int:
    """Runs the command; the exit code is 1 if `--check` found something out of date."""
    parser = argparse.ArgumentParser(description="Write what is generated from pid.protocol.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if something is out of date")
    check = parser.parse_args().check
    found = list(stale())
    for path, old, new in found:
        if check:
            print(differences(path, old, new))
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(new, encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")
    return 1 if check and found else 0


if __name__ == "__main__":
    sys.exit(main())
