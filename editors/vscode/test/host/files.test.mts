import assert from "node:assert/strict";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { eventually } from "../workbench/processes.mts";
import { api, closeAll, contextTexts, project, says } from "./stage.mts";

describe("a session's file", () => {
  afterEach(closeAll);

  it("that another program replaced is closed with the reason, left as it is, and can be opened again", async () => {
    const pid = await api();
    const file = project.session("replaced").turns("r", 2).write();
    const session = await pid.open(file.path);
    const reasons: string[] = [];
    const listening = pid.onDidClose(({ reason }) => reasons.push(reason));

    const [header = "", first = ""] = readFileSync(file.path, "utf8").split("\n");
    const other = `${header}\n${first}\n`;
    writeFileSync(`${file.path}.new`, other);
    renameSync(`${file.path}.new`, file.path);
    await eventually(
      () => reasons,
      ({ length }) => length === 1,
      "that it was closed",
    );
    listening.dispose();
    assert.deepEqual(reasons, ["replaced"]);
    await assert.rejects(() => pid.append(session, says("user", "into the void")));
    assert.equal(readFileSync(file.path, "utf8"), other);

    const again = await pid.open(file.path);
    assert.equal((await contextTexts(pid, again)).length, 1);
  });

  it("with damaged lines is opened all the same, and its problems are told", async () => {
    const pid = await api();
    const file = project.session("damaged").turns("d", 2).write();
    writeFileSync(file.path, readFileSync(file.path, "utf8") + '{"type":"message","id":"torn');
    const session = await pid.open(file.path);
    assert.deepEqual(
      session.problems.map(({ kind }) => kind),
      ["tornLine"],
    );
    const { parentId } = await pid.append(session, says("user", "behind the torn line"));
    assert.equal(parentId, "d-a2");
  });
});
