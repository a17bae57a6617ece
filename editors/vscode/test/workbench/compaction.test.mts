import assert from "node:assert/strict";
import { join } from "node:path";
import { eventually } from "./processes.mts";
import { long, opened, TREE } from "./sample.mts";
import type { SessionFile } from "./sessionFile.mts";
import { pictures, stage } from "./stage.mts";

const compactions = (file: SessionFile) => file.entries().filter(({ type }) => type === "compaction");

describe("a compaction", () => {
  it("is previewed, confirmed, and shown in the tree and the gauge", async () => {
    const project = stage.place.project();
    project.settings({ "pid.summarizer": "extractive", "pid.contextWindow": 60_000 });
    const file = long(project);
    const window = await opened(project, "A long session");
    await window.status(/%/).waitFor();
    await window.screenshot(join(pictures, "gauge.png"));
    await window.status(/%/).click();
    await window.quickRow("of 60k tokens").waitFor();
    await window.screenshot(join(pictures, "usage.png"));
    await window.page.keyboard.press("Escape");

    await window.run("pid: Preview Compaction");
    await window.editorShows("tokens", "Summarised");
    await window.screenshot(join(pictures, "preview.png"));
    assert.equal(compactions(file).length, 0, "a preview writes nothing");

    await window.page
      .locator(".codelens-decoration a")
      .filter({ hasText: /^ ?Compact$/ })
      .click();
    await eventually(
      () => compactions(file).length,
      (count) => count === 1,
      "the compaction in the file",
    );
    const rows = () => window.rows(TREE);
    await eventually(rows, (seen) => seen.some(({ aria }) => aria.startsWith("compaction")), "its row");
    await window.screenshot(join(pictures, "compacted.png"));
    await window.toTop(TREE);
    await eventually(rows, ([first]) => first?.aria.endsWith("summarised") ?? false, "rows that are summarised");
    await window.screenshot(join(pictures, "summarised.png"));
  });

  it("tells how it goes, and is cancelled without a trace", async () => {
    const project = stage.place.project();
    project.settings({ "pid.summarizer": "anthropic" });
    const file = long(project);
    const before = file.entries().length;
    const window = await opened(project, "A long session");
    const asked = stage.api.requests;

    await window.run("pid: Compact");
    await window.notification(/Compacting A long session/).waitFor();
    await eventually(
      () => stage.api.requests,
      (requests) => requests > asked,
      "a request at the model",
    );
    await window.status(/compacting/).waitFor();
    await window.screenshot(join(pictures, "progress.png"));
    await window.press(/Compacting A long session/, "Cancel");
    await window.notification(/Compacting A long session/).waitFor({ state: "detached" });
    await window.status(/nothing was written/).waitFor();
    assert.equal(file.entries().length, before);
  });

  it("lets people go on while the model thinks", async () => {
    const project = stage.place.project();
    project.settings({ "pid.summarizer": "anthropic" });
    const file = long(project);
    const window = await opened(project, "A long session");
    const asked = stage.api.requests;
    await window.run("pid: Compact");
    await eventually(
      () => stage.api.requests,
      (requests) => requests > asked,
      "a request at the model",
    );

    await window.run("pid: Append a Note");
    await window.answer("Written meanwhile");
    await window.until(TREE, (labels) => labels.includes("Written meanwhile"));
    assert.equal(compactions(file).length, 0);

    const answering = setInterval(() => {
      stage.api.answer();
    }, 200);
    try {
      await eventually(
        () => compactions(file).length,
        (count) => count === 1,
        "the compaction in the file",
      );
    } finally {
      clearInterval(answering);
    }
    await window.press(/compacted/, "Show Summary");
    await window.editorShows("The summary that the slow model wrote.");
  });
});
