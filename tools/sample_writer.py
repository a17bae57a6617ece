"""Writes a session as pi 1.6 would: its key orders, its ids, and usage that follows from what was said."""

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

Json = dict[str, Any]
CHARACTERS_A_TOKEN: Final = 3.3
OVERHEAD: Final = 2840  # tokens of the system prompt and the tools
PRICES: Final = {  # US dollars a million tokens: input, output, cache read, cache write
    "claude-sonnet-4-5": (3.0, 15.0, 0.3, 3.75),
    "claude-opus-4-5": (5.0, 25.0, 0.5, 6.25),
}


@dataclass(frozen=True)
class Call:
    """A call of a tool, and what came back."""

    name: str
    arguments: Json
    result: str
    fails: bool = False


def bash(command: str, result: str, fails: bool = False) -> Call:
    return Call("bash", {"command": command}, result, fails)


def read(path: str, result: str) -> Call:
    return Call("read", {"path": path}, result)


def edit(path: str, old: str, new: str) -> Call:
    return Call("edit", {"path": path, "oldText": old, "newText": new}, f"1 replacement in {path}")


class Writer:
    """Entries in the order of the file; each method adds at the leaf and answers the new id."""

    def __init__(self, cwd: str, began: datetime, session_id: str) -> None:
        self.leaf: str | None = None
        self.results: dict[str, str] = {}  # the text of a tool result to its entry
        self._now = began
        self._model = ("", "")
        self._sizes: dict[str | None, int] = {None: OVERHEAD}  # entry to the tokens of the context there
        self._cached = 0
        self._header = {"type": "session", "version": 3, "id": session_id, "timestamp": self._iso(), "cwd": cwd}
        self._entries: list[Json] = []

    def text(self) -> str:
        """The file."""
        lines = (json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in (self._header, *self._entries))
        return "".join(f"{line}\n" for line in lines)

    def go_to(self, entry_id: str | None) -> None:
        self._pause(40)
        self.leaf = entry_id

    def system(self, preamble: str, tools: dict[str, tuple[str, dict[str, str]]]) -> None:
        added = [
            {"name": name, "description": text, "parameters": _schema(parameters)}
            for name, (text, parameters) in tools.items()
        ]
        self._message(0, role="system", content="", sections={"preamble": preamble}, toolsAdded=added)

    def setting(self, entry_type: str, **fields: Any) -> None:
        self._pause(3)
        if entry_type == "model_change":
            self._model = (fields["provider"], fields["modelId"])
            self._cached = 0
        self._entry(entry_type, **fields)

    def user(self, text: str) -> str:
        self._pause(20 + len(text) // 4)
        return self._message(_tokens(text), role="user", content=[{"type": "text", "text": text}])

    def assistant(self, text: str, *calls: Call, thinking: str = "", aborted: str = "", failed: str = "") -> str:
        """An answer and the results of its calls; the leaf is the last of them, the answer's id comes back."""
        content: list[Json] = []
        if thinking:
            content.append({"type": "thinking", "thinking": thinking})
        if text:
            content.append({"type": "text", "text": text})
        call_ids = [self._call_id(number) for number in range(len(calls))]
        for call, call_id in zip(calls, call_ids, strict=True):
            content.append({"type": "toolCall", "id": call_id, "name": call.name, "arguments": call.arguments})
        reason = "aborted" if aborted else "error" if failed else "toolUse" if calls else "stop"
        answer = self._answer(content, reason, aborted or failed)
        for call, call_id in zip(calls, call_ids, strict=True):
            self._result(call, call_id)
        return answer

    def bash_execution(self, command: str, output: str, hidden: bool = False) -> str:
        self._pause(25)
        execution: Json = {"role": "bashExecution", "command": command, "output": output, "exitCode": 0}
        execution |= {"cancelled": False, "truncated": False}
        if hidden:
            return self._message(0, **execution, excludeFromContext=True)
        return self._message(_tokens(command + output), **execution)

    def custom(self, custom_type: str, data: Any) -> str:
        return self._entry("custom", first={"customType": custom_type, "data": data})

    def custom_message(self, custom_type: str, text: str) -> str:
        self._pause(190)
        first = {"customType": custom_type, "content": text, "display": True}
        return self._entry("custom_message", first=first, tokens=_tokens(text))

    def label(self, target: str, label: str) -> str:
        self._pause(6)
        return self._entry("label", targetId=target, label=label)

    def name(self, name: str) -> str:
        return self._entry("session_info", name=name)

    def context_edit(self, target: str, text: str) -> str:
        self._pause(15)
        return self._entry("context_edit", targetId=target, replacement={"content": [{"type": "text", "text": text}]})

    def branch_summary(self, target: str, left: str, summary: str, read_files: list[str], modified: list[str]) -> str:
        self.go_to(target)
        details = {"readFiles": read_files, "modifiedFiles": modified}
        return self._entry("branch_summary", fromId=left, summary=summary, details=details, tokens=_tokens(summary))

    def compaction(self, first_kept: str, summary: str, read_files: list[str], modified: list[str]) -> str:
        self._pause(95)
        before = self._sizes[self.leaf]
        start = next(entry["parentId"] for entry in self._entries if entry["id"] == first_kept)
        kept = before - self._sizes[start]
        details = {"readFiles": read_files, "modifiedFiles": modified}
        entry_id = self._entry(
            "compaction", summary=summary, firstKeptEntryId=first_kept, tokensBefore=before, details=details
        )
        self._sizes[entry_id] = OVERHEAD + _tokens(summary) + kept
        self._cached = 0
        return entry_id

    def _answer(self, content: list[Json], reason: str, fault: str) -> str:
        said = sum(_tokens(json.dumps(block)) for block in content)
        self._pause(4 + said // 60)
        provider, model = self._model
        source = {"api": "anthropic-messages", "provider": provider, "model": model}
        usage = self._usage(said, counted=not fault)
        fields: Json = {"role": "assistant", "content": content, **source, "usage": usage, "stopReason": reason}
        if fault:
            fields["errorMessage"] = fault
        return self._message(said, **fields)

    def _usage(self, output: int, counted: bool) -> Json:
        prompt = self._sizes[self.leaf]
        if not counted:
            return _usage_of((0, 0, 0, 0), (0, 0, 0, 0))
        read = min(self._cached, prompt)
        self._cached = prompt
        return _usage_of((3, output, read, max(prompt - read - 3, 0)), PRICES[self._model[1]])

    def _result(self, call: Call, call_id: str) -> None:
        self._pause(11 if call.name == "bash" else 1)
        content = [{"type": "text", "text": call.result}]
        result = {"role": "toolResult", "toolCallId": call_id, "toolName": call.name, "content": content}
        self.results[call.result] = self._message(_tokens(call.result), **result, isError=call.fails)

    def _message(self, tokens: int, **message: Any) -> str:
        message["timestamp"] = int(self._now.timestamp() * 1000) - 3
        return self._entry("message", message=message, tokens=tokens)

    def _entry(self, entry_type: str, *, first: Json | None = None, tokens: int = 0, **fields: Any) -> str:
        entry_id = hashlib.sha256(f"{self._header['id']}:{len(self._entries)}".encode()).hexdigest()[:8]
        ids = {"id": entry_id, "parentId": self.leaf, "timestamp": self._iso()}
        self._entries.append({"type": entry_type, **(first or {}), **ids, **fields})
        self._sizes[entry_id] = self._sizes[self.leaf] + tokens
        self.leaf = entry_id
        return entry_id

    def _call_id(self, number: int) -> str:
        seed = f"{self._header['id']}:{len(self._entries)}:{number}".encode()
        return "toolu_01" + hashlib.sha256(seed).hexdigest()[:22]

    def _pause(self, seconds: int) -> None:
        """Time passes: never a whole second, so that the times look like times."""
        odd = int(hashlib.sha256(str(len(self._entries)).encode()).hexdigest()[:4], 16) % 997
        self._now += timedelta(seconds=seconds, milliseconds=odd)

    def _iso(self) -> str:
        return self._now.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def _tokens(text: str) -> int:
    return 6 + int(len(text) / CHARACTERS_A_TOKEN)


def _usage_of(tokens: tuple[int, int, int, int], prices: tuple[float, float, float, float]) -> Json:
    names = ("input", "output", "cacheRead", "cacheWrite")
    cost = [round(count * price / 1e6, 8) for count, price in zip(tokens, prices, strict=True)]
    return {
        **dict(zip(names, tokens, strict=True)),
        "totalTokens": sum(tokens),
        "cost": {**dict(zip(names, cost, strict=True)), "total": round(sum(cost), 8)},
    }


def _schema(parameters: dict[str, str]) -> Json:
    properties = {name: {"type": kind} for name, kind in parameters.items()}
    return {"type": "object", "properties": properties, "required": list(parameters)}
