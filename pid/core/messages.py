"""A stand-in until the branch `context` brings this module: agent messages as the model sees them."""

from typing import Any


def to_llm(message: dict[str, Any]) -> dict[str, Any] | None:
    """The message as `user`, `assistant`, `toolResult` or `system`; None if the model does not see it."""
    role = message.get("role")
    if role in ("user", "assistant", "toolResult", "system"):
        return message
    if role == "bashExecution" and not message.get("excludeFromContext"):
        text = f"Shell command: {message.get('command')}\n{message.get('output')}"
    elif role in ("branchSummary", "compactionSummary"):
        text = f"<summary>\n{message.get('summary')}\n</summary>"
    elif role == "custom":
        return {"role": "user", "content": message.get("content")}
    else:
        return None
    return {"role": "user", "content": [{"type": "text", "text": text}]}
