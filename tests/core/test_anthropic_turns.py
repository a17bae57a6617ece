"""Where blocks stand in a payload: turns, calls and their results, the first and the last message."""

from pid.protocol import ModelRef
from tests.agent_messages import Built, assistant, call, image, png, result, text, thinking, user

LOST = "No result of this call was recorded: it was aborted, or its result was lost."


def test_a_plain_conversation_goes_as_it_is() -> None:
    built = Built(
        user("hi", image()),
        assistant("hello", call("c1", path="a")),
        result("c1", "data"),
        assistant("done"),
        user("bye"),
    )
    assert built.messages == [
        {
            "role": "user",
            "content": [
                text("hi"),
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png()}},
            ],
        },
        {
            "role": "assistant",
            "content": [text("hello"), {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [text("data")]}]},
        {"role": "assistant", "content": [text("done")]},
        {"role": "user", "content": [text("bye")]},
    ]
    assert built.entry_ids == [["e0"], ["e1"], ["e2"], ["e3"], ["e4"]]
    assert built.mends == {}


def test_messages_of_one_role_are_merged() -> None:
    summary = {"role": "branchSummary", "summary": "elsewhere", "fromId": "x"}
    built = Built(user("a"), summary, user("b"), assistant("c"), assistant("d"), user("e"))
    assert [role for role, _ in built.said] == ["user", "assistant", "user"]
    assert built.entry_ids == [["e0", "e1", "e2"], ["e3", "e4"], ["e5"]]
    assert built.said[1] == ("assistant", ["c", "d"])


def test_results_come_first_in_the_order_they_came_and_the_user_behind() -> None:
    built = Built(user("a"), assistant(call("c1"), call("c2")), user("wait"), result("c2", "2"), result("c1", "1"))
    assert built.said[2] == ("user", [("c2", ["2"], False), ("c1", ["1"], False), "wait"])
    assert built.entry_ids[2] == ["e2", "e3", "e4"]
    assert built.mends == {}


def test_a_call_that_was_aborted_gets_an_error_result() -> None:
    built = Built(user("a"), assistant(call("c1"), call("c2"), stop="aborted"), result("c1", "1"), user("go on"))
    assert built.said[2] == ("user", [("c1", ["1"], False), ("c2", [LOST], True), "go on"])
    assert built.mends == {"missingToolResult": ["e1"]}
    alone = Built(user("a"), assistant(call("c1")))
    assert alone.said[-1] == ("user", [("c1", [LOST], True)])
    assert alone.entry_ids[-1] == []


def test_results_without_a_call_become_text() -> None:
    built = Built(
        user("a"),
        result("gone", "orphan"),
        assistant(call("c1")),
        result("c1", "first"),
        result("c1", "again"),
        assistant("b"),
        result("c1", "late", image()),
    )
    note = "[A result of the tool read:]"
    assert built.said == [
        ("user", ["a", note, "orphan"]),
        ("assistant", ["c1"]),
        ("user", [("c1", ["first"], False), note, "again"]),
        ("assistant", ["b"]),
        ("user", [note, "late", "image"]),
    ]
    assert built.mends == {"orphanToolResult": ["e1", "e6"], "duplicateToolResult": ["e4"]}


def test_calls_told_in_several_messages_are_one_turn() -> None:
    built = Built(user("a"), assistant(call("c1")), assistant(call("c2")), result("c1", "1"), result("c2", "2"))
    assert built.said[1:] == [("assistant", ["c1", "c2"]), ("user", [("c1", ["1"], False), ("c2", ["2"], False)])]
    assert built.mends == {}


def test_ids_that_do_not_fit_are_the_same_on_both_sides() -> None:
    long = "call_" + "x" * 100 + "|fc_1"
    built = Built(
        user("a"),
        assistant(call(long), call("a b"), call("a_b"), call("")),
        result("a b", "1"),
        result(long, "2"),
        result("", "3"),
        result("a_b", "4"),
    )
    asked = [block["id"] for block in built.messages[1]["content"]]
    answered = [block["tool_use_id"] for block in built.messages[2]["content"]]
    assert answered == [asked[1], asked[0], asked[3], asked[2]]
    assert asked[2] == "a_b"
    assert built.mends == {"toolCallId": ["e1"]}


def test_ids_that_are_used_again() -> None:
    turn = [assistant(call("0")), result("0", "r")]
    built = Built(user("a"), *turn, *turn, assistant(call("0"), call("0")), result("0", "x"), result("0", "y"))
    asked = [block["id"] for message in built.messages[1::2] for block in message["content"]]
    answered = [block["tool_use_id"] for message in built.messages[2::2] for block in message["content"]]
    assert asked == answered
    assert len(set(asked)) == 4
    assert "missingToolResult" not in built.mends


