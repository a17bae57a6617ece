"""The story of the sample session: a rounding fault, a slow import, two wrong turns. Told by `make_sample_session`."""

from textwrap import dedent

from sample_writer import Call, Writer, bash, edit, read

REPORT = dedent('''\
    """Monthly totals."""

    from collections import defaultdict

    from tally.store import Store


    def monthly(store: Store, month: str) -> dict[str, float]:
        totals: dict[str, float] = defaultdict(float)
        for row in store.rows(month):
            totals[row.category] += round(row.amount * row.rate, 2)
        return dict(totals)


    def total(store: Store, month: str) -> float:
        return round(sum(monthly(store, month).values()), 2)
    ''')
PARSE = dedent('''\
    """One line of a bank's export to a row."""

    from tally.model import Row

    SEPARATORS = {"de": (".", ","), "en": (",", ".")}


    def amount(text: str, locale: str = "en") -> float:
        thousands, decimal = SEPARATORS[locale]
        return float(text.replace(thousands, "").replace(decimal, "."))


    def line(fields: list[str], locale: str) -> Row:
        date, payee, text, currency = fields[:4]
        return Row(date=date, payee=payee.strip(), amount=amount(text, locale), currency=currency)
    ''')
TEST_PARSE = dedent("""\
    import pytest

    from tally.parse import amount


    @pytest.mark.parametrize(
        ("text", "value"),
        [("1,204.35", 1204.35), ("-0.10", -0.1), ("12.005", 12.005), ("3", 3)],
    )
    def test_amount(text, value):
        assert amount(text) == value
    """)
TEST_REPORT = dedent("""\
    from tally.report import total


    def test_total_is_rounded_once(store):
        store.add(*[("2025-02-01", "Café Grün", 0.115, "EUR")] * 3)
        assert total(store, "2025-02") == 0.36
    """)
IMPORTER = dedent('''\
    """A bank's export into the store."""

    import csv
    from pathlib import Path

    from tally import parse, rules
    from tally.store import Store


    def run(store: Store, path: Path, locale: str) -> int:
        added = 0
        with path.open(newline="", encoding="utf-8-sig") as file:
            for fields in csv.reader(file, delimiter=";"):
                row = parse.line(fields, locale)
                row.category = rules.category(row.payee, store.rules())
                if row not in store.all_rows():
                    store.insert(row)
                    added += 1
        return added
    ''')
RULES = dedent('''\
    """Which category a payee belongs to."""

    import re


    def category(payee: str, rules: list[tuple[str, str]]) -> str:
        for pattern, name in rules:
            if re.compile(pattern, re.IGNORECASE).search(payee):
                return name
        return "other"
    ''')
STORE = dedent('''\
    """Rows in SQLite."""

    class Store:
        def insert(self, row: Row) -> None:
            with self.db:  # commits
                self.db.execute("INSERT INTO rows VALUES (?, ?, ?, ?, ?)", astuple(row))

        def all_rows(self) -> list[Row]:
            if self._rows is None:
                self._rows = [Row(*values) for values in self.db.execute("SELECT * FROM rows")]
            return self._rows
    ''')
PROFILE = dedent("""\
             187,402,913 function calls (187,400,871 primitive calls) in 21.118 seconds

       ncalls  tottime  percall  cumtime  percall filename:lineno(function)
            1    0.214    0.214   21.118   21.118 importer.py:11(run)
        41006    0.388    0.000   12.604    0.000 rules.py:6(category)
      5412792    3.905    0.000   11.020    0.000 re/__init__.py:225(compile)
      5412792    5.846    0.000    7.115    0.000 re/__init__.py:272(_compile)
      5412792    1.196    0.000    1.196    0.000 {method 'search' of 're.Pattern' objects}
        40988    0.131    0.000    5.307    0.000 store.py:5(insert)
        40988    5.043    0.000    5.043    0.000 {method '__exit__' of 'sqlite3.Connection' objects}
        41006    1.902    0.000    1.915    0.000 importer.py:16(<rows not in>)
        41006    0.221    0.000    0.684    0.000 parse.py:13(line)
    """)
