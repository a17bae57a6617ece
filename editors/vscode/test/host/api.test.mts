import assert from "node:assert/strict";
import * as vscode from "vscode";
import { eventually } from "../workbench/processes.mts";
import { api, closeAll, contextTexts, project, says } from "./stage.mts";

describe("the exported API", () => {
  afterEach(closeAll);

  it("is of version 1", async () => {
    assert.equal((await api()).version, 1);
  });

  it("makes a session, appends, branches, builds the context and tells of it", async () => {
    const pid = await api();
    const told: string[] = [];
    const listening = pid.onDidChange(({ change }) => told.push(change.cause));
    const session = await pid.create({ cwd: project.folder, name: "made by a panel" });
    assert.equal(session, pid.current);
    assert.equal(session.name, "made by a panel");

    const first = await pid.append(session, says("user", "first question"));
    await pid.append(session, says("assistant", "first answer"));
    await pid.setLeaf(session, first.entryId);
    const second = await pid.append(session, says("assistant", "second answer"));
    // The daemon tells of a write behind its answer.
    await eventually(
      () => told,
      ({ length }) => length === 4,
      "four changes",
    );
    listening.dispose();

    assert.equal(second.parentId, first.entryId);
    assert.equal(session.leafId, second.entryId);
    const texts = await contextTexts(pid, session);
    assert.equal(texts.length, 2);
    assert.match(texts[1] ?? "", /second answer/);
    assert.deepEqual(told, ["append", "append", "setLeaf", "append"]);
  });

  it("appends a batch as one chain, and forks at an entry", async () => {
    const pid = await api();
    const session = await pid.create({ cwd: project.folder });
    const { entryIds } = await pid.appendBatch(session, [
      says("user", "one"),
      says("assistant", "two"),
      says("user", "three"),
    ]);
    const fork = await pid.fork(session, entryIds[1]);
    assert.notEqual(fork.path, session.path);
    assert.equal((await contextTexts(pid, fork)).length, 2);
    assert.equal((await contextTexts(pid, session)).length, 3);
  });

  it("opens a file twice as one session, and forgets it when it is closed", async () => {
    const pid = await api();
    const file = project.session("twice").turns("t", 2).write();
    const session = await pid.open(file.path);
    assert.equal(await pid.open(file.path), session);
    const closed: string[] = [];
    const listening = pid.onDidClose(({ reason }) => closed.push(reason));
    await pid.close(session);
    listening.dispose();
    assert.deepEqual(closed, ["closed"]);
    await assert.rejects(() => pid.append(session, says("user", "too late")), /not open/);
    assert.equal(file.entries().length, 4);
  });

  it("hands on what the daemon refuses, with its code", async () => {
    const pid = await api();
    const session = await pid.create({ cwd: project.folder });
    await assert.rejects(() => pid.setLeaf(session, "nowhere"), { code: 1002 });
  });

  it("cancels a request by its token", async () => {
    const pid = await api();
    const file = project.session("cancelled").turns("c", 40, 4000).write();
    const session = await pid.open(file.path);
    const source = new vscode.CancellationTokenSource();
    const compacting = pid.compact(session, { summarizer: "anthropic" }, source.token);
    const started = new Promise<void>((resolve) => {
      const listening = pid.onDidCompact(({ notice }) => {
        if (notice.state === "started") {
          listening.dispose();
          resolve();
        }
      });
    });
    await started;
    source.cancel();
    await assert.rejects(compacting, { code: -32800 });
    assert.equal(file.entries().length, 80);
  });
});
