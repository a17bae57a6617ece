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
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "pid"]
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


def pid_in_terminal(*args: str | Path, columns: int = 80) -> bytes:
    """Runs it in a terminal: all that it sent."""
    ours, theirs = pty.openpty()
    ioctl(theirs, TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen([*COMMAND, *args], stdin=theirs, stdout=theirs, stderr=theirs, env=ENV) as process:
        os.close(theirs)
        sent = bytearray()
        try:
            while data := os.read(ours, 65536):
                sent += data
        except OSError:  # Linux says so at the end of a terminal
            pass
        os.close(ours)
    assert process.returncode == 0, sent.decode()
    return bytes(sent)
