"""Raw messages of the Messages API on their way into a session: read at once, planned in the order of writes.

What becomes of a message is decided in `core.anthropic_messages`.
"""

from collections.abc import Iterator

import msgspec

from pid.core.agent_message import Message, read_entry
from pid.core.anthropic_calls import TurnCalls
from pid.core.anthropic_messages import read_message, stored_messages
from pid.core.appending import read_sent
from pid.core.cut import SPEAKING_KINDS
from pid.core.overlay import Overlay, Planned, Stamp, plan_append
from pid.entries import DamagedLine, Kind, canonical_ms, clean
from pid.errors import InvalidParams
from pid.protocol import PAYLOAD_MENDS, AppendParams, ContextWarning


class RawMessage:
    """The message of an append. Raises `InvalidParams` (`message`) for what is no JSON object."""

    def __init__(self, params: AppendParams) -> None:
        self._params = params
        self.warnings: list[ContextWarning] = []
        """Once it is planned: what of it was mended or is not sent again, by entry."""
        sent = bytes(params.message)
        try:
            text = clean(sent)
            self._is_mended = text is not sent
            self._message = read_message(text)
        except DamagedLine as error:
            raise InvalidParams(f"message: {error}", path="message") from None
        except RecursionError:
            raise InvalidParams("message: nested too deeply", path="message") from None

    def plan(self, overlay: Overlay, stamp: Stamp) -> Planned:
        """Plans its entries, in one write. Raises `InvalidParams` (`message.…`) and what `plan_append` raises."""
        params = self._params
        above = overlay.leaf_id if params.parent_id is msgspec.UNSET else params.parent_id
        calls = TurnCalls(_last_turn(overlay, above))
        stored = stored_messages(self._message, canonical_ms(stamp[1]), model=params.model, calls=calls)
        if self._is_mended:
            stored[0].told.append(("loneSurrogate", PAYLOAD_MENDS["loneSurrogate"]))
        entries = [{"type": "message", "message": one.message} for one in stored]
        sent = [read_sent(msgspec.json.encode(entry), "message") for entry in entries]
        planned = plan_append(overlay, params, sent, stamp)
        self.warnings = [
            ContextWarning(kind=kind, entry_id=entry_id, message=detail)
            for entry_id, one in zip(planned.entry_ids, stored, strict=True)
            for kind, detail in dict.fromkeys(one.told)
        ]
        return planned


def _last_turn(overlay: Overlay, entry_id: str | None) -> Iterator[Message]:
    """The assistant's messages of the last turn above an entry, the newest first."""
    at = None if entry_id is None else overlay.resolve(entry_id)
    begun = False
    while at is not None:
        kind = overlay.kind_of(at)
        if begun and kind in _OTHERS_SPEAK:
            return
        if kind == Kind.ASSISTANT and (message := read_entry(overlay.line_of(at) or b"{}")) is not None:
            begun = True
            yield message
        at = overlay.parent_of(at)


_OTHERS_SPEAK = SPEAKING_KINDS - {Kind.ASSISTANT, Kind.SYSTEM}