PROFILE_AGAIN = dedent("""\
             4,209,551 function calls (4,207,509 primitive calls) in 7.963 seconds

       ncalls  tottime  percall  cumtime  percall filename:lineno(function)
            1    0.202    0.202    7.963    7.963 importer.py:11(run)
        40988    0.127    0.000    5.188    0.000 store.py:5(insert)
        40988    4.931    0.000    4.931    0.000 {method '__exit__' of 'sqlite3.Connection' objects}
        41006    1.877    0.000    1.889    0.000 importer.py:16(<rows not in>)
        41006    0.203    0.000    0.702    0.000 rules.py:11(category)
        41006    0.218    0.000    0.671    0.000 parse.py:13(line)
    """) + "".join(
    f"   {calls:6}    0.00{calls % 7}    0.000    0.0{calls % 90:02}    0.000 {name}\n"
    for calls, name in [
        (41007, "{built-in method _csv.reader}"),
        (41006, "{method 'strip' of 'str' objects}"),
        (82012, "{method 'replace' of 'str' objects}"),
        (41006, "model.py:9(__eq__)"),
        (40988, "dataclasses.py:1297(astuple)"),
        (204940, "copy.py:119(deepcopy)"),
        (132, "re/_compiler.py:738(compile)"),
        (132, "re/_parser.py:969(parse)"),
        (1, "codecs.py:319(decode)"),
        (1, "pathlib.py:1001(open)"),
    ]
)
TOOLS = {
    "read": ("Reads a file.", {"path": "string"}),
    "bash": ("Runs a command in the working directory.", {"command": "string"}),
    "edit": ("Replaces a text in a file.", {"path": "string", "oldText": "string", "newText": "string"}),
    "write": ("Writes a file.", {"path": "string", "content": "string"}),
}


def tell(to: Writer) -> None:
    to.system("You work in a terminal, in the project of the person who asks.", TOOLS)
    to.setting("model_change", provider="anthropic", modelId="claude-sonnet-4-5")
    to.setting("thinking_level_change", thinkingLevel="medium")
    cause = _find_the_cause(to)
    attempt = _try_cents(to)
    to.branch_summary(
        cause,
        attempt,
        "Tried to store amounts as integer cents. `amount()` in tally/parse.py was changed, and three tests failed: "
        "the Kuwaiti dinar has three decimals, so a cent is not the smallest unit everywhere. Nothing of it was "
        "committed; `git checkout tally/parse.py` was run by hand afterwards.",
        ["tests/test_parse.py"],
        ["tally/parse.py"],
    )
    fixed = _use_decimal(to)
    to.compaction(
        fixed,
        SUMMARY,
        ["tally/report.py", "tally/parse.py", "tests/test_parse.py", "tests/test_report.py"],
        ["tally/parse.py", "tally/report.py", "tests/test_report.py"],
    )
    to.setting("thinking_level_change", thinkingLevel="high")
    to.setting("model_change", provider="anthropic", modelId="claude-opus-4-5")
    _speed_up(to)
    _release(to)


def _find_the_cause(to: Writer) -> str:
    to.user(
        "`tally report 2025-02` says 1,204.36, but my bank's statement says 1,204.35. Find out why. "
        "Don't change anything yet.",
    )
    to.assistant(
        "I'll look at how the report adds up.",
        bash("git log --oneline -3 && ls tally tests",
             "b81d0c4 Read exports with a byte order mark\n"
             "77e2f19 Categories by rules\n0c5d3aa First reports\n\n"
             "tally:\n__init__.py  importer.py  model.py  parse.py  report.py  rules.py  store.py\n\n"
             "tests:\nconftest.py  test_importer.py  test_parse.py  test_report.py\n"),
        read("tally/report.py", REPORT),
        thinking="A cent. Either the amounts are floats, or something is rounded more than once. Start at the sum.",
    )  # fmt: skip
    to.assistant(
        "Each row is rounded, and then the sum again. Where do the amounts come from?",
        read("tally/parse.py", PARSE),
    )
    to.assistant(
        "Floats from the parser on. I'll add up February in both ways.",
        bash('python - <<"EOF"\nfrom decimal import Decimal as D\n…\nEOF',
             "rows                         214\nfloat, rounded row by row    1204.36\n"
             "float, rounded once          1204.36\ndecimal, rounded row by row  1204.36\n"
             "decimal, rounded once        1204.35\n"),
        thinking="If only one of the two mattered, one of the mixed ways would give 1204.35 already.",
    )  # fmt: skip
    cause = to.assistant(
        "There are two causes, and both have to go:\n\n"
        "1. `parse.amount` makes floats. 0.575 is 0.57499999999999995559 there, so half a cent rounds down.\n"
        "2. `report.monthly` rounds each row, and `total` rounds the sum again. The errors add up.\n\n"
        "February has 9 rows in dollars whose converted amount ends in half a cent; they make the difference.",
    )
    to.name("Rounding and a slow import in tally")
    to.label(cause, "cause found")
    return cause


