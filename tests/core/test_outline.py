"""The outline of a session: its parts in the order of the file, and what they are called."""

from pid.core.outline import entry_name, landmark_rows, landmarks, outline, part_detail, part_name
from pid.core.reading import Reading
from tests.trees import session_bytes


def read(tree: str) -> Reading:
    return Reading(session_bytes(tree).split(b"\n"))


def shown(tree: str) -> list[tuple[str, list[str]]]:
    """The name of each part, and the ids in it."""
    reading = read(tree)
    return [(part_name(reading, part), [reading.tree.ids[row] for row in part.rows]) for part in outline(reading)]


def test_turns() -> None:
    assert shown("o1=p/m k1=high u1=Go a1(read) t1 a2 u2=On a3") == [
        ("s-0001", ["o1", "k1"]),
        ("Go", ["a1", "t1", "a2"]),
        ("On", ["a3"]),
    ]


def test_branches_begin_parts() -> None:
    """A turn that goes on from an earlier entry is a turn; any other entry that does is a branch."""
    reading = read("u1=Go a1=Done | a1 > u2=More a2 | u1 > a3=Again u3=Next")
    parts = outline(reading)
    assert [part.what for part in parts] == ["session", "turn", "turn", "branch", "turn"]
    assert part_name(reading, parts[3]) == "Branch: assistant: Again"
    assert [part_detail(reading, part) for part in parts] == [
        "/proj",
        "u1 · 2 entries",
        "u2 · 2 entries",
        "a3 · 1 entry · from u1",
        "u3 · 1 entry",
    ]
    roots = read("u1 | u2")
    assert part_detail(roots, outline(roots)[2]) == "u2 · 1 entry · a root"


def test_compactions_and_summaries_of_branches() -> None:
    assert shown("u1 a1 c1(u1)=Short a2 u2 a3 | a1 > r1(a3)=Tried u3") == [
        ("s-0001", []),
        ("u1", ["a1"]),
        ("Compaction: Short", ["a2"]),
        ("u2", ["a3"]),
        ("Branch summary: Tried", []),
        ("u3", []),
    ]


def test_labels_and_the_name() -> None:
    assert shown("u1=Go a1=Done l1(u1)=start l2(a1)=end n1=Engine") == [
        ("Engine", []),
        ("[start] Go", ["a1", "l1", "l2", "n1"]),
    ]
    reading = read("u1=Go a1=Done l2(a1)=end n1=Engine")
    assert [entry_name(reading, row) for row in range(1, 4)] == ["assistant: [end] Done", "label: end", "name: Engine"]


def test_markers_and_replaced_entries_are_in_no_part() -> None:
    """What hangs on a marker hangs on the marker's parent."""
    assert shown("u1 a1 u2 | a1 > p1 u3 a3") == [("s-0001", []), ("u1", ["a1"]), ("u2", []), ("u3", ["a3"])]
    assert shown("u1 a1=Old | u1 > a1=New") == [("s-0001", []), ("u1", ["a1"])]


def test_damaged_entries_keep_their_place() -> None:
    assert shown("u1 !a1 u2") == [("s-0001", []), ("u1", ["a1"]), ("u2", [])]
    assert entry_name(read("u1 !a1"), 1) == "message: (no text)"


def test_landmarks() -> None:
    reading = read("u1=Fix_the_parser a1=Done l1(a1)=Milestone u2=Thanks n1=Engine")

    def found(query: str) -> list[tuple[str | None, str]]:
        tree = reading.tree
        previews = [(row, reading.glances[row].preview) for row in landmark_rows(tree)]
        return [(tree.id_of(row), what) for row, what, _ in landmarks(tree, "s-0001", previews, query)]

    assert found("") == [(None, "session"), ("u1", "turn"), ("a1", "label"), ("u2", "turn")]
    assert found("PARSER") == [("u1", "turn")]
    assert found("mile") == [("a1", "label")]
    assert found("done") == [("a1", "label")]
    assert found("engine") == [(None, "session")]
    assert found("nothing") == []
