/** Commands about whole sessions. */

import * as vscode from "vscode";
import { sessionName } from "./model/entries";
import { pickFolder, pickSession } from "./pick";
import type { Element, FolderElement, SessionElement } from "./sessionsView";
import { sessionOf, showTree, type Parts } from "./target";

/** Those that open one. */
export function openingCommands(parts: Parts) {
  const { daemon, treeView } = parts;
  const { sessions } = daemon;
  return {
    async newSession(element?: FolderElement): Promise<void> {
      const cwd = await directoryOf(element);
      if (cwd !== undefined) {
        await sessions.openBy("session/create", { cwd }, cwd);
        await showTree(parts);
      }
    },
    async openSession(element?: SessionElement | vscode.Uri): Promise<void> {
      const given = element instanceof vscode.Uri ? element.fsPath : element?.info.path;
      const path = given ?? (await pickSession(daemon));
      if (path !== undefined) {
        await sessions.openPath(path);
        treeView.showLeaf();
      }
    },
    async continueSession(): Promise<void> {
      const cwd = await directoryOf();
      if (cwd !== undefined) {
        await sessions.openBy("session/continueRecent", { cwd }, cwd);
        await showTree(parts);
      }
    },
    async forkSession(element?: SessionElement): Promise<void> {
      const source = element?.info ?? sessions.current();
      if (!source?.path) {
        throw new Error("There is no session to fork.");
      }
      const fork = await sessions.openBy("session/fork", { path: source.path }, source.cwd);
      await showTree(parts);
      vscode.window.setStatusBarMessage(`Forked into ${fork.path ?? fork.id}`, 5000);
    },
  };
}

/** Those about one that is there. */
export function sessionCommands(parts: Parts) {
  const { sessions } = parts.daemon;
  const fileOf = (element?: SessionElement): vscode.Uri => {
    const path = element?.info.path ?? sessions.current()?.path;
    if (path == null) {
      throw new Error("There is no session file to show.");
    }
    return vscode.Uri.file(path);
  };
  return {
    async closeSession(element?: SessionElement): Promise<void> {
      const session = element ? sessions.byPath(element.info.path) : sessions.current();
      if (session) {
        await sessions.close(session);
      }
    },
    async renameSession(element?: SessionElement): Promise<void> {
      await rename(parts, element ?? parts.sessionsView.view.selection[0]);
    },
    async revealSession(element?: SessionElement): Promise<void> {
      await revealFile(fileOf(element));
    },
    async openSessionFile(element?: SessionElement): Promise<void> {
      await vscode.window.showTextDocument(fileOf(element));
    },
  };
}

/** Undefined: the user gave up. */
async function directoryOf(element?: FolderElement): Promise<string | undefined> {
  if (element?.kind === "folder") {
    return element.cwd;
  }
  if (!vscode.workspace.workspaceFolders?.length) {
    throw new Error("Open a folder first: a session belongs to one.");
  }
  return pickFolder();
}

/** Renames a session; one that is not open is opened for as long as it takes. */
async function rename(parts: Parts, element: Element | undefined): Promise<void> {
  const { sessions } = parts.daemon;
  const info = element?.kind === "session" ? element.info : undefined;
  const shown = sessions.current();
  const open = info ? sessions.byPath(info.path) : shown;
  const text = await vscode.window.showInputBox({
    title: "Rename Session",
    prompt: "An empty name takes the name off.",
    value: (open ?? info)?.name ?? "",
  });
  const session = text === undefined ? undefined : await sessionOf(parts, element);
  if (text === undefined || !session) {
    return;
  }
  await sessions.append(session, sessionName(text.trim()));
  if (!open) {
    await sessions.close(session);
  }
  if (shown) {
    sessions.use(shown);
  }
  await parts.sessionsView.refresh();
}

/** Shows a file in the system's file manager; where there is none (a browser, a remote machine), in the editor. */
async function revealFile(uri: vscode.Uri): Promise<void> {
  const known = await vscode.commands.getCommands(true);
  if (known.includes("revealFileInOS") && vscode.env.remoteName === undefined) {
    await vscode.commands.executeCommand("revealFileInOS", uri);
  } else {
    await vscode.window.showTextDocument(uri);
  }
}
