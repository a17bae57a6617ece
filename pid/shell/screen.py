"""Where the lines of a command go: cut to the width and coloured in a terminal, plain and whole in a pipe.

The one place that knows what a terminal must not be sent: control characters and turns of direction, which session
files may hold, come out as `·`. rich is imported for a terminal only.
"""

import io
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import islice
from typing import Final, TextIO

import msgspec

from pid.protocol import WorkDoneProgress
from pid.shell.drawing import Line

_UNSENT: Final = dict.fromkeys(
    (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)),
    "·",
) | {0x09: "    "}
_ESCAPED: Final = {code: f"\\u{code:04x}" for code in _UNSENT if code >= 0x7F}
"""The same in JSON, where they stand in strings only."""

_ASCII: Final = str.maketrans(
    {"│": "|", "├": "|", "─": "-", "●": "*", "○": "o", "·": ".", "✗": "x", "▪": "=", "◆": "#", "◇": "+", "◀": "<",
     "┊": ":", "→": "->", "←": "<-", "✓": "ok", "…": "..."}
)  # fmt: skip
_ROOMY: Final = 60  # columns from which on a bar also says how long it took
_AT_ONCE: Final = 200  # lines that rich gets in one go


class Screen:
    """The output of one command: `json` for programs, `lines` for people; faults go to `err`, behind `name`."""

    def __init__(self, name: str, out: TextIO | None, err: TextIO | None) -> None:
        self._name = name
        self._err = err or io.StringIO()
        self._out = out or io.StringIO()  # there is none under `>&-`
        self._signs = None if "utf" in (self._out.encoding or "utf-8").lower() else _ASCII
        if isinstance(self._out, io.TextIOWrapper):
            self._out.reconfigure(errors="replace")
        self._paint = _painter(self._out) if self._out.isatty() else None

    def lines(self, lines: Iterable[Line], *, cut: bool = True) -> None:
        """Writes the lines; in a terminal each is cut to the width, or wrapped below its indent."""
        safe = ([(self._safe(text), style) for text, style in line] for line in lines)
        if self._paint:
            self._paint(safe, cut)
            return
        for line in safe:
            self._out.write("".join(text for text, _ in line).rstrip() + "\n")

    def json(self, value: object) -> None:
        """Writes one JSON document, in UTF-8 whatever the output's encoding."""
        document = msgspec.json.encode(value)
        if self._paint:
            document = document.decode().translate(_ESCAPED).encode()
        if isinstance(self._out, io.TextIOWrapper):
            self._out.buffer.write(document + b"\n")

    def complain(self, message: str) -> None:
        """Says in one line what cannot be done; what was written before stands before it."""
        with suppress(OSError):
            self._out.flush()
        with suppress(OSError):
            self._err.write(self._name + "\n".join(map(self._safe, message.splitlines())) + "\n")

    @contextmanager
    def bar(self, title: str) -> Iterator[Callable[[WorkDoneProgress], None]]:
        """A bar on the error stream while something goes on, with what it is told; in a pipe nothing.

        Without a percentage it only says that something goes on. Behind it nothing is left.
        """
        if not self._err.isatty():
            yield lambda told: None
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.table import Column

        console = Console(file=self._err)
        console.width = max(console.width - 3, 1)  # room for the terminal's `^C`, or the bar could not be taken back
        words = Column(no_wrap=True, overflow="ellipsis")
        columns = [
            TextColumn(title),
            BarColumn(bar_width=max(4, min(24, console.width // 6))),
            *([TimeElapsedColumn()] if console.width >= _ROOMY else []),
            TextColumn("{task.description}", markup=False, table_column=words),
        ]

        def show(told: WorkDoneProgress) -> None:
            message, done = (told.message or "").translate(_UNSENT), told.percentage
            progress.update(task, description=message, total=100 if done else None, completed=done)

        with Progress(*columns, console=console, transient=True) as progress:
            task = progress.add_task("", total=None)
            yield show

    def flush(self) -> None:
        """Raises what the output raises: BrokenPipeError, or another OSError for a full disk."""
        self._out.flush()

    def abandon(self) -> None:
        """Nothing more can be written: what waits is dropped, so that the end of the program does not trip over it."""
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, self._out.fileno())
        os.close(null)

    def _safe(self, text: str) -> str:
        if not text.isprintable():
            text = text.translate(_UNSENT)
        return text.translate(self._signs) if self._signs else text


def _painter(out: TextIO) -> Callable[[Iterator[Line], bool], None]:
    from rich.cells import cell_len, set_cell_size
    from rich.console import Console
    from rich.segment import Segment, Segments
    from rich.style import Style
    from rich.text import Text

    console = Console(file=out, highlight=False)
    style_of = lru_cache(Style.parse)

    def whole(line: Line) -> Iterator[Segment]:
        yield from (Segment(text, style_of(style)) for text, style in line)
        yield Segment.line()

    def cut_off(line: Line) -> Iterator[Segment]:
        room = console.width - 1
        for text, style in line:
            size = cell_len(text)
            if size > room:
                yield Segment(set_cell_size(text, room) + "…", style_of(style))
                break
            room -= size
            yield Segment(text, style_of(style))
        yield Segment.line()

    def wrapped(line: Line) -> Iterator[Segment]:
        indent = line[0][0] if not line[0][0].strip() else ""
        text = Text.assemble(*(line[1:] if indent else line), end="")
        for part in text.wrap(console, max(console.width - len(indent), 1)):
            yield Segment(indent)
            yield from part.render(console, end="\n")

    def fitted(line: Line, cut: bool) -> Iterator[Segment]:
        fits = sum(cell_len(text) for text, _ in line) <= console.width
        return whole(line) if fits else cut_off(line) if cut else wrapped(line)

    def paint(lines: Iterator[Line], cut: bool) -> None:
        while some := list(islice(lines, _AT_ONCE)):
            segments = Segments(segment for line in some for segment in fitted(line, cut))
            console.print(segments, end="", crop=False)

    return paint
