/**
 * A session's tree in memory: the nodes as the daemon sent them, who hangs on whom, and the leaf.
 * Pure: it asks nobody and draws nothing. Parents come before their children, so nothing recurses.
 */

import type { DidChangeNotice, TreeNode, TreeResult } from "../protocol.gen";

/** The parent of roots. No entry has this id. */
export const ROOT = "";

/** "old" tells nothing new; "gap" means that something before it is missing. */
export type Applied = "taken" | "old" | "gap";

/** Decides which nodes are left out. It may depend only on what never changes: type and role. */
export type Hides = (node: TreeNode) => boolean;

export class TreeModel {
  readonly nodes = new Map<string, TreeNode>();
  leafId: string | null = null;
  revision = 0;
  epoch = "";

  private children = new Map<string, string[]>();
  /** Each id itself, or its nearest ancestor that is shown. */
  private shown = new Map<string, string>();
  private unsorted = new Set<string>();
  private pathOfLeaf: ReadonlySet<string> | undefined;
  private summarisedOfLeaf: ReadonlySet<string> | undefined;

  constructor(private hides: Hides = () => false) {}

  /** Takes a page of `session/getTree`. */
  take(page: TreeResult): void {
    this.putAll(page.nodes);
    this.leafId = page.leafId;
    this.revision = page.revision;
    this.epoch = page.epoch;
  }

  apply(change: DidChangeNotice): Applied {
    const isSameEpoch = change.epoch === this.epoch;
    if (isSameEpoch && change.revision <= this.revision) {
      return "old";
    }
    if (!isSameEpoch || change.revision > this.revision + 1 || change.truncated) {
      return "gap";
    }
    this.putAll([...change.added, ...change.changed]);
    this.leafId = change.leafId;
    this.revision = change.revision;
    return "taken";
  }

  /** Shows the nodes that are not hidden. What hangs on a hidden node hangs on the nearest shown one. */
  filter(hides: Hides): void {
    this.hides = hides;
    this.children = new Map();
    this.shown = new Map();
    for (const node of this.nodes.values()) {
      this.link(node);
    }
    this.settle();
  }

  /** The shown children of an entry, or the roots, in the order of their times. */
  childrenOf(id: string): readonly string[] {
    return this.children.get(id) ?? [];
  }

  /** The entry itself, or its nearest ancestor that is shown; `ROOT` if there is none. */
  shownFor(id: string | null): string {
    return id === null ? ROOT : (this.shown.get(id) ?? ROOT);
  }

  /** The nearest shown ancestor of a shown entry. */
  shownParentOf(id: string): string {
    return this.shownFor(this.nodes.get(id)?.parentId ?? null);
  }

  /** The ids of the path to the leaf. */
  path(): ReadonlySet<string> {
    return (this.pathOfLeaf ??= this.pathTo(this.leafId));
  }

  /** The entries of the leaf's path that its last compaction stands for. */
  summarised(): ReadonlySet<string> {
    return (this.summarisedOfLeaf ??= this.findSummarised());
  }

  pathTo(id: string | null): ReadonlySet<string> {
    const path = new Set<string>();
    while (id !== null && !path.has(id)) {
      path.add(id);
      id = this.nodes.get(id)?.parentId ?? null;
    }
    return path;
  }

  private findSummarised(): ReadonlySet<string> {
    let compaction = this.leafId === null ? undefined : this.nodes.get(this.leafId);
    while (compaction && compaction.type !== "compaction") {
      compaction = compaction.parentId === null ? undefined : this.nodes.get(compaction.parentId);
    }
    if (!compaction) {
      return new Set();
    }
    const before = this.pathTo(compaction.parentId);
    const kept = compaction.firstKeptEntryId;
    if (kept === compaction.id) {
      return before;
    }
    // What it kept is missing: the daemon shows a tail of its own choice, which only it knows.
    return kept && before.has(kept) ? this.pathTo(this.nodes.get(kept)?.parentId ?? null) : new Set();
  }

  private putAll(nodes: readonly TreeNode[]): void {
    for (const node of nodes) {
      const isNew = !this.nodes.has(node.id);
      this.nodes.set(node.id, node);
      if (isNew) {
        this.link(node);
      }
    }
    this.settle();
    this.pathOfLeaf = this.summarisedOfLeaf = undefined;
  }

  private link(node: TreeNode): void {
    const parent = this.shownFor(node.parentId);
    if (this.hides(node)) {
      this.shown.set(node.id, parent);
      return;
    }
    this.shown.set(node.id, node.id);
    const siblings = this.children.get(parent);
    if (!siblings) {
      this.children.set(parent, [node.id]);
      return;
    }
    if (this.timeOf(siblings[siblings.length - 1]) > (node.timestamp ?? "")) {
      this.unsorted.add(parent);
    }
    siblings.push(node.id);
  }

  /** Puts siblings in the order of their times; sorting is stable, so those of one time stay as they came. */
  private settle(): void {
    for (const parent of this.unsorted) {
      this.children.get(parent)?.sort((a, b) => compare(this.timeOf(a), this.timeOf(b)));
    }
    this.unsorted.clear();
  }

  private timeOf(id: string | undefined): string {
    return (id !== undefined && this.nodes.get(id)?.timestamp) || "";
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
