/** A session that is open in this window, and the requests about one. */

import type { CompactionNotice, ContextUsage, Problem, RunningCompaction, Settings } from "../protocol.gen";
import type { Method, Params } from "./wire";

/** The requests about one session. */
export type OfSession = { [M in Method]: Params<M> extends { sessionId: string } ? M : never }[Method];
/** Their params, without the handle. */
export type Rest<M extends Method> = Omit<Params<M>, "sessionId">;

/** A session that is open here. The object stays the same for as long as it is open, its fields do not. */
export interface OpenSession {
  /** The daemon's handle; another one after a restart. */
  id: string;
  /** Null for a session in memory. */
  path: string | null;
  cwd: string;
  name: string | null;
  /** How the conversation begins; empty until the tree was read. */
  firstMessage: string;
  leafId: string | null;
  revision: number;
  epoch: string;
  settings: Settings;
  problems: readonly Problem[];
  usage: ContextUsage | undefined;
  /** The compaction that runs. */
  compaction: CompactionNotice | RunningCompaction | undefined;
}

/** Why a session is no longer open: it was closed, its file was lost (`replaced`, …), or the daemon lost it. */
export interface Closed {
  readonly session: OpenSession;
  readonly reason: string;
}
