import assert from "node:assert/strict";
import { chmodSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "./processes.mts";
import { SESSIONS, TREE } from "./sample.mts";
import { stage } from "./stage.mts";

describe("a workspace", () => {
  it("of several folders lists the sessions of each, and makes one where it is told to", async () => {
    const [one, two] = [stage.place.project(), stage.place.project()];
    one.session("one").turns("one", 1).write();
    two.session("two").turns("two", 1).write();
    const file = join(one.folder, "both.code-workspace");
    writeFileSync(file, JSON.stringify({ folders: [{ path: one.folder }, { path: two.folder }] }));
    const window = await stage.open(file);
    await window.container("Sessions");
    const wanted = ["project", "Question 1 of one", "project", "Question 1 of two"];
    await window.until(
      SESSIONS,
      (labels) => labels.length === 4 && labels.every((label, n) => label.startsWith(wanted[n] ?? "?")),
    );

    await window.row(SESSIONS, "Question 1 of two").click();
    await window.until(TREE, (labels) => labels.includes("Question 1 of two"));
    await window.run("pid: New Session");
    await window.choose(two.folder.split("/").at(-1) ?? "");
    await window.until(SESSIONS, (labels) => labels.length === 5 && labels.indexOf("Question 1 of one") === 1);
  });

  it("that is not trusted has no say in which program is run", async () => {
    const server = await stage.another("careful", { restricted: true });
    const project = stage.place.project();
    project.session("careful").turns("careful", 1).write();
    const ran = join(project.folder, "ran");
    const program = join(project.folder, "evil");
    writeFileSync(program, `#!/bin/sh\ntouch '${ran}'\n`);
    chmodSync(program, 0o755);
    project.settings({ "pid.serverPath": program });
    const window = await stage.open(project, server);
    await window.status("Restricted Mode").waitFor();
    await window.container("Sessions");
    await window.until(SESSIONS, (labels) => labels.includes("Question 1 of careful"));
    assert.ok(!existsSync(ran));

    const trusting = await stage.open(project);
    await trusting.container("Sessions");
    await eventually(() => existsSync(ran), Boolean, "that the program is run where the folder is trusted");
  });
});
