"""What to call a kernel on the command line so that nothing else is meant."""

from __future__ import annotations

from collections.abc import Iterable

from lmemscope.analysis.groups import Group, template_name
from lmemscope.analysis.ranking import Row
from lmemscope.formats.kernel_names import are_meant, spellings


def pattern_of(group: Group, rows: Iterable[Row]) -> str:
    """The shortest name of a group's template that means no other kernel of its input.

    Args:
        group: whose worst kernel is meant; other instances of its template may be meant too.
        rows: all kernels.
    """
    unit, worst = group.kernels[0]
    facts = worst.facts
    named = {
        (kernel.facts.name, kernel.facts.demangled)
        for other, kernel in rows
        if other.input == unit.input and template_name(kernel.facts.demangled) != group.name
    }
    others = [spellings(name, demangled) for name, demangled in named]

    def rank(spelling: str) -> tuple[bool, int]:
        # All instances are explained together, so their template is named rather than one of them.
        return "<" in spelling or "(" in spelling, len(spelling)

    for spelling in sorted(spellings(facts.name, facts.demangled), key=rank):
        if not any(are_meant([spelling], names) for names in others):
            return spelling
    return facts.name
