/**
 * Entries and messages as Markdown for people: tool calls and results readable, nothing left out.
 * Pure. Stored content may have any shape, so each is looked at before it is taken for what it should be.
 */

type Fields = Record<string, unknown>;
type Lines = string[];

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A value as text; what is no text as JSON. */
function textOf(value: unknown): string {
  return value === undefined || value === null ? "" : typeof value === "string" ? value : json(value);
}

function linesOf(value: unknown): Lines {
  return textOf(value).split(/\r\n|\r|\n/);
}

/** A code block whose fence is longer than any inside it. */
export function fenced(text: string, language = ""): Lines {
  const longest = (text.match(/`+/g) ?? []).reduce((most, ticks) => Math.max(most, ticks.length), 2);
  const fence = "`".repeat(longest + 1);
  return [fence + language, ...linesOf(text.replace(/\n$/, "")), fence];
}

function inline(text: string): string {
  const longest = (text.match(/`+/g) ?? []).reduce((most, ticks) => Math.max(most, ticks.length), 0);
  const fence = "`".repeat(longest + 1);
  const pad = longest > 0 ? " " : "";
  return fence + pad + text + pad + fence;
}

/** Any JSON value, indented. The daemon lets nothing through that is deeper than 1,000 levels. */
export function json(value: unknown): string {
  return value === undefined ? "" : JSON.stringify(value, undefined, 2);
}

function argumentLines(value: unknown): Lines {
  if (!isFields(value)) {
    return fenced(json(value), "json");
  }
  return Object.entries(value).flatMap(([key, argument]) => {
    if (typeof argument === "string") {
      return argument.includes("\n") ? [`- **${key}**`, ...fenced(argument)] : [`- **${key}** ${inline(argument)}`];
    }
    const isPlain = typeof argument !== "object" || argument === null;
    return isPlain ? [`- **${key}** ${inline(json(argument))}`] : [`- **${key}**`, ...fenced(json(argument), "json")];
  });
}

function call(name: unknown, given: unknown): Lines {
  return [`**call** ${inline(textOf(name) || "?")}`, ...argumentLines(given)];
}

const BLOCKS: Record<string, (block: Fields) => Lines> = {
  text: (block) => linesOf(block.text),
  thinking: (block) => linesOf(block.redacted ? "(hidden by the provider)" : block.thinking).map((line) => `> ${line}`),
  toolCall: (block) => call(block.name, block.arguments),
  tool_use: (block) => call(block.name, block.input),
  tool_result: (block) => [block.is_error ? "**failed**" : "**result**", ...resultLines(block.content)],
  image: (block) => {
    const bytes = Math.floor((textOf(block.data).length * 3) / 4);
    return [`(image, ${textOf(block.mimeType) || "unknown type"}, ${Math.ceil(bytes / 1024)} KB)`];
  },
};

function blockLines(block: unknown): Lines {
  const show = isFields(block) ? BLOCKS[textOf(block.type)] : undefined;
  return show && isFields(block) ? show(block) : fenced(json(block), "json");
}

function spaced(parts: readonly Lines[]): Lines {
  return parts.flatMap((part, index) => (index === 0 ? part : ["", ...part]));
}

/** Content: a text, or blocks with an empty line between them. */
export function contentLines(content: unknown): Lines {
  if (Array.isArray(content)) {
    return content.length === 0 ? ["(empty)"] : spaced(content.map(blockLines));
  }
  return isFields(content) ? fenced(json(content), "json") : linesOf(content);
}

/** What a tool answered: text of programs, not Markdown, so each text stands in a fence. */
function resultLines(content: unknown): Lines {
  const blocks: unknown[] = Array.isArray(content)
    ? content
    : typeof content === "string"
      ? [{ type: "text", text: content }]
      : [];
  if (blocks.length === 0) {
    return contentLines(content);
  }
  return spaced(
    blocks.map((block) => (isFields(block) && block.type === "text" ? fenced(textOf(block.text)) : blockLines(block))),
  );
}

/** Lists of files, as they stand in summaries' details. */
export function fileLines(details: unknown): Lines {
  const titles = { readFiles: "Files read", modifiedFiles: "Files modified" };
  return Object.entries(titles).flatMap(([key, title]) => {
    const names: unknown = isFields(details) ? details[key] : undefined;
    const list: unknown[] = Array.isArray(names) ? names : [];
    return list.length > 0 ? ["", `**${title}**`, "", ...list.map((name) => `- ${inline(textOf(name))}`)] : [];
  });
}

function summary(record: Fields): Lines {
  return [...linesOf(record.summary), ...fileLines(record.details)];
}

const MESSAGES: Record<string, (message: Fields) => Lines> = {
  assistant: (message) => {
    const content = Array.isArray(message.content) && message.content.length === 0 ? [] : contentLines(message.content);
    return message.errorMessage
      ? [...content, ...(content.length > 0 ? [""] : []), `**error** ${textOf(message.errorMessage)}`]
      : content;
  },
  toolResult: (message) => [
    `**${message.isError ? "failed" : "result"}** ${inline(textOf(message.toolName) || "?")}`,
    ...resultLines(message.content),
  ],
  bashExecution: (message) => [
    ...fenced(`$ ${textOf(message.command)}`, "sh"),
    ...fenced(textOf(message.output)),
    ...(message.exitCode ? [`exit code ${textOf(message.exitCode)}`] : []),
  ],
  system: (message) => [
    ...(message.content ? [...contentLines(message.content), ""] : []),
    ...Object.entries(isFields(message.sections) ? message.sections : {}).flatMap(([name, text]) => [
      `**${name}**`,
      "",
      ...linesOf(text ?? "(removed)"),
      "",
    ]),
    ...(Array.isArray(message.toolsAdded) ? ["**tools added**", ...fenced(json(message.toolsAdded), "json")] : []),
    ...(Array.isArray(message.toolsRemoved)
      ? ["**tools removed**", ...fenced(json(message.toolsRemoved), "json")]
      : []),
  ],
  compactionSummary: summary,
  branchSummary: summary,
};

/** An agent's message. */
export function messageLines(message: unknown): Lines {
  if (!isFields(message)) {
    return ["(no message)"];
  }
  const show = MESSAGES[textOf(message.role)];
  return show ? show(message) : contentLines(message.content);
}

const ENTRIES: Record<string, (entry: Fields) => Lines> = {
  message: (entry) => messageLines(entry.message),
  compaction: summary,
  branch_summary: summary,
  custom_message: (entry) => contentLines(entry.content),
};

/** An entry as it is stored. Types without a form of their own are shown as JSON. */
export function entryLines(entry: unknown): Lines {
  if (!isFields(entry)) {
    return ["This line of the file cannot be read; “Show Log” says more."];
  }
  const show = ENTRIES[textOf(entry.type)];
  return show ? show(entry) : fenced(json(entry), "json");
}
