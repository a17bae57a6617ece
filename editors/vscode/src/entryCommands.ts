/** Commands about entries: appending, moving the leaf, labels, and what is shown of them. */

import * as vscode from "vscode";
import { keyOf } from "./documents";
import { label, note, userMessage, type MadeEntry } from "./model/entries";
import type { Row } from "./model/layout";
import { titleOf } from "./model/sessionRows";
import { firstLine } from "./model/words";
import { pickFolder } from "./pick";
import { currentSession, entryOf, showTree, type Parts, type Target } from "./target";

const MOST_TITLE = 40;

/** Those that append. */
export function writingCommands(parts: Parts) {
  const { sessions } = parts.daemon;
  return {
    appendMessage: () => append(parts, "Append a Message", (text) => userMessage(text, Date.now())),
    appendNote: () => append(parts, "Append a Note", note),
    async appendSelection(): Promise<void> {
      const editor = vscode.window.activeTextEditor;
      const text = editor?.document.getText(editor.selection) ?? "";
      const session = text.trim() ? await currentSession(parts) : undefined;
      if (session) {
        await sessions.append(session, userMessage(text, Date.now()));
        parts.treeView.showLeaf();
      }
    },
    async labelEntry(row?: Row): Promise<void> {
      const target = await entryOf(parts, row, "Label");
      if (!target) {
        return;
      }
      const node = (await sessions.tree(target.session)).nodes.get(target.id);
      const text = await vscode.window.showInputBox({
        title: "Label",
        prompt: "An empty label takes the label off.",
        value: node?.label ?? "",
      });
      if (text !== undefined) {
        await sessions.append(target.session, label(target.id, text.trim()));
      }
    },
  };
}

/** Those that go elsewhere. */
export function branchingCommands(parts: Parts) {
  const { sessions } = parts.daemon;
  return {
    async moveLeaf(row?: Row): Promise<void> {
      const target = await entryOf(parts, row, "Move the Leaf to");
      if (target) {
        await sessions.setLeaf(target.session, target.id);
      }
    },
    async moveLeafWithSummary(row?: Row): Promise<void> {
      const target = await entryOf(parts, row, "Move the Leaf, and Summarise the Branch Left, to");
      if (target) {
        await moveWithSummary(parts, target);
      }
    },
    async moveLeafToStart(): Promise<void> {
      const session = await currentSession(parts);
      if (session) {
        await sessions.setLeaf(session, null);
      }
    },
    async forkHere(row?: Row): Promise<void> {
      const target = await entryOf(parts, row, "Fork from");
      if (target) {
        const { session, id } = target;
        await sessions.openBy("session/fork", { sessionId: session.id, entryId: id }, session.cwd);
        await showTree(parts);
      }
    },
  };
}

/** Those that show documents. */
export function showingCommands(parts: Parts) {
  const { daemon, documents } = parts;
  return {
    async showEntry(row?: Row): Promise<void> {
      const target = await entryOf(parts, row, "Show Entry");
      if (target) {
        const { session, id } = target;
        const node = (await daemon.sessions.tree(session)).nodes.get(id);
        const title = firstLine(node?.preview ?? id, MOST_TITLE);
        await documents.show({ kind: "entry", session: keyOf(session), id }, title, { preserveFocus: true });
      }
    },
    async showContext(): Promise<void> {
      const session = await currentSession(parts);
      if (session) {
        await documents.show({ kind: "context", session: keyOf(session) }, `Context of ${titleOf(session)}`);
      }
    },
    async showContextHere(row?: Row): Promise<void> {
      const target = await entryOf(parts, row, "Show the Context at");
      if (target) {
        const { session, id } = target;
        await documents.show({ kind: "context", session: keyOf(session), leafId: id }, `Context at ${id}`);
      }
    },
    async showSystemPrompt(): Promise<void> {
      const cwd = daemon.sessions.current()?.cwd ?? (await pickFolder());
      if (cwd === undefined) {
        throw new Error("Open a folder first: the system prompt depends on it.");
      }
      await documents.show({ kind: "prompt", cwd }, "System prompt");
    },
  };
}

async function append(parts: Parts, title: string, make: (text: string) => MadeEntry): Promise<void> {
  const session = await currentSession(parts);
  if (!session) {
    return;
  }
  const prompt = `It is appended at the leaf of ${titleOf(session)}.`;
  const text = await vscode.window.showInputBox({ title, prompt });
  if (text?.trim()) {
    await parts.daemon.sessions.append(session, make(text));
    parts.treeView.showLeaf();
  }
}

async function moveWithSummary({ daemon }: Parts, { session, id }: Target): Promise<void> {
  const instructions = await vscode.window.showInputBox({
    title: "Move the Leaf, and Summarise the Branch Left",
    prompt: "What should the summary look after? (optional)",
  });
  if (instructions === undefined) {
    return;
  }
  const summarize = instructions.trim() ? { instructions: instructions.trim() } : true;
  const where = {
    location: vscode.ProgressLocation.Notification,
    cancellable: true,
    title: "Summarising the branch that is left",
  };
  await vscode.window.withProgress(where, (_, token) => daemon.sessions.setLeaf(session, id, { summarize }, token));
}
