/** The wire as the modules of this extension see it: typed requests, and a way to give one up. */

import type { Notifications, Requests } from "../protocol.gen";

export type Method = Exclude<keyof Requests, "initialize" | "shutdown" | "pid/summarize">;
export type Params<M extends keyof Requests> = Requests[M]["params"];
export type Result<M extends keyof Requests> = Requests[M]["result"];
export type Notice = Extract<keyof Notifications, `session/${string}`>;

/** The notifications that this client asks for. */
export const NOTICES: readonly Notice[] = [
  "session/didChange",
  "session/contextUsage",
  "session/compaction",
  "session/problems",
  "session/didClose",
  "session/listChanged",
];

/** VS Code's `CancellationToken`. */
export interface Cancellation {
  readonly isCancellationRequested: boolean;
  readonly onCancellationRequested: (listener: () => void) => { dispose(): void };
}

/** Params, or what makes them when they are sent: handles change when the daemon starts again. */
export type Asked<M extends Method> = Params<M> | (() => Params<M>);

export type Send = <M extends Method>(method: M, params: Asked<M>, token?: Cancellation) => Promise<Result<M>>;
