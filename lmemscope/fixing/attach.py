"""What was tried, beside the findings that it was tried on: advice that failed is not shown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from lmemscope.analysis.leaving import leave_reason
from lmemscope.exporters.layout import shortened
from lmemscope.exporters.proven import speed
from lmemscope.model import (
    Advice,
    Finding,
    FixReport,
    KernelReport,
    ProvenFix,
    Report,
    Trial,
    TrialVerdict,
    Untried,
    Verified,
    traits_of,
)
from lmemscope.rewrites import said

_Key = tuple[str, str, str, str]
_Tried = TypeVar("_Tried", Trial, Untried)
_CAME: Mapping[TrialVerdict, str] = {
    "removed": "removes it",
    "reduced": "leaves some of it",
    "no-effect": "no effect",
    "worse": "harms a kernel",
    "failed": "not compiled",
}
"""What came of a trial, in a list of several."""
_ENDED = Advice("Not all of its rewrites were tried: `lmemscope fix` tries them.", is_none=True)
_ERROR = 160
"""Characters of a compiler's error in such a list."""


def with_fixes(report: Report, tried: FixReport, *, is_cut: bool = False) -> Report:
    """A report whose findings say which fix is proven, and which advice holds.

    Args:
        report: of the units.
        tried: what was tried on their findings.
        is_cut: whether the user ended the run before everything was tried.
    """
    # A variable is one target for all kernels and architectures that have it.
    reasons: dict[tuple[object, ...], list[Untried]] = {}
    for one in tried.untried:
        reasons.setdefault((one.input, one.object, one.cause, one.place), []).append(one)
    found: dict[_Key, list[Trial]] = {}
    for trial in tried.trials:
        found.setdefault(_key(trial.input, trial.arch, trial.kernel, trial.fingerprint), []).append(
            trial
        )
    units = tuple(
        replace(
            unit,
            kernels=tuple(
                _with(kernel, unit.input, unit.arch, found, reasons, is_cut=is_cut)
                for kernel in unit.kernels
            ),
        )
        for unit in report.units
    )
    return replace(report, units=units)


def _key(name: str, arch: str, kernel: str, fingerprint: str) -> _Key:
    return name, arch, kernel, fingerprint


def _with(
    kernel: KernelReport,
    name: str,
    arch: str,
    found: Mapping[_Key, Sequence[Trial]],
    reasons: Mapping[tuple[object, ...], Sequence[Untried]],
    *,
    is_cut: bool,
) -> KernelReport:
    own = kernel.facts.demangled
    return replace(
        kernel,
        findings=tuple(
            _tried(
                finding,
                _of(finding, found.get(_key(name, arch, own, finding.fingerprint), ())),
                _of(
                    finding,
                    reasons.get((name, finding.object, finding.cause, finding.location), ()),
                ),
                is_cut=is_cut,
            )
            for finding in kernel.findings
        ),
    )


def _of(finding: Finding, tried: Iterable[_Tried]) -> list[_Tried]:
    """What is of a finding's own variable: another of its name may be on its line."""
    places = (finding.location, *finding.related)
    return [one for one in tried if one.declared is None or one.declared in places]


def _tried(
    finding: Finding, trials: Sequence[Trial], untried: Sequence[Untried], *, is_cut: bool
) -> Finding:
    ended = (_ENDED,) if is_cut and traits_of(finding.cause).verdict != "promoted" else ()
    if not trials:
        if not finding.bytes:
            return finding  # There is nothing to remove.
        if not untried:
            return replace(finding, advice=(*finding.advice, *ended))
        if any(one.is_none for one in finding.advice):
            return finding  # That nothing removes it is said, and why.
        kept = tuple(one for one in finding.advice if one.rewrite not in _ruled_out(untried))
        is_asked = any(one.rewrites for one in untried[0].declined)
        return replace(
            finding, advice=(*kept, _unfit(untried[0])) if is_asked or not kept else kept
        )
    best = next((one for one in trials if one.rank == 1), None)
    fix = None
    verified = _verified(best) if best is not None else None
    if best is not None and verified is not None:
        rewriting = best.rewriting
        fix = ProvenFix(verified, best.summary, rewriting.caveat, best.patch or "")
    advice = _advice(finding.advice, trials)
    if best is not None and best.verdict == "removed":
        # Who can take what is proven is not served by what is not.
        advice = (one for one in advice if one.verified is not None)
    kept = tuple(advice)
    if fix is None and not any(one.verified is not None for one in kept):
        words = (one for one in kept if one.applicability is None)
        uncompiled = (one for one in kept if one.applicability is not None)
        kept = (*words, *_in_vain(trials), *uncompiled, *ended)
    elif (reason := leave_reason(trials)) is not None:
        kept = (Advice(f"Leave it as it is: {reason}.", is_none=True), *kept)
    return replace(finding, advice=kept, fix=fix)


