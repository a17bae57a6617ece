"""The command `pid` as people run it: in a pipe, or in a terminal of its own."""

import os
import pty
import struct
import subprocess
import sys
import tempfile
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ
from threading import Event, Thread
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "pid"]
CONTROLLING = [
    sys.executable,
    "-c",
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])",
]
"""Makes the terminal on the input the one whose keys send signals, and becomes the command."""
CHANGING = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "PYTHONUNBUFFERED", "PYTHONIOENCODING")
"""Settings of whoever runs the tests that would change what is sent."""
ENV = {
    **{name: value for name, value in os.environ.items() if name not in CHANGING},
    "PYTHONPATH": str(ROOT),
    "TZ": "UTC",
    "TERM": "xterm-256color",
    "XDG_STATE_HOME": str(Path(tempfile.gettempdir(), "pid-tests")),  # for the daemon's log
}


def pid(*args: str | Path, code: int = 0, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs it with pipes; the exit code is checked."""
    env = ENV | options.pop("env", {})
    done = subprocess.run(
        [*COMMAND, *args], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, env=env, **options
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


def pid_in_terminal(
    *args: str | Path,
    columns: int = 80,
    code: int = 0,
    env: dict[str, str] | None = None,
    interrupt: Event | None = None,
) -> bytes:
    """Runs it in a terminal of its own, as its foreground job: all that it sent. Ctrl-C is typed at `interrupt`."""
    ours, theirs = pty.openpty()
    ioctl(theirs, TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    options: dict[str, Any] = {"stdin": theirs, "stdout": theirs, "stderr": theirs, "env": ENV | (env or {})}
    with subprocess.Popen([*CONTROLLING, *COMMAND, *args], start_new_session=True, **options) as process:
        os.close(theirs)
        if interrupt is not None:
            Thread(target=_press_ctrl_c, args=(ours, interrupt), daemon=True).start()
        sent = bytearray()
        try:
            while data := os.read(ours, 65536):
                sent += data
        except OSError:  # Linux says so at the end of a terminal
            pass
        os.close(ours)
    assert process.returncode == code, sent.decode()
    return bytes(sent)


def _press_ctrl_c(terminal: int, moment: Event) -> None:
    if moment.wait(60):
        os.write(terminal, b"\x03")
