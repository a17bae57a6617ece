"""The asynchronous Python client: it starts the daemon, speaks the protocol, and ends it politely.

    async with Client.spawn(notifications=["session/didChange"]) as client:
        state = await client.session.open(path="/home/me/session.jsonl")
        with client.listen(DidChangeNotice) as changes:
            await client.session.append(session_id=state.session_id, entry=raw({"type": "message", ...}))
            async for change in changes:
                ...

Every request `noun/verb` of the protocol is `client.noun.verb(…)`: the keywords are the fields of its params, the
answer is its result type. Errors are raised as the classes of `pid.errors`, and `DaemonGone` when there is nobody
left to answer. It knows the wire and nothing of trees: no rule of the daemon is repeated here.
"""

from pid.client.calls import Request, SessionCalls, pages, plain, raw
from pid.client.client import Client
from pid.client.failures import DaemonGone, OtherError
from pid.client.inbox import Listening, Summarize

__all__ = [
    "Client",
    "DaemonGone",
    "Listening",
    "OtherError",
    "Request",
    "SessionCalls",
    "Summarize",
    "pages",
    "plain",
    "raw",
]
