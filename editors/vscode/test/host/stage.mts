/** What the tests inside the extension host share: the extension, its API, and session files of the open folder. */

import assert from "node:assert/strict";
import * as vscode from "vscode";
import type { PidApi, Session } from "../../src/api.ts";
import { Place, Project } from "../workbench/place.mts";
import { eventually } from "../workbench/processes.mts";

const NAME = "pid-sessions";

export const place = new Place(process.env.PID_TEST_PLACE ?? "");

const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
assert(folder, "the tests run in a folder");
export const project = new Project(folder, place.agentDir);

const found = vscode.extensions.all.find((one) => (one.packageJSON as { name: string }).name === NAME);
assert(found, "the extension under development is there");
export const extension = found as vscode.Extension<PidApi>;

export async function api(): Promise<PidApi> {
  return await extension.activate();
}

/** Closes what a test left open, so that the next one begins with nothing. */
export async function closeAll(): Promise<void> {
  const pid = await api();
  for (const session of [...pid.sessions]) await pid.close(session);
  await vscode.commands.executeCommand("workbench.action.closeAllEditors");
}

/** The text of the active editor, once it holds all of these. */
export async function shown(...texts: string[]): Promise<vscode.TextDocument> {
  const active = () => vscode.window.activeTextEditor?.document;
  const holds = (document?: vscode.TextDocument) => texts.every((text) => document?.getText().includes(text));
  const document = await eventually(active, holds, `an editor with ${JSON.stringify(texts)}`);
  assert(document);
  return document;
}

export function says(role: "user" | "assistant", text: string) {
  return { type: "message", message: { role, content: [{ type: "text", text }], timestamp: Date.now() } };
}

/** The texts of the messages that the model sees. */
export async function contextTexts(pid: PidApi, session: Session): Promise<string[]> {
  const { messages } = await pid.buildContext(session);
  return (messages ?? []).map((message) => JSON.stringify(message));
}
