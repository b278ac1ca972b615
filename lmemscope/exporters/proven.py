"""Describe a proven fix and its measured effect in words, shared by all exporters."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lmemscope.model import Advice, Figures, Finding, ProvenFix, Verified
from lmemscope.model.fix import NOTICED

ROUNDING = (
    "Results may round differently, because nvcc fuses other multiplications and additions than "
    "before (none with -fmad=false)."
)


def sentence(fix: ProvenFix) -> str:
    """What the best fix does, its effect, and what the user has to guarantee."""
    promise = f" Unsafe: correct only if {fix.caveat}." if fix.caveat else " Safe."
    if fix.verified.rounding:
        promise += f" {ROUNDING}"
    summary = fix.summary[:1].upper() + fix.summary[1:]
    lead = "Proven fix" if fix.verified.verdict == "removed" else "Proven to reduce it"
    return f"{lead}: {summary} ({outcome(fix.verified)}).{promise}"


_NEAR, _MANY = 0.05, 10
"""Speed-ups that two digits would show as 1, and those shown as powers of ten."""


def whole(fix: ProvenFix) -> str:
    """The note below a displayed patch: tabs and bytes may look different there."""
    taken = " --unsafe" if fix.verified.applicability == "unsafe" else ""
    return f"`lmemscope fix{taken} --format patch` prints the patch as `git apply` takes it."


def advice_text(advice: Advice) -> str:
    """An advice, with its result if it was tried."""
    if advice.verified is None:
        return advice.text
    found = advice.verified
    result = "it is removed" if found.verdict == "removed" else "some of it remains"
    return f"{advice.text} Tried: {result} ({outcome(found)})."


def beside(finding: Finding) -> tuple[Advice, ...]:
    """A finding's advice except its proven fix, which is shown with its patch."""
    if finding.fix is None:
        return finding.advice
    return tuple(one for one in finding.advice if one.verified != finding.fix.verified)


def outcome(verified: Verified) -> str:
    """The figures that a rewrite changes, and the model's prediction.

    For example ``frame 128 → 0, registers 32 → 25; 1.4 times the modelled speed``.
    """
    changes = ", ".join(_changes(verified.before, verified.after)) or "no figure changes"
    gain = verified.speed_up
    if gain is None:
        return changes
    return f"{changes}; {speed(gain)}"


def speed(gain: float) -> str:
    """A modelled speed-up in words; a difference too small to measure counts as none."""
    if 1 / NOTICED <= gain <= NOTICED:
        return "the same modelled speed"
    slower = ", slower" if gain < 1 else ""
    return f"{factor(gain)} times the modelled speed{slower}"


def factor(gain: float) -> str:
    """A speed-up with enough digits to differ from 1: ``0.35``, ``1.04``, ``1.4``, ``140``."""
    digits = ".0f" if gain >= _MANY else ".2g" if abs(gain - 1) >= _NEAR else ".2f"
    return f"{gain:{digits}}".removesuffix(".00")


def patch_lines(fix: ProvenFix) -> list[str]:
    """The lines of its patch."""
    return fix.patch.rstrip("\n").split("\n") if fix.patch else []


_GUARD = re.compile(r"\+#if.*\bLMEM_\w+_DEFINED\)?")
"""Begins a class that a rewrite adds; the first ``#endif`` ends it."""


def short_patch(fix: ProvenFix) -> list[str]:
    """The lines of its patch for a reader: of the classes that it adds their number of lines."""
    shown: list[str] = []
    inside = 0
    for line in patch_lines(fix):
        if inside or _GUARD.fullmatch(line):
            inside += 1
            if line != "+#endif":
                continue
            line, inside = f"+// {inside} lines of a class", 0
        shown.append(line)
    return shown


def _changes(before: Figures, after: Figures) -> Iterator[str]:
    rows = (
        ("frame", before.stack_frame, after.stack_frame),
        ("LDL/STL", before.sites, after.sites),
        ("spilled bytes", before.spills, after.spills),
        ("registers", before.registers, after.registers),
        ("shared memory", before.shared, after.shared),
        ("bytes of code", before.code_bytes, after.code_bytes),
    )
    for name, old, new in rows:
        if old != new and old is not None and new is not None:
            yield f"{name} {old} → {new}"
