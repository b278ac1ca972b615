"""Why nothing is offered: every rewrite of a finding's cause has a candidate or a reason."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from msgspec.structs import replace

from lmemscope import rules
from lmemscope.model import IndexFacts, IndexSource, SourceLocation
from lmemscope.rewrites import REWRITES, proposals
from lmemscope.rewrites.base import DeclinedError, declined_by
from tests.support.builders import changed, source_text
from tests.support.program import Finished
from tests.support.rewriting import kernel, target


def test_a_reason_has_the_line_that_it_names() -> None:
    assert declined_by(DeclinedError("line 12 uses it")).line == 12
    assert declined_by(DeclinedError("it is volatile")).line is None


def test_every_rewrite_says_what_it_looks_for() -> None:
    assert all(one.nothing and not one.nothing.endswith(".") for one in REWRITES)


COUNTED = IndexSource("loop-counter", None)
MACRO = "#define FEED for (int u = 0; u < 8; u++) out[u] = a[u];\n"


def said(text: str, name: str, line: int) -> str:
    """Why a rewrite does not apply to an array that a counter indexes on a line."""
    home = SourceLocation("/p/a.cu", 1 + text[: text.index("__global__")].count("\n"))
    made = target(text, "a", "float[8]", cause="rolled-loop", location=home)
    (hit,) = made.hits
    (own,) = hit.facts.objects
    place = SourceLocation("/p/a.cu", line)
    own = replace(own, index=IndexFacts("u", (COUNTED,), "uniform", place, place))
    facts = replace(hit.facts, objects=(own,))
    case, found = next(iter(rules.cases(facts, source_text({"/p/a.cu": text}))))
    hit = changed(hit, facts=facts, case=case, finding=found)
    (why,) = (one for one in proposals(replace(made, hits=(hit,)))[1] if name in one.rewrites)
    return why.reason


@pytest.mark.parametrize("rewrite", ["unroll", "dispatch"])
def test_a_loop_in_a_macro_is_the_reason(rewrite: str) -> None:
    text = kernel("float a[8];", "FEED;", before=MACRO)
    assert said(text, rewrite, 4) == "the macro on line 4 has a loop, which is not read"
    assert "macro" not in said(kernel("float a[8];", "out[0] = a[n];", before=MACRO), rewrite, 4)


@pytest.mark.parametrize(
    ("loop", "why"),
    [
        ("for (int i = 0; i < b.size(); ++i) out[i] = a[i];", "has a call for its bound"),
        ("for (int i = 0; i < n++; ++i) out[i] = a[i];", "has a bound that may do more"),
        ("for (int i = p[0]; i < n; ++i) out[i] = a[i];", "does not count one variable up"),
        ("for (int i = 0; i < n && p[i]; ++i) out[i] = a[i];", "does not end by its counter"),
        ("for (int i = 0; i < n; ++i) out[i] = a[i + 1];", "indexes it by more than its counter"),
        ("for (int i = 0; i < n; ++i) if (i < 8) out[i] = a[i];", "tests its counter before"),
        ("for (int i = 0; i < n; ++i) { out[i] = a[i]; i += p[i]; }", "changes its counter"),
        ("int i = 0; while (i < n) { out[i] = a[i]; ++i; }", "is no `for` loop"),
    ],
)
def test_what_keeps_a_loop_from_a_bound_is_said(loop: str, why: str) -> None:
    reason = said(kernel("float a[8];", loop), "bounded-loop", 3)
    assert reason.startswith(f"the loop on line 3 {why}"), reason


def test_what_is_bounded_already_is_no_loop_that_varies() -> None:
    loop = "for (int i = 0; i < 8; ++i) out[i] = a[i];"
    (own,) = (one.nothing for one in REWRITES if one.name == "bounded-loop")
    assert said(kernel("float a[8];", loop), "bounded-loop", 3) == own


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


@pytest.mark.parametrize(
    ("type_", "why"),
    [("int[8]", "an array by another name"), ("Eight", "it is no array")],
)
def test_an_array_by_another_name_is_said_to_be_one(type_: str, why: str) -> None:
    text = kernel("Eight a;", "a[n] = 1;", "out[0] = a[n];", before="using Eight = int[8];\n")
    one = target(text, "a", type_, line="Eight a")
    assert any(why in reason.reason for reason in proposals(one)[1])
