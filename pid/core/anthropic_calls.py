"""Which tool call a tool result of the Messages API answers, by the id under which the call was sent.

A payload sends another id where a call's own does not fit the API or was used before (`anthropic_ids`). The result
comes back under that one, and is stored under the call's own, so that other programs find it.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

from pid.core.agent_message import AgentMessage, ToolCall, read
from pid.core.anthropic_ids import fit_id, repeat_number, repeated_id

MOST_NUMBERS: Final = 100
"""So many different repeats are looked for in one message: each costs a look at all calls."""


class Call(NamedTuple):
    """A tool call as the session names it."""

    id: str
    name: str


class TurnCalls:
    """The tool calls of the assistant's last turn, given by its messages, the newest first."""

    def __init__(self, newest_first: Iterable[AgentMessage]) -> None:
        self._calls = [call for message in newest_first for call in _calls_of(message)]
        self._times = Counter(call.id for call in self._calls)
        own = {call.id: call for call in reversed(self._calls)}
        self._sent = {fit_id(call_id): call for call_id, call in own.items()} | own
        self._repeats: dict[str, dict[str, ToolCall]] = {}  # by the number of the repeat

    def find(self, call_id: str) -> Call | None:
        """The call that may have been sent under this id.

        Of two calls that bear one id, only the id that was sent tells them apart: it is kept.
        """
        call = self._sent.get(call_id) or self._repeated(call_id)
        if call is None:
            return None
        return Call(call.id if self._times[call.id] == 1 else call_id, call.name)

    def _repeated(self, call_id: str) -> ToolCall | None:
        number = repeat_number(call_id)
        if number is None or (number not in self._repeats and len(self._repeats) == MOST_NUMBERS):
            return None
        if number not in self._repeats:
            self._repeats[number] = {repeated_id(call.id, number): call for call in reversed(self._calls)}
        return self._repeats[number].get(call_id)


NO_CALLS: Final = TurnCalls(())


def _calls_of(message: AgentMessage) -> list[ToolCall]:
    known = read(message, lambda kind, detail: None)
    return [block for block in known.blocks if type(block) is ToolCall] if known.role == "assistant" else []
