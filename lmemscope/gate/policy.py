"""What a project allows in comments of its sources; the rest is in its configuration."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lmemscope.config.kinds import Place
from lmemscope.config.options import ALLOWANCE
from lmemscope.errors import UsageError
from lmemscope.model import Allowance, KernelDirective, UnitReport

_ALLOW = re.compile(
    r'(?P<cause>[\w-]+)(?:\s+(?P<bytes>\d+))?\s+"(?P<reason>[^"]+)"'
    r"(?:\s+until\s+(?P<expires>\d{4}-\d{2}-\d{2}))?\s*$"
)


def from_sources(units: Sequence[UnitReport]) -> tuple[Allowance, ...]:
    """``// lmemscope: allow CAUSE BYTES "reason" until DATE`` comments.

    Raises:
        UsageError: a comment that cannot be read, named with its line.
    """
    found: dict[tuple[str, int], Allowance] = {}
    for unit in units:
        for directive in unit.directives:
            if directive.word == "allow":
                place = f"{unit.input}:{directive.line}"
                found[unit.input, directive.line] = _allowance(directive, place)
    return tuple(found.values())


def _allowance(directive: KernelDirective, place: str) -> Allowance:
    match = _ALLOW.match(directive.argument)
    if match is None:
        raise UsageError(
            "policy",
            f"{place}: not an allowance: {directive.argument}",
            hint='write: // lmemscope: allow dynamic-index 128 "reason" until 2027-01-31',
        )
    values = {row.name: row.default for row in ALLOWANCE} | {"kernel": directive.kernel}
    said = match.groupdict()
    for row in ALLOWANCE:
        text = said.get(row.name)
        if text is not None:
            where = Place(f"{place}: {row.key}", stage="policy")
            values[row.name] = row.kind.check(row.kind.read(text), where)
    return Allowance(**values, place=place)
