import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "./processes.mts";
import { branched, opened, TREE } from "./sample.mts";
import { pictures, stage } from "./stage.mts";

describe("the documents", () => {
  it("show an entry by a click, the context and the system prompt, and take no edits", async () => {
    const project = stage.place.project();
    branched(project);
    const window = await opened(project, "Mend the parser");
    await window.row(TREE, "Because it reads").click();
    await window.editorShows("assistant", "Because it reads the first token first.");

    await window.run("pid: Show the Context");
    await window.editorShows("Why does the parser fail", "start: tokens;", "Yes: an optional list.");
    await window.page.keyboard.type("x");
    await window.page.getByText("Cannot edit in read-only editor").first().waitFor();
    await window.screenshot(join(pictures, "context.png"));

    await window.run("pid: Show the System Prompt");
    await window.editorShows(project.folder);
  });
});

describe("a session file in the editor", () => {
  it("has an outline, problems, hovers, and lenses that move the leaf", async () => {
    const project = stage.place.project();
    const file = branched(project);
    appendFileSync(file.path, '{"type":"message","id":"torn\n');
    const window = await opened(project, "Mend the parser");
    await window.openFile(file.path);

    const lens = window.page.locator(".codelens-decoration a").filter({ hasText: "Move the leaf here" });
    await lens.first().waitFor();
    await window.run("Explorer: Focus on Outline View");
    await window.page.locator(".outline-tree .monaco-list-row").filter({ hasText: "Then guard it." }).waitFor();
    await window.run("Problems: Focus on Problems View");
    await window.page.locator(".markers-panel .monaco-list-row").filter({ hasText: "JSON" }).first().waitFor();

    await window.page.locator(".editor-instance .view-line").nth(2).click();
    await window.run("Show or Focus Hover");
    await window.page.locator(".monaco-hover:visible").filter({ hasText: "Why does the parser fail" }).waitFor();
    await window.screenshot(join(pictures, "session-file.png"));
    await window.page.keyboard.press("Escape");

    await lens.filter({ hasText: "(assistant)" }).first().click();
    await window.container("Sessions");
    const isLeaf = () =>
      window
        .rows(TREE)
        .then((rows) => rows.some(({ label, aria }) => label.startsWith("Because") && aria.includes("the leaf")));
    await eventually(isLeaf, Boolean, "the leaf at the first answer");
  });
});
