"""LSP's types for documents, as far as `pid` reads and answers them: plain structs, since an outline has 14,000 of
them, and texts have 40 MB. Names and numbers are those of LSP 3.17. The params of requests are lsprotocol's.
"""

from typing import Any, Final

from msgspec import Raw, Struct

from pid.protocol import Wire

# Params


class DocumentName(Wire):
    uri: str
    version: int | None = None


class Position(Wire):
    line: int
    character: int


class Range(Wire):
    start: Position
    end: Position


class OpenedDocument(Wire):
    uri: str
    text: Raw
    version: int = 0


class DidOpenParams(Wire):
    text_document: OpenedDocument


class ContentChange(Wire):
    """Without a range, the text is all of the document."""

    text: Raw
    range: Range | None = None


class DidChangeParams(Wire):
    text_document: DocumentName
    content_changes: list[ContentChange]


class DocumentParams(Wire):
    """The params of everything that is asked or told about a whole document."""

    text_document: DocumentName


# Results


class Answer(Struct, rename="camel", omit_defaults=True, gc=False):
    """The base of what is answered."""


class At(Answer):
    line: int
    character: int


class Where(Answer):
    start: At
    end: At


class Location(Answer):
    uri: str
    range: Where


class DocumentSymbol(Answer):
    name: str
    kind: int
    range: Where
    selection_range: Where
    detail: str | None = None
    children: list["DocumentSymbol"] | None = None


class SymbolInformation(Answer):
    name: str
    kind: int
    location: Location
    container_name: str | None = None


class FoldingRange(Answer):
    start_line: int
    end_line: int
    kind: str


class Markup(Answer):
    kind: str
    value: str


class Hover(Answer):
    contents: Markup
    range: Where | None = None


class Command(Answer):
    title: str
    command: str
    arguments: list[Any]


class CodeLens(Answer):
    range: Where
    command: Command


class CodeDescription(Answer):
    href: str


class Diagnostic(Answer):
    range: Where
    severity: int
    code: str
    message: str
    source: str = ""
    code_description: CodeDescription | None = None


class PublishDiagnostics(Answer):
    uri: str
    diagnostics: list[Diagnostic]
    version: int | None = None


# What the daemon offers

MOVE_LEAF: Final = "pid.moveLeafHere"
"""The command of the code lens: one argument, `{"sessionId": …, "entryId": …}`."""

CAPABILITIES: Final[dict[str, Any]] = {
    "positionEncoding": "utf-16",
    "textDocumentSync": {"openClose": True, "change": 2, "save": False},
    "documentSymbolProvider": {"label": "pid"},
    "foldingRangeProvider": True,
    "workspaceSymbolProvider": {"resolveProvider": False},
    "hoverProvider": True,
    "definitionProvider": True,
    "referencesProvider": True,
    "codeLensProvider": {"resolveProvider": False},
    "executeCommandProvider": {"commands": [MOVE_LEAF]},
}
"""What `initialize` says of documents. Changes are incremental (2)."""

REQUESTS: Final = frozenset(
    {
        "textDocument/documentSymbol",
        "textDocument/foldingRange",
        "textDocument/hover",
        "textDocument/definition",
        "textDocument/references",
        "textDocument/codeLens",
        "workspace/symbol",
        "workspace/executeCommand",
    }
)
"""What pygls serves, in `documents`."""
