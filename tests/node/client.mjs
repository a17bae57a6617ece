// A stock client (npm vscode-jsonrpc) that drives the daemon for the tests.
//
//   node client.mjs NODE_MODULES COMMAND ARGUMENT…
//
// Starts the command, speaks to it over its stdio, and prints one JSON object of what it saw.
// Nothing is printed but that; what goes wrong on the connection is an entry of `problems`.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { join } from "node:path";

const [modules, command, ...args] = process.argv.slice(2);
const rpc = createRequire(join(modules, "any.js"))("vscode-jsonrpc/node");

const LARGE = 10 * 1024 * 1024;
const CANCELLED_APPENDS = 50;

const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const gone = once(child, "exit");
const connection = rpc.createMessageConnection(
  new rpc.StreamMessageReader(child.stdout),
  new rpc.StreamMessageWriter(child.stdin),
);
const problems = [];
const notified = [];
connection.onError(([error]) => problems.push(String(error)));
connection.onUnhandledNotification((message) => notified.push(message.method));
connection.listen();

/** What the request gives, or its error as code and data. */
const ask = (...request) =>
  connection.sendRequest(...request).then(
    (result) => ({ result }),
    ({ code, data }) => ({ error: { code, data } }),
  );
const entry = (id, text) => ({ type: "message", id, message: { role: "user", content: text, timestamp: 1 } });

const initialized = await ask("initialize", {
  processId: process.pid,
  capabilities: { experimental: { pid: { notifications: ["session/didChange"] } } },
});
connection.sendNotification("initialized", {});

const { sessionId } = (await ask("session/create", { cwd: "/", inMemory: true })).result;
const text = "ä".repeat(LARGE / 2);
await ask("session/append", { sessionId, entry: entry("large", text) });
const branch = (await ask("session/getBranch", { sessionId })).result;

const error = await ask("session/getState", { sessionId: "none" });
const unknown = await ask("session/noSuchMethod", {});

const appends = [];
for (let i = 0; i < CANCELLED_APPENDS; i++) {
  const source = new rpc.CancellationTokenSource();
  appends.push(ask("session/append", { sessionId, entry: entry(`e${i}`, "x") }, source.token));
  if (i % 2) source.cancel();
}
const outcomes = (await Promise.all(appends)).map((outcome) => outcome.error?.code ?? outcome.result.entryId);
const { nodes } = (await ask("session/getTree", { sessionId })).result;

const shutdown = await ask("shutdown");
connection.sendNotification("exit");
const [exitCode, signal] = await gone;

console.log(
  JSON.stringify({
    serverInfo: initialized.result.serverInfo,
    capability: initialized.result.capabilities.experimental.pid,
    largeIsWhole: branch.entries[0].message.content === text,
    error,
    unknown,
    outcomes,
    stored: nodes.map((node) => node.id),
    changes: notified.filter((method) => method === "session/didChange").length,
    shutdown,
    exitCode,
    signal,
    problems,
  }),
);
process.exit(0);
