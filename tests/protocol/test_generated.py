"""What is generated is up to date, and `tools/generate.py --check` can tell when it is not."""

import json
import re
import sys

import generate
import pytest
from generators import lua, markdown, schema, typescript
from jsonschema import Draft202012Validator

import pid.protocol as protocol

TABLES = schema.build()


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["generate.py", *arguments])
    return generate.main()


def test_everything_is_up_to_date(monkeypatch, capsys):
    code = run(monkeypatch, "--check")
    assert capsys.readouterr().out == ""
    assert code == 0


def test_what_is_out_of_date_is_told_and_then_written(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    (tmp_path / "protocol.md").write_text(f"prose\n{markdown.BEGIN}\nold\n{markdown.END}\nmore prose\n")
    assert run(monkeypatch, "--check") == 1
    told = capsys.readouterr().out
    assert "-old" in told
    assert "more lines" in told
    assert not (tmp_path / "pid").exists()

    assert run(monkeypatch) == 0
    text = (tmp_path / "protocol.md").read_text()
    assert text.startswith("prose\n")
    assert text.endswith("more prose\n")
    assert "### SessionState" in text
    assert (tmp_path / "pid/protocol/protocol.schema.json").exists()
    assert not (tmp_path / "editors").exists()
    assert run(monkeypatch, "--check") == 0


def test_the_editors_types_are_written_where_the_editors_are(monkeypatch, tmp_path):
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    (tmp_path / "protocol.md").write_text(f"{markdown.BEGIN}\n{markdown.END}\n")
    for editor in ("vscode", "nvim"):
        (tmp_path / "editors" / editor).mkdir(parents=True)
    assert run(monkeypatch) == 0
    assert (tmp_path / "editors/vscode/src/protocol.gen.ts").read_text() == typescript.source(TABLES)
    assert (tmp_path / "editors/nvim/lua/pid/_meta/protocol.lua").read_text() == lua.source(TABLES)


def test_a_document_without_the_marks_is_not_overwritten():
    with pytest.raises(ValueError, match="marks"):
        markdown.spliced("# A document", "part")


def test_the_schema_is_a_schema_and_ships_with_the_package():
    Draft202012Validator.check_schema(TABLES)
    shipped = generate.ROOT / "pid/protocol/protocol.schema.json"
    assert json.loads(shipped.read_text(encoding="utf-8")) == TABLES
    assert set(schema.refs(TABLES)) <= TABLES["$defs"].keys()


def test_the_schema_has_what_works_and_nothing_else():
    assert TABLES["methods"].keys() == {*protocol.BASE_METHODS, *protocol.METHODS}
    assert TABLES["notifications"].keys() == {*protocol.BASE_NOTIFICATIONS, *protocol.NOTIFICATIONS}
    for kind in (protocol.AppendParams, protocol.SetLeafParams, protocol.ContextResult):
        shown = TABLES["$defs"][kind.__name__]["properties"].keys()
        assert not shown & {protocol.wire_name(name) for name in kind.LATER}


def test_the_schema_knows_the_entries_and_leaves_room_for_others():
    validator = Draft202012Validator({"$ref": schema.REF + "Entry", "$defs": TABLES["$defs"]})
    head = {"id": "e", "parentId": None, "timestamp": "2026-01-31T12:00:00.000Z"}
    assert validator.is_valid({"type": "message", **head, "message": {"role": "user", "content": "Hi"}})
    assert not validator.is_valid({"type": "message", **head})
    assert not validator.is_valid({"type": "message", **head, "message": {"role": "user", "content": 5}})
    assert validator.is_valid({"type": "from-the-future", **head})


@pytest.mark.parametrize("source", [markdown.reference(TABLES), typescript.source(TABLES), lua.source(TABLES)])
def test_every_form_has_every_type_row_and_error(source):
    for name in TABLES["$defs"].keys() - {row["params"]["$ref"].removeprefix(schema.REF) for row in rows()}:
        assert re.search(rf"\b{name}\b", source), name
    for name in (*TABLES["methods"], *TABLES["notifications"]):
        assert name in source


def rows():
    return [*TABLES["methods"].values(), *TABLES["notifications"].values()]


def test_the_typescript_has_the_error_codes():
    source = typescript.source(TABLES)
    for code, row in TABLES["errors"].items():
        assert f"  {row['kind']}: {code},\n" in source
