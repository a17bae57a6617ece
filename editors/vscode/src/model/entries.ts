/** Entries that people make here. Pure: the time is handed in. */

import type { NewEntry } from "../protocol.gen";

export type MadeEntry = NewEntry & Record<string, unknown>;

export function userMessage(text: string, now: number): MadeEntry {
  return { type: "message", message: { role: "user", content: [{ type: "text", text }], timestamp: now } };
}

/** A note: the model sees it, as it does any message of an extension. */
export function note(text: string): MadeEntry {
  return { type: "custom_message", customType: "note", content: text, display: true };
}

/** An empty text takes the label off. */
export function label(targetId: string, text: string): MadeEntry {
  return text ? { type: "label", targetId, label: text } : { type: "label", targetId };
}

/** An empty text takes the name off. */
export function sessionName(text: string): MadeEntry {
  return text ? { type: "session_info", name: text } : { type: "session_info" };
}
