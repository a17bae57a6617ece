"""What `initialize` says before pygls is loaded, beside what pygls says of the features that are registered then."""

from lsprotocol import converters, types
from pygls.capabilities import ServerCapabilitiesBuilder
from pygls.lsp.server import LanguageServer

from pid.shell.bridge import Bridge
from pid.shell.documents import add
from pid.shell.lsp import CAPABILITIES, MOVE_LEAF, REQUESTS
from pid.shell.open_documents import OpenDocuments

OURS = {"positionEncoding", "textDocumentSync"}
"""Texts do not come to pygls."""


def registered() -> LanguageServer:
    server = LanguageServer("pid", "1", types.TextDocumentSyncKind.Incremental, protocol_cls=Bridge)
    add(server, OpenDocuments(lambda: None, lambda params: None))  # type: ignore[arg-type, return-value]
    return server


def test_the_capabilities_are_those_of_the_features() -> None:
    fm = registered().protocol.fm
    built = ServerCapabilitiesBuilder(
        types.ClientCapabilities(),
        {*fm.features, *fm.builtin_features},
        fm.feature_options,
        list(fm.commands),
        types.TextDocumentSyncKind.Incremental,
    ).build()
    said = converters.get_converter().unstructure(built)
    providers = {name: value for name, value in said.items() if name.endswith("Provider")}
    assert providers == {name: value for name, value in CAPABILITIES.items() if name not in OURS}


def test_what_is_handed_to_pygls_is_registered_there() -> None:
    fm = registered().protocol.fm
    assert set(fm.features) == REQUESTS - {"workspace/executeCommand"}
    assert set(fm.commands) == {MOVE_LEAF}