def _try_cents(to: Writer) -> str:
    to.user("Then store integer cents, everywhere.")
    to.assistant(
        "I'll begin with the parser.",
        edit("tally/parse.py",
             '    return float(text.replace(thousands, "").replace(decimal, "."))',
             '    return round(float(text.replace(thousands, "").replace(decimal, ".")) * 100)'),
    )  # fmt: skip
    to.assistant(
        "",
        bash("python -m pytest -q",
             "FFF..........................                                  [100%]\n"
             "FAILED tests/test_parse.py::test_amount[1,204.35-1204.35] - assert 120435 == 1204.35\n"
             "FAILED tests/test_parse.py::test_amount[-0.10--0.1] - assert -10 == -0.1\n"
             "FAILED tests/test_parse.py::test_amount[12.005-12.005] - assert 1200 == 12.005\n"
             "3 failed, 26 passed in 0.81s\n\nexit code 1", fails=True),
    )  # fmt: skip
    to.assistant(
        "Most of these only have to say cents. 12.005 is another matter.", read("tests/test_parse.py", TEST_PARSE)
    )
    return to.assistant("12.005 is in Kuwaiti dinar, which has three decimals. I could multiply by 1,000 and then",
                        aborted="The request was stopped by the user")  # fmt: skip


def _use_decimal(to: Writer) -> str:
    to.user(
        "Stop. Cents can't hold the dinar. Use Decimal from the parser to the report, and round once, at the end.",
    )
    to.assistant(
        "The parser first, then the report.",
        edit("tally/parse.py",
             '    return float(text.replace(thousands, "").replace(decimal, "."))',
             '    return Decimal(text.replace(thousands, "").replace(decimal, "."))'),
        edit("tally/report.py",
             "            totals[row.category] += round(row.amount * row.rate, 2)",
             "            totals[row.category] += row.amount * row.rate"),
        thinking="SQLite has no decimals: the store must keep text. `rate` is a float too; check model.py later.",
    )  # fmt: skip
    to.assistant(
        "Now `total`, which is the one place that rounds. Half a cent goes to the even side, as banks do.",
        edit("tally/report.py",
             "    return round(sum(monthly(store, month).values()), 2)",
             '    return sum(monthly(store, month).values()).quantize(Decimal("0.01"), ROUND_HALF_EVEN)'),
    )  # fmt: skip
    to.assistant(
        "",
        bash("python -m pytest -q",
             "............................F                                 [100%]\n"
             "FAILED tests/test_report.py::test_total_is_rounded_once - assert Decimal('0.34') == 0.36\n"
             "1 failed, 28 passed in 0.79s\n\nexit code 1", fails=True),
    )  # fmt: skip
    to.assistant("Does the test hold the old fault?", read("tests/test_report.py", TEST_REPORT))
    to.assistant(
        "It does: 3 × 0.115 is 0.345, which is 0.34 to the even cent. 0.36 came from rounding each row up to 0.12.",
        edit("tests/test_report.py",
             'assert total(store, "2025-02") == 0.36', 'assert total(store, "2025-02") == Decimal("0.34")'),
        bash("python -m pytest -q", ".............................                                 [100%]\n"
                                    "29 passed in 0.77s\n"),
    )  # fmt: skip
    to.assistant("All 29 tests pass. Amounts are `Decimal` from the parser to the report, and one line rounds.")
    to.bash_execution("tally report 2025-02 | tail -1", "total                1,204.35\n")
    kept = to.user("That is the bank's number. Commit it.")
    to.assistant(
        "",
        bash('git commit -qam "Keep amounts exact, round a report once" && git log --oneline -1',
             "3f1c9ae Keep amounts exact, round a report once\n"),
    )  # fmt: skip
    done = to.assistant("Committed as 3f1c9ae.")
    to.label(done, "rounding fixed")
    to.custom_message("ci-watch", "CI for 3f1c9ae: lint passed; tests passed on 3.11, 3.12 and 3.13.")
    return kept


