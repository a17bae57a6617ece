import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { shownBy, uriParts } from "../../src/model/documentUri";
import { label, note, sessionName, userMessage } from "../../src/model/entries";
import { isSessionHeader } from "../../src/model/header";
import { contentLines, entryLines, fenced, messageLines } from "../../src/model/markdown";
import { contextPage, entryPage, planPage, promptPage } from "../../src/model/pages";
import { baseName, sessionView, titleOf } from "../../src/model/sessionRows";
import { alarm, details, gauge, progressText, usageText } from "../../src/model/status";
import { count, firstLine, literal, size, time, tokens } from "../../src/model/words";
import type { CompactionPlan, ContextResult, ContextUsage, SessionInfo } from "../../src/protocol.gen";
import { at, node } from "./builders";

describe("words", () => {
  it("shortens tokens and sizes", () => {
    assert.deepEqual([0, 999, 1000, 18_249, 200_000, 999_949, 999_951, 1_500_000].map(tokens), [
      "0",
      "999",
      "1k",
      "18.2k",
      "200k",
      "999.9k",
      "1M",
      "1.5M",
    ]);
    assert.deepEqual([512, 2048, 3_145_728].map(size), ["512 B", "2 KB", "3.0 MB"]);
  });

  it("counts", () =>
    assert.deepEqual([count(1, "entry", "entries"), count(1200, "message")], ["1 entry", "1,200 messages"]));

  it("shows the clock today, the weekday this week, else the date", () => {
    const now = new Date(2026, 0, 31, 12, 0);
    const before = (days: number): string => new Date(2026, 0, 31 - days, 9, 5).toISOString();
    assert.equal(time(before(0), now), "09:05");
    assert.equal(time(before(2), now), "Thu 09:05");
    assert.equal(time(before(20), now), "11 Jan");
    assert.equal(time(before(400), now), "27 Dec 2024");
    assert.equal(time("nonsense", now), "");
    assert.equal(time(null, now), "");
  });

  it("takes the first line that says something, without splitting a character", () => {
    assert.equal(firstLine("\n  one\ntwo", 10), "one");
    assert.equal(firstLine("🦊".repeat(10), 4), "🦊🦊🦊…");
  });

  it("escapes what Markdown would take for its own", () => {
    assert.equal(literal("[a](b) <c> `d`"), "\\[a\\]\\(b\\) \\<c\\> \\`d\\`");
  });
});

describe("Markdown of entries", () => {
  it("makes a fence longer than any inside", () => {
    assert.deepEqual(fenced("a\n````\nb\n", "md"), ["`````md", "a", "````", "b", "`````"]);
  });

  it("shows calls, results, thinking and images", () => {
    const message = {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "Hm.\nSo." },
        { type: "text", text: "I look." },
        { type: "toolCall", name: "edit", arguments: { path: "a.py", newText: "1\n2", limit: 3, deep: { x: 1 } } },
        { type: "image", data: "AAAA".repeat(1024), mimeType: "image/png" },
        { type: "strange", x: 1 },
      ],
    };
    const text = messageLines(message).join("\n");
    assert.match(text, /^> Hm\.\n> So\.\n\nI look\.\n\n\*\*call\*\* `edit`\n- \*\*path\*\* `a\.py`\n/);
    assert.match(text, /- \*\*newText\*\*\n```\n1\n2\n```\n- \*\*limit\*\* `3`\n- \*\*deep\*\*\n```json\n/);
    assert.match(text, /\(image, image\/png, 3 KB\)/);
    assert.match(text, /"strange"/);
  });

  it("shows text of programs in fences", () => {
    const result = {
      role: "toolResult",
      toolName: "bash",
      isError: true,
      content: [{ type: "text", text: "# no heading" }],
    };
    assert.deepEqual(messageLines(result), ["**failed** `bash`", "```", "# no heading", "```"]);
    const run = { role: "bashExecution", command: "false", output: "x", exitCode: 1 };
    assert.deepEqual(messageLines(run), ["```sh", "$ false", "```", "```", "x", "```", "exit code 1"]);
  });

  it("shows what went wrong with a message", () => {
    assert.deepEqual(messageLines({ role: "assistant", content: [], errorMessage: "529" }), ["**error** 529"]);
  });

  it("takes stored content of any shape", () => {
    for (const content of [undefined, null, 3, "text", [], {}, [null], [{ type: "text" }], { a: [1] }]) {
      assert.ok(contentLines(content).length > 0);
      for (const role of ["user", "assistant", "toolResult", "bashExecution", "system", "branchSummary", "strange"]) {
        assert.ok(
          Array.isArray(messageLines({ role, content, toolsAdded: content, sections: content, details: content })),
        );
      }
    }
    assert.deepEqual(messageLines("nonsense"), ["(no message)"]);
    assert.match(entryLines(null)[0] ?? "", /cannot be read/);
    assert.equal(entryLines({ type: "model_change", provider: "x" })[0], "```json");
  });

  it("lists the files of a summary", () => {
    const entry = { type: "compaction", summary: "Done.", details: { readFiles: ["a`b.py"], modifiedFiles: [] } };
    assert.deepEqual(entryLines(entry), ["Done.", "", "**Files read**", "", "- `` a`b.py ``"]);
  });
});

