"""LSP features of the tests, served by pygls. Importing this loads lsprotocol, as the daemon's own features do."""

import asyncio
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer


def add(server: LanguageServer, trace: list[str]) -> None:
    """Registers them; `trace` records what they did."""

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    async def definition(params: types.DefinitionParams) -> Any:
        client = server.client_capabilities
        parts = ("workspace", "text_document")
        known = (f"{part} {'unknown' if getattr(client, part) is None else 'known'}" for part in parts)
        trace.append(", ".join(("definition", *known)))
        if params.position.line == 404:
            raise JsonRpcException("there is no such line", 1404, {"line": 404})
        if params.position.line == 500:
            raise RuntimeError("the secret")
        return types.Location(params.text_document.uri, types.Range(params.position, params.position))

    @server.feature(types.TEXT_DOCUMENT_IMPLEMENTATION)
    async def implementation(params: types.ImplementationParams) -> Any:
        trace.append("implementation")
        await asyncio.sleep(3600)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(params: types.DidSaveTextDocumentParams) -> None:
        trace.append(f"saved {params.text_document.uri}")

    @server.command("test/configuration")
    async def configuration(*_: Any) -> Any:
        """Asks the client in pygls' own way."""
        items = types.ConfigurationParams(items=[types.ConfigurationItem(section="pid")])
        return await server.workspace_configuration_async(items)
