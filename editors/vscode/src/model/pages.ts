/**
 * The virtual documents as text: an entry, a context, a system prompt, a compaction's plan. They are read as
 * they stand, so nothing is escaped for the sake of a rendered Markdown. Pure.
 */

import type { CompactionPlan, ContextResult, PromptResult, TreeNode } from "../protocol.gen";
import { contentLines, entryLines, fenced, fileLines, json, messageLines } from "./markdown";
import { kindOf, textOf } from "./render";
import { usageText } from "./status";
import { count, fullTime, tokens } from "./words";

/** A document, with the parts of it that fold: first and last line, from 0. */
export interface Page {
  readonly text: string;
  readonly folds: readonly (readonly [number, number])[];
}

class PageWriter {
  private readonly lines: string[] = [];
  private readonly folds: (readonly [number, number])[] = [];

  add(...lines: readonly string[]): void {
    for (const line of lines) {
      this.lines.push(line);
    }
  }

  /** A part that folds, with an empty line behind it. */
  section(title: string, body: readonly string[]): void {
    const first = this.lines.length;
    this.add(title, "", ...body);
    this.folds.push([first, this.lines.length - 1]);
    this.add("");
  }

  page(): Page {
    return { text: this.lines.join("\n").trimEnd() + "\n", folds: this.folds };
  }
}

/** One entry, with what the tree knows of it. */
export function entryPage(entry: unknown, node: TreeNode | undefined, id: string): Page {
  const writer = new PageWriter();
  writer.add(`# ${node ? kindOf(node) : "entry"} ${id}`, "");
  const facts = [fullTime(node?.timestamp), node?.label ? `label: ${node.label}` : ""].filter(Boolean);
  if (facts.length > 0) {
    writer.add(facts.join(" · "), "");
  }
  writer.add(...entryLines(entry));
  return writer.page();
}

/** What the model sees at a leaf: a part for each message. */
export function contextPage(context: ContextResult): Page {
  const messages: readonly unknown[] = context.messages ?? context.payload?.messages ?? [];
  const writer = new PageWriter();
  // The leaf may be an entry that no row shows, such as a label: the last message says more.
  const last = context.entryIds.flat().at(-1);
  writer.add(last ? `# Context up to ${last}` : "# Context before the first message", "");
  writer.add(contextFacts(context, messages.length), "");
  for (const warning of context.warnings) {
    writer.add(`> **${warning.kind}** ${warning.message}`, "");
  }
  if (context.payload?.system) {
    writer.section("## system", contentLines(context.payload.system));
  }
  messages.forEach((message, index) => {
    const role =
      typeof message === "object" && message !== null && "role" in message ? String(message.role) : "message";
    const ids = (context.entryIds[index] ?? []).join(" ");
    writer.section(`## ${role} ${ids}`.trimEnd(), messageLines(message));
  });
  if (context.payload?.tools) {
    writer.section("## tools", fenced(json(context.payload.tools), "json"));
  }
  return writer.page();
}

function contextFacts(context: ContextResult, messageCount: number): string {
  const { model, thinkingLevel, contextUsage } = context;
  return [
    count(messageCount, "message"),
    model ? `${model.provider}/${model.modelId}` : "no model named",
    `thinking ${thinkingLevel}`,
    usageText(contextUsage ?? undefined) ?? "size unknown",
  ].join(" · ");
}

/** The system prompt as it would be sent; the problems stand in comments, which Markdown does not show. */
export function promptPage(result: PromptResult): Page {
  const writer = new PageWriter();
  for (const problem of result.problems) {
    writer.add(`<!-- ${problem.path}: ${problem.message.replace(/--+>?/g, "—")} -->`);
  }
  writer.add(result.prompt);
  return writer.page();
}

/** What a compaction would do. */
export function planPage(plan: CompactionPlan, nodes: ReadonlyMap<string, TreeNode>): Page {
  const writer = new PageWriter();
  const saving =
    plan.tokensAfter < plan.tokensBefore
      ? `${Math.floor(100 * (1 - plan.tokensAfter / plan.tokensBefore))}% less`
      : "no saving";
  writer.add("# Compaction preview", "");
  writer.add(`**${tokens(plan.tokensBefore)} → about ${tokens(plan.tokensAfter)} tokens**, ${saving}`, "");
  writer.add(
    `by ${count(plan.requestCount, "request")} of ${tokens(plan.requestTokens)} tokens in all. Nothing has been written yet.`,
  );
  writer.add(...fileLines(plan.details), "");
  list(writer, "Summarised", plan.summarizeEntryIds, nodes);
  list(writer, "Summarised on its own: the beginning of the turn that is cut", plan.turnPrefixEntryIds, nodes);
  list(writer, "Kept", plan.keepEntryIds, nodes);
  if (plan.previousSummary) {
    writer.section("## The summary that is brought up to date", plan.previousSummary.split("\n"));
  }
  return writer.page();
}

function list(writer: PageWriter, title: string, ids: readonly string[], nodes: ReadonlyMap<string, TreeNode>): void {
  if (ids.length > 0) {
    const rows = ids.map((id) => {
      const node = nodes.get(id);
      return node ? `- *${kindOf(node)}* ${textOf(node)}` : `- \`${id}\``;
    });
    writer.section(`## ${title} (${count(ids.length, "entry", "entries")})`, rows);
  }
}
