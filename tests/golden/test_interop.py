"""The shared session files: the daemon answers what pi 1.6.0 answered, or what the table of differences says."""

import pytest

from tests import interop
from tests.golden.differences import by_place, different, renamed
from tests.golden.table import SHARED_DIFFERENCES
from tests.golden.view import entry_ids, view
from tests.service.daemon import make_store, open_path

pytestmark = pytest.mark.anyio
shared = pytest.mark.skipif(not interop.CASES, reason="the interop files are not beside this repository")


@shared
@pytest.mark.parametrize("case", interop.CASES)
async def test_a_shared_case_is_answered_as_pi_answers_it(case, tmp_path):
    store = make_store(tmp_path)
    seen = await view(store, interop.case_file(case))
    if seen.get("version") == 1:
        resident = await open_path(store, interop.case_file(case))
        seen = renamed(seen, by_place(await entry_ids(resident.session)))
    expected = SHARED_DIFFERENCES[case].parts if case in SHARED_DIFFERENCES else {}
    assert different(seen, interop.expected(case)) == expected
    await store.close_all()


@shared
def test_every_difference_is_of_a_case_that_is_there():
    assert SHARED_DIFFERENCES.keys() <= set(interop.CASES)


@shared
async def test_the_real_session_gives_914_messages_and_is_not_touched(tmp_path):
    path = interop.FOLDER / "real-session-v1.jsonl"
    before = path.stat()
    store = make_store(tmp_path)
    seen = await view(store, path)
    assert len(seen["context"]["messages"]) == 914
    assert len(seen["branch"]) == seen["entryCount"] == 1018
    assert seen["problems"] == seen["warnings"] == []
    await store.close_all()
    after = path.stat()
    assert (before.st_mtime_ns, before.st_size, before.st_ino) == (after.st_mtime_ns, after.st_size, after.st_ino)
