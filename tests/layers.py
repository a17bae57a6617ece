"""The table of layers, and a checker that reads it against the source. It runs none of the code.

Imports point down only. A name that a module may not reach is forbidden inside functions too, except the heavy ones:
those are to be imported there, on first use.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

LAYERS: dict[str, tuple[str, ...]] = {
    "words": ("pid.__version__", "pid.errors", "pid.protocol", "pid.entries"),
    "core": ("pid.core",),
    "adapters": ("pid.adapters",),
    "service": ("pid.service",),
    "client": ("pid.client",),
    "shell": ("pid.shell", "pid.__main__"),
}
BELOW: dict[str, tuple[str, ...]] = {
    "words": ("words",),
    "core": ("words", "core"),
    "adapters": ("words", "core", "adapters"),
    "service": ("words", "core", "adapters", "service"),
    "client": ("words", "client"),
    "shell": tuple(LAYERS),
}
EXTRA = {"client": ("pid.core.framing",)}
"""What a layer may import beside the layers below it."""

IMPURE = frozenset(
    """
    fcntl getpass glob io locale logging mmap os pathlib platform resource shutil socket sqlite3 ssl subprocess sys
    tempfile urllib  sched time  random secrets uuid
    anyio asyncio concurrent multiprocessing select selectors signal threading
    """.split()  # noqa: SIM905
)
"""I/O, clock, randomness, concurrency: neither in core nor in words."""

PURE_PARTS = frozenset({"sys.getrecursionlimit", "sys.version_info"})
"""What of them may be imported by name all the same: facts about Python itself."""

CLOCKS = frozenset({"now", "utcnow", "today"})
HOMES: dict[str, tuple[str, ...]] = {
    "anthropic": ("pid.adapters.anthropic",),
    "tiktoken": ("pid.adapters.tokenizer",),
    "bpe_openai": ("pid.adapters.tokenizer",),
    "lsprotocol": ("pid.shell",),
    "pygls": ("pid.shell",),
    "rich": ("pid.shell",),
    "platformdirs": ("pid.adapters", "pid.__main__"),
}
"""The foreign package, and the only modules that may import it."""

HEAVY = frozenset({"anthropic", "tiktoken", "bpe_openai", "rich"})
"""Imported on first use, inside a function: serving starts without them."""

OPENERS: dict[str, str] = {
    "pid.adapters.directories": "directories, to make their names durable",
    "pid.adapters.journal": "session files, and nothing else opens one",
    "pid.adapters.fork_file": "the file of a fork, before it is a session",
    "pid.adapters.naming": "the directory that a new session goes to, for its lock",
    "pid.adapters.files": "small text files of the user: context files, skills, settings",
    "pid.adapters.listing_index": "what listings keep in the cache directory",
    "pid.adapters.tokenizer": "the ranks that the package ships",
    "pid.shell.demo": "the sample session and the copy of it that the demo works on",
    "pid.shell.screen": "the null device, which takes the place of an output that broke",
    "pid.shell.transport": "the null device, which takes the place of stdin and stdout",
}
"""The modules that open files, and which."""

OPENING = frozenset({"open", "io.open", "os.open", "os.fdopen", "codecs.open", "gzip.open"})
OPENING_METHODS = frozenset({"read_text", "read_bytes", "write_text", "write_bytes"})


@dataclass(frozen=True)
class Import:
    """One module that is imported; `late` when inside a function, so only on first use."""

    name: str
    line: int
    late: bool


def violations(module: str, source: str) -> list[str]:
    """What `source`, as the module of that dotted name, does against the table: `module:line: what`."""
    tree = ast.parse(source)
    found = [*_imports_against_the_table(module, tree), *_calls_against_the_table(module, tree)]
    return [f"{module}:{line}: {what}" for line, what in sorted(found)]


def modules(package: Path = ROOT / "pid") -> Iterator[tuple[str, str]]:
    """The dotted name and the source of every module of the package."""
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        yield ".".join(part for part in parts if part != "__init__"), path.read_text(encoding="utf-8")


def layer(module: str) -> str | None:
    """None for `pid` itself, which is no layer and imports nothing of the project."""
    return next((name for name, tops in LAYERS.items() if _under(module, tops)), None)


def _imports_against_the_table(module: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    own = layer(module)
    for imported in _imports(module, tree):
        top = imported.name.partition(".")[0]
        if top == "pid" and not _may_import(own, imported.name):
            yield imported.line, f"{own or 'the package'} imports {imported.name}"
        if own in ("words", "core") and top in IMPURE and imported.name not in PURE_PARTS:
            yield imported.line, f"{own} is pure and imports {top}"
        if top in HOMES and not _under(module, HOMES[top]):
            yield imported.line, f"{top} is imported outside {' and '.join(HOMES[top])}"
        if top in HEAVY and not imported.late:
            yield imported.line, f"{top} is heavy and imported before its first use"


def _may_import(own: str | None, name: str) -> bool:
    if own is None:
        return False
    return layer(name) in BELOW[own] or _under(name, EXTRA.get(own, ()))


def _calls_against_the_table(module: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    pure = layer(module) in ("words", "core")
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        last = called.rpartition(".")[2]
        if (called in OPENING or last in OPENING_METHODS) and module not in OPENERS:
            yield node.lineno, f"opens a file ({called}) and is not in the table of those that may"
        if pure and last in CLOCKS and "." in called:
            yield node.lineno, f"{layer(module)} is pure and reads the clock ({called})"


def _imports(module: str, tree: ast.Module) -> Iterator[Import]:
    """`from pid import core` names `pid.core`: each name may be a module. Of `sys` each name counts too.

    What stands under `if TYPE_CHECKING:` is never run, so it is late as well.
    """
    late = {id(inner) for outer in ast.walk(tree) if _runs_later(outer) for inner in ast.walk(outer)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, node.lineno, id(node) in late)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(module, node)
            for name in {f"{base}.{alias.name}" for alias in node.names} if base in ("pid", "sys") else {base}:
                yield Import(name, node.lineno, id(node) in late)


def _runs_later(node: ast.AST) -> bool:
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING" and not node.orelse
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def _absolute(module: str, node: ast.ImportFrom) -> str:
    """A relative import is taken as written in a module, not in a package's `__init__`: here those have none."""
    if not node.level:
        return node.module or ""
    return ".".join([*module.split(".")[: -node.level], *([node.module] if node.module else [])])


def _under(name: str, tops: tuple[str, ...]) -> bool:
    return any(name == top or name.startswith(top + ".") for top in tops)