def test_a_result_may_name_the_id_that_was_sent() -> None:
    first = Built(user("a"), assistant(call("call 0")))
    sent = first.messages[1]["content"][0]["id"]
    assert Built(user("a"), assistant(call("call 0")), result(sent, "r")).said[2] == ("user", [(sent, ["r"], False)])


def test_ids_do_not_change_when_the_conversation_grows() -> None:
    messages = [
        user("a"),
        assistant(call("x!"), call("x!")),
        result("x!", "1"),
        result("x!", "2"),
        assistant(call("x!")),
        result("x!", "3"),
    ]
    whole = Built(*messages)
    for count in range(1, len(messages)):
        part = Built(*messages[:count], user("more"))
        assert whole.messages[: len(part.messages) - 1] == part.messages[:-1]


def test_thinking_goes_only_to_the_model_that_signed_it() -> None:
    thoughts = [thinking("one"), thinking("", "b3BhcXVl", redacted=True), thinking("")]
    conversation = [user("a"), assistant(*thoughts, "b"), user("c")]
    built = Built(*conversation)
    assert built.messages[1]["content"] == [
        {"type": "thinking", "thinking": "one", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
        {"type": "thinking", "thinking": "", "signature": "c2ln"},
        text("b"),
    ]
    for model in (None, ModelRef(provider="anthropic", model_id="opus"), ModelRef(provider="x", model_id="sonnet")):
        other = Built(*conversation, model=model)
        assert other.said[1] == ("assistant", ["b"])
        assert other.mends == {"thinkingDropped": ["e1"]}
    hidden = {"type": "thinking", "thinkingSignature": "c2ln"}
    assert Built(user("a"), assistant(hidden, "b"), user("c")).said[1] == ("assistant", ["", "b"])
    assert Built(user("a"), assistant(thinking("x", None), thinking("y", ""), "b"), user("c")).said[1] == (
        "assistant",
        ["b"],
    )


def test_a_turn_never_ends_in_thinking() -> None:
    built = Built(user("a"), assistant(thinking()), user("b"), assistant("c", thinking()), user("d"))
    assert built.said == [("user", ["a", "b"]), ("assistant", ["c"]), ("user", ["d"])]
    assert built.mends == {"thinkingDropped": ["e1", "e3"]}
    split = Built(user("a"), assistant(thinking("x")), assistant("b"), user("c"))
    assert split.said[1] == ("assistant", ["x", "b"])


def test_a_failed_attempt_gives_way_to_the_next() -> None:
    built = Built(
        user("a"),
        assistant(thinking(), "half", stop="error"),
        assistant(thinking("hm 2"), call("c1")),
        result("c1", "r"),
    )
    assert built.said[1] == ("assistant", ["hm 2", "c1"])
    assert built.entry_ids[1] == ["e2"]
    assert built.mends == {"failedAttempt": ["e1"]}
    kept = Built(user("a"), assistant("half", stop="aborted"), user("go on"))
    assert kept.said[1] == ("assistant", ["half"])
    hollow = Built(user("a"), assistant("half", stop="error"), assistant(stop="error"), user("go on"))
    assert hollow.said[1] == ("assistant", ["half"])


def test_merged_turns_keep_thinking_at_their_head_alone() -> None:
    built = Built(user("a"), assistant("b"), assistant(thinking(), "c"), user("d"))
    assert built.said[1] == ("assistant", ["b", "c"])
    assert built.mends == {"thinkingDropped": ["e2"]}


def test_the_assistant_may_not_begin() -> None:
    built = Built(assistant("hello"), user("a"))
    assert built.said[0] == ("user", ["[The conversation begins with the assistant.]"])
    assert built.entry_ids == [[], ["e0"], ["e1"]]
    assert built.mends == {"firstMessage": ["e0"]}


def test_a_trailing_assistant_message() -> None:
    kept = Built(user("a"), assistant("The answer is \n\t "))
    assert kept.said[-1] == ("assistant", ["The answer is"])
    assert kept.mends == {"trailingAssistant": ["e1"], "trailingBlanks": ["e1"]}
    hidden = {"role": "bashExecution", "excludeFromContext": True}
    dropped = Built(user("a"), assistant("b"), assistant(call("c1")), hidden, trailing_assistant="drop")
    assert dropped.said == [("user", ["a"])]
    assert dropped.mends == {"trailingDropped": ["e1", "e2"]}
    answered = Built(user("a"), assistant(call("c1")), result("c1", "r"), trailing_assistant="drop")
    assert answered.mends == {}


def test_nothing_to_send() -> None:
    for messages in ([], [assistant(" ")], [user("")], [{"role": "bashExecution", "excludeFromContext": True}]):
        built = Built(*messages, may_be_empty=True)
        assert built.messages == []
        assert built.mends["emptyContext"] == [None]
