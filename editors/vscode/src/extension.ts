/** The extension's two ends. What it is made of is put together here, and nothing else happens here. */

import * as vscode from "vscode";
import type { PidApi } from "./api";
import { registerCommands } from "./commands";
import { Compaction } from "./compaction";
import { createApi } from "./createApi";
import { Daemon } from "./context";
import { Documents } from "./documents";
import { follow } from "./follow";
import { SessionsView } from "./sessionsView";
import { StatusBar } from "./statusBar";
import { summarizeWithEditor } from "./summarize";
import { TreeView } from "./treeView";

let daemon: Daemon | undefined;

export function activate(context: vscode.ExtensionContext): PidApi {
  const channel = vscode.window.createOutputChannel("pid", { log: true });
  daemon = new Daemon(channel, summarizeWithEditor);
  const documents = new Documents(daemon);
  const compaction = new Compaction(daemon, documents);
  const sessionsView = new SessionsView(daemon);
  const treeView = new TreeView(daemon.sessions);
  const statusBar = new StatusBar(daemon.sessions);
  const commands = registerCommands({ daemon, documents, compaction, sessionsView, treeView, channel });
  context.subscriptions.push(
    channel,
    documents,
    compaction,
    sessionsView,
    treeView,
    statusBar,
    ...commands,
    follow(daemon, sessionsView, channel),
  );
  return createApi(daemon);
}

export async function deactivate(): Promise<void> {
  await daemon?.stop();
}
