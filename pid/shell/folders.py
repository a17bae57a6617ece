"""Which directories a client works in, by what it says in `initialize`."""

import contextlib
import os
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

from pid.protocol import InitializeParams


def workspace_folders(params: InitializeParams) -> list[str]:
    """The paths of the workspace folders; without any, that of `rootUri`; without that, the daemon's own directory."""
    uris = [folder.uri for folder in params.workspace_folders or ()] or [params.root_uri or ""]
    return list(_paths(uris)) or list(_own_directory())


def _paths(uris: list[str]) -> Iterator[str]:
    for uri in uris:
        with contextlib.suppress(ValueError):
            parts = urlsplit(uri)
            path = unquote(parts.path)
            if parts.scheme == "file" and path.startswith("/") and "\0" not in path:
                yield os.path.normpath(path)


def _own_directory() -> Iterator[str]:
    with contextlib.suppress(OSError):  # it may be gone
        yield os.getcwd()
