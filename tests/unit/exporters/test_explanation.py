"""Explanations from hand-made reports: layout alone."""

from __future__ import annotations

from msgspec.structs import replace

from lmemscope.analysis.groups import templates
from lmemscope.exporters.explanation import Explainer
from lmemscope.model import KernelReport, LineUse, SiteClass, SourceLine, SourceLocation
from lmemscope.rules.verdict import judge
from tests.support.builders import kernel_with, report


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
