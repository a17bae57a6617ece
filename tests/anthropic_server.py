"""A Messages API on the loopback, for tests: real HTTP for the real SDK, with replies by script.

    with AnthropicServer() as server:
        server.script(rate_limited(retry_after=0.05), Reply("the summary"))
        client = anthropic.AsyncAnthropic(base_url=server.url, api_key=server.api_key, max_retries=0)
        ...
        assert server.requests[0].body["model"] == "m"

Each request takes the next behaviour of the script; when the script is at its end, `server.default`. A
request that the real API would refuse (`payload_rules`, the key, the size, the window) is refused as the API
does it and takes nothing from the script. A behaviour is a `Reply`, a `Failure`, or a function of the `Request`
that gives one. Nothing sleeps longer than a test asks for: a handler that waits ends at once when the client
goes or the server closes.
"""

import json
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.payload_rules import request_problems

Json = dict[str, Any]
API_KEY = "test"


@dataclass(frozen=True)
class Failure:
    """An answer that is an error, in the API's shape."""

    status: int
    type: str
    message: str
    headers: dict[str, str] = field(default_factory=dict)
    after: float = 0.0  # seconds before it is sent

    @property
    def body(self) -> Json:
        error = {"type": self.type, "message": self.message}
        return {"type": "error", "error": error, "request_id": "req_test"}


@dataclass(frozen=True)
class Reply:
    """A message. `content` is a text, or the blocks; it streams when the request asks for a stream."""

    content: str | list[Json] = "ok"
    stop_reason: str = "end_turn"
    usage: Json | None = None  # laid over what the server counts
    after: float = 0.0  # seconds before the first byte
    between: float = 0.0  # seconds between two events of a stream
    gate: threading.Event | None = None  # the first byte waits until the test sets it
    cut_after: int | None = None  # the connection breaks after so many events (without a stream: at once)
    error_after: tuple[int, Failure] | None = None  # an `error` event behind so many events of a stream

    @property
    def blocks(self) -> list[Json]:
        return [{"type": "text", "text": self.content}] if isinstance(self.content, str) else self.content


Behaviour = Reply | Failure
Script = Behaviour | Callable[["Request"], Behaviour]


@dataclass
class Request:
    """What a client sent, and how it went."""

    path: str
    headers: dict[str, str]
    body: Json
    size: int  # bytes of the body
    tokens: int  # as this server counts them
    received_at: float  # `time.monotonic()`
    refused: str | None = None  # why the API would have refused it
    disconnected: bool = False  # the client went before the answer was whole
    done: threading.Event = field(default_factory=threading.Event, repr=False)

    @property
    def bearer(self) -> str:
        """The key where newer SDKs put it."""
        return self.headers.get("authorization", "").removeprefix("Bearer ")

    @property
    def prompt(self) -> str:
        """All text of the messages, for looking things up in it."""
        return "\n".join(_texts(self.body.get("messages", [])))


def rate_limited(retry_after: float = 0.0) -> Failure:
    message = "This request would exceed your organization's rate limit."
    return Failure(429, "rate_limit_error", message, {"retry-after": f"{retry_after:g}"})


def overloaded() -> Failure:
    return Failure(529, "overloaded_error", "Overloaded")


def internal_error() -> Failure:
    return Failure(500, "api_error", "Internal server error")


def unauthorized() -> Failure:
    return Failure(401, "authentication_error", "invalid x-api-key")


def too_large() -> Failure:
    return Failure(413, "request_too_large", "Request exceeds the maximum size")


def bad_request(message: str) -> Failure:
    return Failure(400, "invalid_request_error", message)


def too_long(tokens: int = 213_462, limit: int = 200_000) -> Failure:
    return bad_request(f"prompt is too long: {tokens} tokens > {limit} maximum")


def empty() -> Reply:
    return Reply([])


def thinking_only() -> Reply:
    return Reply([{"type": "thinking", "thinking": "Let me see.", "signature": "c2lnbmF0dXJl"}])


def refused() -> Reply:
    return Reply([], stop_reason="refusal")


def truncated(text: str = "The summary begins") -> Reply:
    return Reply(text, stop_reason="max_tokens")


def cut(text: str = "The summary is cut", after: int = 4) -> Reply:
    return Reply(text, cut_after=after)


