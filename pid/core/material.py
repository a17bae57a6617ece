"""What a summary is made of, taken in entry by entry, so that a long history never stands in memory as a whole.

The transcripts are for a model, the extracts for a summary without one; the newest request and the files go into
both. Nothing here decides what is summarised.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain

from pid.core.extract import Extract
from pid.core.files import NO_FILES, Use, details_of, merged, recorded_uses, uses_of
from pid.core.summary import Request, Summary, cut_request, request_text, taken_apart, with_turn_head
from pid.core.tokens import Message, Tokens
from pid.core.transcript import parts_of
from pid.protocol import FileDetails


@dataclass(slots=True)
class Material:
    """What a compaction replaces: the history, and the head of a split turn, as parts with their tokens.

    `tokens` estimates a text; `earlier` is the text of the summary before this one; `recorded` are the files of its
    details, and of branch summaries. Without `transcribed` there are no parts: nobody will ask a model.
    """

    tokens: Tokens
    earlier: str = ""
    recorded: FileDetails = NO_FILES
    transcribed: bool = True
    history: list[tuple[str, int]] = field(default_factory=list)
    turn_head: list[tuple[str, int]] = field(default_factory=list)
    extract: Extract = field(default_factory=Extract)
    turn_extract: Extract = field(default_factory=Extract)
    request: Request | None = field(init=False)
    """The newest request of the user, unless a newer one stays in the context as it is."""
    _uses: set[Use] = field(default_factory=set)

    def __post_init__(self) -> None:
        before = taken_apart(self.earlier)
        self.request = before.request
        self.recorded = merged(self.recorded, before.files)

    def add(self, entry_id: str, message: Message, *, in_turn_head: bool = False) -> None:
        """Takes in the next message that is summarised."""
        if self.transcribed:
            parts = self.turn_head if in_turn_head else self.history
            parts += [(part, self.tokens(part)) for part in parts_of(message)]
        self.extract.add(entry_id, message)
        if in_turn_head:
            self.turn_extract.add(entry_id, message)
        self.use(uses_of(message))
        if text := request_text(message):
            self.request = Request(entry_id, cut_request(text, entry_id))

    def use(self, uses: Iterable[Use]) -> None:
        """Takes in how files were used."""
        self._uses.update(uses)

    def keep(self, message: Message) -> None:
        """Takes notice of a message that stays in the context."""
        if request_text(message):
            self.request = None

    @property
    def notes(self) -> str:
        """The notes of the summary before, without its blocks."""
        return taken_apart(self.earlier).notes

    @property
    def files(self) -> FileDetails:
        """All files, those that earlier summaries recorded among them."""
        return details_of(chain(self._uses, recorded_uses(self.recorded)))

    def summary(self, history: str, turn_head: str = "") -> Summary:
        """The summary with these notes on the history and on the head of a split turn."""
        notes = with_turn_head(history, turn_head) if turn_head.strip() else history.strip()
        return Summary(notes, self.request, self.files)
