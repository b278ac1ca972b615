"""How far a run is, where no terminal shows a bar."""

from __future__ import annotations

import time

import pytest

from lmemscope.commands import progress


def test_a_long_run_says_now_and_then_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.shown(interval=0.02) as tell:
        tell(0, 141, "a.cu")
        tell(62, 141, "b.cu", 4)
        deadline = time.monotonic() + 10
        said = ""
        while "62 of 141 done, 4 failed, 0 min\n" not in said and time.monotonic() < deadline:
            time.sleep(0.02)
            said += capsys.readouterr().err
    assert "62 of 141 done, 4 failed, 0 min\n" in said


def test_a_short_run_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.shown() as tell:
        tell(0, 2, "a.cu")
        tell(2, 2, "b.cu")
    assert capsys.readouterr() == ("", "")


def test_nothing_is_said_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.shown(interval=0.01) as tell:
        tell(1, 2, "a.cu")
        time.sleep(0.05)
    assert capsys.readouterr().out == ""
