"""Session files in any editor: LSP's features on them, as pygls serves them. Importing this loads lsprotocol.

Params come in as lsprotocol's types, results go out as plain structs, or as JSON where they are long; what is asked
means is known by `open_documents`.
"""

from typing import Any

from lsprotocol import types
from msgspec import Raw
from pygls.lsp.server import LanguageServer

from pid.protocol import SetLeafResult
from pid.shell.lsp import (
    MOVE_LEAF,
    Hover,
    Location,
    Position,
    SymbolInformation,
)
from pid.shell.open_documents import OpenDocuments


def add(server: LanguageServer, documents: OpenDocuments) -> None:
    """Registers the features."""

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, types.DocumentSymbolOptions(label="pid"))
    async def symbols(params: types.DocumentSymbolParams) -> Raw:
        return await documents.symbols(params.text_document.uri, nested=_nests_symbols(server.client_capabilities))

    @server.feature(types.TEXT_DOCUMENT_FOLDING_RANGE)
    async def folds(params: types.FoldingRangeParams) -> Raw:
        return await documents.folds(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> Hover | None:
        return await documents.hover(params.text_document.uri, _position(params.position))

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    async def definition(params: types.DefinitionParams) -> Location | None:
        return await documents.definition(params.text_document.uri, _position(params.position))

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    async def references(params: types.ReferenceParams) -> list[Location]:
        itself = params.context.include_declaration
        return await documents.references(params.text_document.uri, _position(params.position), itself=itself)

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    async def lenses(params: types.CodeLensParams) -> Raw:
        documents.refreshes_lenses = _refreshes_lenses(server.client_capabilities)
        return await documents.lenses(params.text_document.uri)

    @server.feature(types.WORKSPACE_SYMBOL)
    async def search(params: types.WorkspaceSymbolParams) -> list[SymbolInformation]:
        return await documents.search(params.query)

    @server.command(MOVE_LEAF)
    async def move_leaf(*arguments: Any) -> SetLeafResult:
        return await documents.move_leaf(arguments)


def _position(position: types.Position) -> Position:
    return Position(line=position.line, character=position.character)


def _nests_symbols(client: types.ClientCapabilities) -> bool:
    symbols = client.text_document.document_symbol if client.text_document else None
    return bool(symbols and symbols.hierarchical_document_symbol_support)


def _refreshes_lenses(client: types.ClientCapabilities) -> bool:
    lenses = client.workspace.code_lens if client.workspace else None
    return bool(lenses and lenses.refresh_support)
