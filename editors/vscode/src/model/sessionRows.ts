/** A session in a listing, in words. Pure. */

import type { SessionInfo } from "../protocol.gen";
import { count, firstLine, fullTime, literal, size, time } from "./words";

const MOST_TITLE = 100;
const MOST_QUOTE = 400;

export interface SessionView {
  readonly label: string;
  readonly description: string;
  /** Markdown. */
  readonly tooltip: string;
  readonly spoken: string;
}

/** What a session is called: its name, else how it begins. */
export function titleOf(session: { name?: string | null; firstMessage?: string }): string {
  return firstLine(session.name || session.firstMessage || "", MOST_TITLE) || "(empty session)";
}

/** The last part of a directory's path. */
export function baseName(directory: string): string {
  return directory.split("/").filter(Boolean).pop() ?? directory;
}

/** @param showsDirectory whether sessions of several directories stand in one list */
export function sessionView(info: SessionInfo, showsDirectory: boolean, now: Date): SessionView {
  const title = titleOf(info);
  const messages = count(info.messageCount, "message");
  const where = showsDirectory ? baseName(info.cwd) : "";
  return {
    label: title,
    description: [where, time(info.modifiedAt, now), info.messageCount.toLocaleString("en")]
      .filter((part) => part !== "")
      .join(" · "),
    tooltip: tooltipOf(info, title, messages),
    spoken: [title, messages, time(info.modifiedAt, now), info.sessionId ? "open" : ""].filter(Boolean).join(", "),
  };
}

function tooltipOf(info: SessionInfo, title: string, messages: string): string {
  const quote = info.name && info.firstMessage ? literal(firstLine(info.firstMessage, MOST_QUOTE)) : "";
  const facts = [
    `${messages}, ${size(info.sizeBytes)}`,
    `last message ${fullTime(info.modifiedAt)}`,
    info.createdAt ? `made ${fullTime(info.createdAt)}` : "",
    info.parentSession ? `forked from ${literal(baseName(info.parentSession))}` : "",
    literal(info.cwd),
    literal(baseName(info.path)),
  ];
  return [`**${literal(title)}**`, quote, facts.filter(Boolean).join("  \n")].filter(Boolean).join("\n\n");
}
