"""For each wire type a message that is right, and what makes it wrong.

`Example(kind, right, **wrong)`: each key of `wrong` is a path in `right`, its value what stands there instead (`GONE`
takes the field out); the error must name just this path.
"""

from typing import Any, NamedTuple

import pid.protocol as p

GONE: Any = object()


class Example(NamedTuple):
    kind: type[p.Wire]
    right: dict[str, Any]
    wrong: dict[str, Any]


SESSION = {"sessionId": "s"}
NO_SESSION = {"sessionId": GONE}
MODEL = {"provider": "anthropic", "modelId": "claude-sonnet-4-5"}
ISO = "2026-01-31T12:00:00.000Z"
PROBLEM = {"line": 3, "kind": "someNewKind", "message": "m", "entryId": "e"}
NODE = {"id": "e", "parentId": None, "type": "message", "timestamp": ISO, "role": "user", "preview": "Hi"}
USAGE = {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "totalTokens": 10}
COST = {"input": 0.1, "output": 0.2, "cacheRead": 0, "cacheWrite": 0, "total": 0.3}
DETAILS = {"readFiles": ["/a"], "modifiedFiles": []}
STORED = {"id": "e", "parentId": None, "timestamp": ISO}
PAGE = {"leafId": "e", "revision": 4, "epoch": "x", "nextCursor": "c"}
RUNNING = {"compactionId": "c", "state": "started", "reason": "threshold"}
SETTINGS = {
    "contextWindow": 200000,
    "reserveTokens": 16384,
    "keepRecentTokens": 20000,
    "autoCompact": True,
    "summarizer": "mine",
    "fallback": False,
    "model": MODEL,
    "overheadTokens": 0,
    "tokenEstimator": "chars4",
    "durability": "written",
}
STATE = {
    "sessionId": "s",
    "path": None,
    "cwd": "/p",
    "name": None,
    "parentSession": None,
    "version": 3,
    "leafId": None,
    "fileLeafId": None,
    "revision": 0,
    "epoch": "x",
    "entryCount": 0,
    "createdAt": ISO,
    "modifiedAt": None,
    "settings": SETTINGS,
    "compaction": None,
    "problems": [PROBLEM],
}
CONTEXT_USAGE = {
    "tokens": None,
    "contextWindow": 200000,
    "source": "mixed",
    "usageTokens": 100,
    "estimatedTokens": 20,
    "errorBound": 0.07,
    "shouldCompact": False,
    "leafId": "e",
    "revision": 4,
}
COMPACT = {
    "sessionId": "s",
    "instructions": "Keep the names.",
    "keepRecentTokens": 0,
    "summarizer": "extractive",
    "reason": "overflow",
    "overflow": {"promptTokens": 210000, "limit": 200000},
    "firstKeptEntryId": "e",
    "workDoneToken": 7,
}
PLAN = {
    "firstKeptEntryId": "e",
    "isSplitTurn": True,
    "turnStartEntryId": "d",
    "summarizeEntryIds": ["a", "b"],
    "turnPrefixEntryIds": ["d"],
    "keepEntryIds": ["e"],
    "tokensBefore": 180000,
    "tokensAfter": 21000,
    "details": DETAILS,
    "requestCount": 2,
    "requestTokens": 150000,
}
REQUEST = {"purpose": "history", "system": "s", "prompt": "p", "maxTokens": 8000}
SUMMARIZE = {**REQUEST, "sessionId": "s", "compactionId": "c", "timeoutMs": 60000}
PID = {"protocolVersion": 2, "notifications": ["session/didChange", "new/one"], "summarize": {"maxInputTokens": 1}}
OFFER = {
    "protocolVersion": 1,
    "methods": ["session/open"],
    "notifications": [],
    "summarizers": ["extractive"],
    "limits": {"maxMessageBytes": 1, "maxPageBytes": 1},
}
PLACE = {"sessionId": "s", "parentId": None, "newRoot": True, "expectedLeafId": None, "expectedAncestorId": "e"}
WRONG_PLACE = {"sessionId": GONE, "parentId": 1, "newRoot": "yes", "expectedLeafId": [], "expectedAncestorId": 1}

