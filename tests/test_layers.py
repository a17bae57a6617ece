"""The layers hold, and the checker that says so can fail."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.benchmarks.wire import framed
from tests.layers import HEAVY, OPENERS, ROOT, layer, modules, violations

BAD = {
    "core imports a service": ("pid.core.tree", "from pid.service.store import Store"),
    "words import core": ("pid.entries", "import pid.core.tree"),
    "a service imports the shell": ("pid.service.store", "from pid.shell import rpc"),
    "an adapter imports a service, late": ("pid.adapters.catalog", "def f():\n    from pid.service import store"),
    "a relative import is an import": ("pid.core.tree", "from ..service import store"),
    "the client takes the tree": ("pid.client", "from pid.core.tree import Tree"),
    "nobody below takes the client": ("pid.service.store", "from pid.client import Client"),
    "the package itself imports nothing of it": ("pid", "from pid.errors import PidError"),
    "a module without a layer": ("pid.core.tree", "from pid.extras import x"),
    "core does I/O": ("pid.core.tree", "import os.path"),
    "core knows the machine": ("pid.core.tree", "from sys import platform, version_info"),
    "core is asynchronous": ("pid.core.tree", "import anyio"),
    "core is random": ("pid.core.tree", "from random import choice"),
    "core reads the clock": ("pid.core.tree", "from datetime import datetime\nx = datetime.now()"),
    "core opens": ("pid.core.tree", "def f(p):\n    return open(p)"),
    "words read a file": ("pid.entries", "def f(p):\n    return p.read_bytes()"),
    "the catalog opens a file itself": ("pid.adapters.catalog", "import os\nos.open('x', os.O_RDONLY)"),
    "anthropic in the compactor": ("pid.service.compactor", "def f():\n    import anthropic"),
    "anthropic before its first use": ("pid.adapters.anthropic", "import anthropic"),
    "rich before its first use": ("pid.shell.commands", "from rich.table import Table"),
    "pygls in a service": ("pid.service.store", "from pygls.protocol import LanguageServerProtocol"),
}
GOOD = {
    "a handler calls a service": ("pid.shell.server", "from pid.service.store import Store"),
    "core uses core and words": ("pid.core.context", "from pid.core.tree import Tree\nfrom pid.errors import PidError"),
    "core knows its Python": ("pid.core.tree", "from sys import getrecursionlimit, version_info"),
    "the client frames": ("pid.client.session", "import asyncio\nfrom pid.core.framing import Frames"),
    "a command starts the client": ("pid.shell.commands", "def f():\n    from pid.client import Client"),
    "the journal opens": ("pid.adapters.journal", "import os\nos.open('x', os.O_RDWR)"),
    "anthropic on first use": ("pid.adapters.anthropic", "def f():\n    import anthropic"),
    "opening a session opens no file": ("pid.service.store", "def f(store, path):\n    return store.open(path)"),
    "parsing a time reads no clock": ("pid.core.tree", "from datetime import datetime\ndatetime.fromisoformat('x')"),
}


def test_the_package_keeps_to_the_table() -> None:
    found = dict(modules())
    assert "pid.errors" in found
    broken = [violation for module, source in found.items() for violation in violations(module, source)]
    assert not broken, "\n".join(broken)


def test_every_module_has_a_layer() -> None:
    assert [module for module, _ in modules() if layer(module) is None] == ["pid"]


@pytest.mark.parametrize(("module", "source"), BAD.values(), ids=BAD)
def test_the_checker_sees(module: str, source: str) -> None:
    assert len(violations(module, source)) == 1


@pytest.mark.parametrize(("module", "source"), GOOD.values(), ids=GOOD)
def test_the_checker_allows(module: str, source: str) -> None:
    assert violations(module, source) == []


def test_the_table_of_openers_has_no_core_and_no_service() -> None:
    assert {layer(module) for module in OPENERS} == {"adapters", "shell"}


@pytest.mark.skipif(find_spec("pid.__main__") is None, reason="there is no daemon yet")
def test_serving_imports_nothing_heavy() -> None:
    """Seen from outside, over the whole life of a daemon that only starts and ends."""
    life = b"".join(
        framed({"jsonrpc": "2.0", **message})
        for message in (
            {"id": 1, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}},
            {"method": "initialized", "params": {}},
            {"id": 2, "method": "shutdown"},
            {"method": "exit"},
        )
    )
    command = [sys.executable, "-X", "importtime", "-m", "pid", "--stdio"]
    done = subprocess.run(command, input=life, capture_output=True, cwd=ROOT, timeout=60)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}
    assert "pid.errors" in imported
    assert not {name.partition(".")[0] for name in imported} & HEAVY
