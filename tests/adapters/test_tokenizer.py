"""The tokenizer without a network: the published ranks and pattern, odd texts, and what happens when it cannot load."""

from __future__ import annotations

import gzip
import hashlib
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable

import pytest
import tiktoken_ext.openai_public as published
from anyio import to_process

from pid.adapters.tokenizer import PATTERN, PIECE_CHARACTERS, RANKS_SHA256, Tokenizer, count_texts, read_ranks
from pid.core.tokens import TokenCounter


@pytest.fixture(scope="module")
def count() -> TokenCounter:
    counter = Tokenizer().load()
    assert counter is not None
    return counter


def test_the_ranks_are_the_published_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(published, "load_tiktoken_bpe", lambda url, expected_hash: asked.append(expected_hash) or {})
    assert published.o200k_base()["pat_str"] == PATTERN
    assert asked == [RANKS_SHA256] == [hashlib.sha256(read_ranks()).hexdigest()]


def test_known_counts(count: TokenCounter) -> None:
    assert count("") == 0
    assert count("hello world") == 2
    assert count("<|endoftext|>") == 7  # text, not a special token
    assert count("\ud800") >= 1


@pytest.mark.parametrize("unit", [" ", "\t", "\n", "a", "=", "😀", "\u0301"])
def test_a_million_of_the_same_does_not_raise(unit: str, count: TokenCounter) -> None:
    assert 0 < count(unit * 1_200_000) <= 1_200_000


def test_a_long_text_is_counted_whole(count: TokenCounter) -> None:
    """Measured in pieces, which cost a token at most where they part a word."""
    line = "the same words, again and again\n"
    lines = 4 * PIECE_CHARACTERS // len(line)
    assert abs(count(line * lines) - count(line) * lines) <= 4


def _raising(error: Exception) -> Callable[[], bytes]:
    def read() -> bytes:
        raise error

    return read


@pytest.mark.parametrize(
    "read",
    [
        _raising(FileNotFoundError("no file")),
        _raising(EOFError()),
        _raising(zlib.error("not packed")),
        _raising(gzip.BadGzipFile("not packed")),
        lambda: b"aGk= 0\n",
    ],
)
def test_what_cannot_be_loaded_is_told_and_not_raised(read: Callable[[], bytes]) -> None:
    tokenizer = Tokenizer(read)
    assert tokenizer.load() is None
    assert tokenizer.counter is None
    assert tokenizer.problem is not None


def test_a_missing_tiktoken_is_told_and_not_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    tokenizer = Tokenizer()
    assert tokenizer.load() is None
    assert "tiktoken" in (tokenizer.problem or "")


def test_many_threads_load_once() -> None:
    reads: list[bytes] = []

    def read() -> bytes:
        reads.append(read_ranks())
        return reads[-1]

    tokenizer = Tokenizer(read)
    threads = [threading.Thread(target=tokenizer.load) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(reads) == 1


@pytest.mark.anyio
async def test_a_process_of_its_own_counts(count: TokenCounter) -> None:
    texts = ["hello world", "", "<|endoftext|>", "日本語" * 50_000]
    assert await to_process.run_sync(count_texts, texts) == [count(text) for text in texts]


def test_importing_it_loads_nothing() -> None:
    code = "import sys, pid.adapters.tokenizer; sys.exit('tiktoken' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
