/** The view “Session Tree”: the current session's entries and branches, kept in step with the daemon. */

import * as vscode from "vscode";
import type { OpenSessions } from "./model/openSessions";
import type { OpenSession } from "./model/session";
import { Layout, type EntryRow, type GroupRow, type Row } from "./model/layout";
import { entryView, groupView, isMetadata, isToolResult, type Place, type RowView } from "./model/render";
import type { Subscription } from "./model/signal";
import { titleOf } from "./model/sessionRows";
import { ROOT, type TreeModel } from "./model/tree";

const REFRESH_MS = 60;
/** Causes of changes after which the leaf is somewhere else because someone here wanted it. */
const LEAF_MOVES = new Set<string>(["setLeaf", "compaction"]);
const DECORATION_SCHEME = "pid-entry";

interface Drawn {
  readonly session: OpenSession;
  readonly model: TreeModel;
  readonly layout: Layout;
}

export class TreeView implements vscode.TreeDataProvider<Row>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<Row | undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  readonly view: vscode.TreeView<Row>;

  private readonly subscriptions: Subscription[] = [];
  private drawn: Drawn | undefined;
  private timer: NodeJS.Timeout | undefined;
  private revealsLeaf = false;
  private hidesTools = false;
  private hidesMetadata = true;
  /** Trees that the filter in effect was given to. */
  private readonly filtered = new WeakMap<TreeModel, string>();

  constructor(private readonly sessions: OpenSessions) {
    this.view = vscode.window.createTreeView("pid.tree", { treeDataProvider: this, showCollapseAll: true });
    this.subscriptions.push(
      this.view,
      this.changed,
      vscode.window.registerFileDecorationProvider({ provideFileDecoration: decoration }),
      sessions.onDidChange.listen(({ session, change }) => {
        if (session === sessions.current() && LEAF_MOVES.has(change.cause)) {
          this.showLeaf();
        }
      }),
      sessions.onDidUpdate.listen((session) => session === sessions.current() && this.refreshSoon()),
    );
    this.tellFilter();
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const one of this.subscriptions) {
      one.dispose();
    }
  }

  /** The row that is selected, for commands that came from the keyboard. */
  get selected(): Row | undefined {
    return this.view.selection[0];
  }

  hide(what: "tools" | "metadata", hides: boolean): void {
    if (what === "tools") {
      this.hidesTools = hides;
    } else {
      this.hidesMetadata = hides;
    }
    this.tellFilter();
    this.refreshSoon();
  }

  /** Brings the leaf into sight as soon as the tree is drawn. */
  showLeaf(): void {
    this.revealsLeaf = true;
    this.refreshSoon();
  }

  /** Draws the tree of the current session anew; several changes in a row are drawn as one. */
  refreshSoon(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      void this.draw();
    }, REFRESH_MS);
  }

  getChildren(row?: Row): Row[] {
    return this.drawn ? [...this.drawn.layout.childrenOf(row)] : [];
  }

  getParent(row: Row): Row | undefined {
    return this.drawn?.layout.parentOf(row);
  }

  getTreeItem(row: Row): vscode.TreeItem {
    if (!this.drawn || (row.kind === "entry" && !this.drawn.model.nodes.has(row.id))) {
      return new vscode.TreeItem(""); // of a session that was shown a moment ago
    }
    return row.kind === "group" ? groupItem(row, this.drawn) : entryItem(row, this.drawn);
  }

  private async draw(): Promise<void> {
    const session = this.sessions.current();
    try {
      const model = session && (await this.sessions.tree(session));
      if (session !== this.sessions.current()) {
        return; // another one was chosen meanwhile, and is drawn next
      }
      if (model) {
        this.filter(model);
      }
      this.drawn = session && model ? { session, model, layout: new Layout(model) } : undefined;
      this.view.message = messageOf(this.drawn);
    } catch (error) {
      this.drawn = undefined;
      this.view.message = error instanceof Error ? error.message : String(error);
    }
    this.view.description = session && titleOf(session);
    void vscode.commands.executeCommand("setContext", "pid.hasSession", session !== undefined);
    this.changed.fire(undefined);
    await this.reveal();
  }

  private async reveal(): Promise<void> {
    if (!this.revealsLeaf || !this.drawn || !this.view.visible) {
      return;
    }
    const { session, model, layout } = this.drawn;
    if (model.leafId !== session.leafId) {
      return; // an answer was faster than the notification of what it did
    }
    this.revealsLeaf = false;
    const leaf = model.shownFor(model.leafId);
    if (leaf !== ROOT) {
      // The view may have been drawn anew since; then the next drawing shows the leaf.
      await Promise.resolve(this.view.reveal(layout.rowOf(leaf), { select: true, focus: false })).catch(
        () => undefined,
      );
    }
  }

  private filter(model: TreeModel): void {
    const { hidesTools, hidesMetadata } = this;
    const filter = `${hidesTools} ${hidesMetadata}`;
    if (this.filtered.get(model) !== filter) {
      model.filter((node) => (hidesTools && isToolResult(node)) || (hidesMetadata && isMetadata(node)));
      this.filtered.set(model, filter);
    }
  }

  private tellFilter(): void {
    void vscode.commands.executeCommand("setContext", "pid.hidesTools", this.hidesTools);
    void vscode.commands.executeCommand("setContext", "pid.hidesMetadata", this.hidesMetadata);
  }
}

