/**
 * Session files for the tests, as pi writes them: version 3, one entry a line. It writes files and reads them back;
 * it knows nothing of editors or daemons.
 */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, normalize } from "node:path";

const START_MS = Date.UTC(2026, 0, 1);

export interface Entry {
  type: string;
  id: string;
  parentId: string | null;
  [field: string]: unknown;
}

/** Where pi keeps the sessions of a working directory. */
export function sessionFolder(agentDir: string, cwd: string): string {
  const encoded = normalize(cwd)
    .replace(/^\//, "")
    .replace(/[/\\:]/g, "-");
  return join(agentDir, "sessions", `--${encoded}--`);
}

const text = (content: string) => [{ type: "text", text: content }];

/** A session that is being written: each entry hangs on the one before it, or on the one that `at` names. */
export class SessionFile {
  readonly path: string;
  private readonly lines: string[];
  private readonly startMs: number;
  private parentId: string | null = null;
  private count = 0;

  constructor(folder: string, cwd: string, id: string, startMs = START_MS) {
    mkdirSync(folder, { recursive: true });
    const stamp = new Date(startMs).toISOString();
    this.path = join(folder, `${stamp.replace(/[:.]/g, "-")}_${id}.jsonl`);
    this.lines = [JSON.stringify({ type: "session", version: 3, id, timestamp: stamp, cwd })];
    this.startMs = startMs;
  }

  user(id: string, content: string): this {
    return this.message(id, { role: "user", content: text(content) });
  }

  /** An assistant message that has used `tokens` of the context. */
  assistant(id: string, content: string, tokens = 0): this {
    const usage = { input: tokens, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: tokens };
    const model = { provider: "anthropic", model: "m1", stopReason: "stop" };
    return this.message(id, { role: "assistant", content: text(content), ...model, ...(tokens && { usage }) });
  }

  /** A call of `read`, and its result. */
  reads(id: string, path: string, content: string): this {
    const call = { type: "toolCall", id: `call-${id}`, name: "read", arguments: { path } };
    const model = { provider: "anthropic", model: "m1", stopReason: "toolUse" };
    this.message(id, { role: "assistant", content: [call], ...model });
    const result = {
      role: "toolResult",
      toolCallId: call.id,
      toolName: "read",
      content: text(content),
      isError: false,
    };
    return this.message(`${id}-result`, result);
  }

  label(id: string, targetId: string, label: string): this {
    return this.entry({ type: "label", id, targetId, label });
  }

  name(id: string, name: string): this {
    return this.entry({ type: "session_info", id, name });
  }

  /** The next entry hangs here; null begins another root. */
  at(parentId: string | null): this {
    this.parentId = parentId;
    return this;
  }

  /** `turns` questions with answers of `size` characters, named `<prefix>-q1`, `<prefix>-a1`, … */
  turns(prefix: string, turns: number, size = 80): this {
    for (let turn = 1; turn <= turns; turn++) {
      this.user(`${prefix}-q${turn}`, `Question ${turn} of ${prefix}`);
      this.assistant(`${prefix}-a${turn}`, `Answer ${turn} of ${prefix}. `.padEnd(size, "lorem ipsum "));
    }
    return this;
  }

  write(): this {
    writeFileSync(this.path, this.lines.join("\n") + "\n");
    return this;
  }

  /** What stands in the file now. */
  entries(): Entry[] {
    const lines = readFileSync(this.path, "utf8").split("\n").filter(Boolean);
    return lines.slice(1).map((line) => JSON.parse(line) as Entry);
  }

  private message(id: string, message: Record<string, unknown>): this {
    return this.entry({
      type: "message",
      id,
      message: { ...message, timestamp: this.startMs + 1000 * (this.count + 1) },
    });
  }

  private entry({ type, id, ...fields }: { type: string; id: string; [field: string]: unknown }): this {
    this.count += 1;
    const timestamp = new Date(this.startMs + 1000 * this.count).toISOString();
    this.lines.push(JSON.stringify({ type, id, parentId: this.parentId, timestamp, ...fields }));
    this.parentId = id;
    return this;
  }
}
