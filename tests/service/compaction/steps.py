"""What tests of compactions do again and again: talk, wait for the model to be asked, look at the file."""

import asyncio
import json
import threading
from pathlib import Path

from pid.protocol import CompactParams, SettingsUpdate
from tests.anthropic_server import Reply
from tests.interop import FOLDER
from tests.service.daemon import append, user

SETTINGS = SettingsUpdate(keep_recent_tokens=500, overhead_tokens=0, token_estimator="chars4")
REAL = FOLDER / "real-session-v1.jsonl"
ENDS = {"completed", "failed", "cancelled"}


async def converse(resident, turns, size=1600):
    """So many turns of `size` characters a message."""
    for number in range(turns):
        await append(resident, user(f"do {number} " + "x" * size), assistant(f"did {number} " + "y" * size))


def assistant(text, **fields):
    message = {"role": "assistant", "content": [{"type": "text", "text": text}], "model": "m", "provider": "p"}
    return {"type": "message", "message": message | fields}


def params(**fields):
    return CompactParams(session_id="s", **fields)


def gate(server, text="the summary"):
    """The next reply waits until the event that is returned is set."""
    event = threading.Event()
    server.script(Reply(text, gate=event))
    return event


async def asked(server, count=1):
    while len(server.requests) < count:
        await asyncio.sleep(0.005)


def raw(resident):
    return Path(resident.session.journal.path).read_bytes()


def entries(resident):
    return [json.loads(line) for line in raw(resident).splitlines()[1:]]


def states(told):
    return [notice.state for notice in told.of("session/compaction")]