SESSIONS = [
    Example(p.ModelRef, MODEL, {"provider": GONE, "modelId": 4}),
    Example(p.Problem, PROBLEM, {"line": 0, "kind": GONE, "message": 1, "entryId": 5}),
    Example(
        p.Settings,
        SETTINGS,
        {"reserveTokens": "16384", "autoCompact": 1, "model.modelId": GONE, "durability": "fast"},
    ),
    Example(
        p.SettingsUpdate,
        {**SETTINGS, "reserveTokens": None, "durability": None},
        {"contextWindow": 0, "keepRecentTokens": -1, "tokenEstimator": "guess", "model.provider": GONE},
    ),
    Example(p.RunningCompaction, RUNNING, {"compactionId": GONE, "state": 1, "reason": False}),
    Example(
        p.SettingsProblem,
        {"path": "/p/.pi/settings.json", "key": "compaction.reserveTokens", "message": "Expected `int`, got `str`"},
        {"path": GONE, "key": 1, "message": GONE},
    ),
    Example(
        p.SessionState,
        STATE,
        {
            "sessionId": GONE,
            "path": GONE,
            "leafId": 7,
            "revision": -1,
            "settings.fallback": "no",
            "problems[0].line": GONE,
        },
    ),
    Example(
        p.CreateParams,
        {"cwd": "/p", "sessionDir": "/d", "id": "a.b_c-1", "name": "", "inMemory": False, "settings": {"model": None}},
        {
            "cwd": "p",
            "sessionDir": "/a\0b",
            "id": "../x",
            "inMemory": "no",
            "settings": 3,
            "settings.model": "claude",
            "parentSession": "x",
        },
    ),
    Example(p.OpenParams, {"path": "/p/s.jsonl", "leafId": None}, {"path": "s.jsonl", "leafId": 3}),
    Example(p.ContinueParams, {"cwd": "/p"}, {"cwd": GONE, "sessionDir": ""}),
    Example(p.ContinueResult, {**STATE, "created": True}, {"created": GONE, "cwd": None}),
    Example(p.ForkParams, {**SESSION, "entryId": "e", "id": "x"}, {"sessionId": 1, "id": "x\n", "cwd": "."}),
    Example(p.CloseParams, {**SESSION, "force": True}, {**NO_SESSION, "force": 1}),
    Example(p.StateParams, SESSION, NO_SESSION),
    Example(
        p.ConfigureParams,
        {**SESSION, "settings": {"contextWindow": None}},
        {**NO_SESSION, "settings": GONE, "settings.contextWindow": 1.5},
    ),
    Example(
        p.ListParams,
        {"cwds": ["/a", "/b"], "query": "x", "limit": 1},
        {"cwds[1]": "b", "limit": 0, "all": "yes", "cursor": 1},
    ),
    Example(
        p.SessionInfo,
        {
            "path": "/s.jsonl",
            "id": "s",
            "cwd": "/p",
            "name": None,
            "parentSession": None,
            "createdAt": ISO,
            "modifiedAt": ISO,
            "messageCount": 2,
            "firstMessage": "Hi",
            "sizeBytes": 99,
        },
        {"path": GONE, "messageCount": -1, "firstMessage": None, "sizeBytes": "99"},
    ),
    Example(p.ListResult, {"sessions": [], "total": 0}, {"total": GONE, "sessions": {}}),
    Example(p.ProblemsNotice, {**SESSION, "added": [PROBLEM]}, {**NO_SESSION, "added[0].message": GONE}),
    Example(p.DidCloseNotice, {**SESSION, "reason": "newOne"}, {**NO_SESSION, "reason": GONE}),
    Example(p.ListChangedNotice, {"cwd": "/p"}, {"cwd": 1}),
]

