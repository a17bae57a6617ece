import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type { SessionState, TreeNode } from "../../src/protocol.gen";
import { OpenSessions } from "../../src/model/openSessions";
import type { Asked, Method, Params, Result, Send } from "../../src/model/wire";
import { change, chain, node, page, state } from "./builders";

/** What was asked, with params as they went out; answers are looked up by method. */
class Daemon {
  readonly asked: { method: string; params: Record<string, unknown> }[] = [];
  readonly answers: Partial<Record<Method, (params: Record<string, unknown>) => unknown>> = {};

  readonly send: Send = async <M extends Method>(method: M, asked: Asked<M>): Promise<Result<M>> => {
    const params = (typeof asked === "function" ? asked() : asked) as Params<M> & Record<string, unknown>;
    this.asked.push({ method, params });
    const answer = this.answers[method];
    return Promise.resolve((answer ? answer(params) : null) as Result<M>);
  };

  methods(): string[] {
    return this.asked.map(({ method }) => method);
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("OpenSessions", () => {
  let daemon: Daemon;
  let sessions: OpenSessions;
  let opened: SessionState;

  beforeEach(() => {
    daemon = new Daemon();
    sessions = new OpenSessions(daemon.send, () => undefined);
    opened = state({ leafId: "1" });
    daemon.answers["session/open"] = () => opened;
  });

  it("opens a file once, however often it is asked for", async () => {
    const first = await sessions.openPath("/sessions/s.jsonl");
    assert.equal(await sessions.openPath("/sessions/s.jsonl"), first);
    assert.deepEqual(daemon.methods(), ["session/open"]);
  });

  it("gives one opening back when two paths lead to one session", async () => {
    const first = await sessions.openPath("/sessions/s.jsonl");
    assert.equal(await sessions.openPath("/a/link.jsonl"), first);
    assert.deepEqual(daemon.methods(), ["session/open", "session/open", "session/close"]);
    assert.equal(sessions.all().length, 1);
  });

  it("has the session used last first", async () => {
    const one = await sessions.openPath("/sessions/s.jsonl");
    opened = state({ sessionId: "t", path: "/sessions/t.jsonl" });
    const two = await sessions.openPath("/sessions/t.jsonl");
    assert.equal(sessions.current(), two);
    sessions.use(one);
    assert.deepEqual(sessions.all(), [one, two]);
  });

  it("tells a session what the user set for its directory", async () => {
    sessions = new OpenSessions(daemon.send, (cwd) => (cwd === "/project" ? { contextWindow: 1000 } : undefined));
    daemon.answers["session/configure"] = () => ({ contextWindow: 1000 });
    const session = await sessions.openPath("/sessions/s.jsonl");
    assert.deepEqual(daemon.asked[1], {
      method: "session/configure",
      params: { sessionId: "s", settings: { contextWindow: 1000 } },
    });
    assert.equal(session.settings.contextWindow, 1000);
  });

  it("gives every appended entry an id, so that it may be sent twice", async () => {
    const session = await sessions.openPath("/sessions/s.jsonl");
    daemon.answers["session/append"] = (params) => ({ leafId: (params.entry as { id: string }).id });
    await sessions.append(session, { type: "label", targetId: "0" });
    await sessions.append(session, { type: "label", targetId: "0", id: "mine" });
    const ids = daemon.asked.slice(1).map(({ params }) => (params.entry as { id: string }).id);
    assert.match(ids[0] ?? "", /^[0-9a-f]{8}$/);
    assert.equal(ids[1], "mine");
    assert.equal(session.leafId, "mine");
  });

  describe("kept in step", () => {
    const nodes = chain(2);

    beforeEach(() => {
      daemon.answers["session/getTree"] = (params) =>
        params.since === undefined
          ? page(nodes, "1")
          : page([node("2", "1", 2), node("3", "2", 3)], "3", { revision: 4 });
    });

    it("takes a change into the tree before it tells of it", async () => {
      const session = await sessions.openPath("/sessions/s.jsonl");
      const tree = await sessions.tree(session);
      let size = 0;
      sessions.onDidChange.listen(() => (size = tree.nodes.size));
      sessions.handle("session/didChange", change({ leafId: "2", added: [node("2", "1", 2)] }));
      await settled();
      assert.equal(size, 3);
      assert.equal(session.leafId, "2");
    });

    it("reads what it missed", async () => {
      const session = await sessions.openPath("/sessions/s.jsonl");
      const tree = await sessions.tree(session);
      sessions.handle("session/didChange", change({ revision: 4, leafId: "3", added: [node("3", "2", 3)] }));
      await settled();
      assert.deepEqual(daemon.asked.at(-1)?.params, { since: 1, epoch: "e", sessionId: "s" });
      assert.deepEqual([...tree.nodes.keys()], ["0", "1", "2", "3"]);
    });

    it("reads the whole tree again in another epoch", async () => {
      const session = await sessions.openPath("/sessions/s.jsonl");
      const tree = await sessions.tree(session);
      sessions.handle("session/didChange", change({ epoch: "f", revision: 1, leafId: "1" }));
      await settled();
      assert.notEqual(await sessions.tree(session), tree);
    });

    it("drops what is not newer", async () => {
      const session = await sessions.openPath("/sessions/s.jsonl");
      sessions.handle("session/didChange", change({ revision: 1, leafId: "old" }));
      await settled();
      assert.equal(session.leafId, "1");
    });

    it("does not keep a tree that could not be read", async () => {
      const session = await sessions.openPath("/sessions/s.jsonl");
      daemon.answers["session/getTree"] = () => {
        throw new Error("disk");
      };
      await assert.rejects(sessions.tree(session), /disk/);
      daemon.answers["session/getTree"] = () => page(nodes, "1");
      assert.equal((await sessions.tree(session)).nodes.size, 2);
    });

    it("knows how the conversation begins once the tree was read", async () => {
      const session = await sessions.openPath("/sessions/s.jsonl");
      await sessions.tree(session);
      assert.equal(session.firstMessage, "0");
    });
  });

  it("follows names, usage, compactions and problems", async () => {
    const session = await sessions.openPath("/sessions/s.jsonl");
    sessions.handle("session/didChange", change({ name: "A name" }));
    assert.equal(session.name, "A name");
    sessions.handle("session/didChange", change({ revision: 3, name: "" }));
    assert.equal(session.name, null);
    const compaction = { sessionId: "s", compactionId: "c", reason: "manual" } as const;
    sessions.handle("session/compaction", { ...compaction, state: "started" });
    assert.equal(session.compaction?.compactionId, "c");
    sessions.handle("session/compaction", { ...compaction, state: "cancelled" });
    assert.equal(session.compaction, undefined);
    sessions.handle("session/problems", { sessionId: "s", added: [{ line: 2, kind: "tornLine", message: "torn" }] });
    assert.equal(session.problems.length, 1);
  });

  it("forgets a session whose file was lost, and says why", async () => {
    const session = await sessions.openPath("/sessions/s.jsonl");
    const closed: string[] = [];
    sessions.onDidClose.listen(({ reason }) => closed.push(reason));
    sessions.handle("session/didClose", { sessionId: "s", reason: "replaced" });
    assert.deepEqual(closed, ["replaced"]);
    assert.equal(sessions.current(), undefined);
    assert.equal(sessions.byId(session.id), undefined);
  });

  describe("in a new daemon", () => {
    it("opens the sessions again at the leaves that they had, under their new handles", async () => {
      const session = await sessions.openPath("/sessions/s.jsonl");
      session.leafId = "0";
      opened = state({ sessionId: "s-2", leafId: "0", epoch: "f" });
      const next = new Daemon();
      next.answers["session/open"] = () => opened;
      assert.deepEqual(await sessions.reopen(next.send), []);
      assert.deepEqual(next.asked[0]?.params, { path: "/sessions/s.jsonl", leafId: "0" });
      assert.equal(session.id, "s-2");
    });

    it("takes the file's own leaf where the one that it had is gone", async () => {
      const session = await sessions.openPath("/sessions/s.jsonl");
      const next = new Daemon();
      next.answers["session/open"] = (params) => {
        if ("leafId" in params) {
          throw Object.assign(new Error("no such entry"), { code: 1002 });
        }
        return state({ leafId: "9" });
      };
      await sessions.reopen(next.send);
      assert.equal(session.leafId, "9");
    });

    it("tells what could not be opened, and keeps the rest", async () => {
      await sessions.openPath("/sessions/s.jsonl");
      opened = state({ sessionId: "m", path: null });
      await sessions.openPath("/memory");
      const next = new Daemon();
      next.answers["session/open"] = () => state();
      const lost = await sessions.reopen(next.send);
      assert.deepEqual(
        lost.map(({ session }) => session.id),
        ["m"],
      );
      assert.equal(sessions.all().length, 1);
    });

    it("leaves everything to the next one if this one ends, too", async () => {
      await sessions.openPath("/sessions/s.jsonl");
      const next = new Daemon();
      next.answers["session/open"] = () => {
        throw Object.assign(new Error("gone"), { code: -32097 });
      };
      await assert.rejects(sessions.reopen(next.send), /gone/);
      assert.equal(sessions.all().length, 1);
    });
  });

  it("takes changes of many nodes", async () => {
    const session = await sessions.openPath("/sessions/s.jsonl");
    const nodes: TreeNode[] = chain(10_000);
    daemon.answers["session/getTree"] = () => page(nodes, "9999");
    assert.equal((await sessions.tree(session)).path().size, 10_000);
  });
});
