"""The conventions of params: what is absent, null or `[]`, what is refused, and that raw parts keep their bytes."""

import json
from contextlib import suppress
from typing import ClassVar

import msgspec
import pytest

from pid import protocol as p
from pid.errors import InvalidParams
from pid.protocol import UNSET, decode, decode_params, decode_value


def refused(kind: type[p.Wire], raw: bytes | None) -> str:
    """The path that the refusal of some params names."""
    with pytest.raises(InvalidParams) as error:
        decode_params(kind, raw)
    assert error.value.code == -32602
    assert error.value.data["kind"] == "invalidParams"
    return str(error.value.data["path"])


@pytest.mark.parametrize("raw", [None, b"[]", b" [ ] ", b"null", b"{}"])
def test_absent_params_and_an_empty_array_are_an_empty_object(raw):
    assert decode_params(p.ShutdownParams, raw) == p.ShutdownParams()
    assert refused(p.StateParams, raw) == "sessionId"


def test_an_array_with_elements_is_no_object():
    assert refused(p.StateParams, b'["s"]') == ""
    assert refused(p.CreateParams, b'{"cwd":"/p","settings":[1]}') == "settings"


def test_an_empty_array_is_an_empty_object_at_any_depth():
    params = decode_params(p.CreateParams, b'{"cwd":"/p","settings":[]}')
    assert params.settings == p.SettingsUpdate()
    params = decode_params(
        p.InitializeParams, b'{"capabilities":{"experimental":{"pid":[ ]}},"initializationOptions":[]}'
    )
    assert params.capabilities.experimental.pid == p.PidClientCapability()
    assert params.initialization_options == p.InitializationOptions()


def test_null_is_absent_where_it_means_nothing():
    params = decode_params(p.AppendParams, b'{"sessionId":"s","entry":{},"newRoot":null,"expectedAncestorId":null}')
    assert params == decode_params(p.AppendParams, b'{"sessionId":"s","entry":{}}')
    tree = decode_params(p.TreeParams, b'{"sessionId":"s","content":null,"types":null,"limit":null}')
    assert tree == p.TreeParams(session_id="s")
    assert refused(p.StateParams, b'{"sessionId":null}') == "sessionId"
    assert refused(p.TreeParams, b'{"sessionId":"s","types":[null]}') == "types[0]"


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        (p.AppendParams, "parent_id"),
        (p.AppendParams, "expected_leaf_id"),
        (p.SetLeafParams, "expected_leaf_id"),
        (p.OpenParams, "leaf_id"),
        (p.ContextParams, "leaf_id"),
        (p.UsageParams, "leaf_id"),
        (p.SettingsUpdate, "context_window"),
        (p.SettingsUpdate, "durability"),
    ],
)
def test_null_is_told_from_absent_where_it_means_something(kind, field):
    others = b'"sessionId":"s","entry":{},"entryId":null,"path":"/p"'
    name = p.wire_name(field).encode()
    assert getattr(decode_params(kind, b"{%b}" % others), field) is UNSET
    assert getattr(decode_params(kind, b'{%b,"%b":null}' % (others, name)), field) is None


def test_the_leaf_to_set_must_be_said_even_if_it_is_null():
    assert refused(p.SetLeafParams, b'{"sessionId":"s"}') == "entryId"
    assert decode_params(p.SetLeafParams, b'{"sessionId":"s","entryId":null}').entry_id is None


def test_unknown_and_reserved_fields_are_ignored():
    raw = b'{"sessionId":"s","_meta":{"a":[1]},"later":{"x":"\\ud83d\\ude00"}}'
    assert decode_params(p.StateParams, raw) == p.StateParams(session_id="s")


ENTRY = b'{"b":1.0,"a":12345678901234567890123,"c":"\\u00e9\\/", "a":0 ,\n"d":[ ]}'


@pytest.mark.parametrize("rest", [b"", b',"newRoot":null', b',"newRoot":null,"expectedAncestorId":null,"_meta":null'])
def test_a_raw_entry_keeps_its_bytes_also_where_nulls_are_taken_out(rest):
    params = decode_params(p.AppendParams, b'{"sessionId":"s","entry":%b%b}' % (ENTRY, rest))
    assert bytes(params.entry) == ENTRY
    batch = decode_params(p.AppendBatchParams, b'{"sessionId":"s","entries":[{},%b]%b}' % (ENTRY, rest))
    assert bytes(batch.entries[1]) == ENTRY


@pytest.mark.parametrize(
    ("kind", "raw", "path"),
    [
        (p.OpenParams, b"{}", "path"),
        (p.OpenParams, b'{"path":"/p","id":"x"}', "id"),
        (p.ForkParams, b'{"entryId":"e"}', "sessionId"),
        (p.ForkParams, b'{"sessionId":"s","path":"/p"}', "path"),
        (p.ListParams, b'{"cwd":"/a","cwds":["/b"]}', "cwds"),
        (p.EntriesParams, b'{"sessionId":"s","ids":[],"after":"e"}', "after"),
        (p.TreeParams, b'{"sessionId":"s","since":3}', "epoch"),
        (p.PromptParams, b'{"cwd":"/p","toolSnippets":{"a.b":1}}', "toolSnippets[...]"),
    ],
)
def test_rules_between_fields_name_a_field_too(kind, raw, path):
    assert refused(kind, raw) == path


class Promised(p.SessionParams):
    """Params with a field that a later version will serve."""

    LATER: ClassVar[frozenset[str]] = frozenset({"soon_there"})

    soon_there: bool = False


