"""Workspace folders as paths."""

import os

import pytest

from pid.protocol import InitializeParams, WorkspaceFolder
from pid.shell.folders import workspace_folders

URIS = {
    "file:///home/ada": ["/home/ada"],
    "file:///home/ada/": ["/home/ada"],
    "file:///a%20b/%C3%A9": ["/a b/é"],
    "file://localhost/a": ["/a"],
    "file:///a#b?c": ["/a"],
    "file:///a%23b": ["/a#b"],
    "http://x/a": [],
    "file:relative": [],
    "file:///a%00b": [],
    "file://[": [],
    "": [],
}


@pytest.mark.parametrize(("uri", "paths"), URIS.items())
def test_a_folder(uri: str, paths: list[str]) -> None:
    folders = [WorkspaceFolder(uri=uri), WorkspaceFolder(uri="file:///last")]
    assert workspace_folders(InitializeParams(workspace_folders=folders)) == [*paths, "/last"]


def test_without_folders() -> None:
    assert workspace_folders(InitializeParams()) == [os.getcwd()]
    assert workspace_folders(InitializeParams(root_uri="file:///r")) == ["/r"]
    assert workspace_folders(InitializeParams(workspace_folders=[], root_uri="file:///r")) == ["/r"]
