"""The tables say what the contract says: each error once, each row whole, nothing promised that does not work."""

import subprocess
import sys

import pid.errors as errors
import pid.protocol as protocol

CONTRACT = {
    1001: "sessionNotFound",
    1002: "entryNotFound",
    1003: "leafConflict",
    1004: "duplicateEntryId",
    1005: "notASession",
    1006: "sessionChangedOnDisk",
    1007: "writeFailed",
    1008: "invalidEntry",
    1009: "sessionBusy",
    1010: "nothingToCompact",
    1011: "compactionInProgress",
    1012: "compactionSuperseded",
    1013: "summarizerUnavailable",
    1014: "summarizerFailed",
    1016: "sessionExists",
    1017: "readFailed",
    1020: "messageTooLarge",
    1021: "invalidCursor",
}


def tree(kind: type[errors.PidError]) -> list[type[errors.PidError]]:
    """A class of errors and all below it that the daemon has; a client may have one more for what it does not know."""
    own = (child for child in kind.__subclasses__() if child.__module__ == errors.__name__)
    return [kind, *(below for child in own for below in tree(child))]


def test_each_error_of_the_contract_is_there_once():
    raised = [(kind.code, kind.kind) for kind in tree(errors.PidError) if kind.code > 0]
    assert sorted(raised) == sorted(CONTRACT.items())
    assert {row.error.code: kind for kind, row in protocol.ERRORS.items()} == CONTRACT
    assert {kind.code for kind in tree(errors.PidError)} <= {*CONTRACT, *protocol.RPC_ERRORS}


def test_the_errors_docstring_names_each_class_with_its_code():
    text = errors.__doc__ or ""
    for kind in tree(errors.PidError)[1:]:
        assert f"── {kind.__name__} " in text
        assert any(f"── {kind.__name__} " in line and str(kind.code) in line for line in text.splitlines())


def test_an_error_says_its_kind_and_whether_to_try_again():
    for row in protocol.ERRORS.values():
        data = row.error("what, where, what to do", entryId="e").data
        assert data == {"kind": row.error.kind, "retryable": row.error.retryable, "entryId": "e"}
    assert errors.WriteFailed("m", retryable=False).data["retryable"] is False


def test_a_row_that_does_not_work_is_promised_nowhere():
    served = {*protocol.METHODS, *protocol.NOTIFICATIONS, *protocol.BASE_METHODS, *protocol.BASE_NOTIFICATIONS}
    assert not served & {row.name for row in protocol.PLANNED}
    names = [*served, *(row.name for row in protocol.PLANNED)]
    assert len(names) == len(set(names))


def test_later_fields_are_fields():
    for row in (*protocol.METHODS.values(), *protocol.PLANNED):
        for kind in filter(None, (row.params, getattr(row, "result", None))):
            assert set(kind.__struct_fields__) >= kind.LATER


def test_the_defaults_of_settings():
    assert protocol.Settings() == protocol.Settings(
        context_window=None,
        reserve_tokens=16384,
        keep_recent_tokens=20000,
        auto_compact=False,
        summarizer="auto",
        fallback=True,
        model=None,
        overhead_tokens=None,
        token_estimator="calibrated",
        durability="synced",
    )
    assert protocol.Settings.__struct_fields__ == protocol.SettingsUpdate.__struct_fields__


def test_limits():
    limits = protocol.Limits()
    assert (limits.max_message_bytes, limits.max_page_bytes) == (256 * 2**20, 16 * 2**20)


def test_importing_the_protocol_imports_nothing_heavy():
    code = "import pid.protocol, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"anthropic", "tiktoken", "pygls", "lsprotocol", "asyncio", "anyio", "rich"}
    assert not heavy & set(loaded)
