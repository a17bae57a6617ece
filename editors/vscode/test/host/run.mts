/**
 * Runs the tests of this folder inside a real extension host: a workbench opens in a browser with the extension
 * under development, a language model for it, and `index.mts` as its tests; what they print is printed here, and their exit code is the
 * exit code.
 */

import { join } from "node:path";
import type { Page } from "playwright-core";
import { launch } from "../workbench/browser.mts";
import { MessagesApi } from "../workbench/messagesApi.mts";
import { extensionRoot, requireAll } from "../workbench/packages.mts";
import { Place } from "../workbench/place.mts";
import { within } from "../workbench/processes.mts";
import { Server } from "../workbench/server.mts";

const LIMIT_MS = 180_000;

/** The address of a window that runs the tests. */
function address(port: number, folder: string): string {
  const remote = (path: string) => `vscode-remote://127.0.0.1:${String(port)}${path}`;
  const payload = JSON.stringify([
    ["extensionDevelopmentPath", remote(extensionRoot)],
    ["extensionTestsPath", remote(join(import.meta.dirname, "index.mts"))],
  ]);
  return `http://127.0.0.1:${String(port)}/?${new URLSearchParams({ folder, payload }).toString()}`;
}

/** The exit code of the tests. The workbench logs much beside them: theirs are the lines with the mark. */
async function exitCode(page: Page, url: string): Promise<number> {
  await page.exposeFunction("codeAutomationLog", (_: string, [mark, line]: unknown[]) => {
    if (mark === "test:") console.log(line);
  });
  const ended = new Promise<number>((resolve) => void page.exposeFunction("codeAutomationExit", resolve));
  await page.goto(url);
  return await within(ended, LIMIT_MS, "the end of the tests");
}

async function main(place: Place): Promise<number> {
  const [browser, model] = await Promise.all([launch(), MessagesApi.start()]);
  const environment = { PID_TEST_PLACE: place.directory, ...model.environment };
  const server = new Server(place, "host", { runsTests: true, environment });
  try {
    server.add(join(import.meta.dirname, "model"));
    await server.start();
    return await exitCode(await browser.newPage(), address(server.port, place.project().folder));
  } catch (error) {
    console.error(server.output);
    throw error;
  } finally {
    await browser.close();
    await server.stop();
    await model.stop();
  }
}

requireAll();
const place = Place.make();
try {
  process.exitCode = await main(place);
} finally {
  await place.end();
}
