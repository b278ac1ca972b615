"""Why nothing is offered: every rewrite of a finding's cause has a candidate or a reason."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from lmemscope.rewrites import REWRITES
from lmemscope.rewrites.base import DeclinedError, declined_by
from tests.support.program import Finished


def test_a_reason_has_the_line_that_it_names() -> None:
    assert declined_by(DeclinedError("line 12 uses it")).line == 12
    assert declined_by(DeclinedError("it is volatile")).line is None


def test_every_rewrite_says_what_it_looks_for() -> None:
    assert all(one.nothing and not one.nothing.endswith(".") for one in REWRITES)


def finding(one: dict[str, Any], place: str) -> tuple[Any, ...]:
    return one["input"], one["object"], one["cause"], str(one[place])


@pytest.mark.toolchain
def test_no_rewrite_of_a_samples_finding_is_passed_over_in_silence(fixed: Finished) -> None:
    said: dict[tuple[Any, ...], set[str]] = defaultdict(set)
    document = fixed.document
    for one in document["candidates"]:
        said[finding(one, "location")].update(one["rewrite"].split("+"))
        assert (one["rank"] is None) == bool(one["error"]), one
    for one in document["declined"]:
        assert one["reason"]
        assert one["line"] or one["place"] is None
        said[finding(one, "place")].add(one["rewrite"])
    assert all(one["reason"] and one["declined"] for one in document["untried"])
    assert len(said) > 5
    for key, names in said.items():
        wanted = {one.name for one in REWRITES if key[2] in one.causes}
        if not key[0].endswith(".py"):
            assert wanted <= names, (key, wanted - names)
