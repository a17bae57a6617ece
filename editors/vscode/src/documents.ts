/** The read-only documents: entries, contexts, system prompts and compaction previews as Markdown. */

import * as vscode from "vscode";
import type { Daemon } from "./context";
import { SCHEME, shownBy, uriParts, type Shown } from "./model/documentUri";
import type { OpenSession } from "./model/session";
import type { Subscription } from "./model/signal";
import { contextPage, entryPage, planPage, promptPage, type Page } from "./model/pages";
import type { CompactionPlan } from "./protocol.gen";

/** A context of a long session takes the daemon a while: not one for each of many appends in a row. */
const REFRESH_MS = 500;

export class Documents implements vscode.TextDocumentContentProvider, vscode.FoldingRangeProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  /** The plan that a preview shows, by its URI. */
  readonly plans = new Map<string, CompactionPlan>();

  /** Read already, for the next time that VS Code asks for it. */
  private readonly handed = new Map<string, Page>();
  private readonly pages = new Map<string, Page>();
  /** Documents that show what was. */
  private readonly stale = new Set<string>();
  private readonly due = new Map<string, NodeJS.Timeout>();
  private readonly subscriptions: Subscription[];

  constructor(private readonly daemon: Daemon) {
    this.subscriptions = [
      this.changed,
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.languages.registerFoldingRangeProvider({ scheme: SCHEME }, this),
      vscode.workspace.onDidCloseTextDocument((document) => this.forget(document.uri)),
      vscode.window.onDidChangeVisibleTextEditors(() => this.refreshSeen()),
      daemon.sessions.onDidChange.listen(({ session }) => this.sessionChanged(session)),
    ];
  }

  dispose(): void {
    for (const timer of this.due.values()) {
      clearTimeout(timer);
    }
    for (const one of this.subscriptions) {
      one.dispose();
    }
  }

  /** Opens a document. It is read first, so that what goes wrong is told in the daemon's own words. */
  async show(shown: Shown, title: string, options: vscode.TextDocumentShowOptions = {}): Promise<vscode.TextEditor> {
    const uri = vscode.Uri.from(uriParts(shown, title));
    this.handed.set(uri.toString(), await this.read(shown, uri));
    this.changed.fire(uri); // it may be open already
    const document = await vscode.workspace.openTextDocument(uri);
    return vscode.window.showTextDocument(document, { preview: true, ...options });
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const shown = shownBy(uri.query);
    if (!shown) {
      throw new Error("This document is not one that pid made.");
    }
    const key = uri.toString();
    const page = this.handed.get(key) ?? (await this.read(shown, uri));
    this.handed.delete(key);
    this.pages.set(key, page);
    return page.text;
  }

  provideFoldingRanges(document: vscode.TextDocument): vscode.FoldingRange[] {
    const folds = this.pages.get(document.uri.toString())?.folds ?? [];
    return folds.map(([first, last]) => new vscode.FoldingRange(first, last, vscode.FoldingRangeKind.Region));
  }

  private async read(shown: Shown, uri: vscode.Uri): Promise<Page> {
    switch (shown.kind) {
      case "entry":
        return this.entry(shown.session, shown.id);
      case "context":
        return this.context(shown.session, shown.leafId);
      case "plan":
        return this.plan(shown.session, shown.instructions, uri);
      case "prompt":
        return promptPage(await this.daemon.requests.send("prompt/build", { cwd: shown.cwd }));
    }
  }

  private async entry(file: string, id: string): Promise<Page> {
    const session = await this.session(file);
    const [found, tree] = await Promise.all([
      this.daemon.sessions.request(session, "session/getEntries", { ids: [id] }),
      this.daemon.sessions.tree(session),
    ]);
    return entryPage(found.entries[0], tree.nodes.get(id), id);
  }

  private async context(file: string, leafId: string | null | undefined): Promise<Page> {
    const session = await this.session(file);
    const at = leafId === undefined ? {} : { leafId };
    return contextPage(
      await this.daemon.sessions.request(session, "session/buildContext", { ...at, format: "llm", includeUsage: true }),
    );
  }

  private async plan(file: string, instructions: string | undefined, uri: vscode.Uri): Promise<Page> {
    const session = await this.session(file);
    const [plan, tree] = await Promise.all([
      this.daemon.sessions.request(session, "session/previewCompaction", instructions ? { instructions } : {}),
      this.daemon.sessions.tree(session),
    ]);
    this.plans.set(uri.toString(), plan);
    return planPage(plan, tree.nodes);
  }

  /** A document that VS Code brought back may be about a session that is not open yet. */
  private session(file: string): Promise<OpenSession> {
    const { sessions } = this.daemon;
    const open = sessions.byPath(file) ?? sessions.byId(file);
    return open ? Promise.resolve(open) : sessions.openPath(file);
  }

  /** Contexts follow the leaf, and previews what would be compacted now; those that nobody sees, when they are seen. */
  private sessionChanged(session: OpenSession): void {
    for (const { uri } of vscode.workspace.textDocuments) {
      const shown = uri.scheme === SCHEME ? shownBy(uri.query) : undefined;
      const isLive = shown?.kind === "plan" || (shown?.kind === "context" && shown.leafId === undefined);
      if (isLive && shown.session === keyOf(session)) {
        this.stale.add(uri.toString());
      }
    }
    this.refreshSeen();
  }

  private refreshSeen(): void {
    for (const { document } of vscode.window.visibleTextEditors) {
      if (this.stale.has(document.uri.toString())) {
        this.changeSoon(document.uri);
      }
    }
  }

  private changeSoon(uri: vscode.Uri): void {
    const key = uri.toString();
    if (!this.due.has(key)) {
      const timer = setTimeout(() => {
        this.due.delete(key);
        this.stale.delete(key);
        this.changed.fire(uri);
      }, REFRESH_MS);
      this.due.set(key, timer);
    }
  }

  private forget(uri: vscode.Uri): void {
    this.stale.delete(uri.toString());
    this.pages.delete(uri.toString());
    this.plans.delete(uri.toString());
  }
}

/** What a document calls a session: its file, or its handle if it is in memory. */
export function keyOf(session: OpenSession): string {
  return session.path ?? session.id;
}
