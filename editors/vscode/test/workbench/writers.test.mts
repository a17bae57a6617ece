import assert from "node:assert/strict";
import { Pi } from "./pi.mts";
import { eventually } from "./processes.mts";
import { opened, TREE } from "./sample.mts";
import { stage } from "./stage.mts";

describe("a session with several writers", () => {
  it("shows what pi appends", async () => {
    const project = stage.place.project();
    const file = project.session("shared").turns("shared", 2).write();
    const window = await opened(project, "Question 1 of shared");
    const pi = new Pi(stage.place.home);
    try {
      await pi.open(file.path);
      await pi.say("said to pi");
      await window.until(TREE, (labels) => labels.includes("said to pi"));
      await window.run("pid: Append a Message");
      await window.answer("said to the editor");
      await window.until(TREE, (labels) => labels.includes("said to the editor"));
      const [byPi, byEditor] = file.entries().slice(-2);
      assert.equal(byEditor?.parentId, byPi?.id);
    } finally {
      await pi.stop();
    }
  });

  it("is the same in two windows, each with a leaf of its own", async () => {
    const project = stage.place.project();
    project.session("two").turns("two", 2).write();
    const [one, two] = [await opened(project, "Question 1 of two"), await opened(project, "Question 1 of two")];
    await one.run("pid: Append a Message");
    await one.answer("from the first window");
    await two.until(TREE, (labels) => labels.includes("from the first window"));

    await one.menu(one.row(TREE, "Question 1 of two"), "Move the Leaf Here");
    const leaf = async (window: typeof one) =>
      (await window.rows(TREE)).find(({ aria }) => aria.includes("the leaf"))?.label;
    await eventually(
      () => leaf(one),
      (label) => label === "Question 1 of two",
      "the leaf of the first window",
    );
    await two.run("pid: Append a Message");
    await two.answer("from the second window");
    await one.until(TREE, (labels) => labels.includes("from the second window"));
    assert.equal(await leaf(one), "Question 1 of two");
    await eventually(
      () => leaf(two),
      (label) => label === "from the second window",
      "the leaf of the second window",
    );
  });
});
