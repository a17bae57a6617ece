/**
 * The sessions that are open in this window: their handles, leaves and uses, kept in step with the daemon.
 * Those of a daemon that ended are opened again at the leaf that they had. Pure: requests are handed in.
 */

import {
  ErrorCode,
  type AppendResult,
  type CompactionNotice,
  type ContextUsage,
  type DidChangeNotice,
  type DidCloseNotice,
  type NewEntry,
  type Notifications,
  type Problem,
  type ProblemsNotice,
  type SessionState,
  type SetLeafResult,
  type SettingsUpdate,
  type UsageNotice,
} from "../protocol.gen";
import { codeOf, isConnectionLost } from "./faults";
import type { Closed, OfSession, OpenSession, Rest } from "./session";
import { Signal } from "./signal";
import { TreeModel } from "./tree";
import type { Cancellation, Params, Result, Send } from "./wire";

type Opening = "session/create" | "session/open" | "session/continueRecent" | "session/fork";

const ENDED = new Set<string>(["completed", "failed", "cancelled"]);

export class OpenSessions {
  /** The last used first. */
  private open: OpenSession[] = [];
  private readonly trees = new Map<OpenSession, Promise<TreeModel>>();

  readonly onDidOpen = new Signal<OpenSession>();
  readonly onDidClose = new Signal<Closed>();
  readonly onDidChange = new Signal<{ session: OpenSession; change: DidChangeNotice }>();
  readonly onDidCompact = new Signal<{ session: OpenSession; notice: CompactionNotice }>();
  readonly onDidFindProblems = new Signal<{ session: OpenSession; added: readonly Problem[] }>();
  /** The current session is another one, or anything that is shown of it changed. */
  readonly onDidUpdate = new Signal<OpenSession | undefined>();

  /**
   * @param send sends a request to the daemon that runs
   * @param settingsFor what the user set for sessions of a directory
   */
  constructor(
    private readonly send: Send,
    private readonly settingsFor: (cwd: string) => SettingsUpdate | undefined,
  ) {}

  all(): readonly OpenSession[] {
    return this.open;
  }

  current(): OpenSession | undefined {
    return this.open[0];
  }

  byPath(path: string): OpenSession | undefined {
    return this.open.find((session) => session.path === path);
  }

  byId(id: string): OpenSession | undefined {
    return this.open.find((session) => session.id === id);
  }

  /** Makes a session the current one. */
  use(session: OpenSession): void {
    if (this.open[0] !== session) {
      this.open = [session, ...this.open.filter((other) => other !== session)];
      this.onDidUpdate.fire(session);
    }
  }

  /** Sends a request about a session, by the handle that it has when the request goes out. */
  async request<M extends OfSession>(
    session: OpenSession,
    method: M,
    rest: Rest<M>,
    token?: Cancellation,
  ): Promise<Result<M>> {
    return this.send(method, () => ({ ...rest, sessionId: session.id }), token);
  }

  /** Opens a session by a request that is answered with its state. Opened twice, it stays one. */
  async openBy<M extends Opening>(method: M, params: Params<M>, cwd: string): Promise<OpenSession> {
    const settings = this.settingsFor(cwd);
    const state: SessionState = await this.send(method, settings ? { ...params, settings } : params);
    return this.opened(state);
  }

  /** Opens a file. Its settings follow its own directory, which only the daemon's answer tells. */
  async openPath(path: string): Promise<OpenSession> {
    const known = this.byPath(path);
    if (known) {
      this.use(known);
      return known;
    }
    const session = this.opened(await this.send("session/open", { path }));
    await this.configure(session);
    return session;
  }

  async close(session: OpenSession): Promise<void> {
    this.forget(session, "closed");
    await this.request(session, "session/close", {});
  }

  /** Tells the daemon what the user set for the session's directory. */
  async configure(session: OpenSession, cleared: SettingsUpdate = {}): Promise<void> {
    const settings = { ...cleared, ...this.settingsFor(session.cwd) };
    if (Object.keys(settings).length > 0) {
      session.settings = await this.request(session, "session/configure", { settings });
      this.onDidUpdate.fire(session);
    }
  }

  /** Appends an entry. It gets an id here, so that it may be sent again after a crash without being doubled. */
  async append(
    session: OpenSession,
    entry: NewEntry & Record<string, unknown>,
    more: Omit<Rest<"session/append">, "entry"> = {},
  ): Promise<AppendResult> {
    const result = await this.request(session, "session/append", { ...more, entry: { id: newId(), ...entry } });
    session.leafId = result.leafId;
    return result;
  }

  /** Moves the leaf; null is the place before the first entry. */
  async setLeaf(
    session: OpenSession,
    entryId: string | null,
    more: Omit<Rest<"session/setLeaf">, "entryId"> = {},
    token?: Cancellation,
  ): Promise<SetLeafResult> {
    const result = await this.request(session, "session/setLeaf", { ...more, entryId }, token);
    session.leafId = result.leafId;
    return result;
  }

  /** The tree of a session: read once, then kept in step. A failed reading is not kept. */
  tree(session: OpenSession): Promise<TreeModel> {
    let tree = this.trees.get(session);
    if (!tree) {
      tree = this.readTree(session, new TreeModel(), {});
      this.trees.set(session, tree);
      tree.catch(() => this.trees.delete(session));
    }
    return tree;
  }

  /** Reads how full the context is; the daemon tells changes by itself. */
  async readUsage(session: OpenSession): Promise<ContextUsage> {
    session.usage = await this.request(session, "session/getContextUsage", {});
    this.onDidUpdate.fire(session);
    return session.usage;
  }

