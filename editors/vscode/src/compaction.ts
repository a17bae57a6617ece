/** Compacting: the preview with its confirmation, the run with its progress, cancelling. */

import * as vscode from "vscode";
import type { Daemon } from "./context";
import { keyOf, type Documents } from "./documents";
import { SCHEME, shownBy } from "./model/documentUri";
import { isCancelled } from "./model/faults";
import type { OpenSession } from "./model/session";
import type { Subscription } from "./model/signal";
import { titleOf } from "./model/sessionRows";
import { progressText } from "./model/status";
import { tokens } from "./model/words";
import type { CompactionNotice, CompactionResult } from "./protocol.gen";

export interface CompactOptions {
  readonly instructions?: string;
  /** From a preview: compact exactly so, or not at all. */
  readonly firstKeptEntryId?: string;
}

export class Compaction implements vscode.CodeLensProvider, vscode.Disposable {
  private readonly subscriptions: Subscription[];
  /** Sessions whose compaction was asked for in this window, which tells its end itself. */
  private readonly asked = new Set<OpenSession>();

  constructor(
    private readonly daemon: Daemon,
    private readonly documents: Documents,
  ) {
    this.subscriptions = [
      vscode.languages.registerCodeLensProvider({ scheme: SCHEME }, this),
      daemon.sessions.onDidCompact.listen(({ session, notice }) => this.tellOthers(session, notice)),
    ];
  }

  dispose(): void {
    for (const one of this.subscriptions) {
      one.dispose();
    }
  }

  /** Shows what a compaction would do, to confirm or to leave. */
  async preview(session: OpenSession, instructions?: string): Promise<void> {
    const shown = { kind: "plan", session: keyOf(session), ...(instructions ? { instructions } : {}) } as const;
    await this.documents.show(shown, `Compaction of ${titleOf(session)}`);
  }

  /** The buttons at the top of a preview. */
  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    if (shownBy(document.uri.query)?.kind !== "plan") {
      return [];
    }
    const top = new vscode.Range(0, 0, 0, 0);
    const { uri } = document;
    return [
      new vscode.CodeLens(top, { command: "pid.confirmCompaction", title: "$(check) Compact", arguments: [uri] }),
      new vscode.CodeLens(top, {
        command: "pid.confirmCompactionWith",
        title: "Compact with Instructions…",
        arguments: [uri],
      }),
    ];
  }

  /** Compacts as a preview says. */
  async confirm(uri: vscode.Uri, withInstructions: boolean): Promise<void> {
    const shown = shownBy(uri.query);
    if (shown?.kind !== "plan") {
      return;
    }
    const instructions = withInstructions ? await askInstructions(shown.instructions) : shown.instructions;
    if (withInstructions && instructions === undefined) {
      return;
    }
    const firstKeptEntryId = this.documents.plans.get(uri.toString())?.firstKeptEntryId;
    const session = this.daemon.sessions.byPath(shown.session) ?? (await this.daemon.sessions.openPath(shown.session));
    const result = await this.run(session, {
      ...(instructions ? { instructions } : {}),
      ...(firstKeptEntryId ? { firstKeptEntryId } : {}),
    });
    if (result) {
      await closeTab(uri);
      await this.showSummary(session, result);
    }
  }

  /** Compacts at once, and offers the summary. */
  async compact(session: OpenSession, options: CompactOptions = {}): Promise<void> {
    const result = await this.run(session, options);
    if (result) {
      const saved = `${tokens(result.tokensBefore)} → ${tokens(result.tokensAfter)} tokens`;
      const answer = await vscode.window.showInformationMessage(
        `${titleOf(session)} compacted: ${saved}.`,
        "Show Summary",
      );
      if (answer) {
        await this.showSummary(session, result);
      }
    }
  }

  /** Stops the compaction of a session, whoever started it. */
  async cancel(session: OpenSession): Promise<void> {
    const { cancelled } = await this.daemon.sessions.request(session, "session/cancelCompaction", {});
    if (!cancelled) {
      void vscode.window.showInformationMessage("No compaction is running.");
    }
  }

  /** Undefined: it was cancelled, and nothing was written. */
  private async run(session: OpenSession, options: CompactOptions): Promise<CompactionResult | undefined> {
    const title = `Compacting ${titleOf(session)}`;
    const where = { location: vscode.ProgressLocation.Notification, cancellable: true, title };
    this.asked.add(session);
    try {
      return await vscode.window.withProgress(where, async (progress, token) => {
        const progressing = this.daemon.sessions.onDidCompact.listen((event) => {
          if (event.session === session) {
            progress.report({ message: progressText(event.notice) });
          }
        });
        try {
          return await this.daemon.sessions.request(session, "session/compact", options, token);
        } finally {
          progressing.dispose();
        }
      });
    } catch (error) {
      if (isCancelled(error)) {
        void vscode.window.setStatusBarMessage("Compaction cancelled, nothing was written", 5000);
        return undefined;
      }
      throw error;
    } finally {
      this.asked.delete(session);
    }
  }

  private async showSummary(session: OpenSession, result: CompactionResult): Promise<void> {
    await this.documents.show(
      { kind: "entry", session: keyOf(session), id: result.entryId },
      `Summary ${result.entryId}`,
    );
  }

  /** Tells how a compaction ended that nobody here asked for. */
  private tellOthers(session: OpenSession, notice: CompactionNotice): void {
    if (this.asked.has(session)) {
      return;
    }
    const name = titleOf(session);
    if (notice.state === "failed") {
      void vscode.window.showWarningMessage(
        `The compaction of ${name} failed: ${notice.error?.message ?? "no reason was given"}`,
      );
    } else if (notice.state === "completed" && notice.tokensBefore != null && notice.tokensAfter != null) {
      vscode.window.setStatusBarMessage(
        `${name} was compacted: ${tokens(notice.tokensBefore)} → ${tokens(notice.tokensAfter)} tokens`,
        10_000,
      );
    }
  }
}

async function askInstructions(before: string | undefined): Promise<string | undefined> {
  return vscode.window.showInputBox({
    title: "Compact with Instructions",
    prompt: "What should the summary look after?",
    ...(before ? { value: before } : {}),
  });
}

async function closeTab(uri: vscode.Uri): Promise<void> {
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  const shown = tabs.filter(
    (tab) => tab.input instanceof vscode.TabInputText && tab.input.uri.toString() === uri.toString(),
  );
  await vscode.window.tabGroups.close(shown);
}
