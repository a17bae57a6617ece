/** The output channel, and the trace of what goes over the wire. */

import * as vscode from "vscode";
import * as configuration from "./configuration";

/**
 * The channel for traces. The language client writes a trace only while the level of its channel is `Trace`;
 * here the setting `pid.trace.server` decides alone, so the channel says `Trace` as long as it is not `off`.
 */
export function traceChannel(channel: vscode.LogOutputChannel): vscode.LogOutputChannel {
  const level = (): vscode.LogLevel =>
    configuration.traceLevel() === "off" ? vscode.LogLevel.Info : vscode.LogLevel.Trace;
  const changed: vscode.Event<vscode.LogLevel> = (listener, thisArgs, disposables) =>
    vscode.workspace.onDidChangeConfiguration(
      (event) => {
        if (event.affectsConfiguration("pid.trace.server")) {
          listener.call(thisArgs, level());
        }
      },
      undefined,
      disposables,
    );
  return new Proxy(channel, {
    get(target, key) {
      if (key === "logLevel") {
        return level();
      }
      if (key === "onDidChangeLogLevel") {
        return changed;
      }
      const value: unknown = Reflect.get(target, key === "trace" ? "info" : key);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}
