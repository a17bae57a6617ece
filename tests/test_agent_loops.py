"""The agents of protocol.md are run as they stand there: a real daemon, real SDKs, a Messages API on the loopback."""

from __future__ import annotations

import json
import sys
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.anthropic_server import AnthropicServer, Behaviour, Reply, Request, bad_request, too_long, tool_use
from tests.documents import example, printed, sessions
from tests.npm import Npm

Json = dict[str, Any]
Agent = Callable[..., str]
SUMMARY = Reply("## Goal\nLearn what the notes say.")
NEARLY_FULL = {"input_tokens": 190_000}


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[AnthropicServer]:
    """The API, for the agent and for the daemon, whose summaries it writes too."""
    with AnthropicServer() as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", server.api_key)
        yield server


@pytest.fixture(params=["python", "ts"])
def agent(request: pytest.FixtureRequest, place: Path) -> Agent:
    """Runs an agent with its arguments, and gives what it prints."""
    name = f"agent.{request.param}"
    (place / name).write_text(example("protocol.md", request.param), encoding="utf-8")
    runner: str | Path = sys.executable
    if request.param == "ts":
        npm: Npm = request.getfixturevalue("npm")
        (place / "node_modules").symlink_to(npm.modules)
        runner = npm.node
    return lambda *arguments: printed(runner, name, *arguments, cwd=place)


def by_purpose(*replies: Behaviour, summary: Behaviour = SUMMARY) -> Callable[[Request], Behaviour]:
    """The daemon's requests, which stream, get a summary; the agent's get these replies in their order."""
    left = deque(replies)
    return lambda request: summary if request.body.get("stream") else left.popleft()


def asked(server: AnthropicServer) -> list[Json]:
    """The bodies of the agent's own requests so far, each of which the API took as valid."""
    assert [request.refused for request in server.requests if request.refused] == []
    return [request.body for request in server.requests if not request.body.get("stream")]


def entries(place: Path) -> list[str]:
    """What the only session holds, by type or role."""
    [file] = sessions(place)
    found = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [entry.get("message", {}).get("role") or entry["type"] for entry in found]


def results(message: Json) -> list[tuple[str, str, bool]]:
    return [
        (block["tool_use_id"], block["content"][0]["text"], block.get("is_error", False))
        for block in message["content"]
        if block["type"] == "tool_result"
    ]


TWO_READS = [
    {"type": "text", "text": "I look."},
    {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "notes.txt"}},
    {"type": "tool_use", "id": "toolu_2", "name": "read", "input": {"path": "gone.txt"}},
]


def test_a_question_with_tools_and_an_overflow(api: AnthropicServer, agent: Agent, place: Path) -> None:
    (place / "notes.txt").write_text("forty-two", encoding="utf-8")
    api.default = by_purpose(Reply(TWO_READS, "tool_use"), too_long(213_462, 200_000), Reply("They say 42."))
    said = agent("What do the notes say?")
    assert said.startswith("They say 42.\n")
    assert str(sessions(place)[0]) in said
    first, refused, again = asked(api)
    assert first["tools"][0]["name"] == "read"
    assert "You are a coding agent." in first["system"][0]["text"]
    assert [message["role"] for message in refused["messages"]] == ["user", "assistant", "user"]
    found, missing = results(refused["messages"][2])
    assert found == ("toolu_1", "forty-two", False)
    assert (missing[0], missing[2]) == ("toolu_2", True)
    assert "gone.txt" in missing[1]
    assert "Learn what the notes say." in str(again["messages"][0])
    assert again["system"] == first["system"]
    assert again["tools"] == first["tools"]
    talk = ["session", "system", "user", "assistant", "toolResult", "toolResult", "compaction", "assistant"]
    assert entries(place) == talk


def test_a_session_that_goes_on_and_is_compacted_in_time(api: AnthropicServer, agent: Agent, place: Path) -> None:
    (place / "long.txt").write_text("All work and no play. " * 5000, encoding="utf-8")
    read = tool_use("read", {"path": "long.txt"})
    api.default = by_purpose(Reply("Yes."), Reply(read.content, "tool_use", NEARLY_FULL), Reply("Nothing new."))
    agent("Are you there?")
    assert agent("And now?", str(sessions(place)[0])).startswith("Nothing new.\n")
    hello, question, compacted = asked(api)
    assert hello["messages"][0] == {**question["messages"][0], "content": hello["messages"][0]["content"]}
    assert [message["role"] for message in question["messages"]] == ["user", "assistant", "user"]
    assert "Learn what the notes say." in str(compacted["messages"][0])
    assert results(compacted["messages"][-1])[0][0] == "toolu_01"
    assert entries(place)[-4:] == ["assistant", "toolResult", "compaction", "assistant"]


def test_a_nearly_full_context_that_cannot_be_compacted_is_sent(
    api: AnthropicServer, agent: Agent, place: Path
) -> None:
    (place / "agent").mkdir()
    (place / "agent" / "settings.json").write_text('{"pid": {"fallback": false}}')
    read = tool_use("read", {"path": "gone.txt"})
    api.default = by_purpose(Reply(read.content, "tool_use", NEARLY_FULL), Reply("Gone."), summary=bad_request("no"))
    assert agent("What does gone.txt say?").startswith("Gone.\n")
    assert entries(place) == ["session", "system", "user", "assistant", "toolResult", "assistant"]
    assert len(api.requests) == len(asked(api)) + 1


def test_any_other_refusal_ends_the_agent_and_keeps_the_question(
    api: AnthropicServer, agent: Agent, place: Path
) -> None:
    api.api_key = "another"
    with pytest.raises(AssertionError, match="invalid x-api-key"):
        agent("Are you there?")
    assert entries(place) == ["session", "system", "user"]
