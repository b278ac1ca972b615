"""Frontiers as text, Markdown and a page, from points alone."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from lmemscope.analysis.frontier import marked
from lmemscope.exporters.formats import render
from lmemscope.model import SourceLocation, TunedKernel, TunePoint, TuneReport

HOSTILE = (
    "<script>alert(1)</script>",
    "a|b`c`\n# d",
    "\x1b[31mred\x07",
    "</h2><img src=x onerror=a()>",
)


def point(cap: int | None, spills: int, occupancy: float, cost: float | None) -> TunePoint:
    return TunePoint(
        cap=cap,
        registers=cap or 90,
        spill_stores=spills,
        spill_loads=spills,
        stack_frame=spills,
        shared=0,
        code_bytes=6400,
        occupancy=occupancy,
        block=256,
        limited_by=("registers",),
        cost=cost,
        fits=True,
    )


def kernel(name: str, *points: TunePoint, own: TunePoint | None = None) -> TunedKernel:
    made, reason = marked(points)
    best = next((one for one in made if one.is_knee), None)
    return TunedKernel(
        input="a.cu",
        arch="sm_90",
        name=name,
        demangled=name,
        location=SourceLocation("a.cu", 7),
        natural=90,
        knee=None if best is None else best.cap or 90,
        reason=reason,
        block_from="launch",
        overrides=(".maxntid",) if own is not None else (),
        own=own,
        points=made,
    )


PLAIN = kernel("plain", point(None, 0, 0.3, 100.0), point(80, 40, 0.4, 180.0))


def test_a_row_has_the_mark_the_figures_and_the_cost_beside_the_least() -> None:
    own = point(32, 500, 1.0, 800.0)
    bounded = kernel("bounded", point(None, 0, 0.0, None), point(64, 8, 0.5, 100.0), own=own)
    lines = str(render(TuneReport("1", (bounded,)), "table")).splitlines()
    head = next(number for number, line in enumerate(lines) if "regs" in line)
    own_row, natural, knee = (line.split() for line in lines[head + 1 : head + 4])
    assert own_row[:4] == ["own", "32", "500/500", "500"]
    assert own_row[-3:-1] == ["×", "8.00"]
    assert natural[:3] == ["•", "-", "90"]
    assert natural[-1] == "?"
    assert "does not fit" in lines[head + 2]
    assert knee[:3] == ["◆", "64", "64"]
    assert knee[-3:-1] == ["×", "1.00"]
    assert "costs 8 times as much" in " ".join(lines)


def test_of_many_kernels_those_without_a_better_cap_have_a_line_each() -> None:
    better = kernel("better", point(None, 0, 0.3, 100.0), point(80, 0, 0.4, 80.0))
    others = [replace(PLAIN, demangled=f"plain{number}") for number in range(6)]
    report = TuneReport("1", (*others, better))
    text = str(render(report, "table"))
    # The first, because it spills most, and the one with a better cap.
    assert text.count("regs") == 2
    assert "5 kernels without a better cap" in text
    assert "  plain5  sm_90: 90 registers, occupancy 30%" in text
    assert str(render(report, "markdown")).count("regs") == 7
    assert len(json.loads(render(report, "json"))["kernels"]) == 7


@pytest.mark.parametrize("text", HOSTILE)
def test_foreign_text_does_nothing(text: str) -> None:
    named = replace(PLAIN, name=text, demangled=text, input=text)
    report = TuneReport("1", (named,), notes=(text,))
    for name in ("table", "markdown", "html"):
        shown = str(render(report, name))
        assert "\x1b" not in shown
        assert "\n# d" not in shown
        if name != "table":
            assert "<script>alert" not in shown.replace("\\<", "")
            assert "<img src" not in shown.replace("\\<", "")
