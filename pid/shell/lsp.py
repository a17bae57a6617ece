"""LSP's types for documents, as far as `pid` uses them: plain structs, since an outline has 14,000 of them.

Names and numbers are those of LSP 3.17. Params are wire types, so that their faults are told as all others are.
"""

from typing import Any, Final

from lsprotocol import types
from msgspec import Raw, Struct

from pid.protocol import Wire
from pid.protocol.base import not_sent

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


class PositionParams(Wire):
    text_document: DocumentName
    position: Position


class ReferenceContext(Wire):
    include_declaration: bool = False


class ReferenceParams(Wire):
    text_document: DocumentName
    position: Position
    context: ReferenceContext = ReferenceContext()


class WorkspaceSymbolParams(Wire):
    query: str = ""


class ExecuteCommandParams(Wire):
    command: str
    arguments: list[Raw] | None = None
    work_done_token: Raw = not_sent()


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
    kind: str | None = None
    collapsed_text: str | None = None


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

OFFERS: Final[dict[str, Any]] = {
    "position_encoding": types.PositionEncodingKind.Utf16,
    "text_document_sync": types.TextDocumentSyncOptions(
        open_close=True, change=types.TextDocumentSyncKind.Incremental, save=False
    ),
    "document_symbol_provider": types.DocumentSymbolOptions(label="pid"),
    "folding_range_provider": True,
    "workspace_symbol_provider": True,
    "hover_provider": True,
    "definition_provider": True,
    "references_provider": True,
    "code_lens_provider": types.CodeLensOptions(resolve_provider=False),
    "execute_command_provider": types.ExecuteCommandOptions(commands=[MOVE_LEAF]),
}
"""The server capabilities for documents, by lsprotocol's names."""
