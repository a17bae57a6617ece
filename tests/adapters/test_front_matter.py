"""Front matter: what its scalars are, what is refused, and that no document costs more than its size."""

import sys
from collections.abc import Iterator

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pid.adapters.front_matter import MAX_FRONT_MATTER, BadFrontMatter, scalars


@pytest.fixture(params=["libyaml", "Python"], autouse=True)
def parser(request: pytest.FixtureRequest) -> Iterator[None]:
    """Both of PyYAML's parsers: the one in C may be missing where it is installed from source."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "Python":
            patch.delattr(yaml, "CSafeLoader", raising=False)
        elif not hasattr(yaml, "CSafeLoader"):
            pytest.skip("PyYAML without libyaml")
        yield


def of(document: str) -> dict[str, str | bool | None]:
    return scalars(f"---\n{document}\n---\nBody\n---\n")


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ("", {}),
        ("# a comment", {}),
        ("a: text", {"a": "text"}),
        ("a: 1.0\nb: 2024-01-01\n7: x", {"a": "1.0", "b": "2024-01-01", "7": "x"}),
        ("a: yes\nb: FALSE\nc: 'true'\nd: |\n  true", {"a": True, "b": False, "c": "true", "d": "true\n"}),
        ("a:\nb: ~\nc: null\nd: ''", {"a": None, "b": None, "c": None, "d": ""}),
        ("a: >\n  folded\n  text\nb: |\n  two\n  lines", {"a": "folded text\n", "b": "two\nlines\n"}),
        ("a: [x, y]\nb: {c: d}\ne: f", {"e": "f"}),
        ("? [a, b]\n: c\nd: e", {"d": "e"}),
        ("a: !!python/object/apply:os.system [ls]\nb: !!int text", {"b": "text"}),
        ("<<: {name: merged}", {}),
        ("*x : y\na: b", {"a": "b"}),
        ("a: \U0001f600 \u4f60", {"a": "\U0001f600 \u4f60"}),
    ],
)
def test_scalars(document: str, expected: dict[str, object]) -> None:
    assert of(document) == expected


@pytest.mark.parametrize("text", ["---\na: b\n---", "---  \na: b\n---\t\nBody", "---\na: b\n---\n"])
def test_the_lines_around_it(text: str) -> None:
    assert scalars(text) == {"a": "b"}


@pytest.mark.parametrize(
    "text", ["", "a: b", "\n---\na: b\n---\n", " ---\na: b\n---", "---\na: b\n", "---\na: b\n ---"]
)
def test_none(text: str) -> None:
    with pytest.raises(BadFrontMatter, match="there is no front matter"):
        scalars(text)


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ("a: b: c", r"^line 2: mapping values are not allowed .*in quotes\)$"),
        ("a: b\nc: [d", r"^line \d: "),
        ("a: b\n\tc: d", r"^line 3: "),
        ("a: 'b", r"^line \d: "),
        ("a: \x08", "characters are not allowed"),
        ("- a", "^line 2: it is not a mapping"),
        ("text", "^line 2: it is not a mapping"),
        ("a: 1\nb: 2\na: 3", "^line 4: the key a stands twice"),
        ("a: &x y\nb: *x", "^line 3: aliases"),
        ("a: *x", "^line 2: aliases"),
        ("a: b\n...\nc: d", "^line 4: "),
        ("%YAML 1.2", "^line 3: "),
    ],
)
def test_what_is_refused(document: str, reason: str) -> None:
    with pytest.raises(BadFrontMatter, match=reason):
        of(document)


def test_a_lone_surrogate_never_comes_out() -> None:
    with pytest.raises(BadFrontMatter, match=r"^line 2: |escape code"):
        of('a: "\\ud800"')


def test_aliases_are_never_followed() -> None:
    """Ten levels of ten aliases each would be ten thousand million strings."""
    laughs = ["a0: &a0 [ha, ha]"]
    laughs += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 11)]
    assert of("\n".join([*laughs, "name: bomb"])) == {"name": "bomb"}


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_deep_nesting_is_refused(opening: str) -> None:
    depth = (MAX_FRONT_MATTER - 10) // len(opening)
    assert depth > sys.getrecursionlimit()
    with pytest.raises(BadFrontMatter):
        of("a:\n " + opening * depth)


def test_a_long_document_is_refused() -> None:
    with pytest.raises(BadFrontMatter, match="longer than"):
        of("a: " + "x" * MAX_FRONT_MATTER)


def test_a_million_lines_without_an_end_are_refused() -> None:
    with pytest.raises(BadFrontMatter, match="no line --- ends it"):
        scalars("---\n" + "\n" * 1_000_000)


@given(document=st.text(st.sampled_from("ab:-?[]{}&*!|>'\"%#, \n\t\\u~.<\x85\u2028")))
def test_any_text_is_scalars_or_refused(document: str) -> None:
    try:
        found = of(document)
    except BadFrontMatter as error:
        assert str(error)
    else:
        assert all(isinstance(value, str | bool | None) for value in found.values())
        "".join(value for value in found.values() if isinstance(value, str)).encode()
