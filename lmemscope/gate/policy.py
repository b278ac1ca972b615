"""Read a project's allowances and expectations from source comments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lmemscope.config.kinds import Place, nearest
from lmemscope.config.options import ALLOWANCE
from lmemscope.errors import UsageError
from lmemscope.formats.depths import DEPTH
from lmemscope.gate.comments import doubt, holds_for
from lmemscope.model import (
    Allowance,
    InputId,
    KernelDirective,
    KernelReport,
    SourceComment,
    UnitReport,
)

WORDS = ("allow", "expect", "instantiate", DEPTH)
"""The keywords of comments."""

_ALLOW = re.compile(
    r'(?P<cause>[\w-]+)(?:\s+(?P<bytes>[0-9]+))?\s+"(?P<reason>[^"]+)"'
    r"(?:\s+until\s+(?P<expires>\d{4}-\d{2}-\d{2}))?\s*$"
)


def from_sources(units: Sequence[UnitReport]) -> tuple[Allowance, ...]:
    """Allowances in ``// lmemscope: allow CAUSE BYTES "reason" until DATE`` comments.

    Raises:
        UsageError: a comment cannot be parsed; the message names its line.
    """
    found: dict[tuple[str, int], Allowance] = {}
    for unit in units:
        for directive in unit.directives:
            if directive.word == "allow":
                comment = SourceComment(file_of(directive, unit), directive)
                found[comment.input, directive.line] = _allowance(comment)
    return tuple(found.values())


def file_of(directive: KernelDirective, unit: UnitReport) -> str:
    """The file that contains a comment: the unit's own, or a header that many units include."""
    return unit.input if directive.file is None else directive.file


def speaks_of(comment: SourceComment, unit: UnitReport, kernel: KernelReport) -> bool:
    """Whether a comment applies to a kernel of a unit that contains or includes its file."""
    return any(holds_for(directive, unit, kernel) for directive in _same(comment, unit))


def doubt_of(comment: SourceComment, units: Sequence[UnitReport]) -> str:
    """Why it is unclear in some unit which kernel a comment refers to; empty if it is clear."""
    doubts = (
        doubt(directive, unit)
        for unit in units
        if unit.failure is None
        for directive in _same(comment, unit)
    )
    return next((why for why in doubts if why), "")


def _same(comment: SourceComment, unit: UnitReport) -> Iterator[KernelDirective]:
    return (
        directive
        for directive in unit.directives
        if directive.line == comment.directive.line
        and directive.word == comment.directive.word
        and file_of(directive, unit) == comment.input
    )


def check_directives(units: Sequence[UnitReport], *, every_kernel: bool = True) -> None:
    """Reject comments that have no effect: what looks like a rule must be one.

    Args:
        units: of the report.
        every_kernel: whether no compiled kernel was left out of the report.

    Raises:
        UsageError: a comment's keyword is unknown, or it refers to no kernel; the message names its
            line.
    """
    for unit in units:
        for directive in unit.directives:
            place = f"{file_of(directive, unit)}:{directive.line}"
            if directive.word not in WORDS:
                near = nearest(directive.word, WORDS)
                meant = f"did you mean {near}? " if near is not None else ""
                raise UsageError(
                    "policy",
                    f"{place}: not a word of lmemscope's: {directive.word or '(none)'}",
                    hint=f"{meant}known keywords: {', '.join(WORDS)}",
                )
            if directive.word == DEPTH:
                continue  # it names functions, not a kernel
            if not directive.kernel:
                raise UsageError(
                    "policy",
                    f"{place}: no kernel follows this comment directly: {directive.word}",
                    hint=f"{directive.word} stands directly above a kernel or inside it",
                )
            if directive.tie == "branch":
                raise UsageError(
                    "policy",
                    f"{place}: this comment stands in a branch of an #if that ends before "
                    f"{directive.kernel}: {directive.word}",
                    hint=f"put {directive.word} and its kernel into the same branch",
                )
            if directive.tie != "function" or directive.doubt or not every_kernel:
                continue
            if _is_of_no_kernel(directive, unit, units):
                raise UsageError(
                    "policy",
                    f"{place}: this comment stands above {directive.kernel}, or inside it, which "
                    f"is no kernel of this compilation: {directive.word}",
                    hint=f"{directive.word} stands above a kernel or inside it",
                )


def _is_of_no_kernel(
    directive: KernelDirective, unit: UnitReport, units: Sequence[UnitReport]
) -> bool:
    """Whether every unit with the comment was compiled, and none has a kernel for it."""
    # A variant of a file, such as `a.cu[1]`, need not contain the kernel.
    file = InputId.parse(file_of(directive, unit)).file
    return not any(
        one.failure is not None or any(holds_for(other, one, kernel) for kernel in one.kernels)
        for one in units
        for other in one.directives
        if other.line == directive.line and InputId.parse(file_of(other, one)).file == file
    )


def _allowance(comment: SourceComment) -> Allowance:
    directive = comment.directive
    place = f"{comment.input}:{directive.line}"
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
    return Allowance(**values, place=place, comment=comment)
