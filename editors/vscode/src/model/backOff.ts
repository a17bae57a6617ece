/** How long to wait before a daemon that ended is started again, and when to give up. Pure. */

const FIRST_MS = 200;
const LONGEST_MS = 10_000;
/** Crashes that are further back than this are forgotten. */
const WINDOW_MS = 120_000;
const MOST_CRASHES = 6;

/** The times of recent crashes, in ms. */
export type Crashes = readonly number[];

export interface Verdict {
  readonly crashes: Crashes;
  /** Undefined: it ended too often, do not start it again. */
  readonly delayMs: number | undefined;
}

export function afterCrash(crashes: Crashes, now: number): Verdict {
  const recent = [...crashes.filter((time) => now - time < WINDOW_MS), now];
  const delayMs = Math.min(FIRST_MS * 2 ** (recent.length - 1), LONGEST_MS);
  return { crashes: recent, delayMs: recent.length <= MOST_CRASHES ? delayMs : undefined };
}
