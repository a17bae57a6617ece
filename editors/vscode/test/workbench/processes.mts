/**
 * Processes, and waiting for what they do. Processes that the tests start, and only those, end with them: by id, also after a failure. Nothing here looks
 * a process up by its name.
 */

import { spawn, type ChildProcess, type SpawnOptions } from "node:child_process";
import { once } from "node:events";
import { inspect } from "node:util";

const GRACE_MS = 5_000;
const KEPT = 65_536;
/** How long a test waits for what it is to see. */
export const PATIENCE_MS = 30_000;

const running = new Set<ChildProcess>();

// Also when the tests themselves are ended, or their output is closed.
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});
for (const [signal, number] of [
  ["SIGHUP", 1],
  ["SIGINT", 2],
  ["SIGTERM", 15],
] as const) {
  process.on(signal, () => process.exit(128 + number));
}

/** A child whose output is kept, the last 64 KB of it. */
export class Process {
  /** From stdout. */
  said = "";
  /** From both, for the message of a test that fails. */
  output = "";
  readonly child: ChildProcess;

  constructor(command: string, args: string[], options: SpawnOptions) {
    this.child = spawn(command, args, { stdio: ["pipe", "pipe", "pipe"], ...options });
    running.add(this.child);
    this.child.once("exit", () => running.delete(this.child));
    this.child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.said = (this.said + text).slice(-KEPT);
    });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.output = (this.output + text).slice(-KEPT);
      });
    }
  }

  get ended(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** The first match in what it said; throws when the process ends before, or after `timeoutMs`. */
  async says(pattern: RegExp, timeoutMs = 30_000): Promise<RegExpExecArray> {
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      const found = pattern.exec(this.said);
      if (found) return found;
      if (this.ended || Date.now() > deadline) throw new Error(`it never said ${String(pattern)}:\n${this.output}`);
      await pause(20);
    }
  }

  /** Asks it to end, and kills it when it does not within five seconds. */
  async stop(): Promise<void> {
    if (this.ended) return;
    const gone = once(this.child, "exit");
    this.child.kill("SIGTERM");
    const timer = setTimeout(() => this.child.kill("SIGKILL"), GRACE_MS);
    await gone;
    clearTimeout(timer);
  }
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** What a promise gives, or an error that names `what` after `ms`. */
export async function within<T>(promise: Promise<T>, ms: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`${what}: not within ${String(ms)} ms`));
    }, ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Whether a process of this id is there (a zombie is not). */
export function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Looks until it holds; throws with what was seen last. */
export async function eventually<T>(
  look: () => PromiseLike<T> | T,
  holds: (seen: T) => boolean,
  what: string,
  timeoutMs = PATIENCE_MS,
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const seen = await look();
    if (holds(seen)) return seen;
    if (Date.now() > deadline) throw new Error(`never saw ${what}; the last was ${inspect(seen).slice(0, 2000)}`);
    await pause(50);
  }
}
