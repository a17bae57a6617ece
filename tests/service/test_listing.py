"""`session/list` and `session/continueRecent`: whose sessions, in which order, in which pages."""

import asyncio
import base64
import json
import os
import time

import msgspec
import pytest

from pid.adapters.catalog import Places
from pid.adapters.listing import Lister
from pid.adapters.listing_index import ListingIndex
from pid.entries import iso_of
from pid.errors import InvalidCursor
from pid.protocol import ContinueParams, CreateParams, ListParams, OpenParams
from pid.service import listing as module
from pid.service.listing import Listings
from tests.service.daemon import append, make_store, user
from tests.trees import START_MS, session_bytes

pytestmark = pytest.mark.anyio


class Home:
    """An agent directory with sessions, and the listings of a client that works in /x/y."""

    def __init__(self, root):
        self.agent = root / "agent"
        self.store = make_store(root)
        self.store.places = Places(str(self.agent))
        self.listings = Listings(self.store, Lister(ListingIndex(str(root / "cache")), time.time_ns), ["/x/y"])

    def put(self, name, text="u1 a1", *, cwd="/x/y", directory="--x-y--", at=0):
        """A session file in a directory of its own or pi's; its messages are some seconds later with `at`."""
        folder = self.agent / "sessions" / directory if "/" not in str(directory) else directory
        folder.mkdir(parents=True, exist_ok=True)
        data = session_bytes(text).replace(b'"cwd": "/proj"', b'"cwd": ' + json.dumps(cwd).encode())
        for second in range(60, -1, -1):
            for old, new in (
                (iso_of(START_MS + second * 1000), iso_of(START_MS + (second + at) * 1000)),
                (str(START_MS + second * 1000), str(START_MS + (second + at) * 1000)),
            ):
                data = data.replace(old.encode(), new.encode())
        path = folder / f"{name}.jsonl"
        path.write_bytes(data)
        return path

    async def page(self, **params):
        return await self.listings.page(ListParams(**params), lambda done, total: None)

    async def names(self, **params):
        return [os.path.basename(info.path)[:-6] for info in (await self.page(**params)).sessions]


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)


async def test_what_an_entry_of_a_listing_says(home):
    path = home.put("a", "u1=first_question a1 n1=name t1")
    [info] = (await home.page()).sessions
    assert info.path == str(path)
    assert (info.id, info.cwd, info.name, info.first_message) == ("s-0001", "/x/y", "name", "first question")
    assert (info.message_count, info.size_bytes) == (3, path.stat().st_size)
    assert (info.created_at, info.modified_at) == (iso_of(START_MS), iso_of(START_MS + 2000))
    assert (info.session_id, info.parent_session) == (None, None)


async def test_the_last_message_comes_first(home):
    for name, at in (("old", 10), ("new", 30), ("middle", 20)):
        home.put(name, at=at)
    os.utime(home.put("touched", at=0))
    assert await home.names() == ["new", "middle", "old", "touched"]


async def test_the_header_says_whose_a_session_is(home):
    home.put("ours")
    home.put("collides", cwd="/x-y")
    home.put("slash", cwd="/x/y/")
    home.put("nameless", cwd="")
    home.put("elsewhere", cwd="/z", directory="--z--")
    home.put("moved", directory="--z--")
    assert sorted(await home.names()) == ["nameless", "ours", "slash"]
    assert sorted(await home.names(cwd="/x-y")) == ["collides", "nameless"]  # of no directory: its place decides
    assert sorted(await home.names(cwds=["/x-y", "/z", "/x/y"])) == [
        "collides",
        "elsewhere",
        "nameless",
        "ours",
        "slash",
    ]
    assert await home.names(cwds=[]) == []
    assert len(await home.names(all=True)) == 6


async def test_one_directory_for_all_sessions(home, tmp_path):
    there = tmp_path / "there"
    home.put("ours", directory=there)
    home.put("other", cwd="/z", directory=there)
    home.put("nameless", cwd="", directory=there)
    assert await home.names(session_dir=str(there)) == ["ours"]
    assert sorted(await home.names(session_dir=str(there), all=True)) == ["nameless", "other", "ours"]
    home.store.places = Places(str(home.agent), str(there))
    assert await home.names(cwd="/z") == ["other"]


async def test_sessions_without_a_message(home):
    home.put("empty", "n1=name")
    home.put("full")
    assert await home.names() == ["full"]
    assert sorted(await home.names(include_empty=True)) == ["empty", "full"]
    [empty] = [info for info in (await home.page(include_empty=True)).sessions if info.name]
    assert (empty.message_count, empty.first_message, empty.modified_at) == (0, "", iso_of(START_MS))


