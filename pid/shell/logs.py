"""Where the log goes: to a file that is kept small, and warnings also to stderr.

No record tells what a message, an entry or an error's text holds: tracebacks are written without the texts of the
exceptions, which may quote what was read. A log that cannot be written never stops the daemon.
"""

import logging
import os
import traceback
from logging.handlers import RotatingFileHandler
from types import TracebackType
from typing import Final

FILE_NAME: Final = "pid.log"
MAX_BYTES: Final = 1 << 20
KEPT: Final = 3  # older files beside the present one
_FORM: Final = "%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"

_Raised = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class DiscreetFormatter(logging.Formatter):
    """Says where something was raised and of which kind, not what it says of itself."""

    def format(self, record: logging.LogRecord) -> str:
        others, record.exc_text = record.exc_text, None  # another formatter may have kept its text there
        try:
            return super().format(record)
        finally:
            record.exc_text = others

    def formatException(self, ei: _Raised) -> str:
        kind, error, frames = ei
        if kind is None or error is None:
            return ""
        lines = traceback.format_tb(frames)
        cause = error.__cause__ or error.__context__
        if cause is not None and cause is not error:
            lines.append(f"behind {_name(type(cause))}\n")
        return "".join([*lines, _name(kind)])

    def formatMessage(self, record: logging.LogRecord) -> str:
        if record.name == "asyncio":  # it quotes tasks and their exceptions behind its first line
            record.message = record.message.partition("\n")[0]
        return super().formatMessage(record)


def set_up(folder: str, level: str) -> None:
    """Sends the log of this process to `folder`, which is made if need be (0700), from `level` on ("info")."""
    logging.raiseExceptions = False
    root = logging.getLogger()
    root.setLevel(logging.getLevelNamesMapping().get(level.upper(), logging.INFO))
    form = DiscreetFormatter(_FORM)
    stderr = logging.StreamHandler()
    stderr.setLevel(logging.WARNING)
    for handler in filter(None, (stderr, _file(folder))):
        handler.setFormatter(form)
        root.addHandler(handler)


def _file(folder: str) -> logging.Handler | None:
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, FILE_NAME)
        return RotatingFileHandler(path, maxBytes=MAX_BYTES, backupCount=KEPT, encoding="utf-8", errors="replace")
    except OSError as error:
        logging.getLogger(__name__).warning("there is no log file: %s", error)
        return None


def _name(kind: type[BaseException]) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
