/** The gauge in the status bar: how full the current session's context is, and whether it is being compacted. */

import * as vscode from "vscode";
import type { OpenSessions } from "./model/openSessions";
import type { OpenSession } from "./model/session";
import type { Subscription } from "./model/signal";
import { titleOf } from "./model/sessionRows";
import { details, gauge, type Alarm } from "./model/status";

const BACKGROUNDS: Record<Alarm, string | undefined> = {
  none: undefined,
  warning: "statusBarItem.warningBackground",
  error: "statusBarItem.errorBackground",
};

export class StatusBar implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("pid.gauge", vscode.StatusBarAlignment.Right, 90);
  private isCompacting = false;
  private readonly subscriptions: Subscription[];

  constructor(private readonly sessions: OpenSessions) {
    this.item.name = "Session Context";
    this.item.command = "pid.showUsage";
    this.subscriptions = [this.item, sessions.onDidUpdate.listen(() => this.draw())];
  }

  dispose(): void {
    for (const one of this.subscriptions) {
      one.dispose();
    }
  }

  /** For menus: whether there is something to cancel. */
  private tellCompacting(isCompacting: boolean): void {
    if (this.isCompacting !== isCompacting) {
      this.isCompacting = isCompacting;
      void vscode.commands.executeCommand("setContext", "pid.isCompacting", isCompacting);
    }
  }

  private draw(): void {
    const session = this.sessions.current();
    this.tellCompacting(session?.compaction !== undefined);
    if (!session) {
      this.item.hide();
      return;
    }
    const shown = gauge(titleOf(session), session.usage, session.compaction);
    const background = BACKGROUNDS[shown.alarm];
    this.item.text = shown.text;
    this.item.tooltip = new vscode.MarkdownString(shown.tooltip);
    this.item.backgroundColor = background ? new vscode.ThemeColor(background) : undefined;
    this.item.accessibilityInformation = { label: shown.spoken };
    this.item.show();
  }
}

interface Choice extends vscode.QuickPickItem {
  readonly command?: string;
}

/** What a click on the gauge shows: figures, and what can be done about them. */
export async function showUsage(sessions: OpenSessions, session: OpenSession): Promise<void> {
  const usage = await sessions.readUsage(session);
  const figures: Choice[] = details(usage).map((label) => ({ label }));
  const actions: Choice[] = session.compaction
    ? [{ label: "$(stop-circle) Cancel the compaction", command: "pid.cancelCompaction" }]
    : [
        { label: "$(fold) Preview compaction", command: "pid.previewCompaction" },
        { label: "$(play) Compact now", command: "pid.compact" },
      ];
  const choice = await vscode.window.showQuickPick<Choice>(
    [
      ...figures,
      { label: "", kind: vscode.QuickPickItemKind.Separator },
      ...actions,
      { label: "$(eye) Show the context", command: "pid.showContext" },
      { label: "$(settings-gear) Set the context window", command: "pid.setContextWindow" },
    ],
    { title: `Context of ${titleOf(session)}` },
  );
  if (choice?.command) {
    await vscode.commands.executeCommand(choice.command);
  }
}
