"""The fuzzer itself, and a few inputs of every target; `.ci/run` tries many more."""

from __future__ import annotations

import os
import signal
from collections import Counter

import pytest

from lmemscope.errors import FormatError
from tests.fuzz import run as fuzzing
from tests.fuzz.run import Result, make, report, run
from tests.fuzz.targets import TARGETS, Target


def test_no_input_fails() -> None:
    result = run(TARGETS, 400, seed=5, jobs=1)
    assert not result.failures, report(result, 5)
    assert result.tried.total() >= 400
    assert set(result.tried) == {target.name for target in TARGETS}


def test_inputs_are_made_again_by_their_number() -> None:
    for target in TARGETS[:3]:
        made = [make(target, 1, number) for number in range(20)]
        assert made == [make(target, 1, number) for number in range(20)]
        assert len(set(made)) > 15


def tried(monkeypatch: pytest.MonkeyPatch, read: object) -> Result:
    target = Target("odd", lambda: (b"seed",), read)  # type: ignore[arg-type]
    monkeypatch.setattr(fuzzing, "TARGETS", (target,))
    monkeypatch.setattr(fuzzing, "SECONDS", 0.2)
    return run((target,), 3, jobs=1)


def test_errors_of_our_own_are_right(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: bytes) -> None:
        raise FormatError("read", "no")

    result = tried(monkeypatch, refuse)
    assert result.refused == Counter(odd=3)
    assert not result.failures


def test_other_errors_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    result = tried(monkeypatch, lambda _: {}["gone"])  # type: ignore[index]
    assert [key[1] for key in result.failures] == ["KeyError at test_fuzz.py:<lambda>"]
    assert result.times.total() == 3


def test_what_takes_too_long_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def wait(_: bytes) -> None:
        while True:
            pass

    result = tried(monkeypatch, wait)
    assert [key[1].partition(" at ")[0] for key in result.failures] == ["more than 0.2 s"]


def test_what_takes_too_much_memory_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    result = tried(monkeypatch, lambda _: bytearray(3 << 30))
    assert [key[1].partition(" at ")[0] for key in result.failures] == ["MemoryError"]


def test_what_ends_the_process_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    result = tried(monkeypatch, lambda _: os.kill(os.getpid(), signal.SIGKILL))
    assert [key[1] for key in result.failures] == ["killed by signal 9"]
    assert result.tried["odd"] == 3
