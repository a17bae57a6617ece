// Drives the session library of pi (npm @earendil-works/pi-coding-agent) for the tests.
//
//   node pi.mjs NODE_MODULES
//
// One JSON request a line on stdin, one JSON reply a line on stdout, in order:
// {"ms": …, "result": …} or {"ms": …, "error": {"name": …, "message": …}}; `ms` is the time of pi's own call.
// Sessions stay open under the handle that the request names, so another program can write in between.
// pi writes when it opens: it migrates old files in place and adds a missing last line break. Hand it copies.
// The modules are imported one by one: the package's entry point re-exports them, but takes a second to load.

import { join } from "node:path";
import { pathToFileURL } from "node:url";

const core = join(process.argv[2], "@earendil-works", "pi-coding-agent", "dist", "core");
const load = (name) => import(pathToFileURL(join(core, name)).href);
const { SessionManager } = await load("session-manager.js");
const { convertToLlm } = await load("messages.js");

const sessions = new Map();

function session({ session: handle }) {
  const found = sessions.get(handle);
  if (!found) throw new Error(`no session under handle ${handle}`);
  return found;
}

function keep(handle, opened) {
  sessions.set(handle, opened);
  return { path: opened.getSessionFile() ?? null, sessionId: opened.getSessionId() };
}

const ids = (entries) => entries.map((entry) => entry.id);

/** pi's nested tree as a flat list, without recursion: a chain may be 100,000 deep. */
function flatTree(opened) {
  const roots = opened.getTree();
  const preorder = [];
  const stack = [...roots].reverse();
  const reached = new Set();
  while (stack.length) {
    const { entry, children, label, labelTimestamp } = stack.pop();
    reached.add(entry.id);
    preorder.push({ id: entry.id, children: ids(children.map((child) => child.entry)), label, labelTimestamp });
    for (let i = children.length - 1; i >= 0; i--) stack.push(children[i]);
  }
  return {
    roots: ids(roots.map((root) => root.entry)),
    preorder,
    entriesNotReachable: ids(opened.getEntries()).filter((id) => !reached.has(id)),
  };
}

function labels(opened) {
  const labelled = ids(opened.getEntries()).map((id) => [id, opened.getLabel(id)]);
  return Object.fromEntries(labelled.filter(([, label]) => label !== undefined));
}

/** What `show` answers, by the name of the part. */
const PARTS = {
  header: (opened) => opened.getHeader(),
  leafId: (opened) => opened.getLeafId(),
  sessionName: (opened) => opened.getSessionName(),
  entryCount: (opened) => opened.getEntries().length,
  entries: (opened) => opened.getEntries(),
  branch: (opened) => ids(opened.getBranch()),
  tree: flatTree,
  labels,
  context: (opened) => opened.buildSessionContext(),
  contextEntries: (opened) => ids(opened.buildContextEntries()),
  llm: (opened) => convertToLlm(opened.buildSessionContext().messages),
};

async function prepared(opened, settings) {
  const { prepareCompaction } = await load("compaction/index.js");
  return prepareCompaction(opened.getBranch(), { enabled: true, ...settings });
}

/** The plan alone, as little of it as shows that there is one: for figures. */
async function prepare(opened, settings) {
  return (await prepared(opened, settings))?.firstKeptEntryId ?? null;
}

async function plan(opened, settings) {
  const { computeFileLists, serializeConversation } = await load("compaction/index.js");
  const found = await prepared(opened, settings);
  if (!found) return null;
  const text = (messages) => serializeConversation(convertToLlm(messages));
  return {
    firstKeptEntryId: found.firstKeptEntryId,
    isSplitTurn: found.isSplitTurn,
    tokensBefore: found.tokensBefore,
    previousSummary: found.previousSummary ?? null,
    messagesToSummarize: found.messagesToSummarize.length,
    turnPrefixMessages: found.turnPrefixMessages.length,
    fileOps: computeFileLists(found.fileOps),
    serialized: {
      messagesToSummarize: text(found.messagesToSummarize),
      turnPrefixMessages: text(found.turnPrefixMessages),
    },
  };
}

/** The milliseconds of CPU that the preparation takes. */
async function planCpu(opened, settings) {
  await load("compaction/index.js");
  const before = process.cpuUsage();
  await prepared(opened, settings);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

async function estimate(opened) {
  const compaction = await load("compaction/index.js");
  const { messages } = opened.buildSessionContext();
  return {
    estimateContextTokens: compaction.estimateContextTokens(messages),
    perMessage: messages.map(compaction.estimateTokens),
  };
}

function call(opened, method, args) {
  if (typeof opened[method] !== "function") throw new Error(`SessionManager has no method ${method}`);
  return opened[method](...args);
}

const listing = ({ cwd, sessionDir }) =>
  cwd === null ? SessionManager.listAll(sessionDir) : SessionManager.list(cwd, sessionDir);

/** Every request, by its `op`. */
const OPERATIONS = {
  open: ({ session, path }) => keep(session, SessionManager.open(path)),
  create: ({ session, cwd, sessionDir }) => keep(session, SessionManager.create(cwd, sessionDir)),
  continueRecent: ({ session, cwd, sessionDir }) => keep(session, SessionManager.continueRecent(cwd, sessionDir)),
  fork: ({ session, path, cwd, sessionDir }) => keep(session, SessionManager.forkFrom(path, cwd, sessionDir)),
  close: ({ session }) => sessions.delete(session),
  show: (request) => PARTS[request.part](session(request)),
  call: (request) => call(session(request), request.method, request.args),
  load: () => load("compaction/index.js").then(() => null),
  prepare: (request) => prepare(session(request), request.settings),
  plan: (request) => plan(session(request), request.settings),
  planCpu: (request) => planCpu(session(request), request.settings),
  estimate: (request) => estimate(session(request)),
  list: listing,
};

async function answer(line) {
  const started = performance.now();
  const passed = () => performance.now() - started;
  try {
    const request = JSON.parse(line);
    const result = await OPERATIONS[request.op](request);
    return { ms: passed(), result: result ?? null };
  } catch (error) {
    return { ms: passed(), error: { name: error.name, message: error.message } };
  }
}

// Not node:readline, which also splits at U+2028.
let pending = "";
process.stdin.setEncoding("utf8");
for await (const chunk of process.stdin) {
  const lines = (pending + chunk).split("\n");
  pending = lines.pop();
  for (const line of lines) {
    process.stdout.write(JSON.stringify(await answer(line)));
    process.stdout.write("\n");
  }
}
