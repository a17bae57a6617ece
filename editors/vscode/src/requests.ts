/**
 * Typed requests over whichever daemon runs. A request waits until the daemon is ready; one that the daemon
 * did not answer before it ended is sent again to the next one, if sending it twice does no harm.
 */

import { DaemonEnded, isConnectionLost } from "./model/faults";
import type { Asked, Cancellation, Method, Params, Result } from "./model/wire";

/** A connection to one daemon. */
export interface Line {
  send<M extends Method>(method: M, params: Params<M>, token?: Cancellation): Promise<Result<M>>;
}

/** Reads, and writes that write nothing when they are repeated. */
const REPEATABLE: { readonly [M in Method]?: (params: Params<M>) => boolean } = {
  "session/open": () => true,
  "session/getState": () => true,
  "session/getTree": () => true,
  "session/getBranch": () => true,
  "session/getEntries": () => true,
  "session/buildContext": () => true,
  "session/getContextUsage": () => true,
  "session/previewCompaction": () => true,
  "session/list": () => true,
  "session/configure": () => true,
  "prompt/build": () => true,
  "session/append": (params) => params.entry?.id != null,
  "session/setLeaf": (params) => !params.summarize && params.expectedLeafId === undefined,
};

export class Requests {
  private line: Promise<Line> | undefined;

  /** @param connect starts a daemon, and resolves when requests may be sent */
  constructor(private readonly connect: () => Promise<Line>) {}

  /** Waits for a daemon; starts one if none runs. */
  ready(): Promise<Line> {
    if (!this.line) {
      const line = this.connect();
      this.line = line;
      line.catch(() => this.lost(line));
    }
    return this.line;
  }

  /** Says that the daemon ended, or that another one is being started in its place. */
  lost(line = this.line, next?: Promise<Line>): void {
    if (this.line === line) {
      this.line = next;
      next?.catch(() => this.lost(next));
    }
  }

  readonly send = async <M extends Method>(method: M, asked: Asked<M>, token?: Cancellation): Promise<Result<M>> => {
    for (;;) {
      const line = await this.ready();
      const params = typeof asked === "function" ? asked() : asked;
      const current = this.line;
      try {
        return await line.send(method, params, token);
      } catch (error) {
        if (!isConnectionLost(error)) {
          throw error;
        }
        this.lost(current);
        if (!(REPEATABLE[method]?.(params) ?? false)) {
          throw new DaemonEnded("The daemon ended before it answered. What it had acknowledged is in the file.");
        }
      }
    }
  };
}
