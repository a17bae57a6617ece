import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { afterCrash, type Crashes } from "../../src/model/backOff";
import { DaemonEnded, isCancelled, isConnectionLost, messageOf, NoDaemon } from "../../src/model/faults";
import { findDaemon } from "../../src/model/findDaemon";
import { chosenValue, settingsUpdate } from "../../src/model/settings";

describe("back-off", () => {
  it("waits longer each time, and gives up when it ends too often", () => {
    let crashes: Crashes = [];
    const delays: (number | undefined)[] = [];
    for (let round = 0; round < 7; round += 1) {
      const verdict = afterCrash(crashes, round * 1000);
      crashes = verdict.crashes;
      delays.push(verdict.delayMs);
    }
    assert.deepEqual(delays, [200, 400, 800, 1600, 3200, 6400, undefined]);
  });

  it("forgets crashes of long ago", () => {
    assert.equal(afterCrash([0, 1, 2, 3, 4, 5], 10 * 60 * 1000).delayMs, 200);
  });
});

describe("finding the daemon", () => {
  const find = (setting: string | undefined, ...programs: string[]): string =>
    findDaemon({
      setting,
      path: "bin:/usr/bin:/home/ada/.local/bin",
      home: "/home/ada",
      isExecutable: (file) => programs.includes(file),
    });

  it("takes the first on the path", () =>
    assert.equal(find(undefined, "/home/ada/.local/bin/pid"), "/home/ada/.local/bin/pid"));
  it("takes the setting before the path", () =>
    assert.equal(find("~/venv/bin/pid", "/usr/bin/pid", "/home/ada/venv/bin/pid"), "/home/ada/venv/bin/pid"));
  it("looks for another name on the path", () => assert.equal(find("pid-dev", "/usr/bin/pid-dev"), "/usr/bin/pid-dev"));
  it("never falls back from a setting that names nothing", () =>
    assert.throws(() => find("/opt/pid", "/usr/bin/pid"), {
      name: "NoDaemon",
      message: /pid\.serverPath names \/opt\/pid/,
    }));
  it("takes no relative path, of the setting or of the path", () => {
    assert.throws(() => find("./pid", "./pid"), /absolute path/);
    assert.throws(() => find(undefined, "bin/pid"), NoDaemon);
  });
  it("says how to install it", () => assert.throws(() => find(undefined), /pipx install/));
});

describe("errors for people", () => {
  it("knows what happened to a request", () => {
    assert.ok(isCancelled({ code: -32800 }));
    assert.ok(isConnectionLost({ code: -32097 }));
    assert.ok(!isConnectionLost(new Error("x")));
    assert.ok(!isCancelled("x"));
  });

  it("is the message, with advice where there is any", () => {
    assert.equal(messageOf(new DaemonEnded("It ended.")), "It ended.");
    assert.equal(messageOf("a text"), "a text");
    const busy = Object.assign(new Error("The file is locked"), { code: 1009 });
    assert.equal(messageOf(busy), "The file is locked. Another program holds the file; try again.");
  });
});

describe("settings", () => {
  it("sends only what the user set", () => {
    assert.equal(settingsUpdate({ contextWindow: null, autoCompact: undefined, summarizer: undefined }), undefined);
    assert.deepEqual(settingsUpdate({ contextWindow: 200_000, autoCompact: false, summarizer: "extractive" }), {
      contextWindow: 200_000,
      autoCompact: false,
      summarizer: "extractive",
    });
  });

  it("takes the most specific scope", () => {
    assert.equal(chosenValue({ workspaceFolderValue: 1, workspaceValue: 2, globalValue: 3 }), 1);
    assert.equal(chosenValue({ globalValue: false }), false);
    assert.equal(chosenValue(undefined), undefined);
  });
});
