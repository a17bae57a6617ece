/**
 * Which rows stand under which in the tree view. The newest child goes on in its parent's level; older ones
 * are the heads of side branches, before it. So a stretch without branches is flat, and moving the leaf moves
 * no row. Long levels are cut into groups, so that no level has more than a few hundred rows.
 * Pure, and linear in the rows of a level.
 */

import { ROOT, type TreeModel } from "./tree";

/** Entries in a group. Groups begin at multiples of it, so appending moves no row from group to group. */
export const GROUP_SIZE = 100;

/** One entry. With `isBranch` it is the head of a side branch, whose level holds what follows it. */
export interface EntryRow {
  readonly kind: "entry";
  readonly id: string;
  readonly isBranch: boolean;
}

/** Rows of a level from `start` on, folded into one. */
export interface GroupRow {
  readonly kind: "group";
  /** The head of the level that the rows belong to. */
  readonly head: string;
  readonly start: number;
  readonly end: number;
  /** How many rows it holds when it is full. With `start` it names the group, also while that grows. */
  readonly size: number;
}

export type Row = EntryRow | GroupRow;

/** The rows of levels, each reckoned when it is first asked for. Made anew when the model changed. */
export class Layout {
  private readonly levels = new Map<string, readonly EntryRow[]>();

  constructor(private readonly model: TreeModel) {}

  /** The entries of a level, without groups; `ROOT` is the trunk. */
  level(head: string): readonly EntryRow[] {
    let rows = this.levels.get(head);
    if (!rows) {
      rows = flatten(this.model, head);
      this.levels.set(head, rows);
    }
    return rows;
  }

  /** What stands under a row; nothing given: the top of the view. */
  childrenOf(row?: Row): readonly Row[] {
    if (row?.kind === "group") {
      return cut(row.head, this.level(row.head), row.start, row.end);
    }
    const head = row?.id ?? ROOT;
    const rows = this.level(head);
    return cut(head, rows, 0, rows.length);
  }

  hasChildren(row: EntryRow): boolean {
    return row.isBranch && this.model.childrenOf(row.id).length > 0;
  }

  /** The row of an entry that is shown. */
  rowOf(id: string): EntryRow {
    const siblings = this.model.childrenOf(this.model.shownParentOf(id));
    return { kind: "entry", id, isBranch: siblings[siblings.length - 1] !== id };
  }

  /** The row that a row stands under; undefined at the top. */
  parentOf(row: Row): Row | undefined {
    const head = row.kind === "group" ? row.head : this.headOf(row.id);
    const rows = this.level(head);
    const place = row.kind === "group" ? row.start : rows.findIndex((other) => other.id === row.id);
    return this.groupAround(head, row, place) ?? (head === ROOT ? undefined : this.rowOf(head));
  }

  /** How many entries hang on one, at any depth. */
  countBelow(id: string): number {
    let count = 0;
    const stack = [...this.model.childrenOf(id)];
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
      count += 1;
      stack.push(...this.model.childrenOf(next));
    }
    return count;
  }

  /** The head of the level that an entry stands in. */
  private headOf(id: string): string {
    let parent = this.model.shownParentOf(id);
    while (parent !== ROOT && !this.rowOf(parent).isBranch) {
      parent = this.model.shownParentOf(parent);
    }
    return parent;
  }

  /** The innermost group that holds the place and is not the row itself. */
  private groupAround(head: string, row: Row, place: number): GroupRow | undefined {
    let found: GroupRow | undefined;
    let rows: readonly Row[] = this.childrenOf(head === ROOT ? undefined : this.rowOf(head));
    for (;;) {
      const group = rows.find((other) => other.kind === "group" && other.start <= place && place < other.end);
      if (group?.kind !== "group" || sameGroup(group, row)) {
        return found;
      }
      found = group;
      rows = this.childrenOf(group);
    }
  }
}

function sameGroup(group: GroupRow, row: Row): boolean {
  return row.kind === "group" && row.start === group.start && row.size === group.size;
}

function flatten(model: TreeModel, head: string): EntryRow[] {
  const rows: EntryRow[] = [];
  for (let ids = model.childrenOf(head); ids.length > 0;) {
    const newest = ids.length - 1;
    rows.push(...ids.map((id, place): EntryRow => ({ kind: "entry", id, isBranch: place < newest })));
    ids = model.childrenOf(ids[newest] ?? ROOT);
  }
  return rows;
}

/**
 * The rows from `start` to `end`, older ones in groups. At the top of a level at least `GROUP_SIZE` of the
 * newest stand for themselves; a group is cut into equal parts until its parts are entries.
 */
function cut(head: string, rows: readonly EntryRow[], start: number, end: number): readonly Row[] {
  if (end - start <= 2 * GROUP_SIZE) {
    return rows.slice(start, end);
  }
  const isLevel = start === 0 && end === rows.length;
  const grouped = isLevel ? (Math.floor(end / GROUP_SIZE) - 1) * GROUP_SIZE : end;
  let size = GROUP_SIZE;
  while ((grouped - start) / size > GROUP_SIZE) {
    size *= GROUP_SIZE;
  }
  const groups: Row[] = [];
  for (let at = start; at < grouped; at += size) {
    groups.push({ kind: "group", head, start: at, end: Math.min(at + size, grouped), size });
  }
  return [...groups, ...rows.slice(grouped, end)];
}
