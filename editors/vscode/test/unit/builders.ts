/** Trees and wire values for the tests. */

import type { DidChangeNotice, SessionState, TreeNode, TreeResult } from "../../src/protocol.gen";
import { TreeModel } from "../../src/model/tree";

/** The time of a node: the later it is made, the later it is. */
export function at(second: number): string {
  return new Date(Date.UTC(2026, 0, 31, 12, 0, second)).toISOString();
}

export function node(id: string, parentId: string | null, second: number, more: Partial<TreeNode> = {}): TreeNode {
  return { id, parentId, type: "message", role: "user", timestamp: at(second), preview: id, ...more };
}

export function page(nodes: TreeNode[], leafId: string | null, more: Partial<TreeResult> = {}): TreeResult {
  const roots = nodes.filter((one) => one.parentId === null).map((one) => one.id);
  return { nodes, roots, leafId, revision: 1, epoch: "e", ...more };
}

export function modelOf(nodes: TreeNode[], leafId: string | null): TreeModel {
  const model = new TreeModel();
  model.take(page(nodes, leafId));
  return model;
}

/** A chain of `length` entries, "0" to its last. */
export function chain(length: number): TreeNode[] {
  return Array.from({ length }, (_, index) =>
    node(String(index), index === 0 ? null : String(index - 1), index, {
      role: index % 2 === 0 ? "user" : "assistant",
    }),
  );
}

export function change(more: Partial<DidChangeNotice>): DidChangeNotice {
  return {
    sessionId: "s",
    epoch: "e",
    revision: 2,
    leafId: null,
    added: [],
    changed: [],
    cause: "append",
    ...more,
  };
}

export function state(more: Partial<SessionState> = {}): SessionState {
  return {
    sessionId: "s",
    path: "/sessions/s.jsonl",
    cwd: "/project",
    name: null,
    parentSession: null,
    version: 3,
    leafId: null,
    fileLeafId: null,
    revision: 1,
    epoch: "e",
    entryCount: 0,
    createdAt: at(0),
    modifiedAt: at(0),
    settings: {},
    compaction: null,
    problems: [],
    ...more,
  };
}