const USAGE: ContextUsage = {
  tokens: 90_000,
  contextWindow: 100_000,
  source: "mixed",
  usageTokens: 80_000,
  estimatedTokens: 10_000,
  errorBound: 0.1,
  shouldCompact: false,
  leafId: "1",
  revision: 1,
};

describe("the gauge", () => {
  it("shows the share of the window, and warns", () => {
    assert.equal(usageText(USAGE), "90% of 100k");
    assert.equal(alarm(USAGE), "warning");
    assert.equal(alarm({ ...USAGE, tokens: 10 }), "none");
    assert.equal(alarm({ ...USAGE, shouldCompact: true }), "error");
    assert.match(gauge("A name", { ...USAGE, shouldCompact: true }, undefined).spoken, /compaction is due/);
  });

  it("shows tokens alone where the window is unknown, and nothing where they are", () => {
    assert.equal(usageText({ ...USAGE, contextWindow: null }), "90k tokens");
    assert.equal(usageText({ ...USAGE, tokens: null }), undefined);
    assert.equal(gauge("n", undefined, undefined).text, "$(dashboard) context");
    assert.match(details({ ...USAGE, contextWindow: null })[0] ?? "", /pid\.contextWindow/);
  });

  it("tells those who wait what is being done", () => {
    const notice = { sessionId: "s", compactionId: "c", reason: "manual", state: "progress" } as const;
    assert.equal(progressText({ ...notice, state: "queued" }), "waiting for others to end");
    assert.equal(progressText({ ...notice, state: "started" }), "planning");
    assert.equal(progressText({ ...notice, phase: "history", chunk: 1, chunks: 1 }), "summarising the conversation");
    assert.equal(
      progressText({ ...notice, phase: "turnPrefix", chunk: 2, chunks: 3, attempt: 2, maxAttempts: 4 }),
      "summarising the beginning of the turn, part 2 of 3, attempt 2 of 4",
    );
  });

  it("shows a compaction in the place of the share", () => {
    const notice = {
      sessionId: "s",
      compactionId: "c",
      reason: "manual",
      state: "progress",
      chunk: 2,
      chunks: 3,
    } as const;
    assert.equal(gauge("n", USAGE, notice).text, "$(sync~spin) compacting 2/3");
    assert.equal(gauge("n", USAGE, { ...notice, state: "queued", chunks: null }).text, "$(sync~spin) compaction waits");
  });
});

describe("a session in the list", () => {
  const info: SessionInfo = {
    path: "/s/x.jsonl",
    id: "x",
    cwd: "/home/ada/engine",
    name: null,
    parentSession: null,
    createdAt: at(0),
    modifiedAt: at(0),
    messageCount: 1,
    firstMessage: "Which of these\nare zero?",
    sizeBytes: 512,
  };

  it("is called by its name, or by how it begins", () => {
    assert.equal(titleOf(info), "Which of these");
    assert.equal(titleOf({ ...info, name: "Bernoulli" }), "Bernoulli");
    assert.equal(titleOf({ ...info, firstMessage: "" }), "(empty session)");
  });

  it("says where it belongs only among sessions of several directories", () => {
    const now = new Date(at(60));
    assert.match(sessionView(info, true, now).description, /^engine · /);
    assert.ok(!sessionView(info, false, now).description.includes("engine"));
    assert.match(sessionView(info, false, now).spoken, /1 message/);
    assert.equal(baseName("/"), "/");
  });
});

