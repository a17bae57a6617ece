/**
 * A directory of its own for a run of tests: home, agent directory, projects, and a `pid` made from the checkout.
 * All of it goes away with `remove`; nothing is read or written elsewhere.
 */

import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { python, root } from "./packages.mts";
import { alive } from "./processes.mts";
import { SessionFile, sessionFolder } from "./sessionFile.mts";

/** A folder that a window opens, and its session files. */
export class Project {
  readonly folder: string;
  private readonly agentDir: string;
  private written = 0;

  constructor(folder: string, agentDir: string) {
    this.folder = folder;
    this.agentDir = agentDir;
    mkdirSync(join(folder, ".vscode"), { recursive: true });
  }

  settings(settings: Record<string, unknown>): void {
    writeFileSync(join(this.folder, ".vscode", "settings.json"), JSON.stringify(settings));
  }

  /** The next session file of this project: each starts an hour after the one before. */
  session(id: string): SessionFile {
    const startMs = Date.UTC(2026, 0, 1) + 3_600_000 * this.written++;
    return new SessionFile(sessionFolder(this.agentDir, this.folder), this.folder, id, startMs);
  }
}

export class Place {
  readonly directory = mkdtempSync(join(tmpdir(), "pid-workbench-"));
  readonly home = this.made("home");
  readonly agentDir = join(this.home, ".pi", "agent");
  readonly bin = this.made("bin");
  private readonly log = join(this.directory, "daemons");
  private projects = 0;

  constructor() {
    const pid = join(this.bin, "pid");
    const command = `echo $$ >> '${this.log}'; PYTHONPATH='${root}' exec '${python}' -m pid "$@"`;
    writeFileSync(pid, `#!/bin/sh\n${command}\n`);
    chmodSync(pid, 0o755);
  }

  made(name: string): string {
    const path = join(this.directory, name);
    mkdirSync(path, { recursive: true });
    return path;
  }

  project(): Project {
    this.projects += 1;
    return new Project(this.made(`project-${this.projects}`), this.agentDir);
  }

  /** The ids of all daemons that were started from here, the first one first. */
  daemons(): number[] {
    if (!existsSync(this.log)) return [];
    return readFileSync(this.log, "utf8").split("\n").filter(Boolean).map(Number);
  }

  runningDaemons(): number[] {
    return this.daemons().filter(alive);
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }
}
