"""A peer of the client with bad habits, over real pipes: what the daemon never does, and the client must survive.

Run as a script. Each method of `HABITS` is one habit; `initialize` and `shutdown` are answered as they should be.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

from pid.core.framing import Body, Framer, header

Message = dict[str, Any]
CAPABILITY = {
    "protocolVersion": 1,
    "methods": [],
    "notifications": [],
    "summarizers": [],
    "limits": {"maxMessageBytes": 1_000_000, "maxPageBytes": 1_000_000},
}


def send(**message: Any) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(header(len(body)) + body)
    sys.stdout.buffer.flush()


def answer(message: Message, result: Any) -> None:
    send(id=message["id"], result=result)


def messages() -> Iterator[Message]:
    framer = Framer()
    while data := os.read(0, 65536):
        for event in framer.receive(data):
            if isinstance(event, Body):
                yield json.loads(event.data)


def initialize(message: Message) -> None:
    greeting.append(message["params"])
    info = {"name": "peer", "version": "0"}
    answer(message, {"capabilities": {"experimental": {"pid": CAPABILITY}}, "serverInfo": info})


def notify(message: Message) -> None:
    for method, params in message["params"]["notices"]:
        send(method=method, params=params)
    answer(message, None)


def ask(message: Message) -> None:
    """Answers with what the client answers to the request in the params."""
    asked[1000 + message["id"]] = message
    send(id=1000 + message["id"], **message["params"])
    if message["params"].get("cancel"):
        send(method="$/cancelRequest", params={"id": 1000 + message["id"]})


def wait(message: Message) -> None:
    """Answers when it is cancelled: with an error, or with a result if the params say so."""
    waiting[message["id"]] = message


def cancel(message: Message) -> None:
    cancelled.append(message["params"]["id"])
    waited = waiting.pop(message["params"]["id"], None)
    if waited and waited["params"].get("stubborn"):
        answer(waited, "done all the same")
    elif waited:
        send(id=waited["id"], error={"code": -32800, "message": "cancelled"})


def die(message: Message) -> None:
    print("it hurts", file=sys.stderr, flush=True)
    os._exit(3)


def fail(message: Message) -> None:
    send(id=message["id"], error=message["params"])


def babble(message: Message) -> None:
    os.write(1, b"an extension printed this\n\n")
    answer(message, "and went on")


def nonsense(message: Message) -> None:
    body = b"this is not JSON"
    os.write(1, header(len(body)) + body)


def misread(message: Message) -> None:
    send(id=None, error={"code": -32700, "message": "what was that?"})


def half(message: Message) -> None:
    os.write(1, header(1000) + b"{")
    os._exit(0)


def close_output(message: Message) -> None:
    os.close(1)


def write_log(message: Message) -> None:
    os.write(2, b"x" * message["params"]["size"])
    answer(message, None)


def read_slowly(message: Message) -> None:
    """Reads nothing while it writes an answer that no pipe holds."""
    answer(message, "y" * message["params"]["size"])


def shutdown(message: Message) -> None:
    if not deaf:
        answer(message, None)


def go_deaf(message: Message) -> None:
    deaf.append(True)
    answer(message, None)


asked: dict[int, Message] = {}
waiting: dict[int, Message] = {}
cancelled: list[int] = []
deaf: list[bool] = []
greeting: list[Any] = []
HABITS = {
    "$/cancelRequest": cancel,
    "greeting": lambda message: answer(message, greeting[0]),
    "initialize": initialize,
    "initialized": lambda _: None,
    "shutdown": shutdown,
    "exit": lambda _: None if deaf else os._exit(0),
    "ask": ask,
    "babble": babble,
    "cancelled": lambda message: answer(message, cancelled),
    "closeOutput": close_output,
    "die": die,
    "echo": lambda message: answer(message, message.get("params")),
    "fail": fail,
    "goDeaf": go_deaf,
    "half": half,
    "misread": misread,
    "nonsense": nonsense,
    "notify": notify,
    "readSlowly": read_slowly,
    "wait": wait,
    "writeLog": write_log,
}

if __name__ == "__main__":
    for message in messages():
        if "method" in message:
            HABITS[message["method"]](message)
        else:
            answer(asked.pop(message["id"]), message)
    while deaf:
        time.sleep(1)