TREE = [
    Example(
        p.NewEntry,
        {"type": "note", "id": "a_-9", "timestamp": ISO, "anything": [1]},
        {"type": GONE, "id": "a b", "timestamp": "2026-01-31T12:00:00Z"},
    ),
    Example(p.AppendParams, {**PLACE, "entry": {"type": "x"}}, {**WRONG_PLACE, "format": "other"}),
    Example(p.AppendBatchParams, {**PLACE, "entries": [{"type": "x"}]}, {**WRONG_PLACE, "entries": {"type": "x"}}),
    Example(
        p.AppendResult,
        {"entryId": "e", "parentId": None, "leafId": "e", "revision": 1, "epoch": "x", "duplicate": True},
        {"entryId": GONE, "parentId": GONE, "revision": "1", "duplicate": "no"},
    ),
    Example(
        p.AppendBatchResult,
        {"entryIds": ["e"], "parentId": "d", "leafId": "e", "revision": 1, "epoch": "x"},
        {"entryIds[0]": None, "leafId": GONE, "epoch": 1},
    ),
    Example(p.SummarizeOptions, {"instructions": "i", "summarizer": "s", "model": MODEL}, {"instructions": 1}),
    Example(
        p.SetLeafParams,
        {**SESSION, "entryId": None, "expectedLeafId": None},
        {**NO_SESSION, "entryId": GONE, "expectedLeafId": 4},
    ),
    Example(
        p.SetLeafResult,
        {"leafId": None, "previousLeafId": None, "revision": 1, "epoch": "x"},
        {"leafId": GONE, "previousLeafId": GONE, "epoch": None},
    ),
    Example(
        p.TreeParams,
        {**SESSION, "content": "full", "types": ["label"], "since": 0, "epoch": "x", "limit": 1, "cursor": "c"},
        {**NO_SESSION, "content": "all", "types[0]": 3, "types": "label", "since": -1, "limit": 0},
    ),
    Example(
        p.TreeNode,
        {**NODE, "visibleParentId": None, "entry": {"type": "message", **STORED, "message": {"role": "x"}}},
        {"id": GONE, "parentId": GONE, "timestamp": GONE, "isError": "no", "visibleParentId": 1},
    ),
    Example(
        p.TreeResult,
        {"nodes": [NODE], "roots": ["e"], "visibleLeafId": None, **PAGE},
        {"nodes[0].id": GONE, "roots": GONE, "leafId": GONE, "nextCursor": 1},
    ),
    Example(
        p.BranchParams,
        {**SESSION, "entryId": "e", "direction": "leafFirst", "omit": ["imageData", "newOne"]},
        {**NO_SESSION, "direction": "down", "omit[1]": 1, "omit": "imageData", "limit": -4},
    ),
    Example(p.EntriesParams, {**SESSION, "ids": ["a", "b"]}, {**NO_SESSION, "ids[1]": None, "ids": "a", "after": 1}),
    Example(
        p.EntriesResult,
        {"entries": [None, {"type": "new", **STORED}], "entryIds": ["a", "b"], "parentIds": [None, "a"], **PAGE},
        {"entries": GONE, "entryIds[0]": None, "parentIds[1]": 4, "revision": GONE},
    ),
    Example(
        p.DidChangeNotice,
        {
            **SESSION,
            "epoch": "x",
            "revision": 2,
            "leafId": "e",
            "previousLeafId": None,
            "name": "",
            "added": [NODE],
            "changed": [],
            "truncated": True,
            "cause": "newOne",
        },
        {**NO_SESSION, "revision": "2", "leafId": GONE, "added[0].type": GONE, "changed": GONE, "cause": GONE},
    ),
]

CONTEXT = [
    Example(
        p.ContextUsage,
        CONTEXT_USAGE,
        {"tokens": GONE, "source": "guess", "errorBound": "7 %", "shouldCompact": None},
    ),
    Example(p.UsageParams, {**SESSION, "leafId": None}, {**NO_SESSION, "leafId": 1}),
    Example(p.UsageNotice, {**SESSION, **CONTEXT_USAGE}, {**NO_SESSION, "usageTokens": -1}),
    Example(p.PruneToolResults, {"protectTokens": 0, "keepTurns": 3}, {"minimumSaving": -1, "keepTurns": "3"}),
    Example(
        p.ContextParams,
        {**SESSION, "leafId": None, "format": "llm"},
        {**NO_SESSION, "leafId": False, "format": "openai"},
    ),
    Example(p.ContextWarning, {"kind": "newOne", "message": "m"}, {"kind": GONE, "message": GONE, "entryId": 1}),
    Example(
        p.AnthropicPayload,
        {"system": "s", "messages": [{"role": "user", "content": "x"}], "tools": []},
        {"messages": GONE, "tools": "t"},
    ),
    Example(
        p.ContextResult,
        {
            "messages": [{"role": "user", "content": "Hi", "timestamp": 1}],
            "entryIds": [["e"]],
            "thinkingLevel": "newOne",
            "model": None,
            "leafId": "e",
            "revision": 1,
            "epoch": "x",
            "warnings": [{"kind": "cycle", "message": "m"}],
        },
        {"entryIds[0]": "e", "entryIds[0][0]": 1, "model": GONE, "warnings[0].kind": GONE},
    ),
]