describe("documents", () => {
  it("have URIs that say what they show", () => {
    const shown = { kind: "context", session: "/a b/ü?.jsonl", leafId: null } as const;
    const parts = uriParts(shown, "Context of a/b? #1 100%");
    assert.equal(parts.path, "/Context of a b 1 100.md");
    assert.deepEqual(shownBy(parts.query), shown);
    assert.equal(uriParts(shown, "///").path, "/context.md");
    assert.equal(shownBy("nonsense"), undefined);
    assert.equal(shownBy('{"kind":"evil"}'), undefined);
  });

  it("show a context with a part that folds for each message", () => {
    const context: ContextResult = {
      messages: [
        { role: "user", content: "# A heading" },
        { role: "assistant", content: [{ type: "text", text: "Yes." }] },
      ],
      entryIds: [["a", "b"], []],
      thinkingLevel: "high",
      model: { provider: "anthropic", modelId: "opus" },
      leafId: "b",
      revision: 1,
      epoch: "e",
      warnings: [{ kind: "missingParent", message: "history is missing" }],
      contextUsage: USAGE,
    };
    const page = contextPage(context);
    const lines = page.text.split("\n");
    assert.match(page.text, /2 messages · anthropic\/opus · thinking high · 90% of 100k/);
    assert.match(page.text, /> \*\*missingParent\*\* history is missing/);
    assert.deepEqual(
      page.folds.map(([first]) => lines[first]),
      ["## user a b", "## assistant"],
    );
    assert.deepEqual(
      page.folds.map(([, last]) => lines[last]),
      ["# A heading", "Yes."],
    );
  });

  it("show an entry with what the tree knows of it", () => {
    const text = entryPage(
      { type: "message", message: { role: "user", content: "Hi" } },
      node("a", null, 0, { label: "here" }),
      "a",
    ).text;
    assert.match(text, /^# user message a\n\n.* · label: here\n\nHi\n$/);
    assert.match(entryPage(null, undefined, "x").text, /cannot be read/);
  });

  it("show a plan: what is summarised and kept, tokens and files", () => {
    const plan: CompactionPlan = {
      firstKeptEntryId: "c",
      isSplitTurn: true,
      summarizeEntryIds: ["a"],
      turnPrefixEntryIds: ["b"],
      keepEntryIds: ["c", "gone"],
      previousSummary: "Earlier.",
      tokensBefore: 10_000,
      tokensAfter: 2500,
      details: { readFiles: ["r.py"], modifiedFiles: [] },
      requestCount: 2,
      requestTokens: 9000,
    };
    const nodes = new Map(["a", "b", "c"].map((id) => [id, node(id, null, 0)]));
    const page = planPage(plan, nodes);
    for (const part of [
      "10k → about 2.5k tokens",
      "75% less",
      "2 requests of 9k",
      "`r.py`",
      "## Summarised (1 entry)",
      "beginning of the turn",
      "## Kept (2 entries)",
      "- `gone`",
      "Earlier.",
    ]) {
      assert.ok(page.text.includes(part), part);
    }
    assert.equal(page.folds.length, 4);
    assert.match(planPage({ ...plan, tokensAfter: 10_000 }, nodes).text, /no saving/);
  });

  it("show a system prompt as it is sent, its problems in comments", () => {
    const page = promptPage({
      prompt: "You work here.",
      sections: {},
      contextFiles: [],
      skills: [],
      problems: [{ path: "/x", kind: "unreadable", message: "no --> way" }],
    });
    assert.equal(page.text, "<!-- /x: no — way -->\nYou work here.\n");
  });
});

describe("session files", () => {
  it("are told by their headers", () => {
    assert.ok(isSessionHeader('{"type":"session","version":3,"id":"x"}'));
    assert.ok(isSessionHeader('\uFEFF{ "id": "x", "type" : "session" }'));
    assert.ok(!isSessionHeader('{"type":"message"}'));
    assert.ok(!isSessionHeader('say "type":"session"'));
    assert.ok(!isSessionHeader(""));
  });
});

describe("entries that people make", () => {
  it("are those that the protocol takes", () => {
    assert.deepEqual(userMessage("Hi", 5), {
      type: "message",
      message: { role: "user", content: [{ type: "text", text: "Hi" }], timestamp: 5 },
    });
    assert.equal(note("x").customType, "note");
    assert.deepEqual(label("a", ""), { type: "label", targetId: "a" });
    assert.deepEqual(label("a", "b"), { type: "label", targetId: "a", label: "b" });
    assert.deepEqual(sessionName(""), { type: "session_info" });
  });
});
