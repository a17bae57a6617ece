"""Fixtures for what lies on disk."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

NOBODY = 65534


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """A directory of one's own, without root's right to read everything."""
    own = os.geteuid()
    with tempfile.TemporaryDirectory() as directory:
        if own == 0:
            os.chown(directory, NOBODY, NOBODY)
            os.seteuid(NOBODY)
        try:
            yield Path(directory).resolve()
        finally:
            os.seteuid(own)
