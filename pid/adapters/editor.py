"""The summarizer that asks the client's own model, by `pid/summarize`.

How a request reaches the client is handed in; this module knows no JSON-RPC. A client that does not answer in time is
told that the answer is no longer wanted, by the cancellation of the request.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from pid.core.prompts import Capacity
from pid.core.replies import Call, Reply, SummarizerFault
from pid.protocol import SummarizeAbility, SummarizeParams, SummarizeResult

Ask = Callable[[SummarizeParams], Awaitable[SummarizeResult]]
"""Sends `pid/summarize` and gives the client's answer; raises `SummarizerFault`."""


class EditorSummarizer:
    """The client's model, as far as the client said what it takes."""

    name: Final = "client"

    def __init__(self, ask: Ask, ability: bool | SummarizeAbility | None) -> None:
        self._ask = ask
        self.is_available = bool(ability)
        usual = Capacity()
        sizes = ability if isinstance(ability, SummarizeAbility) else SummarizeAbility()
        output = sizes.max_output_tokens or usual.max_output
        window = sizes.max_input_tokens + output if sizes.max_input_tokens else usual.window
        self.capacity = Capacity(window, output)

    async def ask(self, call: Call) -> Reply:
        """The reply to one request. Raises `SummarizerFault`."""
        params = SummarizeParams(
            purpose=call.request.purpose,
            system=call.request.system,
            prompt=call.request.prompt,
            max_tokens=call.request.max_tokens,
            session_id=call.session_id,
            compaction_id=call.compaction_id,
            model=call.model,
            timeout_ms=max(1, int(call.seconds * 1000)),
        )
        try:
            async with asyncio.timeout(call.seconds):
                answer = await self._ask(params)
        except TimeoutError:
            message = f"the client did not answer in {call.seconds:.0f} s"
            raise SummarizerFault("timeout", message, transient=True) from None
        usage = answer.usage if isinstance(answer.usage, dict) else None
        return Reply(answer.summary, answer.stop_reason, usage, answer.model)
