"""A real Neovim with the plugin, driven as a person would: keys go in, the screen is read back.

Each has directories of its own and no configuration but the plugin; the daemon is this source. Nothing here
waits for a fixed time: `until` asks again until what is expected is there.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pynvim

from tests.nvim.find import binary

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "editors" / "nvim"
PATIENCE = 15.0


def daemon_command(directory: Path) -> Path:
    """A `pid` command that runs this source."""
    command = directory / "bin" / "pid"
    command.parent.mkdir(parents=True, exist_ok=True)
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m pid "$@"\n')
    command.chmod(0o755)
    return command


def environment(home: Path) -> dict[str, str]:
    """Variables that keep a Neovim, and its daemon, inside `home`."""
    command = daemon_command(home)
    own = {
        name: str(home / name.lower())
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
    }
    return {
        **own,
        "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "PI_CODING_AGENT_DIR": str(home / "agent"),
    }


class Editor:
    """One Neovim. `cwd` is its working directory; `setup` is Lua that runs before anything else."""

    def __init__(self, home: Path, cwd: Path, columns: int = 120, lines: int = 40, setup: str = "") -> None:
        self.home = home
        argv = ["/usr/bin/env", *(f"{name}={value}" for name, value in environment(home).items())]
        argv += [str(binary()), "--clean", "-i", "NONE", "-n", "--embed", "--headless"]
        argv += ["--cmd", f"set runtimepath^={PLUGIN}", "--cmd", f"cd {cwd}"]
        self.nvim = pynvim.attach("child", argv=argv)
        self.nvim.options["columns"], self.nvim.options["lines"] = columns, lines
        self.lua(RECORDER)
        if setup:
            self.lua(setup)
        self.nvim.command("runtime! plugin/pid.lua")

    def lua(self, code: str, *args: Any) -> Any:
        return self.nvim.exec_lua(code, *args)

    def command(self, text: str) -> None:
        self.nvim.command(text)

    def keys(self, text: str) -> None:
        """Types; special keys in angle brackets."""
        self.nvim.input(text)

    def screen(self) -> str:
        """What a person sees, without what trails a line."""
        self.nvim.command("redraw!")
        width, height = self.nvim.options["columns"], self.nvim.options["lines"]
        return str(self.lua(SCREEN, width, height))

    def lines(self) -> list[str]:
        """The current buffer."""
        return list(self.nvim.current.buffer[:])

    def line(self) -> str:
        return str(self.nvim.current.line)

    def told(self) -> list[str]:
        """What `vim.notify` showed, in order."""
        return list(self.lua("return _G.told"))

    def until(self, holds: Callable[[], Any], what: str = "") -> Any:
        """What `holds` answers, once that is true; AssertionError with the screen if it never is."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if found := holds():
                return found
            self.nvim.eval("1")  # lets its loop run
            time.sleep(0.02)
        raise AssertionError(f"{what or 'it'} never held\n{self.screen()}\n" + "\n".join(self.told()))

    def shows(self, text: str) -> str:
        """The screen, once it has this text."""
        return str(self.until(lambda: text in (screen := self.screen()) and screen, f"the screen with {text!r}"))

    def tells(self, text: str) -> str:
        """The first message with this text, once there is one."""
        return str(self.until(lambda: next((line for line in self.told() if text in line), ""), f"message {text!r}"))

    def go_to(self, text: str) -> None:
        """Puts the cursor on the first line of the buffer with this text."""
        number = next(number for number, line in enumerate(self.lines(), 1) if text in line)
        self.nvim.current.window.cursor = (number, 0)

    def daemon_pid(self) -> int:
        """The process of its daemon."""
        return int(self.lua(DAEMON))

    def kill_daemon(self) -> None:
        os.kill(self.daemon_pid(), signal.SIGKILL)

    def stop(self) -> None:
        try:
            self.nvim.command("silent! qall!", async_=True)
            self.nvim.close()
        except (OSError, EOFError):
            pass


RECORDER = """
_G.told = {}
vim.notify = function(text) table.insert(_G.told, text) end
vim.notify_once = vim.notify
"""

SCREEN = """
local width, height = ...
local lines = {}
for row = 1, height do
  local cells = {}
  for column = 1, width do cells[column] = vim.fn.screenstring(row, column) end
  lines[row] = (table.concat(cells):gsub("%s+$", ""))
end
return table.concat(lines, "\\n")
"""

DAEMON = """
local children = vim.api.nvim_get_proc_children(vim.fn.getpid())
for _, pid in ipairs(children) do
  local file = io.open(("/proc/%d/cmdline"):format(pid))
  local line = file and file:read("*a") or ""
  if file then file:close() end
  if line:find("pid", 1, true) and line:find("-m", 1, true) then return pid end
end
return children[1] or 0
"""
