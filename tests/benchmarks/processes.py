"""What the system says of another process: its memory, and the processor time that it took."""

from __future__ import annotations

import ctypes
import time
from pathlib import Path


class Memory:
    """Resident memory of a process as Linux counts it, in MB; `added` is None elsewhere."""

    def __init__(self, pid: int) -> None:
        self._folder = Path(f"/proc/{pid}")
        self._before = self.resident() if self._forget_peak() else None

    def resident(self) -> float | None:
        return self._status("VmRSS")

    def added(self) -> float | None:
        """The peak since this object was made, above what was resident then."""
        peak = self._status("VmHWM")
        return None if peak is None or self._before is None else max(0.0, peak - self._before)

    def _forget_peak(self) -> bool:
        try:
            (self._folder / "clear_refs").write_text("5")  # proc(5): resets VmHWM to the present VmRSS
        except OSError:
            return False
        return True

    def _status(self, name: str) -> float | None:
        try:
            lines = (self._folder / "status").read_text().splitlines()
        except FileNotFoundError:
            return None
        return next(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(name + ":"))


def processor_seconds(pid: int) -> float | None:
    """Processor time of all threads of a process since its start; None where POSIX's clock of it is missing."""
    clock = ctypes.c_int()
    try:
        missing = ctypes.CDLL(None).clock_getcpuclockid(pid, ctypes.byref(clock))
    except AttributeError:
        return None
    return None if missing else time.clock_gettime(clock.value)
