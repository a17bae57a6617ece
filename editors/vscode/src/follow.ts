/** What follows from what happens: settings that change, trust that is granted, a daemon that ends. */

import * as vscode from "vscode";
import { tell } from "./commands";
import * as configuration from "./configuration";
import type { Daemon, Health } from "./context";
import { messageOf } from "./model/faults";
import { isSessionHeader } from "./model/header";
import { CLEARED } from "./model/settings";
import { titleOf } from "./model/sessionRows";
import { count } from "./model/words";
import type { SessionsView } from "./sessionsView";

const LANGUAGE = "pid-session";

export function follow(
  daemon: Daemon,
  sessionsView: SessionsView,
  channel: vscode.LogOutputChannel,
): vscode.Disposable {
  const { sessions } = daemon;
  const restart = (): void => {
    if (daemon.health !== "stopped") {
      daemon.restart().catch((error: unknown) => tell(error, channel));
    }
  };
  const forDocument = (document: vscode.TextDocument): void => {
    if (document.languageId === LANGUAGE) {
      void daemon.requests.ready().catch((error: unknown) => channel.error(messageOf(error)));
    } else if (isSession(document)) {
      void vscode.languages.setTextDocumentLanguage(document, LANGUAGE); // it is told again, under this language
    }
  };
  let before = daemon.health;
  vscode.workspace.textDocuments.forEach(forDocument);
  return vscode.Disposable.from(
    daemon.onHealth.listen((health) => {
      healthChanged(health, before, daemon, sessionsView);
      before = health;
    }),
    daemon.onLost.listen((lost) => {
      const names = lost.map(({ session, reason }) => `${titleOf(session)} (${reason})`).join(", ");
      void vscode.window.showWarningMessage(`The daemon was started again, but could not open: ${names}`);
    }),
    sessions.onDidOpen.listen((session) => {
      logProblems(channel, session.problems);
      if (session.problems.length > 0) {
        void offerLog(
          `${count(session.problems.length, "problem")} in the file of ${titleOf(session)}; nothing was changed.`,
          channel,
        );
      }
      // The tree first: that is what people wait for.
      sessions
        .tree(session)
        .then(() => sessions.readUsage(session))
        .catch((error: unknown) => channel.warn(String(error)));
    }),
    sessions.onDidFindProblems.listen(({ added }) => logProblems(channel, added)),
    sessions.onDidClose.listen(({ session, reason }) => {
      if (FILE_LOST.has(reason)) {
        void offerLog(
          `The file of ${titleOf(session)} was ${reason} by another program. Open it again to go on.`,
          channel,
        );
      }
    }),
    vscode.workspace.onDidChangeConfiguration((event) => settingsChanged(event, daemon, restart, channel)),
    // The daemon reads the settings of folders that it was told to trust when it started.
    vscode.workspace.onDidGrantWorkspaceTrust(restart),
    vscode.workspace.onDidChangeWorkspaceFolders(({ added }) => added.length > 0 && restart()),
    vscode.workspace.onDidOpenTextDocument(forDocument),
  );
}

/** A name's ending tells VS Code JSON lines before it looks at the first line. */
function isSession(document: vscode.TextDocument): boolean {
  return (
    document.uri.scheme === "file" && document.uri.path.endsWith(".jsonl") && isSessionHeader(document.lineAt(0).text)
  );
}

const FILE_LOST = new Set(["replaced", "rewritten", "truncated", "deleted"]);

function healthChanged(health: Health, before: Health, daemon: Daemon, sessionsView: SessionsView): void {
  void vscode.commands.executeCommand("setContext", "pid.health", health);
  if (health === "restarting" && daemon.sessions.current()) {
    vscode.window.setStatusBarMessage("$(sync~spin) pid is started again…", 3000);
  } else if (health === "running" && before !== "starting") {
    void sessionsView.refresh();
  }
}

function settingsChanged(
  event: vscode.ConfigurationChangeEvent,
  daemon: Daemon,
  restart: () => void,
  channel: vscode.LogOutputChannel,
): void {
  if (configuration.OF_THE_START.some((key) => event.affectsConfiguration(key))) {
    restart();
    return;
  }
  if (configuration.OF_SESSIONS.some((key) => event.affectsConfiguration(key))) {
    for (const session of daemon.sessions.all()) {
      daemon.sessions
        .configure(session, CLEARED)
        .then(() => daemon.sessions.readUsage(session))
        .catch((error: unknown) => channel.warn(String(error)));
    }
  }
}

function logProblems(
  channel: vscode.LogOutputChannel,
  problems: readonly { line: number; kind: string; message: string }[],
): void {
  for (const problem of problems) {
    channel.warn(`line ${problem.line}: ${problem.kind}: ${problem.message}`);
  }
}

async function offerLog(message: string, channel: vscode.LogOutputChannel): Promise<void> {
  if (await vscode.window.showWarningMessage(message, "Show Log")) {
    channel.show();
  }
}
