"""Generates sessions and measures the daemon on them, and pi 1.6.0 beside it where npm has brought it."""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
from pathlib import Path

from tests import npm
from tests.benchmarks.daemon import Bench
from tests.benchmarks.figures import Figures
from tests.benchmarks.many import Many, plant
from tests.benchmarks.reference import Reference
from tests.benchmarks.sessions import KINDS, Recipe, write
from tests.benchmarks.wire import SERVE

DURABILITIES = ("synced", "written")


def main() -> None:
    options = _options()
    figures = Figures()
    with tempfile.TemporaryDirectory(prefix="pid-bench-", dir=options.folder) as folder:
        _measure(options, figures, Path(folder))
    print(figures.table())
    if options.json:
        options.json.write_text("".join(f"{line}\n" for line in figures.lines()))


def _measure(options: argparse.Namespace, figures: Figures, folder: Path) -> None:
    bench = Bench(shlex.split(options.command), figures)
    reference = _reference(options, figures, folder)
    recipes = [Recipe(size, kind) for kind in options.kinds for size in options.sizes]
    many = Many(bench.command, figures, reference.npm if reference else None)
    if options.sessions:
        plant(folder / "many", options.sessions)
    files = {recipe.name: write(recipe, folder / f"{recipe.name}.jsonl") for recipe in recipes}
    for run in range(options.runs):
        _tell(f"run {run + 1} of {options.runs}")
        bench.start()
        bench.wire(next(iter(files.values())))
        for name, path in files.items():
            bench.reads(name, path)
            if reference:
                reference.reads(name, path)
            for durability in DURABILITIES:
                bench.appends(name, path, durability)
            many.forks(name, path, folder / "forks")
        if options.sessions:
            many.listings(folder / "many", options.sessions)


def _reference(options: argparse.Namespace, figures: Figures, folder: Path) -> Reference | None:
    if options.no_pi:
        return None
    try:
        return Reference(npm.find(), folder, figures)
    except npm.Missing as missing:
        _tell(f"without pi: {missing}")
        return None


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    add = parser.add_argument
    add("--sizes", type=_numbers, default=[1000, 10_000, 100_000], help="entries, as in 1000,10000")
    add("--kinds", type=_kinds, default=["linear"], help=f"of {', '.join(KINDS)}; default: linear")
    add("--sessions", type=int, default=2000, help="how many sessions to list; 0 lists none")
    add("--runs", type=int, default=5)
    add("--json", type=Path, metavar="FILE", help="write the figures as JSON lines too")
    add("--folder", type=Path, help="where the sessions are made: a sync costs what that disk takes")
    add("--command", default=shlex.join(SERVE), help="the daemon to measure")
    add("--no-pi", action="store_true", help="measure the daemon alone")
    return parser.parse_args()


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _kinds(text: str) -> list[str]:
    kinds = text.split(",")
    if unknown := set(kinds) - set(KINDS):
        raise argparse.ArgumentTypeError(f"unknown kind {', '.join(sorted(unknown))}")
    return kinds


def _tell(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    main()
