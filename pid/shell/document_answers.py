"""What is told of a session in a document, in LSP's types. What there is to tell is known by the core."""

from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import Final

from msgspec import UnsetType

from pid.core.diagnosis import HINTS, findings
from pid.core.links import id_span, meant_at, named_entry, naming
from pid.core.outline import (
    Landmark,
    Part,
    called,
    entry_name,
    landmark_rows,
    landmarks,
    outline,
    part_detail,
    part_name,
)
from pid.core.readable import entry_markdown, header_markdown
from pid.core.reading import Reading
from pid.core.text import byte_at
from pid.core.tree import ROOT
from pid.entries import Kind
from pid.shell.document import Document
from pid.shell.guide import link_to
from pid.shell.lsp import (
    MOVE_LEAF,
    At,
    CodeDescription,
    CodeLens,
    Command,
    Diagnostic,
    DocumentSymbol,
    FoldingRange,
    Hover,
    Location,
    Markup,
    Position,
    SymbolInformation,
    Where,
)

_ERROR, _WARNING, _HINT = 1, 2, 4
_ERRORS: Final = frozenset({"malformedLine", "tornLine", "tooDeep", "lineTooLong", "notAnObject", "nulBytes"})
"""Problems in which something is lost; the others are warnings."""
_FILE, _NAMESPACE, _PACKAGE, _METHOD, _PROPERTY, _CONSTANT, _STRING, _KEY, _EVENT = 1, 3, 4, 6, 7, 14, 15, 20, 24
_PART_KINDS: Final = {
    "session": _FILE,
    "turn": _EVENT,
    "label": _KEY,
    "branch": _NAMESPACE,
    "compaction": _PACKAGE,
    "branchSummary": _PACKAGE,
}
_ENTRY_KINDS: Final[dict[int, int]] = {
    Kind.USER: _EVENT,
    Kind.ASSISTANT: _METHOD,
    Kind.BASH: _METHOD,
    Kind.TOOL_RESULT: _PROPERTY,
    Kind.LABEL: _KEY,
    Kind.SESSION_INFO: _STRING,
}
"""Symbol kinds by what editors' icons for them bring to mind."""
_SPOKEN: Final = frozenset({Kind.USER, Kind.ASSISTANT})


# Places


def _where(reading: Reading, line: int, start: int, stop: int) -> Where:
    return Where(At(*reading.place(line, start)), At(*reading.place(line, stop)))


def _entry_range(reading: Reading, row: int) -> Where:
    line, first = reading.line_of(row), reading.columns[row]
    return Where(At(line, first), At(line, first + reading.widths[row]))


def _header_range(reading: Reading) -> Where:
    start, size = reading.scanner.header_span
    line = reading.line_at(start)
    first = start - reading.starts[line]
    return _where(reading, line, first, first + size)


def _range_of(reading: Reading, row: int) -> Where:
    return _header_range(reading) if row == ROOT else _entry_range(reading, row)


def _location(document: Document, reading: Reading, row: int) -> Location:
    line, start, stop = id_span(reading, row)
    return Location(document.uri, _where(reading, line, start, stop))


def _byte(reading: Reading, position: Position) -> tuple[int, int]:
    line = min(max(position.line, 0), len(reading.lines) - 1)
    return line, byte_at(reading.lines[line], position.character)


# Outline


def symbols(reading: Reading) -> Iterator[DocumentSymbol]:
    """The parts of the session as symbols, with the entries of each as their children."""
    return (_part_symbol(reading, part) for part in outline(reading))


def _part_symbol(reading: Reading, part: Part) -> DocumentSymbol:
    first = _range_of(reading, part.head)
    last = first if part.last == part.head else _entry_range(reading, part.last)
    return DocumentSymbol(
        name=part_name(reading, part),
        detail=part_detail(reading, part),
        kind=_PART_KINDS[part.what],
        range=Where(first.start, last.end),
        selection_range=Where(first.start, first.start),
        children=[_entry_symbol(reading, row) for row in part.rows],
    )


def _entry_symbol(reading: Reading, row: int) -> DocumentSymbol:
    where = _entry_range(reading, row)
    return DocumentSymbol(
        name=entry_name(reading, row),
        detail=reading.tree.ids[row],
        kind=_ENTRY_KINDS.get(reading.tree.kinds[row], _CONSTANT),
        range=where,
        selection_range=Where(where.start, where.start),
    )


