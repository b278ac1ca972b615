"""What a project allows in comments of its sources; the rest is in its configuration."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from lmemscope.config.gate_options import ALLOWANCE
from lmemscope.config.kinds import Place, nearest
from lmemscope.errors import UsageError
from lmemscope.formats.demangle import short_name
from lmemscope.formats.depths import DEPTH
from lmemscope.model import Allowance, KernelDirective, KernelReport, SourceComment, UnitReport

WORDS = ("allow", "expect", "instantiate", DEPTH)
"""What a comment may say."""

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
                comment = SourceComment(file_of(directive, unit), directive)
                found[comment.input, directive.line] = _allowance(comment)
    return tuple(found.values())


def file_of(directive: KernelDirective, unit: UnitReport) -> str:
    """The file that holds a comment: the unit's own, or a header that many units include."""
    return unit.input if directive.file is None else directive.file


def speaks_of(comment: SourceComment, unit: UnitReport, kernel: KernelReport) -> bool:
    """Whether a comment speaks of a kernel of a unit, which holds or includes its file."""
    return any(
        directive.line == comment.directive.line
        and directive.word == comment.directive.word
        and file_of(directive, unit) == comment.input
        and holds_for(directive, unit, kernel)
        for directive in unit.directives
    )


def check_directives(units: Sequence[UnitReport], *, every_kernel: bool = True) -> None:
    """Refuse comments that nobody understands: what a reader takes for a rule must be one.

    Args:
        units: of the report.
        every_kernel: no kernel of what was compiled was kept out of the report.

    Raises:
        UsageError: a comment has no known word, or speaks of no kernel; named with its line.
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
                    hint=f"{meant}there are {', '.join(WORDS)}",
                )
            if directive.word == DEPTH:
                continue  # It speaks of functions, by name.
            if not directive.kernel:
                raise UsageError(
                    "policy",
                    f"{place}: no kernel follows this comment: {directive.word}",
                    hint=f"{directive.word} stands above a kernel or inside it",
                )
            if directive.tie == "branch":
                raise UsageError(
                    "policy",
                    f"{place}: this comment stands in a branch of an #if that ends before "
                    f"{directive.kernel}: {directive.word}",
                    hint=f"put {directive.word} and its kernel into the same branch",
                )
            if directive.tie != "function" or not every_kernel:
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
    """Whether every unit that has the comment was compiled, and none has a kernel for it."""
    # Ways to compile a file, `a.cu[1]` and on, need not all have the kernel.
    file = file_of(directive, unit).partition("[")[0]
    return not any(
        one.failure is not None or any(holds_for(other, one, kernel) for kernel in one.kernels)
        for one in units
        for other in one.directives
        if other.line == directive.line and file_of(other, one).partition("[")[0] == file
    )


def holds_for(directive: KernelDirective, unit: UnitReport, kernel: KernelReport) -> bool:
    """Whether a comment of a unit's file, or of its headers, speaks of a kernel of that unit.

    It does where the kernel's first line is between those that the source reader saw; else, as
    where that line was inlined from elsewhere, where the qualified name is the same and no other
    kernel of the file has it. What a macro declares may have another name than the reader saw.
    """
    facts = kernel.facts
    name = short_name(facts.demangled).partition("<")[0]
    same_name = name.rpartition("::")[2] == directive.kernel
    if directive.tie == "branch" or not (same_name or directive.tie == "function"):
        return False
    place = facts.location
    if place is not None and directive.lines is not None:
        first, last = directive.lines
        # A unit that stands for one of several ways to compile a file has that in its name.
        own = unit.input.partition("[")[0]
        files = (unit.input, own) if directive.file is None else (directive.file,)
        there = os.path.normpath(place.file) in {os.path.normpath(file) for file in files}
        if there and first <= place.line <= last:
            return True
    if directive.tie == "function":
        # Without the line, only the name is left; its namespace is not known.
        return same_name and place is None
    # An ``extern "C"`` kernel has no namespace wherever it stands.
    qualified = directive.kernel if facts.name == directive.kernel else directive.qualified
    return not directive.ambiguous and name == (qualified or directive.kernel)


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