  /** Opens all sessions again in a new daemon. */
  async reopen(send: Send): Promise<Closed[]> {
    const lost: Closed[] = [];
    for (const session of this.all().slice()) {
      try {
        take(session, await this.openAgain(session, send));
        this.trees.delete(session);
      } catch (error) {
        if (isConnectionLost(error)) {
          throw error; // the next daemon has to do it
        }
        const closed = { session, reason: error instanceof Error ? error.message : String(error) };
        this.forget(session, closed.reason);
        lost.push(closed);
      }
    }
    this.onDidUpdate.fire(this.current());
    return lost;
  }

  /** Takes a notification of the daemon. */
  handle<N extends keyof Notifications>(method: N, params: Notifications[N]["params"]): void {
    const session = "sessionId" in params ? this.byId(params.sessionId) : undefined;
    if (session) {
      HANDLERS[method]?.(this, session, params);
    }
  }

  changed(session: OpenSession, change: DidChangeNotice): void {
    if (change.epoch === session.epoch && change.revision <= session.revision) {
      return;
    }
    session.revision = change.revision;
    session.epoch = change.epoch;
    session.leafId = change.leafId;
    if (change.name != null) {
      session.name = change.name || null;
    }
    void this.keepInStep(session, change).then(() => {
      this.onDidChange.fire({ session, change });
      this.onDidUpdate.fire(session);
    });
  }

  /** Forgets a session; its handle is not closed. */
  forget(session: OpenSession, reason: string): void {
    this.open = this.open.filter((other) => other !== session);
    this.trees.delete(session);
    this.onDidClose.fire({ session, reason });
    this.onDidUpdate.fire(this.current());
  }

  private opened(state: SessionState): OpenSession {
    const known = this.byId(state.sessionId);
    const session = take(known ?? ({ usage: undefined, firstMessage: "" } as OpenSession), state);
    if (known) {
      void this.request(session, "session/close", {}).catch(() => undefined); // one opening is enough
      this.use(session);
    } else {
      this.open = [session, ...this.open];
      this.onDidOpen.fire(session);
      this.onDidUpdate.fire(session);
    }
    return session;
  }

  private async openAgain(session: OpenSession, send: Send): Promise<SessionState> {
    if (session.path === null) {
      throw new Error("a session in memory ends with the daemon");
    }
    const settings = this.settingsFor(session.cwd);
    const params = { path: session.path, ...(settings ? { settings } : {}) };
    try {
      return await send("session/open", { ...params, leafId: session.leafId });
    } catch (error) {
      if (codeOf(error) !== ErrorCode.entryNotFound) {
        throw error;
      }
      return send("session/open", params);
    }
  }

  private async keepInStep(session: OpenSession, change: DidChangeNotice): Promise<void> {
    const reading = this.trees.get(session);
    if (!reading) {
      return;
    }
    try {
      const tree = await reading;
      session.firstMessage ||= change.added.find((node) => node.role === "user")?.preview ?? "";
      if (tree.apply(change) === "gap") {
        await this.catchUp(session, tree, change.epoch);
      }
    } catch {
      this.trees.delete(session); // it is read again when it is next asked for
    }
  }

  private async catchUp(session: OpenSession, tree: TreeModel, epoch: string): Promise<void> {
    if (tree.epoch !== epoch) {
      this.trees.delete(session);
      return;
    }
    await this.readTree(session, tree, { since: tree.revision, epoch });
  }

  private async readTree(session: OpenSession, tree: TreeModel, first: Rest<"session/getTree">): Promise<TreeModel> {
    let cursor: string | null | undefined;
    do {
      const page = await this.request(session, "session/getTree", { ...first, ...(cursor ? { cursor } : {}) });
      tree.take(page);
      cursor = page.nextCursor;
    } while (cursor);
    session.firstMessage ||= firstMessageOf(tree);
    return tree;
  }
}

type Handler<P> = (sessions: OpenSessions, session: OpenSession, params: P) => void;

const HANDLERS: { readonly [N in keyof Notifications]?: Handler<Notifications[N]["params"]> } = {
  "session/didChange": (sessions, session, change) => sessions.changed(session, change),
  "session/contextUsage": (sessions, session, usage: UsageNotice) => {
    session.usage = usage;
    sessions.onDidUpdate.fire(session);
  },
  "session/compaction": (sessions, session, notice: CompactionNotice) => {
    session.compaction = ENDED.has(notice.state) ? undefined : notice;
    sessions.onDidCompact.fire({ session, notice });
    sessions.onDidUpdate.fire(session);
  },
  "session/problems": (sessions, session, { added }: ProblemsNotice) => {
    session.problems = [...session.problems, ...added];
    sessions.onDidFindProblems.fire({ session, added });
  },
  "session/didClose": (sessions, session, { reason }: DidCloseNotice) => sessions.forget(session, reason),
};

function take(session: OpenSession, state: SessionState): OpenSession {
  return Object.assign(session, {
    id: state.sessionId,
    path: state.path,
    cwd: state.cwd,
    name: state.name,
    leafId: state.leafId,
    revision: state.revision,
    epoch: state.epoch,
    settings: state.settings,
    problems: state.problems,
    compaction: state.compaction ?? undefined,
  });
}

function firstMessageOf(tree: TreeModel): string {
  for (const node of tree.nodes.values()) {
    if (node.role === "user" && node.preview) {
      return node.preview;
    }
  }
  return "";
}

function newId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(4)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
