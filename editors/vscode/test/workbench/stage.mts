/**
 * What the tests of the user interface share: one place, one server with the packaged extension installed, one
 * browser, one slow Messages API. Mocha starts it before the first test and takes it down behind the last; after
 * each test its windows close, and a picture of each is kept when it failed.
 */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { launch } from "./browser.mts";
import { MessagesApi } from "./messagesApi.mts";
import { extensionRoot, requireAll, toolPath } from "./packages.mts";
import { Place, type Project } from "./place.mts";
import { Process } from "./processes.mts";
import { Server, type Options } from "./server.mts";
import { Window } from "./window.mts";

/** Where pictures go: those of failed tests, and those that a test takes to be looked at. */
export const pictures = join(extensionRoot, "out", "pictures");

class Stage {
  readonly place: Place;
  readonly vsix: string;
  readonly browser: Browser;
  readonly api: MessagesApi;
  readonly server: Server;
  private readonly windows: Window[] = [];
  private readonly servers: Server[] = [];

  constructor(place: Place, vsix: string, browser: Browser, api: MessagesApi) {
    this.place = place;
    this.vsix = vsix;
    this.browser = browser;
    this.api = api;
    this.server = new Server(place, "shared", { environment: api.environment });
    this.servers.push(this.server);
  }

  /** Opens a window on a project, or on the file of a workspace; it closes with the test. */
  async open(project: Project | string, server = this.server): Promise<Window> {
    const path = typeof project === "string" ? project : project.folder;
    const window = await Window.open(this.browser, server.port, path);
    this.windows.push(window);
    return window;
  }

  /** Another server with the extension, for a test that needs another environment. */
  async another(name: string, options: Options): Promise<Server> {
    const server = new Server(this.place, name, options);
    this.servers.push(server);
    await server.install(this.vsix);
    await server.start();
    return server;
  }

  /** Closes the windows; a failed test leaves a picture of each, named after it. */
  async closeWindows(failed: string | undefined): Promise<void> {
    for (const [index, window] of this.windows.splice(0).entries()) {
      const name = `failed ${failed ?? ""} ${String(index + 1)}.png`.replace(/[^\w. -]/g, "");
      if (failed) await window.screenshot(join(pictures, name));
      await window.close();
    }
  }

  async stop(): Promise<void> {
    await this.browser.close();
    await Promise.all(this.servers.map((server) => server.stop()));
    await this.api.stop();
    await this.place.end();
  }
}

export let stage: Stage;

async function packaged(place: Place): Promise<string> {
  const path = join(place.directory, "pid.vsix");
  const env = { ...process.env, PATH: toolPath };
  const packing = new Process("npm", ["run", "package", "--", "--out", path], { cwd: extensionRoot, env });
  await packing.says(/Packaged: /, 120_000);
  if (/warning/i.test(packing.output)) throw new Error(`vsce warns:\n${packing.output}`);
  return path;
}

export const mochaHooks = {
  async beforeAll(this: Mocha.Context): Promise<void> {
    this.timeout(180_000);
    requireAll();
    mkdirSync(pictures, { recursive: true });
    const place = Place.make();
    const [vsix, browser, api] = await Promise.all([packaged(place), launch(), MessagesApi.start()]);
    stage = new Stage(place, vsix, browser, api);
    await stage.server.install(vsix);
    await stage.server.start();
  },
  async afterEach(this: Mocha.Context): Promise<void> {
    const { currentTest } = this;
    await stage.closeWindows(currentTest?.state === "failed" ? currentTest.fullTitle() : undefined);
  },
  async afterAll(): Promise<void> {
    await stage.stop();
  },
};