SUMMARY = dedent("""\
    ## Goal
    Find out why `tally report 2025-02` says 1,204.36 where the bank says 1,204.35, and make it right.

    ## Constraints & Preferences
    - Look first, change later. Commit only when told to.
    - Integer cents are out: the Kuwaiti dinar has three decimals.

    ## Progress
    ### Done
    - [x] Cause: floats from `parse.amount` on, and rounding of each row besides the sum.
    - [x] `Decimal` from the parser to the report; `report.total` alone rounds, half to even.
    - [x] `tests/test_report.py` expected the old fault (0.36 for 3 × 0.115); it expects 0.34 now. 29 tests pass.

    ### In Progress
    - [ ] Commit.

    ## Key Decisions
    - **Decimal, not cents**: exact for every currency.

    ## Next Steps
    1. Commit when asked.

    ## Critical Context
    - The store keeps amounts as text.""")


def _speed_up(to: Writer) -> None:
    to.user(
        "Next: to import five years of my bank's exports, 41,006 lines, takes 9.4 seconds. It should take less than "
        "one. Measure first, and the database must stay the same, row for row.",
    )
    for text, calls in _STEPS:
        to.assistant(text, *calls)
    to.assistant(
        "The import takes 0.71 s instead of 9.4 s, and the databases agree row for row:\n\n"
        "| step | seconds |\n| --- | --- |\n| before | 9.4 |\n| rules compiled once | 3.6 |\n"
        "| one transaction | 1.9 |\n| known rows in a set | 0.71 |\n\n"
        "The order of the rows was the trap: a set of pending rows lost it, so now the set only answers "
        "\"is it there?\" and the list keeps the order. 29 tests pass.",
    )  # fmt: skip
    to.context_edit(
        to.results[PROFILE_AGAIN], "(A profile: store.insert takes 65 %, the search among known rows 24 %.)"
    )
    to.custom("todo", {"items": [{"text": "changelog", "done": False}, {"text": "a test for the cost", "done": False}]})


