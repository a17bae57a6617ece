"""The summarizer that asks the Messages API, through Anthropic's own SDK: the only module that imports it.

The SDK takes more than a second to import, so it is imported at the first request, in a thread. Key and `base_url`
come from the environment, as the SDK reads them; the key is in no log, error or message. Replies are streamed, so
that a cancel is prompt. Retrying is not done here.
"""

import asyncio
import logging
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from msgspec import structs

from pid.core.prompts import Capacity
from pid.core.replies import Call, Reply, SummarizerFault, usage_of
from pid.protocol import ModelRef, SummaryRequest

if TYPE_CHECKING:
    import anthropic

PROVIDER: Final = "anthropic"
DEFAULT_MODEL: Final = "claude-sonnet-5-5"
_TALKATIVE: Final = ("anthropic", "httpx", "httpcore", "httpx2", "httpcore2")
"""What these log below a warning holds requests, and of a malformed header the key."""
_KEYS: Final = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
_STOP_REASONS: Final = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
    "tool_use": "toolUse",
}
_TRANSIENT_TYPES: Final = frozenset({"overloaded_error", "api_error", "rate_limit_error", "timeout_error"})
_FINAL: Final = {401: "auth", 403: "auth", 404: "model", 413: "overflow"}
_TOO_MUCH_OUTPUT: Final = re.compile(r"max_tokens: \d+ > (\d+)")
_TOO_LONG: Final = ("too long", "context limit", "context window", "maximum context", "exceed")


class AnthropicSummarizer:
    """Asks the API, with a connection for each request: they are rare, and nothing is left open between them."""

    name: Final = "anthropic"
    capacity: Final = Capacity()

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.is_available = any(environment.get(key) for key in _KEYS)

    async def ask(self, call: Call) -> Reply:
        """The reply to one request. Raises `SummarizerFault`."""
        model = call.model.model_id if call.model and call.model.provider == PROVIDER else DEFAULT_MODEL
        try:
            async with asyncio.timeout(call.seconds), await asyncio.to_thread(_client) as client:
                return await _answer(client, call.request, model)
        except SummarizerFault:
            raise
        except TimeoutError:
            raise SummarizerFault("timeout", f"no whole reply in {call.seconds:.0f} s", transient=True) from None
        except Exception as error:
            raise _fault(error) from None


def _client() -> "anthropic.AsyncAnthropic":
    """Imports the SDK at the first use, and reads the system's certificates: for a thread."""
    import anthropic

    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
    try:
        return anthropic.AsyncAnthropic(max_retries=0)
    except Exception as error:
        raise SummarizerFault("auth", f"the SDK refuses its settings ({type(error).__name__})") from None


async def _answer(client: "anthropic.AsyncAnthropic", request: SummaryRequest, model: str) -> Reply:
    import anthropic

    try:
        return await _stream(client, request, model)
    except anthropic.BadRequestError as error:
        if (limit := _TOO_MUCH_OUTPUT.search(str(error))) is None:
            raise
    # An older model writes no more than that; the summary is asked to be shorter.
    return await _stream(client, structs.replace(request, max_tokens=int(limit[1])), model)


async def _stream(client: "anthropic.AsyncAnthropic", request: SummaryRequest, model: str) -> Reply:
    async with client.messages.stream(
        model=model,
        max_tokens=request.max_tokens,
        system=request.system,
        messages=[{"role": "user", "content": request.prompt}],
    ) as stream:
        message = await stream.get_final_message()
    if message.stop_reason is None:
        raise SummarizerFault("transport", "the reply of the API broke off", transient=True)
    text = "".join(block.text for block in message.content if block.type == "text")
    usage = {
        "input": message.usage.input_tokens,
        "output": message.usage.output_tokens,
        "cacheRead": message.usage.cache_read_input_tokens or 0,
        "cacheWrite": message.usage.cache_creation_input_tokens or 0,
    }
    stop_reason = _STOP_REASONS.get(message.stop_reason or "", "error")
    return Reply(text, stop_reason, usage_of(usage), ModelRef(provider=PROVIDER, model_id=message.model))


def _fault(error: Exception) -> SummarizerFault:
    """What an exception of the SDK means. Its own text is not passed on: it may quote the request."""
    import anthropic

    if isinstance(error, anthropic.APITimeoutError):
        return SummarizerFault("timeout", "the API did not answer in time", transient=True)
    if isinstance(error, anthropic.APIStatusError):
        return _status_fault(error)
    if isinstance(error, anthropic.APIConnectionError) or type(error).__module__.startswith(("httpx", "httpcore")):
        return SummarizerFault("transport", "the connection to the API failed", transient=True)
    return SummarizerFault("error", f"the SDK failed ({type(error).__name__})")


def _status_fault(error: "anthropic.APIStatusError") -> SummarizerFault:
    status, kind = error.status_code, _error_type(error)
    if reason := _FINAL.get(status):
        return SummarizerFault(reason, f"the API answered {status} ({kind})")
    if status == 429 or status >= 500 or kind in _TRANSIENT_TYPES:
        reason = "rateLimit" if status == 429 else "overloaded"
        message = f"the API answered {status} ({kind})"
        return SummarizerFault(reason, message, transient=True, retry_after=_retry_after(error))
    too_long = status == 400 and any(words in str(error).lower() for words in _TOO_LONG)
    return SummarizerFault("overflow" if too_long else "request", f"the API answered {status} ({kind})")


def _error_type(error: "anthropic.APIStatusError") -> str:
    body = error.body if isinstance(error.body, dict) else {}
    inner = body.get("error")
    kind = inner.get("type") if isinstance(inner, dict) else body.get("type")
    return kind if isinstance(kind, str) else "no type"


def _retry_after(error: "anthropic.APIStatusError") -> float | None:
    try:
        return max(0.0, float(error.response.headers["retry-after"]))
    except (KeyError, ValueError):
        return None