/** What the rows do not say. */
function messageOf(drawn: Drawn | undefined): string | undefined {
  if (drawn?.model.childrenOf(ROOT).length === 0) {
    return "No messages yet. Append one, or let an agent do it.";
  }
  return drawn?.model.leafId === null ? "The leaf is before the first entry: the next one begins anew." : undefined;
}

function entryItem(row: EntryRow, { session, model, layout }: Drawn): vscode.TreeItem {
  const hasChildren = layout.hasChildren(row);
  const item = drawnItem(
    entryView(row, model, layout, new Date()),
    hasChildren ? branchState(row, model) : vscode.TreeItemCollapsibleState.None,
  );
  item.id = `${session.path ?? session.id}#${row.id}`;
  item.contextValue = "entry";
  item.command = { command: "pid.showEntry", title: "Show Entry", arguments: [row] };
  return item;
}

function groupItem(row: GroupRow, { session, model, layout }: Drawn): vscode.TreeItem {
  const item = drawnItem(groupView(row, model, layout, new Date()), vscode.TreeItemCollapsibleState.Collapsed);
  item.id = `${session.path ?? session.id}#${row.head}@${row.start}/${row.size}`;
  item.contextValue = "group";
  return item;
}

/** A side branch is open where the leaf is in it. */
function branchState(row: EntryRow, model: TreeModel): vscode.TreeItemCollapsibleState {
  return model.path().has(row.id)
    ? vscode.TreeItemCollapsibleState.Expanded
    : vscode.TreeItemCollapsibleState.Collapsed;
}

function drawnItem(shown: RowView, state: vscode.TreeItemCollapsibleState): vscode.TreeItem {
  const highlights = shown.highlights.map(([first, end]): [number, number] => [first, end]);
  const item = new vscode.TreeItem({ label: shown.label, highlights }, state);
  item.description = shown.description;
  item.tooltip = new vscode.MarkdownString(shown.tooltip);
  item.iconPath = new vscode.ThemeIcon(
    shown.icon,
    shown.iconColor ? new vscode.ThemeColor(shown.iconColor) : undefined,
  );
  item.accessibilityInformation = { label: shown.spoken };
  if (shown.place !== "path") {
    item.resourceUri = vscode.Uri.from({ scheme: DECORATION_SCHEME, path: `/${shown.place}` });
  }
  return item;
}

const DECORATIONS: Partial<Record<Place, vscode.FileDecoration>> = {
  leaf: new vscode.FileDecoration("◉", undefined, new vscode.ThemeColor("charts.blue")),
  summarised: new vscode.FileDecoration(undefined, undefined, new vscode.ThemeColor("disabledForeground")),
  aside: new vscode.FileDecoration(undefined, undefined, new vscode.ThemeColor("descriptionForeground")),
};

/** Colours a row by its place, which is all that its URI says. */
function decoration(uri: vscode.Uri): vscode.FileDecoration | undefined {
  return uri.scheme === DECORATION_SCHEME ? DECORATIONS[uri.path.slice(1) as Place] : undefined;
}
