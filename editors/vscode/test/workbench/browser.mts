/** Debian's Chromium without a screen, with a profile of its own. */

import type { Browser } from "playwright-core";
import { chromium, load } from "./packages.mts";

const FLAGS = [
  ...["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
  ...["--disable-background-networking", "--disable-component-update", "--disable-sync"],
];

export function launch(): Promise<Browser> {
  const playwright = load("playwright-core") as typeof import("playwright-core");
  return playwright.chromium.launch({ executablePath: chromium, args: FLAGS });
}
