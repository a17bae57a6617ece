/** What the extension host runs: every `*.test.mts` of this folder, with mocha. */

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { format } from "node:util";
import { load } from "../workbench/packages.mts";

/** Throws when a test failed; the workbench makes an exit code of it. */
export async function run(): Promise<void> {
  const Mocha = load("mocha") as typeof import("mocha");
  const mocha = new Mocha({ timeout: 30_000, slow: 5_000, reporter: Mocha.reporters.Spec });
  (Mocha.reporters.Base as { consoleLog: typeof console.log }).consoleLog = (...args) => {
    for (const line of format(...args).split("\n")) console.log("test:", line);
  };
  for (const name of readdirSync(import.meta.dirname)
    .filter((name) => name.endsWith(".test.mts"))
    .sort()) {
    mocha.addFile(join(import.meta.dirname, name));
  }
  await mocha.loadFilesAsync();
  const failures = await new Promise<number>((resolve) => mocha.run(resolve));
  if (failures) throw new Error(`${String(failures)} tests failed`);
}