def tool_use(name: str, arguments: Json, id: str = "toolu_01", text: str = "") -> Reply:
    said: list[Json] = [{"type": "text", "text": text}] if text else []
    return Reply([*said, {"type": "tool_use", "id": id, "name": name, "input": arguments}], "tool_use")


class AnthropicServer:
    """The server, from `with` to its end. Safe to use from any thread; each request has its own."""

    def __init__(
        self,
        *,
        api_key: str = API_KEY,
        context_window: int = 200_000,
        max_output: int = 64_000,
        max_bytes: int = 32_000_000,
        prefill: bool = True,
    ) -> None:
        self.api_key = api_key
        self.context_window = context_window
        self.max_output = max_output
        self.max_bytes = max_bytes
        self.prefill = prefill
        self.default: Script = Reply()
        self.requests: list[Request] = []
        self.closing = threading.Event()
        self._script: deque[Script] = deque()
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._http.daemon_threads = True
        self._http.pid_server = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def script(self, *behaviours: Script) -> None:
        """Adds what the next requests get, in order."""
        self._script.extend(behaviours)

    @property
    def left(self) -> int:
        """How many behaviours of the script no request has taken."""
        return len(self._script)

    @property
    def received_bytes(self) -> int:
        return sum(request.size for request in self.requests)

    def wait_for_requests(self, count: int, timeout: float = 10.0) -> list[Request]:
        """Blocks until `count` requests have come; raises TimeoutError. For tests of other processes."""
        deadline = time.monotonic() + timeout
        while len(self.requests) < count:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{len(self.requests)} of {count} requests came")
            time.sleep(0.005)
        return self.requests

    def answer(self, request: Request) -> Behaviour:
        """Records the request, and gives what it gets: a refusal, or the next behaviour of the script."""
        refusal = self._refusal(request)
        with self._lock:
            self.requests.append(request)
            if refusal is not None:
                request.refused = refusal.message
                return refusal
            counting = request.path.endswith("/count_tokens")
            behaviour = self._script.popleft() if self._script and not counting else self.default
        return Reply() if counting else behaviour(request) if callable(behaviour) else behaviour

    def _refusal(self, request: Request) -> Failure | None:
        if self.api_key not in (request.headers.get("x-api-key"), request.bearer):
            return unauthorized()
        if request.size > self.max_bytes:
            return too_large()
        counting = request.path.endswith("/count_tokens")
        body = request.body | {"max_tokens": 1} if counting else request.body
        version = request.headers.get("anthropic-version")
        if version is None:
            return bad_request("anthropic-version: header is required")
        if problems := request_problems(body, version):
            return bad_request(problems[0])
        if not self.prefill and body["messages"][-1]["role"] == "assistant":
            return bad_request("This model does not support assistant message prefill.")
        return None if counting else self._too_much(request, body["max_tokens"])

    def _too_much(self, request: Request, max_tokens: int) -> Failure | None:
        window, tokens = self.context_window, request.tokens
        if max_tokens > self.max_output:
            return bad_request(f"max_tokens: {max_tokens} > {self.max_output}, which is the maximum allowed number")
        if tokens > window:
            return too_long(tokens, window)
        if tokens + max_tokens > window:
            return bad_request(
                f"input length and `max_tokens` exceed context limit: {tokens} + {max_tokens} > {window}"
            )
        return None


def count_tokens(body: Json) -> int:
    """A fourth of the UTF-8 bytes of all that the model would read, and three for each message."""
    read = {key: body[key] for key in ("system", "messages", "tools") if key in body}
    text = json.dumps(read, ensure_ascii=False).encode("utf-8", "replace")
    return len(text) // 4 + 3 * len(body.get("messages") or [])


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, part in value.items():
            if key in ("text", "content") and isinstance(part, str):
                yield part
            else:
                yield from _texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)