def _ruled_out(untried: Iterable[Untried]) -> frozenset[str]:
    """Rewrites that the machine or the toolchain rules out, whoever writes them."""
    return frozenset(
        name
        for one in untried
        for declined in one.declined
        if declined.is_ruled_out
        for name in declined.rewrites
    )


def _unfit(untried: Untried) -> Advice:
    """That no rewrite applies, and what no other would change.

    What a rewrite does not read says nothing of the program, and is left to `lmemscope fix`.
    """
    why = said(one for one in untried.declined if one.is_ruled_out)
    return Advice(
        f"No rewrite of lmemscope's fits the text as it stands{f': {why}' if why else ''}. "
        "(`lmemscope fix` says what keeps it from each.)"
    )


def _in_vain(trials: Sequence[Trial]) -> Iterator[Advice]:
    """Why nothing is offered of what was tried: it does not help, or costs more than it saves."""
    removed = [one for one in trials if one.verdict == "removed" and one.speed_up is not None]
    best = max(removed, key=lambda one: one.speed_up or 0.0, default=None)
    reason = leave_reason(trials)
    if best is not None and best.speed_up is not None:
        leave = f"Leave it as it is: {reason}" if reason is not None else "Measure it before use"
        but = f", but {best.error}" if best.is_worth and best.error is not None else ""
        came = f"{best.summary} ({speed(best.speed_up)}){but}"
        caveat = best.rewriting.caveat
        unsafe = f" Unsafe: correct only if {caveat}." if caveat else ""
        text = f"{leave}. Of what was tried, this removes it: {came}.{unsafe}"
        yield Advice(text, is_none=True)
        return
    outcomes = dict.fromkeys(f"`{one.rewriting.rewrite}` ({_came(one)})" for one in trials)
    yield Advice(f"Nothing is offered of what was tried: {', '.join(outcomes)}.", is_none=True)


def _came(trial: Trial) -> str:
    if trial.verdict == "removed":
        # Why it has no rank names the kernel that it harms.
        why = trial.error or "it is not offered"
        return f"{_CAME[trial.verdict]}, but {shortened(why, _ERROR)}"
    if trial.verdict == "failed" and trial.error is not None:
        return shortened(trial.error.rpartition("error: ")[2], _ERROR)
    if trial.verdict == "worse" and trial.error is not None:
        return shortened(trial.error, _ERROR)
    return _CAME[trial.verdict]


def _advice(every: Iterable[Advice], trials: Sequence[Trial]) -> Iterable[Advice]:
    """Advice with what came of it; without what was tried and did not help, or is not so."""
    for one in every:
        if one.is_none and any(trial.verdict == "removed" for trial in trials):
            continue
        same = [trial for trial in trials if trial.rewriting.rewrite == one.rewrite]
        offered = (trial for trial in same if trial.rank is not None)
        helped = min(offered, key=_place, default=None)
        if helped is not None:
            # What was compiled may be another variant than what the rule has in mind.
            yield Advice(_said(helped), rewrite=one.rewrite, verified=_verified(helped))
        elif not same or (
            one.applicability is None and all(trial.verdict == "failed" for trial in same)
        ):
            # What does not compile as it was rewritten here may be written in another way, unless
            # it is that very proposal.
            yield one


def _place(trial: Trial) -> float:
    return trial.rank if trial.rank is not None else math.inf


def _said(trial: Trial) -> str:
    """What was done, as a sentence, and what it asks for."""
    done, caveat = trial.summary, trial.rewriting.caveat
    return f"{done[:1].upper()}{done[1:]}{f', if {caveat}' if caveat else ''}."


def _verified(trial: Trial) -> Verified | None:
    if trial.after is None:
        return None
    return Verified(
        trial.rewriting.rewrite,
        trial.rewriting.applicability,
        trial.verdict,
        trial.before,
        trial.after,
        trial.speed_up,
        trial.rounding,
    )