_FILES = "exports/*.csv"
_TIME = f"rm -f /tmp/new.db; time tally import --db /tmp/new.db {_FILES}"
_COMPARE = "cmp <(sqlite3 /tmp/old.db .dump) <(sqlite3 /tmp/new.db .dump)"
_STEPS: list[tuple[str, list[Call]]] = [
    ("First a figure that I can repeat.",
     [bash(f"time tally import --db /tmp/old.db {_FILES}",
           "40988 rows added, 18 known\n\nreal\t0m9.412s\nuser\t0m6.031s\nsys\t0m1.207s\n")]),
    ("Where does it go?", [bash(f"python -m cProfile -s cumtime -m tally import --db /tmp/p.db {_FILES}", PROFILE)]),
    ("5.4 million calls of `re.compile`, for 132 rules.", [read("tally/rules.py", RULES)]),
    ("", [read("tally/importer.py", IMPORTER)]),
    ("The rules are compiled for each row, and `re` forgets them beyond 512. Once is enough.",
     [edit("tally/rules.py",
           "def category(payee: str, rules: list[tuple[str, str]]) -> str:\n    for pattern, name in rules:\n"
           "        if re.compile(pattern, re.IGNORECASE).search(payee):",
           "def compiled(rules):\n    return [(re.compile(pattern, re.I), name) for pattern, name in rules]\n\n\n"
           "def category(payee: str, rules: list[tuple[re.Pattern[str], str]]) -> str:\n"
           "    for pattern, name in rules:\n        if pattern.search(payee):")]),
    ("", [edit("tally/importer.py", "        for fields in csv.reader",
               "        by_rules = rules.compiled(store.rules())\n        for fields in csv.reader")]),
    ("", [bash(_TIME, "40988 rows added, 18 known\n\nreal\t0m3.604s\n")]),
    ("3.6 s. Again the profile.",
     [bash(f"python -m cProfile -s cumtime -m tally import --db /tmp/p2.db {_FILES}", PROFILE_AGAIN)]),
    ("A commit for each row.", [read("tally/store.py", STORE)]),
    ("One transaction for the whole import; if it fails, nothing of it stays.",
     [edit("tally/store.py", "            with self.db:  # commits\n                self.db.execute(",
           "            self.db.execute("),
      edit("tally/importer.py", "    added = 0\n    with path.open", "    added = 0\n    with store.db, path.open")]),
    ("", [bash(_TIME, "40988 rows added, 18 known\n\nreal\t0m1.911s\n")]),
    ("What is left is the search for known rows: a list, 41,006 times. A set.",
     [edit("tally/importer.py",
           "                if row not in store.all_rows():\n                    store.insert(row)",
           "                if row not in known:\n                    known.add(row)")]),
    ("", [edit("tally/importer.py", "    return added",
               "    store.insert_all(known - before)\n    return added")]),
    ("Fast means nothing if the rows differ.",
     [bash(f"{_TIME}; {_COMPARE}",
           "40988 rows added, 18 known\n\nreal\t0m0.688s\n"
           "/dev/fd/63 /dev/fd/62 differ: byte 1204, line 19\n\nexit code 1", fails=True)]),
    ("The set lost the order of the rows. It should only answer whether a row is there.",
     [edit("tally/importer.py", "    store.insert_all(known - before)", "    store.insert_all(fresh)")]),
    ("", [edit("tally/importer.py", "                    known.add(row)",
               "                    known.add(row)\n                    fresh.append(row)")]),
    ("", [bash(f"{_TIME}; {_COMPARE} && echo same",
               "40988 rows added, 18 known\n\nreal\t0m0.709s\nsame\n")]),
    ("Row for row the same. The tests:",
     [bash("python -m pytest -q", ".............................                               [100%]\n"
                                  "29 passed in 0.83s\n")]),
]  # fmt: skip


def _release(to: Writer) -> None:
    before = to.leaf
    to.user("Write the changelog entry.")
    to.assistant(
        "## Unreleased\n\n- `parse.amount` returns `Decimal`; `report.total` quantizes with `ROUND_HALF_EVEN`.\n"
        "- `rules.compiled`, `Store.insert_all`; `importer.run` holds one transaction and a set of known rows.",
    )
    to.go_to(before)
    to.user("Write the changelog entry, for people who use tally: two lines at most, no names from the code.")
    changelog = to.assistant(
        "",
        edit("CHANGELOG.md", "## Unreleased\n",
             "## Unreleased\n\n- Reports agree with the bank to the cent, in every currency.\n"
             "- Importing is thirteen times as fast.\n"),
    )  # fmt: skip
    to.assistant("It's in `CHANGELOG.md`, two lines.")
    to.bash_execution("git status --short", " M CHANGELOG.md\n M tally/importer.py\n M tally/rules.py\n"
                                            " M tally/store.py\n", hidden=True)  # fmt: skip
    to.label(changelog, "changelog")
    to.user("Add a test that fails if the import becomes slow again.")
    to.assistant("", failed="529 overloaded_error: Overloaded")
    to.assistant(
        "A limit in seconds would fail on a busy machine. I'll count statements instead: SQLite tells each of them.",
        edit("tests/test_importer.py", "def test_known_rows",
             "def test_an_import_is_one_transaction(store, export):\n    told = []\n"
             "    store.db.set_trace_callback(told.append)\n    run(store, export(rows=500), \"en\")\n"
             "    assert told.count(\"COMMIT\") == 1\n\n\ndef test_known_rows"),
        thinking="Commits are what made it slow; one for each import is the rule to hold.",
    )  # fmt: skip
    to.assistant("", bash("python -m pytest -q && git stash -q -- tally && python -m pytest -q; git stash pop -q",
                          "30 passed in 0.84s\nFAILED tests/test_importer.py::test_an_import_is_one_transaction - "
                          "assert 500 == 1\n1 failed, 29 passed in 0.97s\n"))  # fmt: skip
    to.assistant(
        "The new test passes with the fast import, and fails with the old one: 500 commits instead of one. "
        "Shall I commit all of it?",
    )
