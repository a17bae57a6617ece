/**
 * What this extension offers to others, such as agent panels: sessions without a client of their own.
 *
 *     const pid = await vscode.extensions.getExtension<PidApi>("pid.pid-sessions")?.activate();
 *
 * Fields and values are those of the protocol (`protocol.md`). The daemon is started by the first request, and
 * again when it crashed; handles may change then, so a session is named by its `Session` object, not by an id.
 */

import * as vscode from "vscode";
import type { OpenSession, Rest } from "./model/session";
import type { Asked, Method, Params, Result } from "./model/wire";
import type {
  AppendBatchResult,
  AppendResult,
  CompactionNotice,
  CompactionResult,
  ContextResult,
  ContextUsage,
  DidChangeNotice,
  EntriesResult,
  NewEntry,
  SetLeafResult,
  TreeResult,
} from "./protocol.gen";

/** Grows by one when something that was promised is taken back. Additions do not change it. */
export const API_VERSION = 1;

/** An open session. The object is the same for as long as it is open; its fields follow the daemon. */
export type Session = Readonly<OpenSession>;

type Entry = NewEntry & Record<string, unknown>;

export interface PidApi {
  readonly version: typeof API_VERSION;

  /** The sessions that are open in this window, the last used first. */
  readonly sessions: readonly Session[];
  /** The session that the views show. */
  readonly current: Session | undefined;
  /** Makes a session the one that the views show. */
  use(session: Session): void;

  /** Makes a session, with its file, and opens it. */
  create(params: Params<"session/create">): Promise<Session>;
  open(path: string): Promise<Session>;
  /** Opens the session of a directory that was written last, or makes one. */
  continueRecent(cwd: string): Promise<Session>;
  /** A new session of the path to an entry, or of the whole tree. */
  fork(session: Session, entryId?: string): Promise<Session>;
  close(session: Session): Promise<void>;

  /** Appends at the leaf. It is on the disk when the promise resolves. An entry without an `id` gets one. */
  append(session: Session, entry: Entry, more?: Omit<Rest<"session/append">, "entry">): Promise<AppendResult>;
  /** Appends a chain of entries in one write: all or none. */
  appendBatch(
    session: Session,
    entries: readonly Entry[],
    more?: Omit<Rest<"session/appendBatch">, "entries">,
  ): Promise<AppendBatchResult>;
  /** Moves the leaf: the next append branches off there. */
  setLeaf(
    session: Session,
    entryId: string | null,
    more?: Omit<Rest<"session/setLeaf">, "entryId">,
    token?: vscode.CancellationToken,
  ): Promise<SetLeafResult>;
  /** The messages for the model. */
  buildContext(session: Session, more?: Rest<"session/buildContext">): Promise<ContextResult>;
  getTree(session: Session, more?: Rest<"session/getTree">): Promise<TreeResult>;
  getBranch(session: Session, more?: Rest<"session/getBranch">): Promise<EntriesResult>;
  getContextUsage(session: Session): Promise<ContextUsage>;
  compact(
    session: Session,
    more?: Rest<"session/compact">,
    token?: vscode.CancellationToken,
  ): Promise<CompactionResult>;

  /** Any other request of the protocol. A function makes the params anew if the daemon is started again. */
  request<M extends Method>(method: M, params: Asked<M>, token?: vscode.CancellationToken): Promise<Result<M>>;

  readonly onDidOpen: vscode.Event<Session>;
  /** `reason` is `closed`, or what happened to the file. */
  readonly onDidClose: vscode.Event<{ readonly session: Session; readonly reason: string }>;
  /** Entries came, the leaf moved, or the name changed; by whomever. */
  readonly onDidChange: vscode.Event<{ readonly session: Session; readonly change: DidChangeNotice }>;
  readonly onDidCompact: vscode.Event<{ readonly session: Session; readonly notice: CompactionNotice }>;
}
