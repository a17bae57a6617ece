import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ROOT, TreeModel } from "../../src/model/tree";
import { isMetadata } from "../../src/model/render";
import { chain, change, modelOf, node, page } from "./builders";

describe("TreeModel", () => {
  it("puts siblings in the order of their times, those of one time as they came", () => {
    const model = modelOf([node("r", null, 0), node("late", "r", 9), node("b", "r", 3), node("a", "r", 3)], "a");
    assert.deepEqual(model.childrenOf("r"), ["b", "a", "late"]);
  });

  it("takes pages one after the other", () => {
    const [first, ...rest] = chain(5);
    const model = new TreeModel();
    model.take(page(first ? [first] : [], "4", { nextCursor: "c" }));
    model.take(page(rest, "4"));
    assert.equal(model.nodes.size, 5);
    assert.deepEqual(model.childrenOf("3"), ["4"]);
  });

  it("takes a change that follows, and tells old ones and gaps", () => {
    const model = modelOf(chain(2), "1");
    assert.equal(model.apply(change({ revision: 1 })), "old");
    assert.equal(model.apply(change({ revision: 2, leafId: "n", added: [node("n", "1", 5)] })), "taken");
    assert.deepEqual(model.childrenOf("1"), ["n"]);
    assert.equal(model.leafId, "n");
    assert.equal(model.apply(change({ revision: 4 })), "gap");
    assert.equal(model.apply(change({ revision: 3, epoch: "other" })), "gap");
    assert.equal(model.apply(change({ revision: 3, truncated: true })), "gap");
    assert.equal(model.revision, 2);
  });

  it("replaces a node that changed without hanging it up twice", () => {
    const model = modelOf(chain(2), "1");
    model.apply(change({ leafId: "1", changed: [node("0", null, 0, { label: "begin" })] }));
    assert.equal(model.nodes.get("0")?.label, "begin");
    assert.deepEqual(model.childrenOf(ROOT), ["0"]);
  });

  it("hangs what stands under a hidden node on the nearest shown one", () => {
    const hidden = { type: "label", role: null };
    const model = modelOf(
      [node("a", null, 0), node("l", "a", 1, hidden), node("b", "l", 2), node("end", "b", 3, hidden)],
      "end",
    );
    model.filter(isMetadata);
    assert.deepEqual(model.childrenOf("a"), ["b"]);
    assert.equal(model.shownFor("end"), "b");
    assert.equal(model.shownParentOf("b"), "a");
    model.filter(() => false);
    assert.deepEqual(model.childrenOf("b"), ["end"]);
  });

  it("knows the path to the leaf, and forgets it when the leaf moves", () => {
    const model = modelOf([...chain(3), node("side", "0", 9)], "2");
    assert.deepEqual([...model.path()], ["2", "1", "0"]);
    model.apply(change({ leafId: "side", cause: "setLeaf" }));
    assert.deepEqual([...model.path()], ["side", "0"]);
  });

  it("survives a path in a circle", () => {
    const model = modelOf([node("a", "b", 0), node("b", "a", 1)], "b");
    assert.deepEqual([...model.path()], ["b", "a"]);
  });

  describe("what a compaction stands for", () => {
    const compaction = (firstKeptEntryId: string | null) =>
      node("c", "4", 10, { type: "compaction", role: null, firstKeptEntryId });
    const summarised = (kept: string | null): string[] =>
      [...modelOf([...chain(5), compaction(kept), node("after", "c", 11)], "after").summarised()].sort();

    it("is what came before the first kept entry", () => assert.deepEqual(summarised("3"), ["0", "1", "2"]));
    it("is all before it if it keeps nothing", () => assert.deepEqual(summarised("c"), ["0", "1", "2", "3", "4"]));
    it("is nothing that could be told if the first kept entry is missing", () =>
      assert.deepEqual(summarised("gone"), []));
    it("is nothing without a compaction on the path", () => {
      const model = modelOf([...chain(5), compaction("3"), node("side", "1", 20)], "side");
      assert.equal(model.summarised().size, 0);
    });
  });

  it("takes a chain of 100,000 without recursion", () => {
    const model = modelOf(chain(100_000), "99999");
    assert.equal(model.path().size, 100_000);
  });
});
