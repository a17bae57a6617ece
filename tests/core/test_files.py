"""The files of a conversation: pi's three tools, other agents' names for them, and odd calls."""

from __future__ import annotations

from typing import Any

import pytest

from pid.core.files import files_of, merged, recorded
from pid.protocol import FileDetails

Json = dict[str, Any]


def calls(*pairs: tuple[Any, Any]) -> Json:
    blocks = [{"type": "toolCall", "name": name, "arguments": arguments} for name, arguments in pairs]
    return {"role": "assistant", "content": blocks}


PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n*** Add File: b.py\n+x\n*** Move to: c.py\n*** End Patch"
USED = [
    (("read", {"path": "a"}), ["a"], []),
    (("write", {"path": "a"}), [], ["a"]),
    (("edit", {"path": "a"}), [], ["a"]),
    (("Read", {"file_path": "/a"}), ["/a"], []),
    (("MultiEdit", {"file_path": "/a"}), [], ["/a"]),
    (("write_file", {"path": "a"}), [], ["a"]),
    (("str_replace_based_edit_tool", {"command": "view", "path": "a"}), ["a"], []),
    (("str_replace_based_edit_tool", {"command": "create", "path": "a"}), [], ["a"]),
    (("apply_patch", {"input": PATCH}), [], ["a.py", "b.py", "c.py"]),
    (("bash", {"command": "cat a", "path": "a"}), [], []),
    (("read", {"path": ""}), [], []),
    (("read", {"path": 7}), [], []),
    (("read", None), [], []),
    (("read", ["a"]), [], []),
    ((None, {"path": "a"}), [], []),
    (("apply_patch", {}), [], []),
]


@pytest.mark.parametrize(("call", "read", "modified"), USED)
def test_what_a_call_uses(call: tuple[Any, Any], read: list[str], modified: list[str]) -> None:
    assert files_of([calls(call)]) == FileDetails(read_files=read, modified_files=modified)


def test_a_modified_file_is_not_only_read() -> None:
    found = files_of([calls(("read", {"path": "a"}), ("read", {"path": "b"})), calls(("edit", {"path": "a"}))])
    assert found == FileDetails(read_files=["b"], modified_files=["a"])


def test_paths_are_sorted_as_javascript_sorts() -> None:
    paths = ["\uff61", "😀", "a", "Z"]
    found = files_of([calls(*(("read", {"path": path}) for path in paths))])
    assert found.read_files == ["Z", "a", "😀", "\uff61"]


def test_calls_of_a_script_are_recorded_on_its_result() -> None:
    nested = {"calls": [{"name": "write", "arguments": {"path": "a"}}, None]}
    assert files_of([{"role": "toolResult", "nestedCalls": nested}]).modified_files == ["a"]
    assert files_of([{"role": "toolResult", "nestedCalls": {"calls": None}}]).modified_files == []
    assert files_of([{"role": "user", "content": "read"}]).read_files == []


def test_earlier_details_go_on() -> None:
    earlier = recorded({"readFiles": ["a", "b", 7, ""], "modifiedFiles": ["c"]})
    now = FileDetails(read_files=["d", "c"], modified_files=["a"])
    assert merged(earlier, now) == FileDetails(read_files=["b", "d"], modified_files=["a", "c"])


@pytest.mark.parametrize("details", [None, [], "a", {"readFiles": "a", "modifiedFiles": {"b": 1}}])
def test_details_of_another_shape_record_nothing(details: Any) -> None:
    assert recorded(details) == FileDetails(read_files=[], modified_files=[])
