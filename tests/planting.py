"""Trees of real files, written as text.

-- project/AGENTS.md --          a file; its text follows
-- project/link -> AGENTS.md --  a symbolic link
-- project/.git/ --              an empty directory
-- project/pipe | --             a FIFO
-- project/huge * 1048577 --     a file of so many NUL bytes
-- project/odd = 4100ff --       a file of these bytes
"""

import os
import re
from pathlib import Path

_HEAD = re.compile(
    r"^-- (?P<path>.+?)(?: -> (?P<target>.+)|(?P<fifo> \|)| \* (?P<size>\d+)| = (?P<hex>\S+))? --\n", re.MULTILINE
)


def plant(root: Path, tree: str) -> None:
    """Makes the files of `tree` beneath `root`."""
    heads = list(_HEAD.finditer(tree))
    ends = [head.start() for head in heads[1:]] + [len(tree)]
    for head, end in zip(heads, ends, strict=True):
        path = root / head["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        if head["target"]:
            path.symlink_to(head["target"])
        elif head["fifo"]:
            os.mkfifo(path)
        elif head["size"]:
            path.touch()
            os.truncate(path, int(head["size"]))
        elif head["hex"]:
            path.write_bytes(bytes.fromhex(head["hex"]))
        elif head["path"].endswith("/"):
            path.mkdir(exist_ok=True)
        else:
            path.write_text(tree[head.end() : end], encoding="utf-8", newline="")
