"""Every wire type takes what it should, and names the field of what it should not; the schema agrees with it."""

import copy
import re
from typing import Any

import msgspec
import pytest
from generators import schema
from jsonschema import Draft202012Validator

import pid.protocol as protocol
from pid.errors import InvalidParams
from pid.protocol import Wire, decode_value
from tests.protocol.examples import GONE, OF_THE_WIRE, Example
from tests.protocol.examples_of_records import OF_RECORDS

EXAMPLES = [*OF_THE_WIRE, *OF_RECORDS]
ALL_TYPES = {kind for kind in vars(protocol).values() if isinstance(kind, type) and issubclass(kind, Wire)}
BASES = {protocol.Wire, protocol.SessionParams, protocol.Placement, protocol.Appended, protocol.StoredEntry}
DEFINITIONS = schema.definitions()


def validator(kind: type[Wire]) -> Draft202012Validator:
    return Draft202012Validator({"$ref": schema.REF + kind.__name__, "$defs": DEFINITIONS})


def changed(right: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy of `right` with another value at `path`."""
    message = copy.deepcopy(right)
    *steps, last = [int(name) if name.isdigit() else name for name in re.findall(r"\w+", path)]
    place: Any = message
    for step in steps:
        place = place[step] if isinstance(step, int) else place.setdefault(step, {})
    if value is GONE:
        place.pop(last, None)
    else:
        place[last] = value
    return message


right = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.kind.__name__)
wrong = pytest.mark.parametrize(
    ("example", "path"),
    [pytest.param(e, path, id=f"{e.kind.__name__}-{path}") for e in EXAMPLES for path in e.wrong],
)


def test_every_type_has_an_example() -> None:
    assert {example.kind for example in EXAMPLES} == ALL_TYPES - BASES


@right
def test_a_right_message_is_taken_and_comes_back(example: Example) -> None:
    value = decode_value(example.kind, msgspec.json.encode(example.right))
    again = msgspec.json.decode(msgspec.json.encode(value))
    assert again == {name: example.right.get(name) for name in again}  # null is absent
    defaults = {field.encode_name: field.default for field in msgspec.structs.fields(example.kind)}
    lost = {name for name in example.right.keys() - again.keys() if name in defaults}
    assert {name: example.right[name] for name in lost} == {name: defaults[name] for name in lost}


@right
def test_the_schema_takes_a_right_message(example: Example) -> None:
    validator(example.kind).validate(example.right)


@wrong
def test_a_wrong_message_is_refused_with_the_path_of_the_field(example: Example, path: str) -> None:
    message = changed(example.right, path, example.wrong[path])
    with pytest.raises(InvalidParams) as refused:
        decode_value(example.kind, msgspec.json.encode(message))
    assert refused.value.data["path"] == path
    assert refused.value.message.startswith(f"{path}: ")


@wrong
def test_the_schema_refuses_a_wrong_message(example: Example, path: str) -> None:
    message = changed(example.right, path, example.wrong[path])
    assert not validator(example.kind).is_valid(message)


@right
def test_what_is_no_object_is_refused(example: Example) -> None:
    for raw in (b"1", b'"x"', b"[1]", b"true"):
        with pytest.raises(InvalidParams) as refused:
            decode_value(example.kind, raw)
        assert refused.value.data["path"] == ""


def test_no_type_is_dead() -> None:
    rows = [*protocol.METHODS.values(), *protocol.NOTIFICATIONS.values(), *protocol.PLANNED]
    rows += [*protocol.BASE_METHODS.values(), *protocol.BASE_NOTIFICATIONS.values()]
    members = [member for union in protocol.UNIONS.values() for member in union]
    roots = [*schema.types_of(rows), *members, protocol.Envelope, protocol.NewEntry]
    _, reached = msgspec.json.schema_components(roots)
    assert {kind.__name__ for kind in ALL_TYPES - BASES} == reached.keys()


def test_every_field_has_a_text() -> None:
    without = [
        f"{kind.__name__}.{field.name}"
        for kind in ALL_TYPES
        for field in msgspec.structs.fields(kind)
        if not schema.field_texts(kind)[field.name]
    ]
    assert without == []


def test_raw_params_that_are_not_sent_leave_no_trace():
    entry = protocol.AppendParams(session_id="s", entry=msgspec.Raw(b'{"type":"x"}'))
    assert msgspec.json.encode(entry) == b'{"sessionId":"s","entry":{"type":"x"}}'
