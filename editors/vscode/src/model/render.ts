/** A row of the session tree in words: label, description, icon, colour, tooltip. Pure. */

import type { TreeNode } from "../protocol.gen";
import type { EntryRow, GroupRow, Layout } from "./layout";
import type { TreeModel } from "./tree";
import { count, firstLine, fullTime, literal, time } from "./words";

/** How an entry stands to the leaf. Of several, the first in this order is told. */
export type Place = "leaf" | "summarised" | "path" | "aside";

/** What a row shows. `icon` and `iconColor` are names of VS Code's product icons and theme colours. */
export interface RowView {
  readonly label: string;
  /** Ranges of `label` that stand out, in UTF-16 units. */
  readonly highlights: readonly (readonly [number, number])[];
  readonly description: string;
  readonly icon: string;
  readonly iconColor: string | undefined;
  readonly place: Place;
  readonly tooltip: string;
  /** What a screen reader says. */
  readonly spoken: string;
}

const ICONS: Record<string, string> = {
  user: "account",
  assistant: "sparkle",
  toolResult: "tools",
  bashExecution: "terminal",
  system: "gear",
  custom: "extensions",
  compaction: "fold",
  branch_summary: "git-merge",
  custom_message: "note",
  label: "bookmark",
  session_info: "edit",
  thinking_level_change: "lightbulb",
  model_change: "circuit-board",
  context_edit: "pencil",
  usage: "graph",
};

const COLORS: Record<string, string> = {
  user: "charts.blue",
  assistant: "charts.purple",
  toolResult: "charts.green",
  bashExecution: "charts.green",
  compaction: "charts.yellow",
  branch_summary: "charts.yellow",
};

const KINDS: Record<string, string> = {
  user: "user message",
  assistant: "assistant message",
  toolResult: "tool result",
  bashExecution: "command",
  system: "system prompt",
  branch_summary: "branch summary",
  custom_message: "note",
  session_info: "session name",
  thinking_level_change: "thinking level",
  model_change: "model",
  context_edit: "context edit",
};

/** The names of entries whose preview alone does not say what they are. */
const NAMES: Record<string, string> = {
  label: "label",
  session_info: "name",
  thinking_level_change: "thinking",
  model_change: "model",
  context_edit: "edit",
  usage: "usage",
  custom: "custom",
  compaction: "summary",
  branch_summary: "summary of a branch",
};

const SUMMARIES = new Set(["compaction", "branch_summary"]);
const MESSAGES = new Set(["message", "compaction", "branch_summary", "custom_message"]);
const GROUP_TITLE = 60;
/** Labels that a group shows. */
const GROUP_LABELS = 3;

/** Entries that are no part of the conversation. They are left out unless they are asked for. */
export function isMetadata(node: TreeNode): boolean {
  return !MESSAGES.has(node.type) && !node.damaged;
}

/** Results of tools and commands. */
export function isToolResult(node: TreeNode): boolean {
  return node.role === "toolResult" || node.role === "bashExecution";
}

/** What an entry is, for people: its role, or its type. */
export function kindOf(node: TreeNode): string {
  const kind = node.role ?? node.type;
  return KINDS[kind] ?? kind.replace(/_/g, " ");
}

/** An entry's text: its preview, with what it is before it where the icon does not say enough. */
export function textOf(node: TreeNode): string {
  const preview = node.preview && SUMMARIES.has(node.type) ? plainStart(node.preview) : node.preview;
  const text = preview ?? (node.damaged ? "this line of the file cannot be read" : undefined);
  const name = nameOf(node);
  if (!name) {
    return text ?? `(${kindOf(node)})`;
  }
  return text ? `${name}: ${text}` : name;
}

/** The row of an entry. */
export function entryView(row: EntryRow, model: TreeModel, layout: Layout, now: Date): RowView {
  const node = model.nodes.get(row.id);
  if (!node) {
    throw new Error(`no entry ${row.id} in the tree`);
  }
  const place = placeOf(node.id, model);
  const text = textOf(node);
  const badge = node.label ? `[${firstLine(node.label, 40)}]` : "";
  const label = badge ? `${badge} ${text}` : text;
  const below = layout.hasChildren(row) ? layout.countBelow(row.id) : 0;
  const parts = [below > 0 ? `+${below}` : "", time(node.timestamp, now)];
  return {
    label,
    highlights: badge ? [[0, badge.length]] : [],
    description: parts.filter(Boolean).join(" · "),
    ...iconOf(node, place),
    place,
    tooltip: tooltipOf(node, place),
    spoken: [
      kindOf(node),
      text,
      node.label ? `label ${node.label}` : "",
      SPOKEN_PLACES[place],
      below ? `side branch of ${count(below + 1, "entry", "entries")}` : "",
    ]
      .filter(Boolean)
      .join(", "),
  };
}

