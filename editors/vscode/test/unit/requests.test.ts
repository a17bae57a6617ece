import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { DaemonEnded } from "../../src/model/faults";
import type { Method, Params, Result } from "../../src/model/wire";
import { Requests, type Line } from "../../src/requests";

const GONE = Object.assign(new Error("Pending response rejected since connection got disposed"), { code: -32097 });

/** A daemon that ends at its first request, or answers all. */
class FakeLine implements Line {
  readonly sent: string[] = [];

  constructor(private readonly isDying = false) {}

  send<M extends Method>(method: M, params: Params<M>): Promise<Result<M>> {
    this.sent.push(`${method} ${JSON.stringify(params)}`);
    return this.isDying ? Promise.reject(GONE) : Promise.resolve(method as unknown as Result<M>);
  }
}

/** Requests over these daemons, one after the other. */
function over(...lines: Line[]): Requests {
  const left = [...lines];
  return new Requests(() => {
    const line = left.shift();
    return line ? Promise.resolve(line) : Promise.reject(new Error("no daemon"));
  });
}

const LABEL = { type: "label", targetId: "0" };

describe("Requests", () => {
  it("starts one daemon for many requests", async () => {
    const line = new FakeLine();
    const requests = over(line);
    await Promise.all([requests.send("session/list", {}), requests.send("session/list", {})]);
    assert.equal(line.sent.length, 2);
  });

  it("sends a read again to the next daemon", async () => {
    const next = new FakeLine();
    const requests = over(new FakeLine(true), next);
    assert.equal(await requests.send("session/getTree", { sessionId: "s" }), "session/getTree");
    assert.equal(next.sent.length, 1);
  });

  it("makes the params anew for the next daemon", async () => {
    const next = new FakeLine();
    let handle = 0;
    await over(new FakeLine(true), next).send("session/getState", () => ({ sessionId: `s${(handle += 1)}` }));
    assert.deepEqual(next.sent, ['session/getState {"sessionId":"s2"}']);
  });

  it("sends an append again only if it has an id", async () => {
    const next = new FakeLine();
    await over(new FakeLine(true), next).send("session/append", { sessionId: "s", entry: { ...LABEL, id: "x" } });
    assert.equal(next.sent.length, 1);
    const refused = over(new FakeLine(true), next).send("session/append", { sessionId: "s", entry: LABEL });
    await assert.rejects(refused, DaemonEnded);
    assert.equal(next.sent.length, 1);
  });

  it("does not move a leaf twice where that would not be the same", async () => {
    const move = (more: object): Promise<unknown> =>
      over(new FakeLine(true), new FakeLine()).send("session/setLeaf", { sessionId: "s", entryId: "0", ...more });
    await move({});
    await assert.rejects(move({ summarize: true }), DaemonEnded);
    await assert.rejects(move({ expectedLeafId: null }), DaemonEnded);
    await assert.rejects(
      over(new FakeLine(true), new FakeLine()).send("session/compact", { sessionId: "s" }),
      DaemonEnded,
    );
  });

  it("hands on the daemon's own errors", async () => {
    const line: Line = { send: () => Promise.reject(Object.assign(new Error("busy"), { code: 1009 })) };
    await assert.rejects(over(line).send("session/list", {}), /busy/);
  });

  it("tries again after a daemon that could not be started", async () => {
    let tries = 0;
    const requests = new Requests(() => {
      tries += 1;
      return tries === 1 ? Promise.reject(new Error("not found")) : Promise.resolve(new FakeLine());
    });
    await assert.rejects(requests.send("session/list", {}), /not found/);
    assert.equal(await requests.send("session/list", {}), "session/list");
  });

  it("waits for the daemon that is started in the place of one that ended", async () => {
    const next = new FakeLine();
    const requests = over(new FakeLine());
    await requests.ready();
    requests.lost(undefined, Promise.resolve(next));
    await requests.send("session/list", {});
    assert.equal(next.sent.length, 1);
  });
});