COMPACTION = [
    Example(p.FileDetails, DETAILS, {"readFiles": GONE, "readFiles[0]": 1, "modifiedFiles": "/a"}),
    Example(p.Overflow, {"promptTokens": 1}, {"promptTokens": -1, "limit": "big"}),
    Example(
        p.CompactParams,
        COMPACT,
        {**NO_SESSION, "keepRecentTokens": -1, "reason": "threshold", "overflow.limit": "x", "workDoneToken": []},
    ),
    Example(p.PreviewParams, {**COMPACT, "includeRequests": True}, {**NO_SESSION, "includeRequests": 1}),
    Example(p.SummaryRequest, REQUEST, {"purpose": "fun", "prompt": GONE, "maxTokens": 0}),
    Example(
        p.CompactionPlan,
        {**PLAN, "requests": [REQUEST]},
        {"firstKeptEntryId": GONE, "isSplitTurn": "no", "details.readFiles": GONE, "requests[0].system": GONE},
    ),
    Example(
        p.CompactionResult,
        {
            "compactionId": "c",
            "entryId": "e",
            "leafId": "e",
            "revision": 9,
            "epoch": "x",
            "summary": "s",
            "firstKeptEntryId": None,
            "tokensBefore": 2,
            "tokensAfter": 1,
            "details": DETAILS,
            "summarizer": "newOne",
            "usage": USAGE,
            "attempts": 1,
        },
        {"entryId": GONE, "summary": None, "firstKeptEntryId": GONE, "attempts": -1},
    ),
    Example(p.CancelCompactionParams, {**SESSION, "compactionId": "c"}, {**NO_SESSION, "compactionId": 1}),
    Example(p.CancelCompactionResult, {"cancelled": False}, {"cancelled": "no"}),
    Example(
        p.CompactionError,
        {"code": 1014, "kind": "summarizerFailed", "message": "m", "retryable": True},
        {"code": "1014", "retryable": GONE},
    ),
    Example(
        p.CompactionNotice,
        {**SESSION, **RUNNING, "state": "progress", "phase": "history", "chunk": 1, "chunks": 3},
        {**NO_SESSION, "state": GONE, "chunk": "one", "error": "e"},
    ),
    Example(p.SummarizeParams, SUMMARIZE, {**NO_SESSION, "purpose": GONE, "timeoutMs": 0}),
    Example(
        p.SummarizeResult,
        {"summary": "s", "stopReason": "stop", "usage": USAGE, "model": MODEL},
        {"summary": GONE, "stopReason": "toolUse", "model.provider": GONE},
    ),
]

PROMPT = [
    Example(p.ContextFile, {"path": "/a", "content": ""}, {"path": GONE, "content": None}),
    Example(
        p.Skill,
        {"name": "n", "description": "d", "location": "/s"},
        {"name": GONE, "disableModelInvocation": "no"},
    ),
    Example(
        p.PromptParams,
        {
            "cwd": "/p",
            "selectedTools": ["read"],
            "toolSnippets": {"read": "Reads."},
            "contextFiles": [{"path": "/a", "content": "c"}],
            "sections": {"date": None},
            "date": False,
        },
        {"cwd": "p", "selectedTools": "read", "contextFiles[0].content": GONE, "date": "31.1.2026", "discover": "no"},
    ),
    Example(p.ResourceProblem, {"path": "/a", "kind": "k", "message": "m"}, {"path": GONE, "kind": 1}),
    Example(
        p.PromptResult,
        {"prompt": "p", "sections": {"date": "d"}, "contextFiles": [], "skills": [], "problems": []},
        {"prompt": GONE, "sections": [1], "skills": GONE},
    ),
]

