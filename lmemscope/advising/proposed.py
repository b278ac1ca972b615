"""A unit's report whose advice has what rewrites propose; nothing of it is compiled."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from lmemscope.advising.targets import Files, targets_of
from lmemscope.model import Advice, Finding, KernelReport, Rewriting, Unit, UnitReport
from lmemscope.rewrites import FOR_ANY_ARRAY, of_cause, proposals, suits
from lmemscope.rewrites.base import Target
from lmemscope.rules import advice_for

_UNCOMPILED = "Not compiled: see `lmemscope fix`."


def with_proposals(
    results: Sequence[tuple[Unit, UnitReport]],
    files: Files,
    wanted: Collection[tuple[str, str, str]] | None = None,
) -> tuple[UnitReport, ...]:
    """Reports whose findings' advice has what rewrites propose.

    Args:
        results: units, with the options that their sources are read by.
        files: takes the trees; notes what is read.
        wanted: names of the units, architectures and symbols of the kernels to advise, with what
            others have of the same objects; None means all.
    """
    found: dict[tuple[str, Finding], tuple[Advice, ...]] = {}

    def is_wanted(report: UnitReport, kernel: KernelReport) -> bool:
        return wanted is None or (report.input, report.arch, kernel.facts.name) in wanted

    for target in targets_of(results, files, wanted=is_wanted):
        if isinstance(target, Target):
            proposed, declined = _proposed(target)
            for hit in target.hits:
                advice = advice_for(hit.case, hit.finding, proposed, declined)
                found[hit.facts.name, replace(hit.finding, advice=())] = advice
    return tuple(_advised(report, found) for _, report in results)


def _proposed(target: Target) -> tuple[tuple[Advice, ...], Mapping[str, str]]:
    """The proposals for a target, and why other rewrites have none, by their names."""
    made, declined = proposals(target, most=1)
    every = [one.name for one in of_cause(target.cause)]
    telling = sorted(
        (one for one in declined if not one.is_absent),
        key=lambda one: (not one.is_ruled_out, FOR_ANY_ARRAY.isdisjoint(one.rewrites)),
    )
    reasons = {
        name: one.reason
        for one in telling
        for name in sorted(one.rewrites or every, key=lambda name: name not in FOR_ANY_ARRAY)
    }
    return tuple(_advice(one) for one in made if suits(target, one)), reasons


def _advice(rewriting: Rewriting) -> Advice:
    """A rewriting in its own words, with what it asks for."""
    done, caveat = rewriting.summary, rewriting.caveat
    sentence = f"{done[:1].upper()}{done[1:]}."
    unsafe = f" Unsafe: correct only if {caveat}." if caveat else ""
    return Advice(
        f"{sentence}{unsafe} {_UNCOMPILED}",
        rewrite=rewriting.rewrite,
        applicability=rewriting.applicability,
    )


def _advised(
    report: UnitReport, found: Mapping[tuple[str, Finding], tuple[Advice, ...]]
) -> UnitReport:
    if not found:
        return report
    kernels = tuple(
        replace(
            kernel,
            findings=tuple(
                replace(
                    one,
                    advice=found.get((kernel.name, replace(one, advice=())), one.advice),
                )
                for one in kernel.findings
            ),
        )
        for kernel in report.kernels
    )
    return replace(report, kernels=kernels)
