import pytest

from pid.core.cut import cut_index, valid_cuts
from tests.trees import tree_of


def kinds_of(text):
    return list(tree_of(text).tree.kinds)


@pytest.mark.parametrize(
    ("text", "cuts"),
    [
        ("", []),
        ("u1 a1 u2 a2", [0, 1, 2, 3]),
        ("u1 a1(ls) t1 t2 a2", [0, 1, 4]),
        ("t1 t2", []),
        ("u1 a1(ls) u2 t1", [0, 1]),  # nothing between a call and a result of it
        ("u1 a1(ls) x1 t1 x2 b1 m1 r1", [0, 1, 4, 5, 6, 7]),
        ("k1 o1 l1(u1) n1 d1 e1(u1) q1 z1 s1 c1", []),
    ],
)
def test_a_cut_never_parts_a_call_from_its_result(text, cuts):
    assert valid_cuts(kinds_of(text)) == cuts


@pytest.mark.parametrize(
    ("text", "reached", "index"),
    [
        ("u1 a1 u2 a2", 2, 2),
        ("u1 a1(ls) t1 t2 a2", 2, 4),  # the first valid place at or after
        ("u1 a1(ls) t1 t2", 2, 1),  # only results follow: the last valid place before
        ("u1 a1 l1(u1) k1 u2", 4, 2),  # back over entries without messages
        ("u1 c1 d1 u2", 3, 2),  # not over a compaction
        ("t1 t2", 1, 0),  # no valid place: all is kept
        ("", 0, 0),
        ("u1 a1", 2, 1),
    ],
)
def test_the_cut_stands_at_a_valid_place(text, reached, index):
    assert cut_index(kinds_of(text), reached) == index
