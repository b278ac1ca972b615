"""Explanations from hand-made reports: layout alone."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lmemscope.analysis.groups import templates
from lmemscope.exporters.explanation import Explainer
from lmemscope.model import (
    IndexFacts,
    IndexSource,
    InlineFrame,
    KernelReport,
    LineUse,
    Occupancy,
    SiteClass,
    SourceLine,
    SourceLocation,
)
from lmemscope.model.occupancy import BlockSource
from lmemscope.rules.verdict import judge
from tests.support.builders import find, kernel_with, report

CALL = SourceLocation("a.cu", 7)


def test_a_line_whose_text_nobody_has_is_named() -> None:
    place = SourceLocation("a.cu", 7)
    used = LineUse.of(place, "local-object", SiteClass(1, 0, 4, 0))
    facts_ = replace(kernel_with("dynamic-index"), lines=(used,), accesses=())
    made = report(KernelReport.of(facts_, judge(facts_), ()))

    def explained(*lines: SourceLine) -> list[str]:
        unit = replace(made.units[0], source_lines=lines)
        (group,) = templates([(unit, unit.kernels[0])])
        text = Explainer(color=False, width=100).explain_group(group)
        return [line.strip() for line in text.splitlines()]

    assert any(line.startswith("line 7: ") for line in explained())
    quoted = explained(SourceLine("a.cu", 7, "x = 1;"))
    assert any(line.endswith("7 | x = 1;") for line in quoted)
    assert not any(line.startswith("line 7: ") for line in quoted)


def test_what_a_headers_function_does_with_its_own_variable_is_shown_in_the_header() -> None:
    called = (InlineFrame.at(SourceLocation("h.cuh", 4), "f"), InlineFrame.at(CALL, None))
    made = kernel_with("dynamic-index")
    (mine,) = (replace(one, declared=SourceLocation("h.cuh", 2)) for one in made.objects[:1])
    header = replace(made, objects=(mine,), location=SourceLocation("a.cu", 1))
    (one, *_) = made.accesses
    inside = replace(one, chain=called, object=0)
    assert header.line_of(inside) == SourceLocation("h.cuh", 4)
    assert header.line_of(replace(inside, object=None)) == CALL
    # Handed to the header's function, it is the kernel's own.
    own = replace(header, objects=(replace(mine, declared=SourceLocation("a.cu", 2)),))
    assert own.line_of(inside) == CALL
    # What a library keeps for itself is shown where it is called.
    library = SourceLocation("/usr/local/cuda/include/cub/util.cuh", 9)
    theirs = replace(header, objects=(replace(mine, declared=library),))
    of_library = (InlineFrame.at(library, "g"), called[1])
    assert theirs.line_of(replace(inside, chain=of_library)) == CALL


@pytest.mark.parametrize(
    ("block", "source", "is_said"),
    [(1, "launch", True), (32, "launch", False), (1, "default", False)],
)
def test_sectors_of_blocks_smaller_than_a_warp(
    block: int, source: BlockSource, is_said: bool
) -> None:
    own = Occupancy(1.0, 32, 32, block, source, ())
    loaded = IndexFacts("i", (IndexSource("memory", "p", 0),), "data-dependent", None, None)
    facts_ = kernel_with("dynamic-index")
    (found,) = facts_.objects
    facts_ = replace(facts_, objects=(replace(found, index=loaded),), occupancy=own)
    made = report(KernelReport.of(facts_, judge(facts_), find(facts_)))
    (group,) = templates([(made.units[0], made.units[0].kernels[0])])
    text = " ".join(Explainer(color=False, width=100).explain_group(group).split())
    assert "may diverge across the warp" in text
    assert ("its blocks, of 1 thread, have fewer" in text) == is_said
