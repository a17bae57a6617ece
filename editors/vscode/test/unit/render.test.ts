import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Layout } from "../../src/model/layout";
import { entryView, groupView, isMetadata, textOf, type RowView } from "../../src/model/render";
import type { TreeNode } from "../../src/protocol.gen";
import { chain, modelOf, node } from "./builders";

const NOW = new Date("2026-01-31T13:00:00Z");

function view(nodes: TreeNode[], leaf: string | null, id: string): RowView {
  const model = modelOf(nodes, leaf);
  const layout = new Layout(model);
  return entryView(layout.rowOf(id), model, layout, NOW);
}

describe("a row of the tree", () => {
  it("marks the leaf, its path and what is aside", () => {
    const nodes = [...chain(3), node("side", "0", 1)];
    assert.equal(view(nodes, "2", "2").place, "leaf");
    assert.match(view(nodes, "2", "2").spoken, /the leaf/);
    assert.equal(view(nodes, "2", "1").place, "path");
    assert.equal(view(nodes, "2", "side").place, "aside");
    assert.equal(view(nodes, "2", "side").iconColor, "disabledForeground");
  });

  it("dims what a compaction stands for", () => {
    const nodes = [...chain(3), node("c", "2", 9, { type: "compaction", role: null, firstKeptEntryId: "2" })];
    assert.equal(view(nodes, "c", "1").place, "summarised");
    assert.equal(view(nodes, "c", "2").place, "path");
  });

  it("shows a label as a badge that stands out", () => {
    const shown = view([node("a", null, 0, { label: "before", preview: "Hello" })], "a", "a");
    assert.equal(shown.label, "[before] Hello");
    assert.deepEqual(shown.highlights, [[0, 8]]);
    assert.match(shown.spoken, /label before/);
  });

  it("tells how many entries a folded branch has", () => {
    const nodes = [...chain(2), node("1a", "1", 2), node("new", "0", 50)];
    assert.match(view(nodes, "new", "1").description, /\+1/);
    assert.match(view(nodes, "new", "1").spoken, /side branch of 2 entries/);
  });

  it("says what failed", () => {
    const tool = node("t", null, 0, { role: "toolResult", toolName: "bash", isError: true, preview: "no such file" });
    const shown = view([tool], "t", "t");
    assert.equal(shown.label, "bash: no such file");
    assert.equal(shown.icon, "error");
    const damaged: TreeNode = { id: "d", parentId: null, type: "unknown", timestamp: null, damaged: true };
    assert.match(view([damaged], "d", "d").label, /cannot be read/);
    assert.equal(view([damaged], "d", "d").icon, "warning");
  });

  it("names entries whose text does not say what they are", () => {
    const of = (more: Partial<TreeNode>): string => textOf({ ...node("x", null, 0), role: null, ...more });
    assert.equal(of({ type: "model_change", preview: "anthropic/opus" }), "model: anthropic/opus");
    assert.equal(of({ type: "custom", customType: "todo", preview: null }), "custom");
    assert.equal(of({ type: "strange", preview: "x" }), "strange: x");
    assert.equal(of({ type: "message", role: "assistant", preview: null }), "(assistant message)");
  });

  it("begins a summary with its first words", () => {
    const of = (preview: string): string => textOf({ ...node("x", null, 0), type: "compaction", role: null, preview });
    assert.equal(of("*Quoted without a model.* ## Goal Find out"), "summary: Goal Find out");
    assert.equal(of("## Goal"), "summary: Goal");
    assert.equal(of("*Only this*"), "summary: *Only this*");
    assert.equal(of("2 * 3 * 4"), "summary: 2 * 3 * 4");
  });

  it("takes for metadata what is no part of the conversation, but nothing damaged", () => {
    assert.ok(isMetadata({ ...node("x", null, 0), type: "label" }));
    assert.ok(!isMetadata(node("x", null, 0)));
    assert.ok(!isMetadata({ ...node("x", null, 0), type: "unknown", damaged: true }));
  });

  it("keeps Markdown of the conversation literal in tooltips", () => {
    const shown = view([node("a", null, 0, { preview: "[x](command:evil) <b>" })], "a", "a");
    assert.ok(!shown.tooltip.includes("](command:"));
    assert.ok(!shown.tooltip.includes("<b>"));
  });
});

describe("a group of entries", () => {
  it("shows what it holds, how it begins, its labels and whether the path leads through it", () => {
    const nodes = chain(400);
    nodes[7] = { ...(nodes[7] ?? node("7", "6", 7)), label: "here" };
    const model = modelOf(nodes, "399");
    const layout = new Layout(model);
    const [group] = layout.childrenOf();
    const shown = group?.kind === "group" ? groupView(group, model, layout, NOW) : undefined;
    assert.equal(shown?.label, "1 – 100");
    assert.match(shown.description, /^\[here\] · 0 · /);
    assert.equal(shown.place, "path");
  });
});