/** A group of entries: what the user asked first in it, and when. */
export function groupView(row: GroupRow, model: TreeModel, layout: Layout, now: Date): RowView {
  const { first, labels, isOnPath } = groupFacts(row, model, layout);
  const begins = first ? firstLine(textOf(first), GROUP_TITLE) : "";
  return {
    label: `${row.start + 1} – ${row.end}`,
    highlights: [],
    description: [...labels, begins, time(first?.timestamp, now)].filter(Boolean).join(" · "),
    icon: "layers",
    iconColor: isOnPath ? undefined : "disabledForeground",
    place: isOnPath ? "path" : "aside",
    tooltip: `${count(row.end - row.start, "entry", "entries")}, from ${literal(begins)}`,
    spoken: `entries ${row.start + 1} to ${row.end}, from ${begins}`,
  };
}

interface GroupFacts {
  readonly first: TreeNode | undefined;
  readonly labels: readonly string[];
  /** Whether the context shows any of it. */
  readonly isOnPath: boolean;
}

/** One pass, since groups of a long session are large. */
function groupFacts(row: GroupRow, model: TreeModel, layout: Layout): GroupFacts {
  const rows = layout.level(row.head);
  const labels: string[] = [];
  let first: TreeNode | undefined;
  let isOnPath = false;
  for (let at = row.start; at < row.end && labels.length < GROUP_LABELS; at += 1) {
    const node = model.nodes.get(rows[at]?.id ?? "");
    if (node?.label) {
      labels.push(`[${firstLine(node.label, 20)}]`);
    }
    if (node?.role === "user") {
      first ??= node;
    }
    isOnPath ||= node !== undefined && model.path().has(node.id) && !model.summarised().has(node.id);
  }
  return { first: first ?? model.nodes.get(rows[row.start]?.id ?? ""), labels, isOnPath };
}

export function placeOf(id: string, model: TreeModel): Place {
  if (model.shownFor(model.leafId) === id) {
    return "leaf";
  }
  if (model.summarised().has(id)) {
    return "summarised";
  }
  return model.path().has(id) ? "path" : "aside";
}

const SPOKEN_PLACES: Record<Place, string> = {
  leaf: "the leaf",
  summarised: "summarised",
  path: "on the path",
  aside: "on another branch",
};

const TOLD_PLACES: Record<Place, string> = {
  leaf: "the leaf: the next entry attaches here",
  summarised: "on the path; a compaction stands for it",
  path: "on the path to the leaf",
  aside: "on another branch",
};

/** A summary without what stands before its first words: a remark in italics, and marks of headings. */
function plainStart(markdown: string): string {
  return markdown.replace(/^\*[^*]+\*\s+(?=\S)/, "").replace(/^[#>\s]+(?=\S)/, "");
}

function nameOf(node: TreeNode): string | undefined {
  if (node.role === "toolResult") {
    return node.toolName ?? "tool";
  }
  if (node.type === "custom_message" || node.role) {
    return undefined;
  }
  return NAMES[node.type] ?? (MESSAGES.has(node.type) ? undefined : (node.customType ?? node.type));
}

function iconOf(node: TreeNode, place: Place): { icon: string; iconColor: string | undefined } {
  const kind = node.role ?? node.type;
  if (node.damaged || node.isError || node.stopReason === "error") {
    return { icon: node.damaged ? "warning" : "error", iconColor: "errorForeground" };
  }
  const isLit = place === "leaf" || place === "path";
  return { icon: ICONS[kind] ?? "circle-small", iconColor: isLit ? COLORS[kind] : "disabledForeground" };
}

/** Markdown. */
function tooltipOf(node: TreeNode, place: Place): string {
  const lines = [
    `**${literal(kindOf(node))}** \`${node.id}\``,
    node.preview ? literal(node.preview) : "",
    node.label ? `label: ${literal(node.label)}` : "",
    node.isError ? "the tool failed" : "",
    node.stopReason === "error" || node.stopReason === "aborted" ? `stopped: ${node.stopReason}` : "",
    `${TOLD_PLACES[place]}  \n${fullTime(node.timestamp)}`,
  ];
  return lines.filter(Boolean).join("\n\n");
}
