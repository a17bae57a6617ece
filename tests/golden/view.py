"""What the daemon says about a session file, in one value: asked of a real store, through the answers on the wire."""

import json
from pathlib import Path
from typing import Any

import msgspec

from pid.core.context import entries_in_effect
from pid.errors import PidError
from pid.protocol import ContextParams, EntriesParams, OpenParams, TreeNode, TreeParams, TreeResult
from pid.service import answers, answers_tree
from pid.service.session import Session
from pid.service.store import Store

Json = dict[str, Any]


async def view(store: Store, path: Path) -> Json:
    """The parts that pi's answers have too, under pi's names, and the daemon's own: `warnings` and `problems`."""
    try:
        session = (await store.open(OpenParams(path=str(path)))).session
    except PidError as error:
        return {"opens": False, "error": error.kind}
    nodes = await _nodes(session)
    agent, llm = await _context(session, "agent"), await _context(session, "llm")
    effect = entries_in_effect(session.tree, session.leaf, session.bodies)
    return {
        "opens": True,
        "version": session.journal.scanner.version,
        "leafId": session.leaf_id,
        "sessionName": session.tree.name,
        "entryCount": session.state().entry_count,
        "branch": _branch(nodes, session.leaf_id),
        "tree": _tree(nodes),
        "labels": {node.id: node.label for node in nodes if node.label},
        "previews": {node.id: node.preview for node in nodes},
        "context": {key: agent[key] for key in ("thinkingLevel", "model", "messages")},
        "contextEntries": [session.tree.ids[row] for row in effect.rows],
        "llm": llm["messages"],
        "warnings": [[warning["kind"], warning["entryId"]] for warning in agent["warnings"]],
        "problems": [[problem.line, problem.kind] for problem in session.problems],
        "damaged": [node.id for node in nodes if node.damaged],
    }


async def _nodes(session: Session) -> list[TreeNode]:
    result = await answers_tree.get_tree(session, TreeParams(session_id="", content="full"))
    return msgspec.json.decode(msgspec.json.encode(result), type=TreeResult).nodes


async def _context(session: Session, form: Any) -> Json:
    result = await answers.build_context(session, ContextParams(session_id="", format=form))
    found: Json = json.loads(msgspec.json.encode(result))
    return found


async def entry_ids(session: Session) -> list[str]:
    """All ids in the order of the file."""
    return (await answers.get_entries(session, EntriesParams(session_id=""))).entry_ids


def _branch(nodes: list[TreeNode], leaf_id: str | None) -> list[str]:
    parents = {node.id: node.parent_id for node in nodes}
    path = []
    while leaf_id is not None:
        path.append(leaf_id)
        leaf_id = parents[leaf_id]
    return path[::-1]


def _tree(nodes: list[TreeNode]) -> Json:
    """pi's shape of a tree: depth first, siblings by time."""
    children: dict[str | None, list[TreeNode]] = {}
    for node in nodes:
        children.setdefault(node.parent_id, []).append(node)
    for siblings in children.values():
        siblings.sort(key=lambda node: node.timestamp or "")
    preorder, stack = [], [*reversed(children.get(None, []))]
    while stack:
        node = stack.pop()
        below = children.get(node.id, [])
        preorder.append({"id": node.id, "children": [child.id for child in below]})
        stack += reversed(below)
    return {"roots": [node.id for node in children.get(None, [])], "preorder": preorder, "entriesNotReachable": []}
