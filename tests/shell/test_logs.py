"""The log: a file that stays small, warnings to stderr, and never what a message holds."""

import asyncio
import logging
import stat

import pytest

from pid.shell import logs

SECRET = "sk-secret"


@pytest.fixture
def root():
    """The root logger, as it was before."""
    logger = logging.getLogger()
    handlers, level, raising = list(logger.handlers), logger.level, logging.raiseExceptions
    yield logger
    for handler in set(logger.handlers) - set(handlers):
        handler.close()
    logger.handlers[:], logging.raiseExceptions = handlers, raising
    logger.setLevel(level)


def test_warnings_go_to_stderr_and_all_to_the_file(root, tmp_path, capsys):
    logs.set_up(str(tmp_path / "state" / "pid"), "info")
    for level in ("debug", "info", "warning"):
        getattr(logging.getLogger("pid.x"), level)("said at %s", level)
    written = (tmp_path / "state" / "pid" / logs.FILE_NAME).read_text()
    assert ["said at debug" in written, "said at info" in written, "said at warning" in written] == [False, True, True]
    told = capsys.readouterr().err
    assert ("said at warning" in told, "said at info" in told) == (True, False)
    assert stat.S_IMODE((tmp_path / "state" / "pid").stat().st_mode) == 0o700


def test_no_text_of_an_exception(root, tmp_path):
    logs.set_up(str(tmp_path), "debug")
    try:
        try:
            int(SECRET)
        except ValueError as error:
            raise KeyError(SECRET) from error
    except KeyError:
        logging.getLogger("pid.x").exception("a request failed")
    written = (tmp_path / logs.FILE_NAME).read_text()
    assert "builtins.KeyError" in written
    assert "behind builtins.ValueError" in written
    assert "test_logs.py" in written
    assert SECRET not in written


def test_nothing_of_a_task_that_failed_unseen(root, tmp_path):
    logs.set_up(str(tmp_path), "info")

    async def fails():
        raise ValueError(SECRET)

    async def run():
        task = asyncio.create_task(fails())
        await asyncio.wait([task])
        del task

    asyncio.run(run())
    written = (tmp_path / logs.FILE_NAME).read_text()
    assert "never retrieved" in written
    assert SECRET not in written


def test_the_file_stays_small(root, tmp_path, monkeypatch):
    monkeypatch.setattr(logs, "MAX_BYTES", 1000)
    logs.set_up(str(tmp_path), "info")
    for number in range(200):
        logging.getLogger("pid.x").info("line %d", number)
    sizes = [path.stat().st_size for path in tmp_path.iterdir()]
    assert len(sizes) == 1 + logs.KEPT
    assert max(sizes) <= 1000


def test_without_a_place_for_it_there_is_no_file(root, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    logs.set_up(str(tmp_path / "file" / "pid"), "info")
    logging.getLogger("pid.x").warning("goes on")
    assert "goes on" in capsys.readouterr().err
