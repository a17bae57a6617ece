/** Bundles the extension; with `unit` the unit tests instead, with `--production` smaller and without a source map. */

import { readdirSync, rmSync } from "node:fs";
import { build } from "esbuild";

const isProduction = process.argv.includes("--production");
const shared = {
  bundle: true,
  platform: "node",
  target: "node20",
  logLevel: "warning",
  minify: isProduction,
  sourcemap: !isProduction,
};

if (process.argv.includes("unit")) {
  rmSync("dist/test", { recursive: true, force: true });
  const tests = readdirSync("test/unit").filter((name) => name.endsWith(".test.ts"));
  await build({
    ...shared,
    entryPoints: tests.map((name) => `test/unit/${name}`),
    outdir: "dist/test",
    format: "cjs",
  });
} else {
  if (isProduction) {
    rmSync("dist", { recursive: true, force: true });
  }
  await build({
    ...shared,
    entryPoints: ["src/extension.ts"],
    outfile: "dist/extension.js",
    format: "cjs",
    external: ["vscode"],
  });
}
