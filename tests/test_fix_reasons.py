"""Why nothing is offered: every rewrite of a finding's cause has a candidate or a reason."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lmemscope.model import Rewriting
from lmemscope.rewrites import REWRITES, proposals
from lmemscope.rewrites.base import DeclinedError, Target, declined_by
from tests.conftest import ROOT, run_program

KERNELS = ROOT / "kernels"


def test_a_reason_has_the_line_that_it_names() -> None:
    assert declined_by(DeclinedError("line 12 uses it")).line == 12
    assert declined_by(DeclinedError("it is volatile")).line is None


def test_every_rewrite_says_what_it_looks_for() -> None:
    assert all(one.nothing and not one.nothing.endswith(".") for one in REWRITES)


@pytest.fixture
def explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What `fix` says of all shipped kernels that need no build of their own."""
    (tmp_path / "samples").mkdir()
    for one in KERNELS.glob("*.cu"):
        (tmp_path / "samples" / one.name).write_bytes(one.read_bytes())
    for one in KERNELS.glob("*.cuh"):
        (tmp_path / "samples" / one.name).write_bytes(one.read_bytes())
    return tmp_path / "samples"


def rewrites_for(cause: str) -> set[str]:
    return {one.name for one in REWRITES if cause in one.causes}


def keyed(one: Any) -> tuple[Any, ...]:
    place = one.get("place") or one.get("location") or {}
    return one["input"], one["object"], one["cause"], place.get("line")


def missing_reasons(document: Any) -> Iterator[tuple[Any, ...]]:
    """Findings and rewrites of their cause of which nothing is said."""
    said: dict[tuple[Any, ...], set[str]] = {}
    for one in document["candidates"]:
        said.setdefault(keyed(one), set()).update(one["rewrite"].split("+"))
    for one in document["declined"]:
        assert one["reason"]
        said.setdefault(keyed(one), set()).add(one["rewrite"])
    for finding, names in said.items():
        left = rewrites_for(finding[2]) - names
        if left:
            yield finding, left


@pytest.mark.toolchain
def test_no_rewrite_of_a_samples_finding_is_passed_over_in_silence(explained: Path) -> None:
    for name in ("histogram.cu", "running_mean.cu", "local_sort.cu", "callee.cu"):
        path = explained / name
        if path.exists():
            document = run_program("fix", name, "--format", "json", cwd=explained).document
            assert not [*missing_reasons(document)], name
