"""The o200k tokenizer: tiktoken, with its ranks read from this package, never from a network.

Loading takes a third of a second and 80 MB, and tiktoken holds the interpreter's lock for half of that, so a thread
would still stop the event loop: a daemon calls `count_texts` in a process of its own (`anyio.to_process`), which goes
when it is idle. What cannot be loaded leaves the estimates to `core.guess` and is told: nothing here raises.
"""

import binascii
import gzip
import hashlib
import threading
import zlib
from collections.abc import Callable, Sequence
from importlib import resources
from typing import Final

from pid.core.guess import guess_tokens
from pid.core.tokens import TokenCounter

RANKS_SHA256: Final = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
"""Of `o200k_base.tiktoken` as OpenAI publishes it; tiktoken checks its own downloads against the same."""

PATTERN: Final = "|".join(
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)
"""How o200k parts a text before it merges bytes: a definition of the encoding, like its ranks."""

PIECE_CHARACTERS: Final = 100_000
"""tiktoken raises on about a million blanks in a row, so a text goes in pieces; a cut costs a token at most."""


def read_ranks() -> bytes:
    """The ranks as published. Raises `OSError`, `EOFError` or `zlib.error` where the file is missing or broken."""
    packed = resources.files("pid").joinpath("data", "o200k_base.tiktoken.gz").read_bytes()
    return gzip.decompress(packed)


class Tokenizer:
    """The tokenizer of a daemon. `counter` is None until `load` is through, and stays None where that fails."""

    def __init__(self, read: Callable[[], bytes] = read_ranks) -> None:
        self.counter: TokenCounter | None = None
        self.problem: str | None = None
        self._read = read
        self._lock = threading.Lock()

    def load(self) -> TokenCounter | None:
        """Loads once, however many threads ask; blocks until it is through."""
        with self._lock:
            if self.counter is None and self.problem is None:
                try:
                    self.counter = _counter(self._read())
                except (OSError, EOFError, zlib.error, ValueError, ImportError) as error:
                    self.problem = f"token estimates go without a tokenizer: {error}"
            return self.counter


_in_this_process: Final = Tokenizer()


def count_texts(texts: Sequence[str]) -> list[int] | None:
    """The tokens of each text; None where there is no tokenizer. The first call in a process loads it."""
    count = _in_this_process.load()
    return None if count is None else [count(text) for text in texts]


def _counter(ranks: bytes) -> TokenCounter:
    if hashlib.sha256(ranks).hexdigest() != RANKS_SHA256:
        raise ValueError("the ranks of o200k_base are not the published ones (SHA-256)")
    import tiktoken  # not before it is wanted

    words = ranks.split()  # tokens in base64, each with its rank: in their order, from 0
    by_token = {token: rank for rank, token in enumerate(map(binascii.a2b_base64, words[::2]))}
    encoding = tiktoken.Encoding("o200k_base", pat_str=PATTERN, mergeable_ranks=by_token, special_tokens={})

    def count_piece(text: str) -> int:
        try:
            return len(encoding.encode(text, disallowed_special=()))
        except Exception:  # a text that the tokenizer cannot take is still a text of some length
            return guess_tokens(text)

    def count(text: str) -> int:
        if len(text) <= PIECE_CHARACTERS:
            return count_piece(text)
        starts = range(0, len(text), PIECE_CHARACTERS)
        return sum(count_piece(text[start : start + PIECE_CHARACTERS]) for start in starts)

    return count
