/** From the user's settings to the daemon's. Pure. */

import type { SettingsUpdate } from "../protocol.gen";

/** What the user set; undefined where the default stands, so that the daemon's own files are asked next. */
export interface Chosen {
  readonly contextWindow: number | null | undefined;
  readonly autoCompact: boolean | undefined;
  readonly summarizer: string | undefined;
}

/** Settings that this extension can set; null takes one back. */
export const CLEARED: SettingsUpdate = { contextWindow: null, autoCompact: null, summarizer: null };

/** Undefined where the user set nothing. */
export function settingsUpdate(chosen: Chosen): SettingsUpdate | undefined {
  const update: SettingsUpdate = {};
  if (chosen.contextWindow) {
    update.contextWindow = chosen.contextWindow;
  }
  if (chosen.autoCompact !== undefined) {
    update.autoCompact = chosen.autoCompact;
  }
  if (chosen.summarizer !== undefined) {
    update.summarizer = chosen.summarizer;
  }
  return Object.keys(update).length > 0 ? update : undefined;
}

/** What stands in one scope of a setting, most specific first; undefined where nothing does. */
export interface Inspected<T> {
  readonly workspaceFolderValue?: T;
  readonly workspaceValue?: T;
  readonly globalValue?: T;
}

/** The value that the user set, as opposed to the default. */
export function chosenValue<T>(inspected: Inspected<T> | undefined): T | undefined {
  return inspected?.workspaceFolderValue ?? inspected?.workspaceValue ?? inspected?.globalValue;
}
