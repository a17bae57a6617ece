/** What a command is about: the session or the entry that was given, is selected, is current, or is chosen. */

import * as vscode from "vscode";
import type { Compaction } from "./compaction";
import type { Daemon } from "./context";
import type { Documents } from "./documents";
import type { Row } from "./model/layout";
import type { OpenSession } from "./model/session";
import { pickEntry, pickSession } from "./pick";
import type { Element, SessionsView } from "./sessionsView";
import type { TreeView } from "./treeView";

/** What commands act on. */
export interface Parts {
  readonly daemon: Daemon;
  readonly documents: Documents;
  readonly compaction: Compaction;
  readonly sessionsView: SessionsView;
  readonly treeView: TreeView;
  readonly channel: vscode.LogOutputChannel;
}

export interface Target {
  readonly session: OpenSession;
  readonly id: string;
}

/** The current session; one that the user chooses if none is open. */
export async function currentSession({ daemon, treeView }: Parts): Promise<OpenSession | undefined> {
  const open = daemon.sessions.current();
  if (open) {
    return open;
  }
  const path = await pickSession(daemon);
  if (path === undefined) {
    return undefined;
  }
  const session = await daemon.sessions.openPath(path);
  treeView.showLeaf();
  return session;
}

/** The session of a row of the view, opened, or else the current one. */
export async function sessionOf(parts: Parts, element?: Element): Promise<OpenSession | undefined> {
  return element?.kind === "session" ? parts.daemon.sessions.openPath(element.info.path) : currentSession(parts);
}

/** The entry of a row, of the selection, or one that the user chooses. */
export async function entryOf(parts: Parts, row: Row | undefined, title: string): Promise<Target | undefined> {
  const session = await currentSession(parts);
  if (!session) {
    return undefined;
  }
  const given = row ?? (parts.treeView.view.visible ? parts.treeView.selected : undefined);
  const id = given?.kind === "entry" ? given.id : await pickEntry(await parts.daemon.sessions.tree(session), title);
  return id === undefined ? undefined : { session, id };
}

/** Brings the current session's leaf into sight, in the view. */
export async function showTree({ treeView }: Parts): Promise<void> {
  treeView.showLeaf();
  await vscode.commands.executeCommand("pid.tree.focus");
}