def test_a_field_that_does_not_work_yet_is_refused_and_not_passed_over():
    assert refused(Promised, b'{"sessionId":"s","soonThere":true}') == "soonThere"
    assert decode_params(Promised, b'{"sessionId":"s","soonThere":false}')


@pytest.mark.parametrize(
    "raw",
    [
        b'{"sessionId":"s"',
        b'{"sessionId":"\xff"}',
        b'{"sessionId":"s",}',
        b"",
        b'{"sessionId":"s","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"sessionId":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}",
    ],
    ids=["cut", "no UTF-8", "a comma", "nothing", "deep", "deep and wrong"],
)
def test_hostile_bytes_are_refused(raw):
    assert refused(p.StateParams, raw) in ("", "sessionId")


def test_half_of_a_pair_is_replaced_in_values_and_stays_in_what_is_stored():
    entry = b'{"type":"x","text":"\\ud83d","more":[1.0, "\\ud83d\\ude00"]}'
    params = decode_params(p.AppendParams, b'{"sessionId":"\\udc00s","entry":%b}' % entry)
    assert (params.session_id, bytes(params.entry)) == ("\ufffds", entry)
    batch = decode_params(p.AppendBatchParams, b'{"entries":[ {} , %b],"sessionId":"\\ud800"}' % entry)
    assert (batch.session_id, [bytes(raw) for raw in batch.entries]) == ("\ufffd", [b"{}", entry])


def test_half_of_a_pair_in_a_deep_text_is_taken_or_refused():
    for depth in range(900, 1050):
        raw = b'{"sessionId":"\\ud800","entry":{"type":"x","d":%b%b}}' % (b"[" * depth, b"]" * depth)
        with suppress(InvalidParams):
            decode_params(p.AppendParams, raw)


def test_bytes_that_are_no_text_beside_half_of_a_pair_stay_as_they_are():
    entry = b'{"type":"x","text":"\xff\xfe"}'
    params = decode_params(p.AppendParams, b'{"sessionId":"\\ud800","entry":%b}' % entry)
    assert bytes(params.entry) == entry


def test_many_nulls_are_refused_after_a_bounded_number_of_passes():
    folders = b",".join([b'{"uri":"file:///p","name":null}'] * 1000)
    assert decode_params(p.InitializeParams, b'{"workspaceFolders":[%b]}' % folders)
    nulls = b",".join([b'{"path":"/a","kind":"k","message":"m"}'] * 999 + [b"null"])
    raw = b'{"prompt":"p","sections":{},"contextFiles":[],"skills":[],"problems":[%b]}' % nulls
    with pytest.raises(InvalidParams) as error:
        decode_value(p.PromptResult, raw)
    assert error.value.data["path"] == "problems[999]"


def test_a_part_is_named_from_where_it_stands():
    with pytest.raises(InvalidParams) as error:
        decode_value(p.NewEntry, b'{"type":"x","timestamp":"now"}', "entries[2]")
    assert error.value.data["path"] == "entries[2].timestamp"
    assert error.value.message == "entries[2].timestamp: Expected a time such as `2026-01-31T12:00:00.000Z`"
    with pytest.raises(InvalidParams) as error:
        decode_value(p.NewEntry, b"null", "entry")
    assert error.value.data["path"] == "entry.type"


@pytest.mark.parametrize("text", ["x\n", "x\r", "é", "a b", "a/b", "", "-" * 65, "x\0"])
def test_an_own_entry_id_is_plain(text):
    with pytest.raises(InvalidParams) as error:
        decode_value(p.NewEntry, msgspec.json.encode({"type": "x", "id": text}))
    assert error.value.data["path"] == "id"


@pytest.mark.parametrize("text", ["../x", "x/..", ".x", "x.", "-x", "x\n", "a\0b", "a/b", "", "é"])
def test_an_own_session_id_never_becomes_a_path(text):
    raw = msgspec.json.encode({"cwd": "/p", "id": text})
    assert refused(p.CreateParams, raw) == "id"


def test_a_batch_of_nothing_is_refused():
    assert refused(p.AppendBatchParams, b'{"sessionId":"s","entries":[]}') == "entries"


@pytest.mark.parametrize(
    ("kind", "params", "message"),
    [
        (p.TreeParams, {"content": "x"}, "content: Invalid enum value 'x'; expected one of 'full', 'none', 'preview'"),
        (p.CompactParams, {"reason": "x"}, "reason: Invalid enum value 'x'; expected one of 'manual', 'overflow'"),
        (
            p.ConfigureParams,
            {"settings": {"durability": "x"}},
            "settings.durability: Invalid enum value 'x'; expected one of 'synced', 'written'",
        ),
    ],
)
def test_a_wrong_word_is_told_with_the_right_ones(kind, params, message):
    with pytest.raises(InvalidParams) as error:
        decode_params(kind, json.dumps({"sessionId": "s", **params}).encode())
    assert error.value.message == message


def literals(info):
    """The fields of a struct that take only certain words, as the steps to each."""
    for field in getattr(info, "fields", ()):
        types = getattr(field.type, "types", (field.type,))
        if any(isinstance(each, msgspec.inspect.LiteralType) for each in types):
            yield [field.encode_name]
        for each in types:
            yield from ([field.encode_name, *rest] for rest in literals(each))


@pytest.mark.parametrize("method", sorted(p.METHODS))
def test_every_choice_of_every_method_is_told(method):
    info = msgspec.inspect.type_info(p.METHODS[method].params)
    for steps in literals(info):
        told = decode._choices(p.METHODS[method].params, steps, "Invalid enum value 'x'")
        assert told.startswith("; expected one of '"), steps
