import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GROUP_SIZE, Layout, type Row } from "../../src/model/layout";
import type { TreeModel } from "../../src/model/tree";
import { chain, modelOf, node } from "./builders";

const told = (rows: readonly Row[]): string[] =>
  rows.map((row) => (row.kind === "entry" ? row.id + (row.isBranch ? "*" : "") : `${row.start}-${row.end}`));

/** Every entry that the view shows, from top to bottom, with everything open. */
function allEntries(layout: Layout): string[] {
  const found: string[] = [];
  const stack: Row[] = [...layout.childrenOf()].reverse();
  for (let row = stack.pop(); row; row = stack.pop()) {
    if (row.kind === "entry") {
      found.push(row.id);
    }
    if (row.kind === "group" || layout.hasChildren(row)) {
      stack.push(...[...layout.childrenOf(row)].reverse());
    }
  }
  return found;
}

function assertConsistent(model: TreeModel): void {
  const layout = new Layout(model);
  const found = allEntries(layout);
  assert.equal(new Set(found).size, found.length, "no entry is shown twice");
  assert.deepEqual([...found].sort(), [...model.nodes.keys()].sort(), "every entry is shown");
  for (const id of model.nodes.keys()) {
    let row: Row = layout.rowOf(id);
    for (let parent = layout.parentOf(row); parent; parent = layout.parentOf(row)) {
      const siblings = told(layout.childrenOf(parent));
      assert.ok(siblings.includes(told([row])[0] ?? ""), `${id}: a row stands under its parent`);
      row = parent;
    }
    assert.ok(told(layout.childrenOf()).includes(told([row])[0] ?? ""), `${id}: the last parent is at the top`);
  }
}

describe("Layout", () => {
  it("keeps a linear stretch flat", () => {
    assert.deepEqual(told(new Layout(modelOf(chain(4), "3")).childrenOf()), ["0", "1", "2", "3"]);
  });

  it("goes straight on with the newest child, and folds older ones before it", () => {
    const model = modelOf(
      [...chain(3), node("old", "0", 1), node("old2", "old", 2), node("new", "0", 50), node("new2", "new", 51)],
      "2",
    );
    const layout = new Layout(model);
    assert.deepEqual(told(layout.childrenOf()), ["0", "1*", "old*", "new", "new2"]);
    assert.deepEqual(told(layout.childrenOf(layout.rowOf("old"))), ["old2"]);
    assert.ok(layout.hasChildren({ kind: "entry", id: "1", isBranch: true }));
    assert.equal(layout.countBelow("1"), 1);
    assertConsistent(model);
  });

  it("shows several roots as branches of nothing", () => {
    const model = modelOf([node("a", null, 0), node("b", null, 5), node("b2", "b", 6)], "b2");
    assert.deepEqual(told(new Layout(model).childrenOf()), ["a*", "b", "b2"]);
    assertConsistent(model);
  });

  it("does not move a row when the leaf moves", () => {
    const nodes = [...chain(3), node("side", "0", 50)];
    const rows = (leaf: string): string[] => told(new Layout(modelOf(nodes, leaf)).childrenOf());
    assert.deepEqual(rows("side"), rows("2"));
  });

  it("cuts a long level into groups, and leaves the newest rows for themselves", () => {
    const layout = new Layout(modelOf(chain(350), "349"));
    const rows = told(layout.childrenOf());
    assert.deepEqual(rows.slice(0, 3), ["0-100", "100-200", "200"]);
    assert.equal(rows.length, 2 + 150);
    const group = layout.childrenOf()[1];
    assert.equal(told(layout.childrenOf(group))[0], "100");
  });

  it("moves no row from group to group when entries are appended", () => {
    const groupOf = (length: number): Row | undefined => {
      const layout = new Layout(modelOf(chain(length), String(length - 1)));
      return layout.parentOf(layout.rowOf("120"));
    };
    assert.deepEqual(groupOf(350), groupOf(399));
    assert.deepEqual(groupOf(350), groupOf(5000));
  });

  it("never has more than a few hundred rows in one level", () => {
    for (const length of [2 * GROUP_SIZE + 1, 10_000, 10_201, 123_456]) {
      const layout = new Layout(modelOf(chain(length), String(length - 1)));
      const stack: Row[] = [...layout.childrenOf()];
      assert.ok(stack.length <= 4 * GROUP_SIZE, `${length}: ${stack.length} rows at the top`);
      for (let row = stack.pop(); row; row = stack.pop()) {
        const below = row.kind === "group" ? layout.childrenOf(row) : [];
        assert.ok(below.length <= 2 * GROUP_SIZE, `${length}: ${below.length} rows in a group`);
        stack.push(...below.filter((one) => one.kind === "group"));
      }
      assert.equal(allEntries(layout).length, length);
    }
  });

  it("agrees with itself on trees of many shapes", () => {
    let seed = 7;
    const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
    for (let round = 0; round < 20; round += 1) {
      const nodes = [node("0", null, 0)];
      for (let index = 1; index < 5 + random(300); index += 1) {
        const parent = random(10) === 0 ? String(random(index)) : String(index - 1);
        nodes.push(node(String(index), random(60) === 0 ? null : parent, random(1000)));
      }
      assertConsistent(modelOf(nodes, "0"));
    }
  });
});
