/** How full the model's window is, and how a compaction goes, in a few words. Pure. */

import type { CompactionNotice, ContextUsage, RunningCompaction } from "../protocol.gen";
import { literal, tokens } from "./words";

/** From this share of the window on, the gauge warns. */
const WARNING_SHARE = 0.8;
const BAR_CELLS = 20;

export type Alarm = "none" | "warning" | "error";

export interface Gauge {
  /** With VS Code's `$(icon)` marks. */
  readonly text: string;
  readonly alarm: Alarm;
  /** Markdown. */
  readonly tooltip: string;
  readonly spoken: string;
}

/** The share of the window that is used; undefined where either is unknown. */
export function share(usage: ContextUsage | undefined): number | undefined {
  return usage?.tokens != null && usage.contextWindow ? usage.tokens / usage.contextWindow : undefined;
}

export function usageText(usage: ContextUsage | undefined): string | undefined {
  const used = share(usage);
  if (usage?.tokens == null) {
    return undefined;
  }
  return used === undefined || usage.contextWindow === null
    ? `${tokens(usage.tokens)} tokens`
    : `${Math.round(100 * used)}% of ${tokens(usage.contextWindow)}`;
}

/** How a compaction goes; undefined if none runs. */
export function compactionText(running: CompactionNotice | RunningCompaction | undefined): string | undefined {
  if (!running) {
    return undefined;
  }
  if ("chunks" in running && running.chunks && running.chunks > 1) {
    return `compacting ${running.chunk ?? 1}/${running.chunks}`;
  }
  return running.state === "queued" ? "compaction waits" : "compacting";
}

const PHASES: Record<string, string> = {
  history: "summarising the conversation",
  turnPrefix: "summarising the beginning of the turn",
  branch: "summarising the branch that is left",
};

/** What a compaction is doing, for those who wait for it. */
export function progressText(notice: CompactionNotice): string {
  if (notice.state === "queued") {
    return "waiting for others to end";
  }
  const { phase, chunk, chunks, attempt, maxAttempts } = notice;
  const doing = phase ? (PHASES[phase] ?? phase) : "planning";
  const part = chunk && chunks && chunks > 1 ? `, part ${chunk} of ${chunks}` : "";
  const again = attempt && attempt > 1 ? `, attempt ${attempt} of ${maxAttempts ?? "several"}` : "";
  return doing + part + again;
}

export function alarm(usage: ContextUsage | undefined): Alarm {
  if (usage?.shouldCompact) {
    return "error";
  }
  return (share(usage) ?? 0) >= WARNING_SHARE ? "warning" : "none";
}

/** What stands in the status bar for a session. */
export function gauge(
  name: string,
  usage: ContextUsage | undefined,
  running: CompactionNotice | RunningCompaction | undefined,
): Gauge {
  const compaction = compactionText(running);
  const used = usageText(usage);
  const words = compaction ?? used ?? "context";
  const due = usage?.shouldCompact ? ", compaction is due" : "";
  return {
    text: `${compaction ? "$(sync~spin)" : "$(dashboard)"} ${words}`,
    alarm: compaction ? "none" : alarm(usage),
    tooltip: [`**${literal(name)}**`, ...details(usage).map(literal), compaction ?? "", "Click for more."]
      .filter(Boolean)
      .join("\n\n"),
    spoken: `Context of ${name}: ${compaction ?? used ?? "size unknown"}${due}`,
  };
}

/** What is known of the usage, a line each. */
export function details(usage: ContextUsage | undefined): string[] {
  if (usage?.tokens == null) {
    return ["The size of the context is not known yet."];
  }
  const used = share(usage);
  const lines = [
    used === undefined
      ? `${tokens(usage.tokens)} tokens; the setting pid.contextWindow is not set`
      : `${bar(used)} ${tokens(usage.tokens)} of ${tokens(usage.contextWindow ?? 0)} tokens`,
    `${tokens(usage.usageTokens)} reported by the provider, ${tokens(usage.estimatedTokens)} estimated` +
      (usage.estimatedTokens > 0 ? ` (± ${Math.round(100 * usage.errorBound)}%)` : ""),
  ];
  return usage.shouldCompact ? [...lines, "A compaction is due."] : lines;
}

function bar(used: number): string {
  const filled = Math.min(BAR_CELLS, Math.max(0, Math.round(used * BAR_CELLS)));
  return "█".repeat(filled) + "░".repeat(BAR_CELLS - filled);
}
