/** What goes wrong, in words for people. Pure: it knows errors by their shape, whatever class they have. */

import { ErrorCode } from "../protocol.gen";

/** The connection's own codes, of `vscode-jsonrpc`. */
export const CONNECTION_LOST = -32097;
const CONNECTION_INACTIVE = -32096;
const WRITE_FAILED = -32099;

/** How the daemon is installed, in a clone of the project; the project's README says the same. */
export const INSTALL_COMMAND = "pipx install .";

/** There is no daemon to start. The message says what to do. */
export class NoDaemon extends Error {
  override readonly name = "NoDaemon";
}

/** The daemon ended before it answered, and the request may not be sent twice. */
export class DaemonEnded extends Error {
  override readonly name = "DaemonEnded";
}

export function codeOf(error: unknown): number | undefined {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  return typeof code === "number" ? code : undefined;
}

export function isCancelled(error: unknown): boolean {
  return codeOf(error) === ErrorCode.requestCancelled;
}

/** Whether the daemon went away before it answered. */
export function isConnectionLost(error: unknown): boolean {
  const code = codeOf(error);
  return code === CONNECTION_LOST || code === CONNECTION_INACTIVE || code === WRITE_FAILED;
}

/** Advice that an error's own message does not give. */
const ADVICE: Partial<Record<number, string>> = {
  [ErrorCode.sessionChangedOnDisk]: "Open the session again.",
  [ErrorCode.sessionBusy]: "Another program holds the file; try again.",
  [ErrorCode.methodNotFound]: "The daemon is too old for this; update it.",
};

/** One sentence or two, without "Error:". */
export function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const advice = ADVICE[codeOf(error) ?? 0];
  return advice ? `${message.replace(/\.?$/, ".")} ${advice}` : message;
}
