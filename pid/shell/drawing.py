"""A tree as lines for people: where each entry is drawn, and what is said of it. Cut and coloured elsewhere.

It never prints, never asks the daemon, and takes any tree: 100,000 entries in a chain, a comb of branches.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Final, NamedTuple

from pid.protocol import TreeNode

Part = tuple[str, str]
Line = list[Part]
"""A line in parts: a text and its style, in rich's words ("" for none)."""

_WIDEST_ID: Final = 36
_WHO: Final = 10  # columns for who speaks
_BAD_ENDS: Final = {"error", "aborted"}
_FAULT: Final = ("✗", "red")
MARKS: Final = {
    "user": ("●", "bold cyan"),
    "assistant": ("○", "green"),
    "toolResult": ("·", "dim"),
    "bashExecution": ("$", "magenta"),
    "custom": ("▪", "blue"),
    "custom_message": ("▪", "blue"),
    "compaction": ("◆", "bold yellow"),
    "branch_summary": ("◇", "yellow"),
}
"""By role or type; what is not here is book-keeping."""
_NAMES: Final = {
    "bashExecution": "bash",
    "branch_summary": "summary",
    "context_edit": "edit",
    "custom_message": "message",
    "model_change": "model",
    "session_info": "name",
    "thinking_level_change": "thinking",
    "toolResult": "tool",
}
_TEXTS: Final = {
    "user": "bold",
    "assistant": "",
    "bashExecution": "",
    "custom_message": "",
    "compaction": "yellow",
    "branch_summary": "yellow",
}
_LANDMARKS: Final = {"user", "compaction", "branch_summary", "custom_message"}


class Place(NamedTuple):
    """An entry where it is drawn: `lanes` stands left of its mark; a `link` only leads from one to the next."""

    node: TreeNode
    lanes: str
    is_root: bool
    is_link: bool


class Fold(NamedTuple):
    """A stretch of links that is not drawn."""

    lanes: str
    size: int


def tree(nodes: Sequence[TreeNode], leaf_id: str | None, *, short: bool = False) -> Iterator[Line]:
    """A line for each entry; in short, a stretch without anything to see becomes one line."""
    time = _times(nodes)
    width = min(max((len(node.id) for node in nodes), default=0), _WIDEST_ID)
    drawn = places(nodes, leaf_id)
    for number, place in enumerate(folded(drawn, leaf_id) if short else drawn):
        if isinstance(place, Fold):
            yield [(" " * (width + len(time(None)) + 4), ""), (f"{place.lanes}┊ {place.size} more", "dim")]
            continue
        if place.is_root and number:
            yield []
        entry = _entry(place.node, place.node.id == leaf_id)
        yield [(f"{place.node.id:{width}}  {time(place.node.timestamp)}  {place.lanes}", "dim"), *entry]


def places(nodes: Sequence[TreeNode], leaf_id: str | None) -> Iterator[Place]:
    """All entries, top down: a branch hangs beside the line that it leaves, which goes straight on below it.

    Straight on goes the path to the leaf; elsewhere the largest branch, so that n entries need no more than
    log2(n) + 1 lanes beside that path. A parent stands before its children in `nodes`, or is not there.
    """
    rows = {node.id: row for row, node in enumerate(nodes)}
    parents = [rows.get(node.parent_id) if node.parent_id is not None else None for node in nodes]
    children: list[list[int]] = [[] for _ in nodes]
    roots: list[int] = []
    for row, parent in enumerate(parents):
        (roots if parent is None else children[parent]).append(row)
    weights = _weights(parents, rows.get(leaf_id) if leaf_id is not None else None)

    def age(row: int) -> str:
        return nodes[row].timestamp or ""

    stack = [(root, "", "") for root in sorted(roots, key=age, reverse=True)]
    while stack:
        row, lanes, lanes_below = stack.pop()
        below = sorted(children[row], key=age, reverse=True)
        is_link = len(below) == 1 and lanes == lanes_below and parents[row] is not None
        yield Place(nodes[row], lanes, parents[row] is None, is_link)
        if below:
            onward = max(below, key=weights.__getitem__)
            stack.append((onward, lanes_below, lanes_below))
            stack += [(side, f"{lanes_below}├─", f"{lanes_below}│ ") for side in below if side != onward]


def folded(drawn: Iterator[Place], leaf_id: str | None) -> Iterator[Place | Fold]:
    """Two or more links in a row become one `Fold`, unless they are landmarks or have a label."""
    links: list[Place] = []
    for place in drawn:
        node = place.node
        if place.is_link and not (node.label or node.id == leaf_id or (node.role or node.type) in _LANDMARKS):
            links.append(place)
            continue
        yield from _fold(links)
        links.clear()
        yield place
    yield from _fold(links)


def _fold(links: list[Place]) -> list[Place] | list[Fold]:
    return [Fold(links[0].lanes, len(links))] if len(links) > 1 else links


def _weights(parents: Sequence[int | None], leaf: int | None) -> list[int]:
    """For each row how many entries hang below it; on the path to the leaf more than anywhere else."""
    weights = [1] * len(parents)
    for row in range(len(parents) - 1, -1, -1):
        parent = parents[row]
        if parent is not None:
            weights[parent] += weights[row]
    while leaf is not None:
        weights[leaf] += len(parents)
        leaf = parents[leaf]
    return weights


def _entry(node: TreeNode, is_leaf: bool) -> Line:
    what = node.role or node.type
    bad = node.is_error or node.damaged or node.stop_reason in _BAD_ENDS
    mark, style = _FAULT if bad else MARKS.get(what, ("·", "dim"))
    who = (node.tool_name if what == "toolResult" else node.custom_type) or _NAMES.get(what, what)
    line = [(f"{mark} ", style), (f"{who[:_WHO]:{_WHO}} ", style if what in MARKS else "dim")]
    if is_leaf:
        line += [("◀ leaf", "bold reverse"), (" ", "")]
    if node.label:
        line += [(f"[{node.label}]", "black on yellow"), (" ", "")]
    return [*line, (_text(node), _TEXTS.get(what, "dim"))]


def _text(node: TreeNode) -> str:
    text = node.preview or ""
    if node.damaged:
        return "a line that cannot be read"
    if node.stop_reason in _BAD_ENDS:
        return f"({node.stop_reason}) {text}"
    return f"{text or 'cleared'} → {node.target_id}" if node.type == "label" else text


def _times(nodes: Sequence[TreeNode]) -> Callable[[str | None], str]:
    """How times are shown: with the date if they are of more than one day. Local; all of one width."""
    days = {moment.date() for minute in {_minute(node.timestamp) for node in nodes} if (moment := _moment(minute))}
    pattern, width = ("%m-%d %H:%M", 11) if len(days) > 1 else ("%H:%M", 5)

    @lru_cache
    def shown(minute: str) -> str:
        moment = _moment(minute)
        return moment.strftime(pattern) if moment else " " * width

    return lambda timestamp: shown(_minute(timestamp))


def _minute(timestamp: str | None) -> str:
    """The part of a timestamp that is shown: many entries share one."""
    return f"{timestamp[:16]}Z" if timestamp and timestamp.endswith("Z") else timestamp or ""


def _moment(timestamp: str) -> datetime | None:
    try:
        return datetime.fromisoformat(timestamp).astimezone()
    except (ValueError, OverflowError):
        return None