async def test_a_query_looks_into_names_and_first_messages(home):
    home.put("a", "u1=Fix_the_Parser a1=lexer")
    home.put("b", "u1=hello n1=Straße")
    home.put("c", "u1=hello u2=parser")
    assert await home.names(query="pARSEr") == ["a"]
    assert await home.names(query="STRASSE") == ["b"]
    assert await home.names(query="") == await home.names()
    assert (await home.page(query="hello", limit=1)).total == 2


async def test_pages_hold_their_place(home):
    for number in range(7):
        home.put(f"s{number}", at=number)
    first = await home.page(limit=3)
    assert (first.total, [info.path[-8:-6] for info in first.sessions]) == (7, ["s6", "s5", "s4"])
    home.put("new", at=50)
    (home.agent / "sessions/--x-y--/s4.jsonl").unlink()
    second = await home.page(limit=3, cursor=first.next_cursor, work_done_token="another")
    assert [info.path[-8:-6] for info in second.sessions] == ["s3", "s2", "s1"]
    third = await home.page(limit=3, cursor=second.next_cursor)
    assert ([info.path[-8:-6] for info in third.sessions], third.next_cursor) == (["s0"], None)


async def test_pages_end_before_they_grow_too_large(home, monkeypatch):
    for number in range(5):
        home.put(f"s{number}", "u1*3000", at=number)
    monkeypatch.setattr(module, "MAX_PAGE_BYTES", 7000)
    page = await home.page()
    assert (len(page.sessions), page.total) == (2, 5)
    monkeypatch.setattr(module, "MAX_PAGE_BYTES", 10)
    assert len((await home.page(cursor=page.next_cursor)).sessions) == 1


CURSORS = ["", "x", "é", base64.urlsafe_b64encode(msgspec.msgpack.encode(["call", [1, "/etc/passwd"]])).decode()]


@pytest.mark.parametrize("cursor", CURSORS)
async def test_a_cursor_of_nobody(home, cursor):
    home.put("a")
    with pytest.raises(InvalidCursor):
        await home.page(cursor=cursor)


async def test_a_cursor_of_another_listing(home):
    for number in range(3):
        home.put(f"s{number}", at=number)
    cursor = (await home.page(limit=1)).next_cursor
    with pytest.raises(InvalidCursor):
        await home.page(limit=1, query="x", cursor=cursor)


async def test_open_sessions_have_their_handle(home, tmp_path):
    path = home.put("a")
    home.put("b")
    (tmp_path / "link.jsonl").symlink_to(path)
    resident = await home.store.open(OpenParams(path=str(tmp_path / "link.jsonl")))
    handles = {info.path: info.session_id for info in (await home.page()).sessions}
    assert handles == {str(path): resident.session.session_id, str(path.with_name("b.jsonl")): None}


async def test_a_file_is_listed_once(home, tmp_path):
    path = home.put("a")
    os.link(path, path.with_name("b.jsonl"))
    (home.agent / "sessions" / "--again--").symlink_to(path.parent)
    assert len(await home.names(all=True)) == 1


async def test_progress_is_told_and_the_listing_stops(home):
    for number in range(4):
        home.put(f"s{number}")
    told = []
    await home.listings.page(ListParams(), lambda done, total: told.append((done, total)))
    assert told == [(number, 4) for number in range(4)]

    loop, task = asyncio.get_running_loop(), None

    def cancel(done, total):
        loop.call_soon_threadsafe(task.cancel)
        time.sleep(0.05)

    for number in range(40):
        home.put(f"t{number}")
    task = asyncio.create_task(home.listings.page(ListParams(), cancel))
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(await home.names()) == 44


async def test_continuing_opens_the_session_that_was_written_last(home):
    for age, name in enumerate(("c", "a", "b")):
        os.utime(home.put(name, f"u{age + 1}"), (1000 - age, 1000 - age))
    os.utime(home.put("other", cwd="/x-y"), (2000, 2000))
    resident, created = await home.listings.continue_recent(ContinueParams(cwd="/x/y"))
    assert (created, os.path.basename(resident.session.journal.path)) == (False, "c.jsonl")
    again, _ = await home.listings.continue_recent(ContinueParams(cwd="/x/y"))
    assert again is resident


async def test_continuing_where_there_is_nothing_makes_one_session(home):
    pair = await asyncio.gather(*(home.listings.continue_recent(ContinueParams(cwd="/none")) for _ in range(3)))
    assert [created for _, created in pair] == [True, False, False]
    assert len({id(resident) for resident, _ in pair}) == 1
    assert await home.names(cwd="/none") == []
    await append(pair[0][0], user())
    assert len(await home.names(cwd="/none")) == 1


async def test_what_is_created_is_listed(home):
    resident = await home.store.create(CreateParams(cwd="/x/y", name="n\u2028ame"))
    await append(resident, user("a\u2028b"))
    [info] = (await home.page()).sessions
    assert (info.name, info.first_message) == ("n\u2028ame", "a\u2028b")
    assert info.session_id == resident.session.session_id
