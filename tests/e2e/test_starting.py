"""How the process begins: refused in one line where it cannot run, interrupted without a traceback wherever it is."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.e2e.terminal import ENV, ROOT

ELSEWHERE = """
import sys
sys.platform = "win32"
from pid.__main__ import main
before = set(sys.modules)
code = main({arguments})
assert not {{"fcntl", "asyncio", "signal", "msgspec"}} & (set(sys.modules) - before)
sys.exit(code)
"""

INTERRUPTED = """
import sys

class Stop:
    def find_spec(self, name, *_):
        if name == {name!r}:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Stop())
from pid.__main__ import main
sys.exit(main({arguments}))
"""


def python(code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=ENV, cwd=ROOT)


@pytest.mark.parametrize("arguments", [[], ["--stdio"], ["tree", "x"], ["--help"]])
def test_on_windows_it_says_so(arguments: list[str]) -> None:
    done = python(ELSEWHERE.format(arguments=arguments))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("pid: Windows is not supported yet")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("argparse", []),
        ("pid.shell.commands", []),
        ("pid.shell.server", []),
        ("asyncio", []),
        ("pid.shell.screen", ["tree", "x"]),
        ("pid.shell.views", ["tree", "x"]),
        ("pid.shell.prompt_command", ["prompt"]),
    ],
)
def test_interrupted_while_it_imports(name: str, arguments: list[str]) -> None:
    done = python(INTERRUPTED.format(name=name, arguments=arguments))
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