def flat_symbols(
    document: Document, found: Iterable[DocumentSymbol], container: str | None = None
) -> Iterator[SymbolInformation]:
    """The same for a client that knows no symbols within symbols."""
    for symbol in found:
        where = Location(document.uri, symbol.range)
        yield SymbolInformation(symbol.name, symbol.kind, where, container)
        yield from flat_symbols(document, symbol.children or (), symbol.name)


def folds(reading: Reading) -> list[FoldingRange]:
    """Each part that has more than one line."""
    parts = [(part, reading.line_of(part.last)) for part in outline(reading) if part.last != ROOT]
    heads = [0 if part.head == ROOT else reading.line_of(part.head) for part, _ in parts]
    return [FoldingRange(head, last, "region") for head, (_, last) in zip(heads, parts, strict=True) if last > head]


def search(document: Document, reading: Reading, query: str) -> Iterator[SymbolInformation]:
    """The session, its labels and its user's messages, as far as `query` occurs in them."""
    tree, session_id = reading.tree, reading.scanner.session_id
    previews = ((row, reading.glances[row].preview) for row in landmark_rows(tree))
    for row, what, name in landmarks(tree, session_id, previews, query):
        where = Location(document.uri, _range_of(reading, row))
        yield SymbolInformation(name, _PART_KINDS[what], where, None if row == ROOT else tree.name or session_id)


def found_symbols(path: str, session: str, found: Iterable[tuple[Landmark, int]]) -> Iterator[SymbolInformation]:
    """The landmarks, each with its line, of a session that is open in the daemon and in no document."""
    for (row, what, name), line in found:
        where = Location(Path(path).as_uri(), Where(At(line, 0), At(line, 0)))
        yield SymbolInformation(name, _PART_KINDS[what], where, None if row == ROOT else session)


# Problems


def diagnostics(document: Document, reading: Reading) -> list[Diagnostic]:
    """All problems, and tool calls and results without each other as hints, with links to what is written of them."""
    return [
        Diagnostic(
            range=Where(At(*found.where.start), At(*found.where.stop)),
            severity=_HINT if found.kind in HINTS else _ERROR if found.kind in _ERRORS else _WARNING,
            code=found.kind,
            message=found.message,
            source="pid",
            code_description=CodeDescription(link) if (link := link_to(found.kind)) else None,
        )
        for found in findings(reading, document.pairs(reading))
    ]


# At a place


def hover(document: Document, reading: Reading, position: Position, leaf_id: str | UnsetType | None) -> Hover | None:
    """What the id under the cursor names, or else what the line holds."""
    line, at = _byte(reading, position)
    if found := named_entry(reading, line, at):
        named, row = found
        where = _where(reading, line, named.start, named.stop)
    elif (row := reading.row_at(line, at)) != ROOT:
        where = _entry_range(reading, row)
    elif line == _header_range(reading).start.line:
        return Hover(Markup("markdown", header_markdown(reading)), _header_range(reading))
    else:
        return None
    return Hover(Markup("markdown", entry_markdown(reading, row, document.context(reading, leaf_id))), where)


def definition(document: Document, reading: Reading, position: Position) -> Location | None:
    """Where the entry stands that is meant at a place."""
    row = meant_at(reading, document.pairs(reading), *_byte(reading, position))
    return None if row == ROOT else _location(document, reading, row)


def references(document: Document, reading: Reading, position: Position, *, itself: bool) -> list[Location]:
    """Where the entries stand that name the one at a place."""
    line, at = _byte(reading, position)
    found = named_entry(reading, line, at)
    row = found[1] if found else reading.row_at(line, at)
    if row == ROOT:
        return []
    rows = [*([row] if itself else ()), *naming(reading, document.pairs(reading), row)]
    return [_location(document, reading, other) for other in rows]


# The leaf


def lenses(reading: Reading, session_id: str, leaf_id: str | None, known: Container[str]) -> Iterator[CodeLens]:
    """A lens on each message of user and assistant that the open session has too, to move its leaf there."""
    tree = reading.tree
    for row in range(len(tree)):
        entry_id = tree.ids[row]
        if tree.kinds[row] not in _SPOKEN or tree.is_hidden(row) or entry_id == leaf_id or entry_id not in known:
            continue
        place = At(reading.line_of(row), reading.columns[row])
        argument = {"sessionId": session_id, "entryId": entry_id}
        command = Command(f"Move the leaf here ({called(reading.glances[row])})", MOVE_LEAF, [argument])
        yield CodeLens(Where(place, place), command)
