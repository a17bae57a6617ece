import assert from "node:assert/strict";
import { branched, opened, SESSIONS, TREE } from "./sample.mts";
import { stage } from "./stage.mts";
import { isSoon } from "./window.mts";
import { eventually } from "./processes.mts";

describe("the views", () => {
  it("list the sessions of the folder, filter them, and show those of all folders", async () => {
    const elsewhere = stage.place.project();
    elsewhere.session("elsewhere").turns("elsewhere", 1).write();
    const project = stage.place.project();
    branched(project);
    project.session("plain").turns("plain", 3).write();
    const window = await stage.open(project);
    await window.container("Sessions");

    const listed = await window.until(SESSIONS, (labels) => labels.length > 0);
    assert.deepEqual(listed, ["Question 1 of plain", "Mend the parser"], "the last message first");
    assert.match((await window.rows(SESSIONS))[0]?.description ?? "", /· 6$/, "how many messages it has");

    await window.run("pid: Filter Sessions");
    await window.answer("PARSER");
    await window.until(SESSIONS, (labels) => labels.join() === "Mend the parser");
    await window.run("pid: Clear Filter");
    await window.until(SESSIONS, (labels) => labels.length === 2);

    await window.run("pid: Show Sessions of All Directories");
    await window.run("pid: Filter Sessions");
    await window.answer("of elsewhere");
    await window.until(SESSIONS, (labels) => labels.join() === "Question 1 of elsewhere");
  });

  it("show the branches of a session: the leaf, labels, and what is aside", async () => {
    const project = stage.place.project();
    branched(project);
    const window = await opened(project, "Mend the parser");
    const rows = await eventually(
      () => window.rows(TREE),
      ({ length }) => length === 7,
      "seven rows",
    );
    assert.ok(
      rows.every(({ level }) => level === 1),
      "a stretch without branches is flat",
    );
    const spoken = Object.fromEntries(rows.map(({ label, aria }) => [label, aria]));
    assert.match(spoken["Then guard it."] ?? "", /on another branch/);
    assert.match(spoken["[grammar] Can the grammar say so instead?"] ?? "", /label grammar/);
    assert.match(spoken["Yes: an optional list."] ?? "", /the leaf/);

    await window.row(TREE, "Then guard it.").locator(".monaco-tl-twistie").click();
    await window.until(TREE, (labels) => labels.includes("Guarded, in the lexer."));
  });

  it("move the leaf, label and fork from a row's menu", async () => {
    const project = stage.place.project();
    const file = branched(project);
    const window = await opened(project, "Mend the parser");

    await window.menu(window.row(TREE, "Then guard it."), "Move the Leaf Here");
    const isLeaf = (label: string) =>
      window.rows(TREE).then((rows) => rows.some((row) => row.label === label && row.aria.includes("the leaf")));
    await eventually(() => isLeaf("Then guard it."), Boolean, "the leaf at the other branch");

    await window.menu(window.row(TREE, "Then guard it."), "Label…");
    await window.answer("a guard");
    await window.until(TREE, (labels) => labels.includes("[a guard] Then guard it."));
    assert.ok(file.entries().some(({ type, label }) => type === "label" && label === "a guard"));

    await window.menu(window.row(TREE, "Because it reads"), "Fork from Here");
    await window.until(TREE, (labels) => labels.length === 2);
    await window.until(SESSIONS, (labels) => labels.length === 2);
  });

  it("are worked with the keyboard alone", async () => {
    const project = stage.place.project();
    branched(project);
    const window = await opened(project, "Mend the parser");
    await window.toTop(TREE);
    await window.page.keyboard.press("Control+Enter");
    await eventually(
      () => window.rows(TREE),
      ([first]) => first?.aria.includes("the leaf") ?? false,
      "the leaf at the first question",
    );
    // While the view is drawn anew it has no selection, and the command asks for the entry.
    const labels = async () => {
      await window.page.keyboard.press("Escape");
      await window.toTop(TREE);
      await window.page.keyboard.press("F2");
      return await isSoon(window.page.getByText("An empty label takes the label off"));
    };
    await eventually(labels, Boolean, "the box for a label");
    await window.answer("start");
    await window.until(TREE, ([first]) => first?.startsWith("[start]") ?? false);
  });

  it("append a message and a note from the palette, at the leaf", async () => {
    const project = stage.place.project();
    const file = project.session("short").turns("short", 1).write();
    const window = await opened(project, "Question 1 of short");
    await window.run("pid: Append a Message");
    await window.answer("What about tabs?");
    await window.until(TREE, (labels) => labels.includes("What about tabs?"));
    await window.run("pid: Append a Note");
    await window.answer("Tabs are rare.");
    await window.until(TREE, (labels) => labels.includes("Tabs are rare."));
    const [message, note] = file.entries().slice(-2);
    assert.equal(message?.parentId, "short-a1");
    assert.equal(note?.parentId, message.id);
  });

  it("make a session, rename it from its menu, and continue it in another window", async () => {
    const project = stage.place.project();
    const window = await stage.open(project);
    await window.run("pid: New Session");
    await window.until(SESSIONS, (labels) => labels.length === 1);
    await window.run("pid: Append a Message");
    await window.answer("The beginning");
    await window.until(SESSIONS, (labels) => labels[0] === "The beginning");
    await window.menu(window.row(SESSIONS, "The beginning"), "Rename Session");
    await window.answer("A name");
    await window.until(SESSIONS, (labels) => labels[0] === "A name");

    const other = await stage.open(project);
    await other.run("pid: Continue the Last Session");
    await other.until(TREE, (labels) => labels.includes("The beginning"));
  });

  it("offer what they do in the palette", async () => {
    const window = await stage.open(stage.place.project());
    for (const title of [
      "New Session",
      "Show the Context",
      "Show the System Prompt",
      "Preview Compaction",
      "Restart Daemon",
      "Show Log",
    ]) {
      assert.ok(
        (await window.offered(`pid: ${title}`)).some((row) => row.startsWith(`pid: ${title}`)),
        title,
      );
    }
  });
});
