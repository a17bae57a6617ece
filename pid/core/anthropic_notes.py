"""What is noted while a payload is made: the mends, the images that are sent, the ids that were given."""

from typing import NamedTuple

from pid.core.anthropic_ids import CallIds
from pid.core.anthropic_types import Image
from pid.protocol import PAYLOAD_MENDS, ContextWarning, ModelRef


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
        """Notes a mend of the message at hand: once for a kind, in the words of `PAYLOAD_MENDS` without a `detail`."""
        self.tell_of(self.entry_id, kind, detail)

    def tell_of(self, entry_id: str | None, kind: str, detail: str = "") -> None:
        """The same for any entry."""
        if (kind, entry_id) not in self._mends:
            mend = ContextWarning(kind=kind, entry_id=entry_id, message=detail or PAYLOAD_MENDS[kind])
            self._mends[kind, entry_id] = mend

    @property
    def mends(self) -> list[ContextWarning]:
        return list(self._mends.values())
