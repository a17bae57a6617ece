import assert from "node:assert/strict";
import { appendFileSync } from "node:fs";
import { eventually } from "../workbench/processes.mts";
import { api, closeAll, contextTexts, place, project, says } from "./stage.mts";

/** Kills the daemon of this window, which the tests' own `pid` started. */
function kill(): void {
  const daemon = place.runningDaemons().at(-1);
  assert(daemon, "a daemon runs");
  process.kill(daemon, "SIGKILL");
}

describe("a daemon that is killed", () => {
  afterEach(closeAll);

  it("is started again, with its sessions at the leaves that they had", async () => {
    const pid = await api();
    const file = project.session("killed").turns("k", 3).write();
    const session = await pid.open(file.path);
    await pid.setLeaf(session, "k-a1");
    // Another writer goes on elsewhere: by the file alone, the leaf would now be there.
    const other = { type: "label", id: "elsewhere", parentId: "k-a3", timestamp: "2026-01-01T10:00:00.000Z" };
    appendFileSync(file.path, JSON.stringify({ ...other, targetId: "k-q1", label: "other" }) + "\n");
    const handle = session.id;

    kill();
    const { parentId } = await pid.append(session, says("user", "after the crash"));

    assert.equal(parentId, "k-a1");
    assert.equal(pid.current, session);
    assert.equal((await contextTexts(pid, session)).length, 3);
    assert.ok(session.id === handle || pid.sessions.length === 1);
  });

  it("loses nothing that was asked meanwhile, and writes nothing twice", async () => {
    const pid = await api();
    const session = await pid.create({ cwd: project.folder });
    const appending = Array.from({ length: 20 }, (_, n) => pid.append(session, says("user", `message ${String(n)}`)));
    kill();
    await Promise.all(appending);
    const texts = await contextTexts(pid, session);
    const numbers = texts.map((text) => Number(/message (\d+)/.exec(text)?.[1]));
    assert.deepEqual(
      numbers.toSorted((a, b) => a - b),
      Array.from({ length: 20 }, (_, n) => n),
    );
  });

  it("is one process for a window", async () => {
    await (await api()).create({ cwd: project.folder });
    await eventually(
      () => place.runningDaemons().length,
      (count) => count === 1,
      "one daemon",
    );
  });
});
