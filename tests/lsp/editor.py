"""What an editor does with a document, by pytest-lsp's client."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from lsprotocol import types
from pytest_lsp import LanguageClient

PATIENCE = 20.0


def place(line: int, character: int) -> types.Position:
    return types.Position(line=line, character=character)


class Editor:
    """`client` is asked for everything that has no short form here."""

    def __init__(self, client: LanguageClient, folder: Path) -> None:
        self.client = client
        self.folder = folder
        self.offers: types.ServerCapabilities
        self.refreshed = 0
        self.told: dict[str, types.PublishDiagnosticsParams] = {}
        self._version = 0

        @client.feature(types.WORKSPACE_CODE_LENS_REFRESH)
        def refresh(*_: object) -> None:
            self.refreshed += 1

        features = client.protocol.fm.features
        features.pop(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)

        @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def publish(params: types.PublishDiagnosticsParams) -> None:
            self.told[params.uri] = params

    async def initialize(self, capabilities: types.ClientCapabilities) -> None:
        params = types.InitializeParams(capabilities=capabilities)
        self.offers = (await self.client.initialize_session(params)).capabilities

    def written(self, data: bytes, name: str = "session.jsonl") -> Path:
        """A file with these bytes."""
        path = self.folder / name
        path.write_bytes(data)
        return path

    def open(self, path: Path, text: str | None = None, language: str = "jsonl") -> str:
        """Opens the document of a file, with the text that stands there unless another is given; its URI."""
        uri = path.as_uri()
        text = path.read_bytes().decode(errors="replace") if text is None else text
        self._version += 1
        item = types.TextDocumentItem(uri=uri, language_id=language, version=self._version, text=text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=item))
        return uri

    def change(self, uri: str, *changes: tuple[types.Position, types.Position, str] | str) -> int:
        """Sends edits, or whole texts; the new version."""
        self._version += 1
        document = types.VersionedTextDocumentIdentifier(uri=uri, version=self._version)
        content = [
            types.TextDocumentContentChangeWholeDocument(text=change)
            if isinstance(change, str)
            else types.TextDocumentContentChangePartial(range=types.Range(*change[:2]), text=change[2])
            for change in changes
        ]
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(text_document=document, content_changes=content)
        )
        return self._version

    def close(self, uri: str) -> None:
        document = types.TextDocumentIdentifier(uri=uri)
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(text_document=document))

    async def diagnostics(self, uri: str) -> list[types.Diagnostic]:
        """The problems that are told of the newest version."""
        async with asyncio.timeout(PATIENCE):
            while (told := self.told.get(uri)) is None or told.version != self._version:
                await asyncio.sleep(0.01)
        return list(told.diagnostics)

    async def symbols(self, uri: str) -> list[types.DocumentSymbol]:
        params = types.DocumentSymbolParams(text_document=types.TextDocumentIdentifier(uri=uri))
        return list(await self.client.text_document_document_symbol_async(params) or ())  # type: ignore[arg-type]

    async def folds(self, uri: str) -> list[types.FoldingRange]:
        params = types.FoldingRangeParams(text_document=types.TextDocumentIdentifier(uri=uri))
        return list(await self.client.text_document_folding_range_async(params) or ())

    async def hover(self, uri: str, line: int, character: int = 0) -> tuple[str, types.Range | None] | None:
        params = types.HoverParams(text_document=types.TextDocumentIdentifier(uri=uri), position=place(line, character))
        found = await self.client.text_document_hover_async(params)
        if found is None:
            return None
        assert isinstance(found.contents, types.MarkupContent)
        assert found.contents.kind is types.MarkupKind.Markdown
        return found.contents.value, found.range

    async def definition(self, uri: str, line: int, character: int = 0) -> tuple[int, int] | None:
        """The line and column of where it is."""
        params = types.DefinitionParams(
            text_document=types.TextDocumentIdentifier(uri=uri), position=place(line, character)
        )
        found = await self.client.text_document_definition_async(params)
        if found is None:
            return None
        assert isinstance(found, types.Location)
        assert found.uri == uri
        return found.range.start.line, found.range.start.character

    async def references(self, uri: str, line: int, character: int = 0, *, itself: bool = False) -> list[int]:
        """Their lines."""
        params = types.ReferenceParams(
            context=types.ReferenceContext(include_declaration=itself),
            text_document=types.TextDocumentIdentifier(uri=uri),
            position=place(line, character),
        )
        return [one.range.start.line for one in await self.client.text_document_references_async(params) or ()]

    async def lenses(self, uri: str) -> list[types.CodeLens]:
        params = types.CodeLensParams(text_document=types.TextDocumentIdentifier(uri=uri))
        return list(await self.client.text_document_code_lens_async(params) or ())

    async def search(self, query: str) -> list[tuple[str, str, int]]:
        """Names, URIs and lines."""
        found = await self.client.workspace_symbol_async(types.WorkspaceSymbolParams(query=query)) or ()
        return [(one.name, one.location.uri, one.location.range.start.line) for one in found]  # type: ignore[union-attr]

    async def ask(self, method: str, params: dict[str, Any]) -> Any:
        """A request of the daemon's own."""
        return await self.client.protocol.send_request_async(method, params)
