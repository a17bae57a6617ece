"""Generates sessions and measures the daemon on them, and pi 1.6.0 beside it where npm has brought it.

    python -m tests.benchmarks --json figures.jsonl
    python -m tests.benchmarks --readme figures.jsonl

The first measures and prints everything; the second measures nothing and prints the table of the README's "How fast".
The columns: pid is the daemon, seen from the other end of its pipes; pi is pi's library, timed inside its own process;
pi rpc is pi's RPC mode, seen as the daemon is; bare is the floor: a bare asyncio loop that answers the same requests,
or the bytes of the files read, copied, written and synced by plain Python. Each cell has the median, and in brackets
the least and the most. The sessions take about 1 GB of disk. It needs what `pip install '.[test]'` brings; pi comes
with `npm ci --ignore-scripts` in tests/node.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from tests import npm
from tests.benchmarks.daemon import Bench
from tests.benchmarks.figures import Figures
from tests.benchmarks.floors import Floors
from tests.benchmarks.many import Many, plant
from tests.benchmarks.pi_rpc import RpcReference
from tests.benchmarks.readme import how_fast
from tests.benchmarks.reference import Reference
from tests.benchmarks.sessions import KINDS, Recipe, write
from tests.benchmarks.wire import SERVE

DEFAULT_KINDS = ["linear", "branchy", "compacted", "migrated"]


def main() -> None:
    options = _options()
    if options.readme:
        print(how_fast(options.readme.read_text().splitlines()))
        return
    figures = Figures()
    try:
        with tempfile.TemporaryDirectory(prefix="pid-bench-", dir=options.folder) as folder:
            _measure(options, figures, Path(folder))
    finally:  # what was measured before something failed, or somebody lost patience
        print(figures.table())
        if options.json:
            options.json.write_text("".join(f"{line}\n" for line in figures.lines()))


def _measure(options: argparse.Namespace, figures: Figures, folder: Path) -> None:
    """Each run measures everything once, the daemon and pi in turn: what disturbs the machine disturbs both."""
    command = shlex.split(options.command)
    bench, many, floors = Bench(command, figures), Many(command, figures), Floors(figures)
    pi = _pi(options, figures, folder)
    directories = {f"{count} sessions": plant(folder / f"many-{count}", count) for count in options.sessions}
    files = {recipe.name: write(recipe, folder / f"{recipe.name}.jsonl") for recipe in _recipes(options)}
    smallest = min(files.values(), key=lambda path: path.stat().st_size)
    for run in range(options.runs):
        _tell(f"run {run + 1} of {options.runs}")
        bench.start()
        floors.start()
        bench.small_requests(smallest)
        if pi:
            pi.rpc.start()
        for name, path in files.items():
            _tell(f"  {name}")
            bench.session(name, path, smallest)
            many.forks(name, path, folder / "forks")
            floors.session(name, path, folder / "forks")
            if pi:
                pi.library.session(name, path, folder / "forks")
                pi.rpc.session(name, path)
        for name, directory in directories.items():
            _tell(f"  {name}")
            many.directory(name, directory)
            floors.directory(name, directory)
            if pi:
                pi.library.directory(name, directory)


class _Pi(NamedTuple):
    library: Reference
    rpc: RpcReference


def _pi(options: argparse.Namespace, figures: Figures, folder: Path) -> _Pi | None:
    if options.no_pi:
        return None
    try:
        found = npm.find()
    except npm.Missing as missing:
        _tell(f"without pi: {missing}")
        return None
    return _Pi(Reference(found, folder / "home", figures), RpcReference(found, folder / "rpc-home", figures))


def _recipes(options: argparse.Namespace) -> list[Recipe]:
    """The first kind in all sizes, the others in the middle one."""
    first, *others = options.kinds
    middle = sorted(options.sizes)[len(options.sizes) // 2]
    return [*(Recipe(size, first) for size in options.sizes), *(Recipe(middle, kind) for kind in others)]


def _options() -> argparse.Namespace:
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("python -m tests.benchmarks", description=__doc__, formatter_class=plain)
    add = parser.add_argument
    add("--sizes", type=_numbers, default=[1000, 10_000, 100_000], help="entries, as in 1000,10000")
    add("--kinds", type=_kinds, default=DEFAULT_KINDS, help=f"of {', '.join(KINDS)}: the first in all sizes")
    add("--sessions", type=_numbers, default=[200, 2000], help="how many to list, as in 200,2000")
    add("--runs", type=int, default=3, help="how often; each measures most works several times")
    add("--json", type=Path, metavar="FILE", help="write the figures as JSON lines too")
    add("--folder", type=Path, help="where the sessions are made: a sync costs what that disk takes")
    add("--command", default=shlex.join(SERVE), help="the daemon to measure")
    add("--readme", type=Path, metavar="FILE", help="print the README's table from figures that --json wrote")
    add("--no-pi", action="store_true", help="measure the daemon and the floors alone")
    return parser.parse_args()


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part]


def _kinds(text: str) -> list[str]:
    kinds = text.split(",")
    if unknown := set(kinds) - set(KINDS):
        raise argparse.ArgumentTypeError(f"unknown kind {', '.join(sorted(unknown))}")
    return kinds


def _tell(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    main()
