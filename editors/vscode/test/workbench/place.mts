/**
 * A directory of its own for a run of tests: home, agent directory, projects, and a `pid` made from the checkout.
 * All of it goes away with `remove`; nothing is read or written elsewhere.
 */

import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { python, root } from "./packages.mts";
import { alive, eventually } from "./processes.mts";
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
  readonly directory: string;
  readonly home: string;
  readonly agentDir: string;
  readonly bin: string;
  private readonly log: string;
  private projects = 0;

  /** A new place. */
  static make(): Place {
    const place = new Place(mkdtempSync(join(tmpdir(), "pid-workbench-")));
    process.on("exit", () => {
      place.remove();
    });
    const pid = join(place.bin, "pid");
    const command = `echo $$ >> '${place.log}'; PYTHONPATH='${root}' exec '${python}' -m pid "$@"`;
    writeFileSync(pid, `#!/bin/sh\n${command}\n`);
    chmodSync(pid, 0o755);
    return place;
  }

  /** One that is there, for a process that was told of it. */
  constructor(directory: string) {
    this.directory = directory;
    this.home = this.made("home");
    this.agentDir = join(this.home, ".pi", "agent");
    this.bin = this.made("bin");
    this.log = join(directory, "daemons");
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

  /** Waits for the daemons, which end with their windows and write their log until then; then removes all of it. */
  async end(): Promise<void> {
    const none = (count: number) => count === 0;
    await eventually(() => this.runningDaemons().length, none, "their end", 5_000).catch(() => undefined);
    this.remove();
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }
}