def _message(request: Request, reply: Reply) -> Json:
    output = max(1, len(json.dumps(reply.blocks)) // 4)
    counted = {"input_tokens": request.tokens, "output_tokens": output}
    cache = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    return {
        "id": "msg_test",
        "type": "message",
        "role": "assistant",
        "model": request.body["model"],
        "content": reply.blocks,
        "stop_reason": reply.stop_reason,
        "stop_sequence": None,
        "usage": counted | cache | (reply.usage or {}),
    }


# type of a block -> the field that streams, the type of its deltas, the name of the field in a delta
DELTAS = {
    "text": ("text", "text_delta", "text"),
    "thinking": ("thinking", "thinking_delta", "thinking"),
    "tool_use": ("input", "input_json_delta", "partial_json"),
}


def _block_events(index: int, block: Json) -> Iterator[Json]:
    start, deltas = dict(block), []
    if streamed := DELTAS.get(block["type"]):
        source, kind, target = streamed
        text = json.dumps(block[source]) if source == "input" else block[source]
        start[source] = {} if source == "input" else ""
        deltas = [{"type": kind, target: text[at : at + 40]} for at in range(0, len(text), 40)]
    if "signature" in block:
        start["signature"] = ""
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
    yield {"type": "content_block_start", "index": index, "content_block": start}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def _events(message: Json) -> Iterator[Json]:
    usage = message["usage"] | {"output_tokens": 1}
    yield {"type": "message_start", "message": message | {"content": [], "stop_reason": None, "usage": usage}}
    yield {"type": "ping"}
    for index, block in enumerate(message["content"]):
        yield from _block_events(index, block)
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": message["usage"]}
    yield {"type": "message_stop"}


class _Gone(Exception):
    """The client is gone, the script cuts the connection, or the server closes: nothing more is sent."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    connection: socket.socket

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        request = self._read()
        if request is None:
            return
        server: AnthropicServer = self.server.pid_server  # type: ignore[attr-defined]
        try:
            self._serve(request, server.answer(request))
        except (_Gone, OSError):
            self.close_connection = True
        finally:
            request.done.set()

    def _read(self) -> Request | None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            body = json.loads(raw, parse_constant=_no_constant)
        except ValueError:
            self._send_json(400, bad_request("The request body is not valid JSON").body)
            return None
        path = self.path.partition("?")[0]
        if path not in ("/v1/messages", "/v1/messages/count_tokens") or not isinstance(body, dict):
            self._send_json(404, Failure(404, "not_found_error", "Not found").body)
            return None
        return Request(path, headers, body, len(raw), count_tokens(body), time.monotonic())

    def _serve(self, request: Request, behaviour: Behaviour) -> None:
        self._wait(request, behaviour.after)
        if isinstance(behaviour, Failure):
            self._send_json(behaviour.status, behaviour.body, behaviour.headers)
        elif request.path.endswith("/count_tokens"):
            self._send_json(200, {"input_tokens": request.tokens})
        else:
            while behaviour.gate is not None and not behaviour.gate.is_set():
                self._wait(request, 0.01)
            message = _message(request, behaviour)
            if request.body.get("stream"):
                self._stream(request, behaviour, message)
            elif behaviour.cut_after is not None:
                self._cut()
            else:
                self._send_json(200, message)

    def _stream(self, request: Request, reply: Reply, message: Json) -> None:
        self.send_response(200)
        for name, value in (("content-type", "text/event-stream"), ("transfer-encoding", "chunked")):
            self.send_header(name, value)
        self.end_headers()
        fault_at, fault = reply.error_after or (None, None)
        for number, event in enumerate(_events(message)):
            if number == reply.cut_after:
                self._cut()
            if fault is not None and number == fault_at:
                self._send_event(fault.body)
                break
            if number:
                self._wait(request, reply.between)
            self._send_event(event)
        self.wfile.write(b"0\r\n\r\n")

    def _send_event(self, event: Json) -> None:
        text = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
        self.wfile.write(b"%x\r\n%b\r\n" % (len(text), text))

    def _send_json(self, status: int, body: Json, headers: dict[str, str] | None = None) -> None:
        raw = json.dumps(body).encode()
        fields = {"content-type": "application/json", "content-length": str(len(raw))}
        self.send_response(status)
        for name, value in (fields | {"request-id": "req_test"} | (headers or {})).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def _cut(self) -> None:
        self.connection.shutdown(socket.SHUT_RDWR)
        raise _Gone

    def _wait(self, request: Request, seconds: float) -> None:
        """Waits, and looks for a client that went: its end of the connection reads as closed."""
        server: AnthropicServer = self.server.pid_server  # type: ignore[attr-defined]
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if server.closing.is_set():
                raise _Gone
            readable, _, _ = select.select([self.connection], [], [], min(left, 0.02))
            if readable:
                if not self.connection.recv(1, socket.MSG_PEEK):
                    request.disconnected = True
                    raise _Gone
                time.sleep(min(left, 0.02))


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
