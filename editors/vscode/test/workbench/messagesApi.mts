/** A Messages API on the loopback that answers only when it is told to (`messages_api.py`): a slow model. */

import { join } from "node:path";
import { python } from "./packages.mts";
import { Process } from "./processes.mts";

export class MessagesApi {
  /** What a daemon needs to find it. */
  readonly environment: Record<string, string>;
  private readonly process: Process;

  private constructor(process: Process, environment: Record<string, string>) {
    this.process = process;
    this.environment = environment;
  }

  static async start(): Promise<MessagesApi> {
    const process = new Process(python, [join(import.meta.dirname, "messages_api.py")], {});
    const [, url = "", key = ""] = await process.says(/listening (\S+) (\S+)/);
    return new MessagesApi(process, { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key });
  }

  /** How many requests have come. */
  get requests(): number {
    return this.process.said.split("\n").filter((line) => line === "request").length;
  }

  /** Lets every request that waits through. */
  answer(): void {
    this.process.child.stdin?.write("\n");
  }

  stop(): Promise<void> {
    return this.process.stop();
  }
}
