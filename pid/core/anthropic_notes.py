"""What is noted while a payload is made: the mends, the images that are sent, the ids that were given."""

from typing import Final, NamedTuple

from pid.core.anthropic_ids import CallIds
from pid.core.anthropic_types import Image
from pid.protocol import ContextWarning, ModelRef

MENDS: Final = {
    "emptyText": "A text block without text was left out.",
    "emptyMessage": "Nothing of a message was left, so it was left out.",
    "emptyContext": "There is no message to send; add the user's.",
    "unknownRole": "A message of an unknown role was left out.",
    "malformedContent": "Content of an unexpected shape was repaired or left out.",
    "unsupportedBlock": "A block that the API has no form for was replaced by a note.",
    "loneSurrogate": "Half of a surrogate pair was replaced by U+FFFD.",
    "firstMessage": "The first message is not the user's; one was put before it.",
    "failedAttempt": "A failed or aborted reply that was tried again was left out.",
    "trailingAssistant": "The last message is the assistant's: models without prefill refuse it.",
    "trailingDropped": "The last message, the assistant's, was left out.",
    "trailingBlanks": "Blanks at the end of a trailing assistant message were left out.",
    "missingToolResult": "A tool call has no result; an error result was put in.",
    "orphanToolResult": "A tool result answers no call of the message before it; it became text.",
    "duplicateToolResult": "A tool call has another result; it became text.",
    "errorResultImage": "Images of a failed tool call were moved behind its result.",
    "emptyErrorResult": "A failed tool call says nothing; words were put in.",
    "toolCallId": "The id of a tool call does not fit the API or was used before; another one is sent.",
    "toolName": "A tool's name does not fit the API; another one is sent.",
    "toolArguments": "The arguments of a tool call are no object; they were wrapped or left out.",
    "toolSchema": "The parameters of a tool are no JSON schema of an object; they were completed.",
    "thinkingDropped": "Thinking that the API would refuse was left out.",
    "imageType": "An image is not of the type that it says; its own is sent.",
    "imageDropped": "An image that the API would refuse, or one too many, was replaced by a note.",
}
"""The kinds of mends, and what they mean."""


class SentImage(NamedTuple):
    """An image of the payload: its block, its entry, the length of its base64, its longer side (0: unknown)."""

    block: Image
    entry_id: str | None
    size: int
    side: int


class Notes:
    """The notes of one payload; `entry_id` is the entry of the message at hand."""

    def __init__(self, model: ModelRef | None) -> None:
        self.model = model
        self.entry_id: str | None = None
        self.images: list[SentImage] = []
        self.call_ids = CallIds()
        self._mends: dict[tuple[str, str | None], ContextWarning] = {}

    def tell(self, kind: str, detail: str = "") -> None:
        """Notes a mend of the message at hand: once for a kind, in the words of `MENDS` without a `detail`."""
        self.tell_of(self.entry_id, kind, detail)

    def tell_of(self, entry_id: str | None, kind: str, detail: str = "") -> None:
        """The same for any entry."""
        if (kind, entry_id) not in self._mends:
            mend = ContextWarning(kind=kind, entry_id=entry_id, message=detail or MENDS[kind])
            self._mends[kind, entry_id] = mend

    @property
    def mends(self) -> list[ContextWarning]:
        return list(self._mends.values())
