"""Which files and directories a client means, by their URIs."""

import contextlib
import os
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

from pid.protocol import InitializeParams


def workspace_folders(params: InitializeParams) -> list[str]:
    """The paths of the workspace folders; without any, that of `rootUri`; without that, the daemon's own directory."""
    uris = [folder.uri for folder in params.workspace_folders or ()] or [params.root_uri or ""]
    return list(filter(None, map(path_of, uris))) or list(_own_directory())


def path_of(uri: str) -> str | None:
    """The path that a `file:` URI names; None for any other."""
    with contextlib.suppress(ValueError):
        parts = urlsplit(uri)
        path = unquote(parts.path)
        if parts.scheme == "file" and path.startswith("/") and "\0" not in path:
            return os.path.normpath(path)
    return None


def _own_directory() -> Iterator[str]:
    with contextlib.suppress(OSError):  # it may be gone
        yield os.getcwd()
