"""What a client is told of a change: `session/didChange` and `session/listChanged`, for those who named them."""

from typing import Final

from pid.errors import PidError
from pid.protocol import MAX_CHANGED_NODES, DidChangeNotice, ListChangedNotice
from pid.service.answers_tree import nodes_of
from pid.service.changes import Changed
from pid.service.session import Session

_METHOD: Final = "session/didChange"


def tell_change(session: Session, change: Changed | None) -> None:
    """Sends the notification of a change; builds nothing if nobody wants it."""
    outlet = session.around.outlet
    if change is not None and change.name is not None:
        tell_listing(session)
    if change is None or not outlet.wants(_METHOD):
        return
    touched = change.touched[:MAX_CHANGED_NODES]
    rows = change.rows[: MAX_CHANGED_NODES - len(touched)]
    truncated = len(rows) + len(touched) < len(change.rows) + len(change.touched)
    try:
        added, changed = nodes_of(session, rows), nodes_of(session, touched)
    except PidError:  # the file cannot be read now: who asks for the nodes is told why
        added, changed, truncated = [], [], True
    outlet.send(
        _METHOD,
        DidChangeNotice(
            session_id=session.session_id,
            epoch=session.epoch,
            revision=change.revision,
            leaf_id=change.leaf_id,
            previous_leaf_id=change.previous_leaf_id,
            name=change.name,
            added=added,
            changed=changed,
            truncated=truncated or None,
            cause=change.cause,
        ),
    )


def tell_listing(session: Session) -> None:
    """Says that a session was made or renamed; one in memory is in no listing."""
    if session.journal.path is not None:
        session.around.outlet.send("session/listChanged", ListChangedNotice(cwd=session.cwd))
