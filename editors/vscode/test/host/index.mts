/** What the extension host runs: every `*.test.mts` of this folder, with mocha. */

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { format } from "node:util";
import { load } from "../workbench/packages.mts";

/** The outer process prints what has this mark: the workbench logs much beside it. */
const print = (...args: unknown[]) => {
  for (const line of format(...args).split("\n")) console.log("test:", line);
};

/** Throws when a test failed; the workbench makes an exit code of it. */
export async function run(): Promise<void> {
  const failures = await runAll().catch((error: unknown) => {
    print(error);
    throw error;
  });
  if (failures) throw new Error(`${failures} tests failed`);
}

/** How many tests failed. */
async function runAll(): Promise<number> {
  const Mocha = load("mocha") as typeof import("mocha");
  (Mocha.reporters.Base as { consoleLog: typeof print }).consoleLog = print;
  const mocha = new Mocha({ timeout: 60_000, slow: 10_000, reporter: "spec" });
  const here = readdirSync(import.meta.dirname).sort();
  for (const name of here.filter((one) => one.endsWith(".test.mts"))) mocha.addFile(join(import.meta.dirname, name));
  await mocha.loadFilesAsync();
  return await new Promise((resolve) => mocha.run(resolve));
}
