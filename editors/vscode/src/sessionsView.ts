/** The view “Sessions”: those of this workspace, or all. Pages are read as they are asked for. */

import * as path from "node:path";
import * as vscode from "vscode";
import * as configuration from "./configuration";
import type { Daemon } from "./context";
import type { ListResult, SessionInfo } from "./protocol.gen";
import type { Subscription } from "./model/signal";
import { sessionView } from "./model/sessionRows";
import { count } from "./model/words";

const PAGE = 100;
const REFRESH_MS = 300;
/** Directories of sessions that are watched for what other programs write. */
const MOST_WATCHED = 24;

export interface FolderElement {
  readonly kind: "folder";
  readonly cwd: string;
  readonly name: string;
}

export interface SessionElement {
  readonly kind: "session";
  readonly info: SessionInfo;
}

export interface MoreElement {
  readonly kind: "more";
  readonly list: Listing;
}

export type Element = FolderElement | SessionElement | MoreElement;

/** What was read of one list; `cwd` undefined: of all directories. */
interface Listing {
  readonly cwd: string | undefined;
  sessions: readonly SessionInfo[];
  total: number;
  nextCursor: string | undefined;
}

export class SessionsView implements vscode.TreeDataProvider<Element>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<Element | undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  readonly view: vscode.TreeView<Element>;

  private readonly listings = new Map<string | undefined, Promise<Listing>>();
  private readonly watchers = new Map<string, Subscription>();
  private readonly subscriptions: Subscription[] = [];
  private timer: NodeJS.Timeout | undefined;
  private query = "";
  private showsAll = false;

  constructor(private readonly daemon: Daemon) {
    this.view = vscode.window.createTreeView("pid.sessions", { treeDataProvider: this, showCollapseAll: false });
    const { sessions } = daemon;
    this.subscriptions.push(
      this.view,
      this.changed,
      sessions.onDidOpen.listen(() => this.refreshSoon()),
      sessions.onDidClose.listen(() => this.refreshSoon()),
      sessions.onDidChange.listen(() => this.refreshSoon()),
      daemon.onNotice.listen(({ method }) => method === "session/listChanged" && this.refreshSoon()),
      vscode.workspace.onDidChangeWorkspaceFolders(() => this.readAgain()),
      vscode.window.onDidChangeWindowState(({ focused }) => focused && this.refreshSoon()),
      this.view.onDidChangeVisibility(({ visible }) => visible && this.refreshSoon()),
    );
    this.tellScope();
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const one of [...this.subscriptions, ...this.watchers.values()]) {
      one.dispose();
    }
  }

  get filter(): string {
    return this.query;
  }

  setFilter(query: string): void {
    this.query = query.trim();
    void vscode.commands.executeCommand("setContext", "pid.isFiltered", this.query !== "");
    this.readAgain();
  }

  showAll(all: boolean): void {
    this.showsAll = all;
    this.tellScope();
    this.readAgain();
  }

  /** Reads anew what is shown, as much of it as is shown; until it is read, the old stays. */
  async refresh(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    const before = new Map(this.listings);
    await Promise.allSettled(
      [...before].map(async ([cwd, reading]) => {
        const length = await reading.then(
          ({ sessions }) => sessions.length,
          () => 0,
        );
        const read = this.read(cwd, Math.max(length, PAGE));
        await read.catch(() => undefined);
        if (this.listings.get(cwd) === reading) {
          void this.keep(cwd, read);
        }
      }),
    );
    this.changed.fire(undefined);
  }

  async loadMore(element: MoreElement): Promise<void> {
    const list = (await this.listings.get(element.list.cwd)) ?? element.list; // it may have been read anew
    const page = await this.ask(list.cwd, PAGE, list.nextCursor);
    list.sessions = [...list.sessions, ...page.sessions];
    list.nextCursor = page.nextCursor ?? undefined;
    this.changed.fire(undefined);
  }

  /** Those whose sessions are shown; none: sessions of all directories. */
  private folders(): readonly vscode.WorkspaceFolder[] {
    return this.showsAll ? [] : configuration.folders();
  }

  async getChildren(element?: Element): Promise<Element[]> {
    if (element && element.kind !== "folder") {
      return [];
    }
    const folders = this.folders();
    if (!element && folders.length > 1) {
      return folders.map((folder) => ({ kind: "folder", cwd: folder.uri.fsPath, name: folder.name }));
    }
    try {
      const list = await this.listing(element?.cwd ?? folders[0]?.uri.fsPath);
      // VS Code does not ask again while an answer is pending, and a window's folders may come late.
      if (!element && this.folders().length !== folders.length) {
        return await this.getChildren();
      }
      this.watch(list.sessions);
      this.tellTotal(list);
      const rows: Element[] = list.sessions.map((info) => ({ kind: "session", info }));
      return list.nextCursor ? [...rows, { kind: "more", list }] : rows;
    } catch (error) {
      this.view.message =
        this.daemon.health === "missing" ? undefined : String(error instanceof Error ? error.message : error);
      return [];
    }
  }

  getTreeItem(element: Element): vscode.TreeItem {
    switch (element.kind) {
      case "folder":
        return folderItem(element);
      case "more":
        return moreItem(element);
      case "session":
        return this.sessionItem(element);
    }
  }

  private sessionItem(element: SessionElement): vscode.TreeItem {
    const { info } = element;
    const shown = sessionView(info, this.showsAll, new Date());
    const open = this.daemon.sessions.byPath(info.path);
    const item = new vscode.TreeItem(shown.label);
    item.id = info.path;
    item.description = shown.description;
    item.tooltip = new vscode.MarkdownString(shown.tooltip);
    item.accessibilityInformation = { label: shown.spoken };
    item.contextValue = open ? "session.open" : "session";
    const isCurrent = open !== undefined && open === this.daemon.sessions.current();
    item.iconPath = new vscode.ThemeIcon(
      isCurrent ? "comment-discussion" : open ? "comment" : "history",
      isCurrent ? new vscode.ThemeColor("charts.blue") : undefined,
    );
    item.command = { command: "pid.openSession", title: "Open Session", arguments: [element] };
    return item;
  }

  private readAgain(): void {
    this.listings.clear();
    this.changed.fire(undefined);
  }

  private listing(cwd: string | undefined): Promise<Listing> {
    return this.listings.get(cwd) ?? this.keep(cwd, this.read(cwd, PAGE));
  }

  /** Keeps a listing until the next refresh; one that failed is read again when it is next asked for. */
  private keep(cwd: string | undefined, reading: Promise<Listing>): Promise<Listing> {
    this.listings.set(cwd, reading);
    void reading.catch(() => this.listings.get(cwd) === reading && this.listings.delete(cwd));
    return reading;
  }

  private async read(cwd: string | undefined, limit: number): Promise<Listing> {
    const page = await this.ask(cwd, limit);
    return { cwd, sessions: page.sessions, total: page.total, nextCursor: page.nextCursor ?? undefined };
  }

  private ask(cwd: string | undefined, limit: number, cursor?: string): Promise<ListResult> {
    return this.daemon.requests.send("session/list", {
      ...(this.showsAll || cwd === undefined ? { all: true } : { cwd }),
      ...(this.query ? { query: this.query } : {}),
      ...(cursor ? { cursor } : {}),
      includeEmpty: true,
      limit,
    });
  }

  /** pi, and daemons of other windows, write without telling: the directories of what is listed are watched. */
  private watch(sessions: readonly SessionInfo[]): void {
    for (const directory of new Set(sessions.map((info) => path.dirname(info.path)))) {
      if (!this.watchers.has(directory) && this.watchers.size < MOST_WATCHED) {
        const watcher = vscode.workspace.createFileSystemWatcher(
          new vscode.RelativePattern(vscode.Uri.file(directory), "*.jsonl"),
        );
        watcher.onDidCreate(() => this.refreshSoon());
        watcher.onDidChange(() => this.refreshSoon());
        watcher.onDidDelete(() => this.refreshSoon());
        this.watchers.set(directory, watcher);
      }
    }
  }

  private refreshSoon(): void {
    this.timer ??= setTimeout(() => void this.refresh(), REFRESH_MS);
  }

  private tellScope(): void {
    void vscode.commands.executeCommand("setContext", "pid.showsAll", this.showsAll);
    this.view.description = this.showsAll ? "all" : undefined;
  }

  private tellTotal(list: Listing): void {
    this.view.message = this.query ? `${count(list.total, "session")} with “${this.query}”` : undefined;
  }
}

function folderItem(element: FolderElement): vscode.TreeItem {
  const item = new vscode.TreeItem(element.name, vscode.TreeItemCollapsibleState.Expanded);
  item.id = `folder:${element.cwd}`;
  item.iconPath = new vscode.ThemeIcon("root-folder");
  item.tooltip = element.cwd;
  item.contextValue = "folder";
  return item;
}

function moreItem(element: MoreElement): vscode.TreeItem {
  const { list } = element;
  const item = new vscode.TreeItem(`Show more (${list.total - list.sessions.length} left)`);
  item.id = `more:${list.cwd ?? ""}`;
  item.iconPath = new vscode.ThemeIcon("ellipsis");
  item.command = { command: "pid.showMoreSessions", title: "Show More", arguments: [element] };
  return item;
}
