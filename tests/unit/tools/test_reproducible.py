"""Calls that start from the same memory state."""

from __future__ import annotations

import ctypes
import os
import signal
from pathlib import Path

import pytest

from lmemscope.errors import WorkerCrashError
from lmemscope.tools.addresses import fixed_addresses
from lmemscope.tools.reproducible import ReproducibleCalls

_seen: list[int] = []


def load(number: int) -> None:
    _seen.append(number)


def seen(number: int) -> list[int]:
    _seen.append(number)
    return _seen


def refuse() -> None:
    raise LookupError("no such thing")


def die() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def heap(junk: int) -> tuple[bool, int, int]:
    """Whether addresses are fixed here, where the next block lies, and a hash.

    Args:
        junk: blocks that are kept.
    """
    library = ctypes.CDLL(None)
    library.malloc.restype = ctypes.c_void_p
    fixed = library.personality(ctypes.c_ulong(0xFFFFFFFF)) & 0x0040000 != 0
    address = library.malloc(5_000)
    for _ in range(junk):
        library.malloc(1_000)
    return fixed, address if fixed else 0, hash("order")


def test_no_call_sees_what_another_did() -> None:
    calls = ReproducibleCalls(load, 7)
    calls.start()
    assert calls.call(seen, 1) == [7, 1]
    assert calls.call(seen, 2) == [7, 2]


def test_addresses_and_hashes_are_those_of_every_other_process() -> None:
    found = set()
    for junk in (0, 20, 300):
        calls = ReproducibleCalls(load, 1)
        calls.call(heap, junk)
        found.add(calls.call(heap, 1))
    assert len(found) == 1  # Some containers refuse fixed addresses; then only hashes are compared.


def test_errors_come_back_and_a_crash_ends_one_call() -> None:
    calls = ReproducibleCalls(load, 1)
    with pytest.raises(LookupError, match="no such thing"):
        calls.call(refuse)
    with pytest.raises(WorkerCrashError) as crash:
        calls.call(die)
    assert "SIGSEGV" in crash.value.message
    assert calls.call(seen, 3) == [1, 3]


def test_what_cannot_be_loaded_is_said_at_each_call() -> None:
    calls = ReproducibleCalls(refuse)
    for _ in range(2):
        with pytest.raises(LookupError):
            calls.call(seen, 1)


def test_relative_paths_start_from_the_callers_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = ReproducibleCalls(load, 1)
    calls.call(seen, 1)
    monkeypatch.chdir(tmp_path)
    assert calls.call(os.getcwd) == str(tmp_path)


def test_something_else_runs_meanwhile() -> None:
    calls, ran = ReproducibleCalls(load, 1), []
    assert calls.call(seen, 4, meanwhile=lambda: ran.append(1)) == [1, 4]
    assert ran == [1]


def test_only_programs_that_are_started_inside_have_fixed_addresses() -> None:
    personality = ctypes.CDLL(None).personality
    before = personality(ctypes.c_ulong(0xFFFFFFFF))
    with fixed_addresses() as fixed:
        inside = personality(ctypes.c_ulong(0xFFFFFFFF))
    assert fixed == (inside & 0x0040000 != 0)
    assert personality(ctypes.c_ulong(0xFFFFFFFF)) == before


def test_no_cache_of_the_driver_answers_instead_of_the_compiler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CUDA_CACHE_DISABLE", "0")
    assert ReproducibleCalls(load, 1).call(os.getenv, "CUDA_CACHE_DISABLE") == "1"
