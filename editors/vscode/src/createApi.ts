/** The API of `api.ts`, over the sessions and requests that this extension uses itself. */

import * as vscode from "vscode";
import { API_VERSION, type PidApi, type Session } from "./api";
import type { Daemon } from "./context";
import type { OpenSessions } from "./model/openSessions";
import type { OfSession, OpenSession, Rest } from "./model/session";
import type { Listen } from "./model/signal";

export function createApi(daemon: Daemon): PidApi {
  const { sessions } = daemon;
  const of = (session: Session): OpenSession => {
    const open = sessions.all().find((other) => other === session);
    if (!open) {
      throw new Error("This session is not open any more.");
    }
    return open;
  };
  return {
    version: API_VERSION,
    get sessions() {
      return sessions.all();
    },
    get current() {
      return sessions.current();
    },
    use: (session) => sessions.use(of(session)),
    create: (params) => sessions.openBy("session/create", params, params.cwd),
    open: (path) => sessions.openPath(path),
    continueRecent: (cwd) => sessions.openBy("session/continueRecent", { cwd }, cwd),
    ...createSessionApi(sessions, of),
    request: (method, params, token) => daemon.requests.send(method, params, token),
    onDidOpen: event(sessions.onDidOpen.listen),
    onDidClose: event(sessions.onDidClose.listen),
    onDidChange: event(sessions.onDidChange.listen),
    onDidCompact: event(sessions.onDidCompact.listen),
  };
}

type SessionApi = Pick<
  PidApi,
  | "fork"
  | "close"
  | "append"
  | "appendBatch"
  | "setLeaf"
  | "buildContext"
  | "getTree"
  | "getBranch"
  | "getContextUsage"
  | "compact"
>;

/** What is about one session. Asynchronous throughout, so that one that is closed rejects, as promised. */
function createSessionApi(sessions: OpenSessions, of: (session: Session) => OpenSession): SessionApi {
  const ask = async <M extends OfSession>(
    session: Session,
    method: M,
    rest: Rest<M>,
    token?: vscode.CancellationToken,
  ) => sessions.request(of(session), method, rest, token);
  return {
    fork: async (session, entryId) => {
      const source = { sessionId: of(session).id, ...(entryId ? { entryId } : {}) };
      return sessions.openBy("session/fork", source, session.cwd);
    },
    close: async (session) => sessions.close(of(session)),
    append: async (session, entry, more) => sessions.append(of(session), entry, more),
    appendBatch: (session, entries, more) => ask(session, "session/appendBatch", { ...more, entries: [...entries] }),
    setLeaf: async (session, entryId, more, token) => sessions.setLeaf(of(session), entryId, more, token),
    buildContext: (session, more = {}) => ask(session, "session/buildContext", more),
    getTree: (session, more = {}) => ask(session, "session/getTree", more),
    getBranch: (session, more = {}) => ask(session, "session/getBranch", more),
    getContextUsage: (session) => ask(session, "session/getContextUsage", {}),
    compact: (session, more = {}, token) => ask(session, "session/compact", more, token),
  };
}

/** A signal of this extension as an event of VS Code. */
function event<T>(listen: Listen<T>): vscode.Event<T> {
  return (listener, thisArgs, disposables) => {
    const subscription = listen((value) => void listener.call(thisArgs, value));
    const disposable = new vscode.Disposable(() => subscription.dispose());
    disposables?.push(disposable);
    return disposable;
  };
}
