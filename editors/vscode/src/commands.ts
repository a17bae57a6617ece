/** What people do: the table of commands. What goes wrong in one is told in one place. */

import * as vscode from "vscode";
import { branchingCommands, showingCommands, writingCommands } from "./entryCommands";
import { DaemonEnded, INSTALL_COMMAND, isCancelled, messageOf, NoDaemon } from "./model/faults";
import type { OpenSession } from "./model/session";
import { openingCommands, sessionCommands } from "./sessionCommands";
import { showUsage } from "./statusBar";
import { currentSession, type Parts } from "./target";

const TOLD_MS = 5000;

/** Registers every command. */
export function registerCommands(parts: Parts): vscode.Disposable[] {
  const table: Record<string, (...given: never[]) => unknown> = {
    ...openingCommands(parts),
    ...sessionCommands(parts),
    ...writingCommands(parts),
    ...branchingCommands(parts),
    ...showingCommands(parts),
    ...compactionCommands(parts),
    ...viewCommands(parts),
  };
  return Object.entries(table).map(([name, run]) =>
    vscode.commands.registerCommand(`pid.${name}`, async (...given: never[]) => {
      try {
        return await run(...given);
      } catch (error) {
        await tell(error, parts.channel);
        return undefined;
      }
    }),
  );
}

const OFFERS = {
  copy: "Copy Install Command",
  setting: "Open Setting",
  log: "Show Log",
  restart: "Restart Daemon",
} as const;

/** Tells what went wrong, and offers what helps. Giving up is no error. */
export async function tell(error: unknown, channel: vscode.LogOutputChannel): Promise<void> {
  if (isCancelled(error)) {
    vscode.window.setStatusBarMessage("Cancelled, nothing was written", TOLD_MS);
    return;
  }
  const message = messageOf(error);
  channel.error(message);
  const offers =
    error instanceof NoDaemon
      ? [OFFERS.copy, OFFERS.setting]
      : error instanceof DaemonEnded
        ? [OFFERS.restart, OFFERS.log]
        : [OFFERS.log];
  switch (await vscode.window.showErrorMessage(message, ...offers)) {
    case OFFERS.copy:
      await vscode.env.clipboard.writeText(INSTALL_COMMAND);
      break;
    case OFFERS.setting:
      await vscode.commands.executeCommand("workbench.action.openSettings", "pid.serverPath");
      break;
    case OFFERS.restart:
      await vscode.commands.executeCommand("pid.restartDaemon");
      break;
    case OFFERS.log:
      channel.show();
      break;
    case undefined:
      break;
  }
}

function compactionCommands(parts: Parts) {
  const { daemon, compaction } = parts;
  const ofCurrent = (run: (session: OpenSession) => Promise<void>) => async (): Promise<void> => {
    const session = await currentSession(parts);
    if (session) {
      await run(session);
    }
  };
  return {
    previewCompaction: ofCurrent((session) => compaction.preview(session)),
    compact: ofCurrent((session) => compaction.compact(session)),
    cancelCompaction: ofCurrent((session) => compaction.cancel(session)),
    showUsage: ofCurrent((session) => showUsage(daemon.sessions, session)),
    confirmCompaction: (uri?: vscode.Uri) => compaction.confirm(uri ?? previewUri(), false),
    confirmCompactionWith: (uri?: vscode.Uri) => compaction.confirm(uri ?? previewUri(), true),
    setContextWindow: () => vscode.commands.executeCommand("workbench.action.openSettings", "pid.contextWindow"),
  };
}

function previewUri(): vscode.Uri {
  const editor = vscode.window.activeTextEditor;
  if (!editor) {
    throw new Error("Preview a compaction first.");
  }
  return editor.document.uri;
}

function viewCommands({ daemon, sessionsView, treeView, channel }: Parts) {
  return {
    async filterSessions(): Promise<void> {
      const text = await vscode.window.showInputBox({
        title: "Filter Sessions",
        prompt: "A text in the name or the first message",
        value: sessionsView.filter,
      });
      if (text !== undefined) {
        sessionsView.setFilter(text);
      }
    },
    clearFilter: () => sessionsView.setFilter(""),
    showAllSessions: () => sessionsView.showAll(true),
    showWorkspaceSessions: () => sessionsView.showAll(false),
    refreshSessions: () => sessionsView.refresh(),
    showMoreSessions: sessionsView.loadMore.bind(sessionsView),
    showToolResults: () => treeView.hide("tools", false),
    hideToolResults: () => treeView.hide("tools", true),
    showMetadata: () => treeView.hide("metadata", false),
    hideMetadata: () => treeView.hide("metadata", true),
    goToLeaf: () => treeView.showLeaf(),
    async restartDaemon(): Promise<void> {
      await daemon.restart();
      await sessionsView.refresh();
      vscode.window.setStatusBarMessage(`pid ${daemon.version ?? ""} was started again`, TOLD_MS);
    },
    showLog: () => channel.show(),
    copyInstallCommand: () => vscode.env.clipboard.writeText(INSTALL_COMMAND),
  };
}
