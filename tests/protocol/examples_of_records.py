"""For each type of pi's entries, messages and blocks a record that is right, and what makes it wrong."""

import pid.protocol as p
from tests.protocol.examples import COST, DETAILS, GONE, ISO, MODEL, STORED, USAGE, Example

OF_RECORDS = [
    Example(p.TextBlock, {"type": "text", "text": ""}, {"type": "image", "text": GONE}),
    Example(p.ImageBlock, {"type": "image", "data": "AA==", "mimeType": "image/png"}, {"data": 1, "mimeType": GONE}),
    Example(p.ThinkingBlock, {"type": "thinking", "thinking": "t", "redacted": True}, {"thinking": GONE}),
    Example(
        p.ToolCallBlock,
        {"type": "toolCall", "id": "c", "name": "read", "arguments": {"path": "/a"}},
        {"id": 1, "arguments": GONE},
    ),
    Example(p.OtherBlock, {"type": "new", "x": 1}, {"type": GONE}),
    Example(p.Cost, COST, {"total": GONE, "input": "free"}),
    Example(p.Usage, {**USAGE, "cost": COST}, {"totalTokens": GONE, "cost.total": "free"}),
    Example(p.UserMessage, {"role": "user", "content": "Hi", "timestamp": 1}, {"content": GONE, "timestamp": ISO}),
    Example(
        p.AssistantMessage,
        {"role": "assistant", "content": [{"type": "text", "text": "x"}], "usage": USAGE, "stopReason": "newOne"},
        {"content": "x", "usage.input": GONE, "stopReason": 1},
    ),
    Example(
        p.ToolResultMessage,
        {"role": "toolResult", "toolCallId": "c", "toolName": "read", "content": [], "isError": False},
        {"toolCallId": GONE, "isError": GONE, "content": None},
    ),
    Example(
        p.BashMessage,
        {"role": "bashExecution", "command": "ls", "output": "", "exitCode": 0, "cancelled": False, "truncated": False},
        {"command": GONE, "exitCode": "0", "cancelled": 0},
    ),
    Example(
        p.CustomRoleMessage,
        {"role": "custom", "customType": "x", "content": "c", "display": True, "details": [1]},
        {"customType": GONE, "display": "yes"},
    ),
    Example(
        p.SystemMessage,
        {"role": "system", "content": "c", "sections": {"a": None}, "toolsAdded": [{"name": "t"}], "toolsRemoved": []},
        {"content": GONE, "toolsRemoved": "t"},
    ),
    Example(
        p.BranchSummaryMessage,
        {"role": "branchSummary", "summary": "s", "fromId": "e", "timestamp": 1},
        {"fromId": GONE, "timestamp": ISO},
    ),
    Example(
        p.CompactionSummaryMessage,
        {"role": "compactionSummary", "summary": "s", "tokensBefore": 1, "timestamp": 1},
        {"summary": GONE, "tokensBefore": "1"},
    ),
    Example(p.OtherMessage, {"role": "new", "x": 1}, {"role": GONE}),
    Example(
        p.MessageEntry,
        {"type": "message", **STORED, "message": {"role": "user", "content": "Hi"}},
        {"message": GONE, "parentId": GONE, "timestamp": 1},
    ),
    Example(
        p.ThinkingLevelEntry,
        {"type": "thinking_level_change", **STORED, "thinkingLevel": "newOne"},
        {"thinkingLevel": 3},
    ),
    Example(p.ModelChangeEntry, {"type": "model_change", **STORED, **MODEL}, {"provider": GONE, "modelId": 1}),
    Example(
        p.CompactionEntry,
        {"type": "compaction", **STORED, "summary": "s", "firstKeptEntryId": "e", "tokensBefore": 1, "usage": USAGE},
        {"summary": GONE, "tokensBefore": "many", "firstKeptEntryId": 1},
    ),
    Example(
        p.BranchSummaryEntry,
        {"type": "branch_summary", **STORED, "fromId": "root", "summary": "s", "details": DETAILS},
        {"fromId": GONE, "details.readFiles": GONE},
    ),
    Example(p.CustomEntry, {"type": "custom", **STORED, "customType": "x", "data": 1}, {"customType": GONE}),
    Example(
        p.CustomMessageEntry,
        {"type": "custom_message", **STORED, "customType": "x", "content": "c", "display": False},
        {"content": GONE, "display": None},
    ),
    Example(p.LabelEntry, {"type": "label", **STORED, "targetId": "e", "label": ""}, {"targetId": GONE, "label": 1}),
    Example(p.SessionInfoEntry, {"type": "session_info", **STORED, "name": "n"}, {"name": 1}),
    Example(p.Replacement, {"content": "c"}, {"content": GONE}),
    Example(
        p.ContextEditEntry,
        {"type": "context_edit", **STORED, "targetId": "e", "replacement": None},
        {"targetId": GONE, "replacement": GONE},
    ),
    Example(
        p.UsageEntry,
        {"type": "usage", **STORED, "kind": "title", "provider": "p", "model": "m", "usage": USAGE},
        {"kind": GONE, "usage.output": "2"},
    ),
    Example(p.OtherEntry, {"type": "new", **STORED, "x": 1}, {"type": GONE, "timestamp": GONE}),
]