LIFE_CYCLE = [
    Example(p.SummarizeAbility, {"maxInputTokens": 1000}, {"maxInputTokens": 0, "maxOutputTokens": "all"}),
    Example(
        p.PidClientCapability,
        PID,
        {"protocolVersion": "1", "notifications[1]": 1, "summarize": "yes", "summarize.maxInputTokens": 0},
    ),
    Example(p.ClientExperimental, {"pid": PID, "other": 1}, {"pid": "yes", "pid.notifications": "all"}),
    Example(p.ClientCapabilities, {"workspace": {}, "experimental": {"pid": PID}}, {"experimental.pid.summarize": 2}),
    Example(
        p.InitializationOptions,
        {"sessionDir": "/d", "agentDir": "/a", "settings": {}, "trustedRoots": ["/p"]},
        {"sessionDir": "~", "settings.durability": "x", "trustedRoots[0]": "p", "trustedRoots": "/p"},
    ),
    Example(p.WorkspaceFolder, {"uri": "file:///p", "name": "p"}, {"uri": GONE, "name": 1}),
    Example(
        p.InitializeParams,
        {"processId": None, "rootUri": None, "workspaceFolders": [{"uri": "file:///p", "name": "p"}], "trace": "off"},
        {"processId": "1", "workspaceFolders[0].uri": GONE, "rootUri": 1, "initializationOptions": 1},
    ),
    Example(p.Limits, {"maxMessageBytes": 1, "maxPageBytes": 1}, {"maxMessageBytes": 1.5, "maxPageBytes": "x"}),
    Example(p.PidServerCapability, OFFER, {"methods": GONE, "limits": GONE, "limits.maxPageBytes": "x"}),
    Example(p.ServerExperimental, {"pid": OFFER}, {"pid": GONE, "pid.summarizers": GONE}),
    Example(p.ServerCapabilities, {"experimental": {"pid": OFFER}}, {"experimental": GONE, "experimental.pid": 1}),
    Example(p.ServerInfo, {"name": "pid", "version": "1"}, {"name": GONE, "version": 1}),
    Example(
        p.InitializeResult,
        {"capabilities": {"experimental": {"pid": OFFER}}, "serverInfo": {"name": "pid", "version": "1"}},
        {"capabilities": GONE, "serverInfo.version": GONE},
    ),
    Example(p.InitializedParams, {"anything": 1}, {}),
    Example(p.ShutdownParams, {}, {}),
    Example(p.ExitParams, {}, {}),
    Example(p.CancelParams, {"id": "x"}, {"id": GONE}),
    Example(
        p.WorkDoneProgress,
        {"kind": "begin", "title": "t", "percentage": 1, "cancellable": True},
        {"kind": "middle", "percentage": "1 %"},
    ),
    Example(p.ProgressParams, {"token": 1, "value": {"kind": "end"}}, {"token": GONE, "value.kind": GONE}),
    Example(p.SetTraceParams, {"value": "off"}, {"value": "on"}),
    Example(p.LogMessageParams, {"type": 3, "message": "m"}, {"type": "info", "message": GONE}),
    Example(
        p.ErrorData,
        {"kind": "writeFailed", "retryable": True, "errno": 28, "outcome": "notWritten", "new": 1},
        {"kind": GONE, "retryable": "no", "outcome": "perhaps", "attempts": -1},
    ),
    Example(
        p.ResponseError,
        {"code": 1001, "message": "m", "data": {"kind": "k", "retryable": False}},
        {"code": "1001", "message": GONE, "data.kind": GONE},
    ),
    Example(
        p.Envelope,
        {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "m"}},
        {"jsonrpc": "1.0", "id": 1.5, "method": 1, "error.code": GONE},
    ),
]

OF_THE_WIRE = [*SESSIONS, *TREE, *CONTEXT, *COMPACTION, *PROMPT, *LIFE_CYCLE]
