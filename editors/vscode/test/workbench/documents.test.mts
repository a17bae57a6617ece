import { join } from "node:path";
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
