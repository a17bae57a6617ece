"""A session on a real file against a list of dicts: append, batch, branch, label, another writer, reopening."""

import asyncio
import json
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pid.protocol import CreateParams
from tests.service.daemon import append, make_store, move, open_path, user

TEXTS = st.text(max_size=20)


class SessionMachine(RuleBasedStateMachine):
    """`model` is every visible entry in file order; `leaf` the daemon's leaf, `file_leaf` what the file says."""

    @initialize()
    def create(self):
        self.loop = asyncio.new_event_loop()
        self.directory = tempfile.TemporaryDirectory()
        self.opened = 0
        self.store = self.new_store()
        self.resident = self.run(self.store.create(CreateParams(cwd="/p")))
        self.path = Path(self.resident.session.journal.path)
        self.model = []
        self.labels = {}
        self.leaf = self.file_leaf = None
        self.others = 0
        self.before = self.path.read_bytes()

    def new_store(self):
        self.opened += 1
        return make_store(self.directory.name, prefix=f"o{self.opened}")

    def run(self, work):
        return self.loop.run_until_complete(work)

    def teardown(self):
        if hasattr(self, "loop"):
            self.run(self.store.close_all())
            self.loop.close()
            self.directory.cleanup()

    def pick(self, data, none=True):
        choices = [entry["id"] for entry in self.model]
        return data.draw(st.sampled_from([None, *choices] if none else choices), label="entry")

    def added(self, ids, parent, texts):
        for entry_id, text in zip(ids, texts, strict=True):
            self.model.append({"id": entry_id, "parent": parent, "text": text})
            parent = entry_id
        self.leaf = self.file_leaf = parent

    @rule(text=TEXTS)
    def append_at_the_leaf(self, text):
        parent = self.leaf
        written = self.run(append(self.resident, user(text), expected_leaf_id=self.leaf))
        assert written.planned.parent_id == parent
        self.added(written.planned.entry_ids, parent, [text])

    @rule(data=st.data(), text=TEXTS)
    def append_anywhere(self, data, text):
        parent = self.pick(data)
        written = self.run(append(self.resident, user(text), parent_id=parent, new_root=True))
        self.added(written.planned.entry_ids, parent, [text])

    @rule(texts=st.lists(TEXTS, min_size=1, max_size=4))
    def append_a_batch(self, texts):
        parent = self.leaf
        written = self.run(append(self.resident, *map(user, texts)))
        self.added(written.planned.entry_ids, parent, texts)

    @rule(texts=st.lists(TEXTS, min_size=2, max_size=6))
    def append_pipelined(self, texts):
        async def all_at_once():
            return await asyncio.gather(*(append(self.resident, user(text)) for text in texts))

        before = self.resident.session.revision
        for number, (written, text) in enumerate(zip(self.run(all_at_once()), texts, strict=True), 1):
            assert written.revision >= before + number
            self.added(written.planned.entry_ids, written.planned.parent_id, [text])

    @rule(data=st.data())
    def move_the_leaf(self, data):
        target = self.pick(data)
        written = self.run(move(self.resident, target))
        assert (written.planned.previous_leaf_id, written.planned.leaf_id) == (self.leaf, target)
        if target != self.leaf:
            self.file_leaf = target
        self.leaf = target

    @precondition(lambda self: self.model)
    @rule(data=st.data(), text=st.sampled_from(["", "one", "two"]))
    def label(self, data, text):
        target, parent = self.pick(data, none=False), self.leaf
        entry = {"type": "label", "targetId": target, "label": text}
        written = self.run(append(self.resident, entry))
        self.added(written.planned.entry_ids, parent, [None])
        self.labels[target] = text

    @rule(text=TEXTS)
    def a_refused_write_changes_nothing(self, text):
        before = self.path.read_bytes()
        try:
            self.run(append(self.resident, user(text), expected_leaf_id="nobody"))
        except Exception as error:
            assert type(error).__name__ == "EntryNotFound"
        assert self.path.read_bytes() == before

    @rule(text=TEXTS)
    def another_program_appends(self, text):
        """As pi does, whose leaf is the last line of the file, whatever it is."""
        lines = [json.loads(line) for line in self.path.read_bytes().splitlines()[1:]]
        self.others += 1
        parent = lines[-1]["id"] if lines else None
        line = {"type": "message", "id": f"x{self.others}", "parentId": parent, "timestamp": "2026-01-01T00:00:00.000Z"}
        with self.path.open("ab") as file:
            file.write(json.dumps(line | {"message": {"role": "user", "content": text}}).encode() + b"\n")
        self.model.append({"id": line["id"], "parent": self.file_leaf, "text": text})
        if self.file_leaf == self.leaf:
            self.leaf = line["id"]
        self.file_leaf = line["id"]
        self.run(append(self.resident, user("after"), parent_id=self.leaf))
        self.added([self.resident.session.leaf_id], self.leaf, ["after"])

    @rule(known=st.booleans())
    def reopen(self, known):
        self.run(self.store.close_all())
        self.store = self.new_store()
        fields = {"leaf_id": self.leaf} if known else {}
        self.resident = self.run(open_path(self.store, self.path, **fields))
        if not known:
            self.leaf = self.file_leaf

    @invariant()
    def the_session_is_the_model(self):
        if not hasattr(self, "resident"):
            return
        session, tree = self.resident.session, self.resident.session.tree
        rows = [row for row in range(len(tree)) if not tree.is_hidden(row)]
        assert [(tree.ids[row], tree.id_of(tree.parents[row])) for row in rows] == [
            (entry["id"], entry["parent"]) for entry in self.model
        ]
        assert session.leaf_id == self.leaf
        assert session.state().file_leaf_id == self.file_leaf
        assert {target: label.text for target, label in tree.labels.items()} == {
            target: text for target, text in self.labels.items() if text
        }
        bodies = [json.loads(body) for body in session.bodies(rows)]
        texts = [body["message"]["content"] if "message" in body else None for body in bodies]
        assert texts == [entry["text"] for entry in self.model]
        assert session.problems == []

    @invariant()
    def reopening_equals_memory(self):
        """At every step: another daemon that opens the file sees what this one holds, and writes nothing."""
        if not hasattr(self, "resident"):
            return
        raw, other = self.path.read_bytes(), make_store(self.directory.name, prefix="other")
        session = self.run(open_path(other, self.path)).session
        ours = self.resident.session.tree
        for column in ("ids", "parents", "kinds", "times", "starts", "sizes"):
            assert getattr(session.tree, column) == getattr(ours, column)
        assert (session.leaf_id, session.tree.name) == (self.file_leaf, ours.name)
        assert {key: label.text for key, label in session.tree.labels.items()} == {
            key: label.text for key, label in ours.labels.items()
        }
        self.run(other.close_all())
        assert self.path.read_bytes() == raw

    @invariant()
    def bytes_before_an_append_never_change(self):
        if hasattr(self, "path"):
            raw = self.path.read_bytes()
            assert raw.startswith(self.before)
            self.before = raw


TestSession = SessionMachine.TestCase
TestSession.settings = settings(max_examples=60, stateful_step_count=25)
