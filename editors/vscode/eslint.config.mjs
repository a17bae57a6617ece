import js from "@eslint/js";
import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

/** Rendering and state know nothing of VS Code, so that they are tested without it. */
const pure = {
  files: ["src/model/**"],
  rules: { "no-restricted-imports": ["error", { paths: ["vscode", "vscode-languageclient/node"] }] },
};

export default defineConfig(
  { ignores: ["dist/**", "out/**", "src/protocol.gen.ts"] },
  js.configs.recommended,
  {
    files: ["**/*.ts", "**/*.mts"],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: {
      parserOptions: { project: ["./tsconfig.json", "./test/tsconfig.json", "./test/workbench/tsconfig.json"] },
    },
    rules: {
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      // An empty text is as good as none here.
      "@typescript-eslint/prefer-nullish-coalescing": ["error", { ignorePrimitives: { string: true } }],
      "max-lines": ["error", 500],
      "max-lines-per-function": ["error", { max: 60, skipComments: true, skipBlankLines: true }],
    },
  },
  {
    files: ["test/**/*.ts", "test/**/*.mts"],
    rules: { "max-lines-per-function": "off", "@typescript-eslint/no-floating-promises": "off" },
  },
  { files: ["scripts/**", "test/run.mjs"], languageOptions: { globals: { process: "readonly" } } },
  pure,
);
