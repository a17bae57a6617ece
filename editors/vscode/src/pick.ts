/** Choosing a session or an entry with the keyboard. */

import * as vscode from "vscode";
import * as configuration from "./configuration";
import type { Daemon } from "./context";
import type { SessionInfo } from "./protocol.gen";
import { isMetadata, isToolResult, kindOf, textOf } from "./model/render";
import { sessionView } from "./model/sessionRows";
import type { TreeModel } from "./model/tree";
import { time } from "./model/words";

const MOST_SESSIONS = 1000;
const MOST_ENTRIES = 2000;

interface SessionChoice extends vscode.QuickPickItem {
  readonly info?: SessionInfo;
}

/** The file of a session of this window's folders, or of one that the user looks for. */
export async function pickSession(daemon: Daemon): Promise<string | undefined> {
  const cwds = configuration.folders().map((folder) => folder.uri.fsPath);
  const where = cwds.length > 0 ? { cwds } : { all: true };
  const { sessions } = await daemon.requests.send("session/list", {
    ...where,
    limit: MOST_SESSIONS,
    includeEmpty: true,
  });
  const choices: SessionChoice[] = sessions.map((info) => {
    const shown = sessionView(info, cwds.length !== 1, new Date());
    return { label: shown.label, description: shown.description, info };
  });
  const browse: SessionChoice = { label: "$(folder-opened) Open a session file…" };
  const choice = await vscode.window.showQuickPick<SessionChoice>([...choices, browse], {
    title: "Open Session",
    placeHolder: sessions.length > 0 ? "Name or first message" : "There are no sessions here yet",
    matchOnDescription: true,
  });
  return choice === browse ? browseForFile() : choice?.info?.path;
}

async function browseForFile(): Promise<string | undefined> {
  const files = await vscode.window.showOpenDialog({ title: "Open Session File", filters: { Sessions: ["jsonl"] } });
  return files?.[0]?.fsPath;
}

/** An entry of a session, the newest first. */
export async function pickEntry(model: TreeModel, title: string): Promise<string | undefined> {
  const nodes = [...model.nodes.values()].filter((node) => !isMetadata(node) && !isToolResult(node));
  const choices = nodes
    .slice(-MOST_ENTRIES)
    .reverse()
    .map((node) => ({
      label: (node.label ? `[${node.label}] ` : "") + textOf(node),
      description: [kindOf(node), node.id === model.leafId ? "leaf" : "", time(node.timestamp, new Date())]
        .filter(Boolean)
        .join(" · "),
      id: node.id,
    }));
  const choice = await vscode.window.showQuickPick(choices, { title, placeHolder: "Entry", matchOnDescription: true });
  return choice?.id;
}

/** The folder that a new session belongs to. */
export async function pickFolder(): Promise<string | undefined> {
  const folders = configuration.folders();
  if (folders.length <= 1) {
    return folders[0]?.uri.fsPath;
  }
  const folder = await vscode.window.showWorkspaceFolderPick({ placeHolder: "The folder that the session belongs to" });
  return folder?.uri.fsPath;
}
