/** The user's settings, read when they are needed. */

import * as os from "node:os";
import * as vscode from "vscode";
import type { InitializationOptions, SettingsUpdate } from "./protocol.gen";
import { chosenValue, settingsUpdate } from "./model/settings";

export const SECTION = "pid";

/** Settings that need another daemon: they are told when it starts. */
export const OF_THE_START = ["pid.serverPath", "pid.sessionDirectory", "pid.languageModel"] as const;

/** Settings that are told to each session. */
export const OF_SESSIONS = ["pid.contextWindow", "pid.autoCompact", "pid.summarizer"] as const;

function setting(key: string): unknown {
  return vscode.workspace.getConfiguration(SECTION).get(key);
}

function text(key: string): string {
  const value = setting(key);
  return typeof value === "string" ? value.trim() : "";
}

export function serverPath(): string | undefined {
  return text("serverPath") || undefined;
}

/** What the user set for the sessions of a directory. */
export function settingsFor(cwd: string): SettingsUpdate | undefined {
  const configuration = vscode.workspace.getConfiguration(SECTION, vscode.Uri.file(cwd));
  return settingsUpdate({
    contextWindow: chosenValue(configuration.inspect<number | null>("contextWindow")),
    autoCompact: chosenValue(configuration.inspect<boolean>("autoCompact")),
    summarizer: chosenValue(configuration.inspect<string>("summarizer")),
  });
}

export interface LanguageModelSettings {
  readonly enabled: boolean;
  /** What model to ask, as `vscode.lm` selects them; empty: any. */
  readonly family: string;
}

export function languageModel(): LanguageModelSettings {
  return { enabled: setting("languageModel.enabled") === true, family: text("languageModel.family") };
}

export function traceLevel(): string {
  return text("trace.server") || "off";
}

/** The folders of this window that are directories of this machine. */
export function folders(): readonly vscode.WorkspaceFolder[] {
  return (vscode.workspace.workspaceFolders ?? []).filter((folder) => folder.uri.scheme === "file");
}

/**
 * What the daemon is told when it starts. Settings files of projects count only inside folders that the user
 * trusts.
 */
export function initializationOptions(): InitializationOptions {
  const directory = text("sessionDirectory").replace(/^~(?=\/)/, os.homedir());
  return {
    trustedRoots: vscode.workspace.isTrusted ? folders().map((folder) => folder.uri.fsPath) : [],
    ...(directory ? { sessionDir: directory } : {}),
  };
}
