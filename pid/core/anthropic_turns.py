"""Messages in the order the Messages API wants: roles alternate, and each call is answered in the next message.

The one place that decides where a block stands. It takes agent messages one by one and never looks ahead.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from pid.core.agent_message import AgentMessage, Message, as_dict, read
from pid.core.anthropic_blocks import ASSISTANT_BLOCKS, USER_BLOCKS, api_blocks, our_words
from pid.core.anthropic_notes import Notes
from pid.core.anthropic_types import THINKING, ApiBlock, ApiMessage, Text, ToolResult, ToolUse
from pid.core.messages import to_llm

FAILED: Final = frozenset({"error", "aborted"})
OTHER_ROLES: Final = frozenset({"bashExecution", "custom", "branchSummary", "compactionSummary"})


class Turns:
    """The messages in the making: the user's turn and the assistant's behind it, both open.

    The assistant's turn is placed only when the user's side speaks again: not before then is it known whether it
    holds more than thinking, and whether it was a failed attempt that another one replaced.
    """

    def __init__(self, notes: Notes) -> None:
        self.messages: list[ApiMessage] = []
        self.entry_ids: list[list[str]] = []
        self._notes = notes
        self._calls = _Calls(notes)
        self._results: list[ApiBlock] = []
        self._heard: list[ApiBlock] = []
        self._heard_ids: list[str] = []
        self._said: list[ApiBlock] = []
        self._said_ids: list[str] = []
        self._failed: tuple[int, int, str | None] | None = None  # where the last, failed attempt begins; its entry

    def add(self, message: AgentMessage, known: Message, ids: Sequence[str]) -> None:
        """The next message (`known` is what was read of it) with its entries."""
        if known.role == "assistant":
            self._add_assistant(known, ids)
        elif known.role in ("user", "toolResult"):
            self._add_user(known, ids)
        elif converted := to_llm(as_dict(message)):
            self._add_user(read(converted, self._notes.tell), ids)
        elif known.role not in OTHER_ROLES:
            self._notes.tell("unknownRole", f"A message of the role {known.role!r} was left out.")

    def end(self, *, drop_assistant: bool) -> None:
        """Closes both turns. What the assistant said last may be dropped."""
        if drop_assistant and self._said:
            for entry_id in self._said_ids:
                self._notes.tell_of(entry_id, "trailingDropped")
            self._said = []
        self._place_assistant()
        self._place_user()
        if self.messages and self.messages[-1].role == "assistant":
            self._strip_end()

    def _add_assistant(self, message: Message, ids: Sequence[str]) -> None:
        blocks = api_blocks(message, ASSISTANT_BLOCKS, self._notes)
        if blocks and self._said:
            self._drop_failed_attempt()
            blocks = self._joinable(blocks)
        if not blocks:
            self._notes.tell("emptyMessage")
            return
        if message.stop_reason in FAILED:
            self._failed = len(self._said), len(self._said_ids), self._notes.entry_id
        self._said += blocks
        self._said_ids += ids

    def _drop_failed_attempt(self) -> None:
        # The reply that follows was made without it; left in, it would also part thinking from its turn's head.
        if self._failed is not None:
            blocks, ids, entry_id = self._failed
            del self._said[blocks:], self._said_ids[ids:]
            self._failed = None
            self._notes.tell_of(entry_id, "failedAttempt")

    def _joinable(self, blocks: list[ApiBlock]) -> list[ApiBlock]:
        """The blocks as they may stand behind those of an earlier message: no thinking, unless the turn began so.

        The API knows where in a reply it thought, and refuses thinking that stands elsewhere.
        """
        if not self._said or type(self._said[0]) in THINKING:
            return blocks
        kept = [block for block in blocks if type(block) not in THINKING]
        if len(kept) < len(blocks):
            self._notes.tell("thinkingDropped", "Thinking in the middle of a turn was left out.")
        return kept

    def _add_user(self, message: Message, ids: Sequence[str]) -> None:
        blocks = api_blocks(message, USER_BLOCKS, self._notes)
        if not blocks and message.role == "user":
            self._notes.tell("emptyMessage")
            return
        if self._said:
            self._place_assistant()
        self._heard_ids += ids
        if message.role == "user":
            self._heard += blocks
        else:
            self._add_result(message, blocks)

    def _add_result(self, message: Message, blocks: list[ApiBlock]) -> None:
        call_id = self._calls.claim(message.tool_call_id)
        if call_id is None:
            again = self._calls.is_answered(message.tool_call_id)
            self._notes.tell("duplicateToolResult" if again else "orphanToolResult")
            self._heard += [our_words(f"[A result of the tool {message.tool_name or '(unknown)'}:]"), *blocks]
            return
        if message.is_error:
            blocks = self._words_of_error(blocks)
        is_error = message.is_error is True
        self._results.append(ToolResult(tool_use_id=call_id, content=blocks or None, is_error=is_error))

    def _words_of_error(self, blocks: list[ApiBlock]) -> list[ApiBlock]:
        """An error result holds texts alone, and at least one."""
        words: list[ApiBlock] = [block for block in blocks if isinstance(block, Text)]
        if len(words) < len(blocks):
            self._notes.tell("errorResultImage")
            self._heard += [block for block in blocks if not isinstance(block, Text)]
        if not words:
            self._notes.tell("emptyErrorResult")
            return [our_words("The tool failed and said nothing.")]
        return words

    def _place_assistant(self) -> None:
        said, said_ids = self._said, self._said_ids
        if said and type(said[-1]) in THINKING:
            self._drop_last_thinking()
        if said:
            self._place_user()
            if not self.messages:
                self._place("user", [our_words("[The conversation begins with the assistant.]")], [])
                self._notes.tell_of(_last(said_ids), "firstMessage")
            self._place("assistant", said, said_ids)
            self._calls.ask([block.id for block in said if type(block) is ToolUse])
        self._said, self._said_ids, self._failed = [], [], None

    def _drop_last_thinking(self) -> None:
        detail = "Thinking at the end of a turn was left out."
        self._notes.tell_of(_last(self._said_ids), "thinkingDropped", detail)
        while self._said and type(self._said[-1]) in THINKING:
            self._said.pop()

    def _place_user(self) -> None:
        results, heard = self._results, self._heard
        if self._calls.waiting:
            results += self._calls.lost_results()
        if results or heard:
            self._place("user", results + heard if heard else results, self._heard_ids)
            self._results, self._heard, self._heard_ids = [], [], []

    def _place(self, role: Literal["user", "assistant"], blocks: list[ApiBlock], ids: list[str]) -> None:
        self.messages.append(ApiMessage(role, blocks))
        self.entry_ids.append(ids)

    def _strip_end(self) -> None:
        entry_id = _last(self.entry_ids[-1])
        self._notes.tell_of(entry_id, "trailingAssistant")
        last = self.messages[-1].content[-1]
        text = msgspec.json.decode(last.text, type=str) if isinstance(last, Text) else ""
        if text != text.rstrip():
            self.messages[-1].content[-1] = our_words(text.rstrip())
            self._notes.tell_of(entry_id, "trailingBlanks")


class _Calls:
    """The tool calls of the assistant's last placed turn, and which of them are answered.

    A result names its call by the id in the session; one from a client that was sent another id, by that one.
    """

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self.waiting: dict[str, None] = {}  # by the ids that are sent, in order
        self._renamed: dict[str, deque[str]] = {}  # original ids of those that are sent under another one
        self._answered: set[str] = set()  # the names under which results came

    def ask(self, call_ids: list[str]) -> None:
        """These calls wait for results now, and no others do."""
        self.waiting = dict.fromkeys(call_ids)
        self._renamed, self._answered = {}, set()
        for call_id in call_ids:
            if (original := self._notes.call_ids.original(call_id)) != call_id:
                self._renamed.setdefault(original, deque()).append(call_id)

    def claim(self, name: str) -> str | None:
        """The id under which the call was sent that a result with this id answers, if one waits for it."""
        call_id = name if name in self.waiting else self._next_renamed(name)
        if call_id is not None:
            del self.waiting[call_id]
            self._answered.add(name)
        return call_id

    def _next_renamed(self, name: str) -> str | None:
        renamed = self._renamed.get(name)
        while renamed:
            call_id = renamed.popleft()
            if call_id in self.waiting:
                return call_id
        return None

    def is_answered(self, name: str) -> bool:
        return name in self._answered

    def lost_results(self) -> list[ApiBlock]:
        """Error results for the calls that nothing answered. From now on no call waits."""
        lost, self.waiting = self.waiting, {}
        for call_id in lost:
            self._notes.tell_of(self._notes.call_ids.entry_id(call_id), "missingToolResult")
        return [_lost_result(call_id) for call_id in lost]


def _last(ids: list[str]) -> str | None:
    return ids[-1] if ids else None


def _lost_result(call_id: str) -> ApiBlock:
    words: list[ApiBlock] = [our_words("No result of this call was recorded: it was aborted, or its result was lost.")]
    return ToolResult(tool_use_id=call_id, content=words, is_error=True)
