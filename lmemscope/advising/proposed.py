"""A unit's report whose advice comes from rewrites: what they propose, or why they decline."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from lmemscope.advising.changes import changed_lines
from lmemscope.advising.refused import Refusals
from lmemscope.advising.targets import Files, targets_of
from lmemscope.exporters.proven import factor
from lmemscope.model import Advice, Declined, Finding, KernelReport, Unit, UnitReport, traits_of
from lmemscope.rewrites import REWRITES, Likely, likely, quoted, tried_beside
from lmemscope.rewrites.base import Rewrite, Target
from lmemscope.rewrites.likelihood import always
from lmemscope.rules import advice_for
from lmemscope.rules.base import Offer

_UNCOMPILED = "Not compiled."
_ALIKE = "About as fast, by the model: `lmemscope fix` compiles it and says more."
_BEYOND = "For the rest of the program, `lmemscope fix` says what else must hold."
"""Where a rewriting is safe for a kernel's results alone."""


def with_proposals(
    results: Sequence[tuple[Unit, UnitReport]],
    files: Files,
    wanted: Collection[tuple[str, str, str]] | None = None,
    cache: str | None = None,
) -> tuple[UnitReport, ...]:
    """Reports whose findings' advice is what rewrites propose, where one is likely to help.

    Args:
        results: units, with the options that their sources are read by.
        files: takes the trees; notes what is read.
        wanted: names of the units, architectures and symbols of the kernels to advise, with what
            others have of the same objects; None means all.
        cache: directory of the store, where `lmemscope fix` keeps what it refused, or None.
    """
    refusals = Refusals(cache, files.asked)
    found: dict[tuple[str, Finding], tuple[Advice, ...]] = {}

    def is_wanted(report: UnitReport, kernel: KernelReport) -> bool:
        return wanted is None or (report.input, report.arch, kernel.facts.name) in wanted

    for target in targets_of(results, files, wanted=is_wanted):
        if isinstance(target, Target):
            tried = _tried(target, results, refusals)
            made, declined = likely(target)
            left = [one for one in made if one.rewrite.name not in tried]
            # What others decline for is no reason where `fix` has refused what was made.
            offer = offer_of(left, declined if left or not made else (), files, target.path)
            asked = {one.rewrite.name for one in made}.union(*(one.rewrites for one in declined))
            others = tried_beside(target, asked) if not offer.advice or _is_by_words(target) else ()
            unsaid = [*(one.rewrite for one in left if not one.is_slower), *others]
            offer = replace(offer, trials=_trials([one for one in unsaid if one.name not in tried]))
            for hit in target.hits:
                advice = _but(tried, advice_for(hit.case, hit.finding, offer), made)
                found[hit.facts.name, replace(hit.finding, advice=())] = advice
    return tuple(_advised(report, found) for _, report in results)


def _tried(
    target: Target, results: Sequence[tuple[Unit, UnitReport]], refusals: Refusals
) -> Mapping[str, str]:
    """Rewrites that were tried on a target and are not offered, with the reasons."""
    place = target.cause, target.name, target.declared_at or target.place
    found: dict[str, str] = {}
    for unit, report in results:
        if any(hit.facts.sources is one.sources for hit in target.hits for one in report.kernels):
            found |= refusals.of(unit, place)
    return found


def _but(
    tried: Mapping[str, str], advice: tuple[Advice, ...], made: Sequence[Likely]
) -> tuple[Advice, ...]:
    """Advice without what was tried in vain, which is said where no rewrite is left."""
    names = {one.rewrite for one in advice} | {one.rewrite.name for one in made}
    vain = [
        f"`{name}` and does not offer it: {why}" for name, why in tried.items() if name in names
    ]
    if not vain:
        return advice
    left = tuple(one for one in advice if one.rewrite not in tried and not one.is_none)
    if any(one.rewrite is not None for one in left):
        return left
    return (Advice(f"`lmemscope fix` tried {'; '.join(vain)}.", is_none=True), *left)


def _is_by_words(target: Target) -> bool:
    """Whether its rule may show none of the proposals: what gets an address decides the words."""
    return not traits_of(target.cause).indexed


def _trials(rewrites: Sequence[Rewrite]) -> tuple[Advice, ...]:
    """Rewrites whose proposals no advice shows: nothing says yet that they help."""
    if not rewrites:
        return ()
    names, help_ = quoted([one.name for one in rewrites]), "helps" if len(rewrites) == 1 else "help"
    they = "it" if len(rewrites) == 1 else "they"
    text = f"`lmemscope fix` also compiles {names}, and says whether {they} {help_}."
    return (Advice(text, is_none=True),)


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


def offer_of(
    made: Sequence[Likely],
    declined: Sequence[Declined],
    files: Files,
    home: str,
) -> Offer:
    """What rewrites have for a target, as a rule takes it.

    Args:
        made, declined: as of `lmemscope.rewrites.likely`.
        files: takes the lines that change.
        home: the target's file.
    """
    slower = tuple((one.rewrite.name, _modelled(one)) for one in made if one.is_slower)
    general = {one.nothing for one in REWRITES}
    own = [one for one in declined if one.reason not in general]
    why = tuple((name, one.reason) for one in own for name in one.rewrites)
    advice = tuple(_advice(one, files, home) for one in made if not one.is_slower)
    offer = Offer(advice, slower=slower, declined=why)
    return offer if made or not declined else _with_reason(offer, declined[0])


def _with_reason(offer: Offer, nearest: Declined) -> Offer:
    """An offer of nothing with why the nearest rewrite declines."""
    rewrite = next((one for one in REWRITES if one.name in nearest.rewrites), None)
    if rewrite is None:
        return replace(offer, reason=f"No rewrite is offered: {nearest.reason}")
    if nearest.reason == rewrite.nothing:
        return offer  # It looks for a special form, which is not there.
    if nearest.is_ruled_out or rewrite.is_likely is always:
        said = f"`fix` does not offer `{rewrite.name}` here: {nearest.reason}"
        return replace(offer, reason=said)
    does = rewrite.page.partition("\n")[0]
    named = f"`{rewrite.name}` ({does[:1].lower()}{does[1:]})"
    reason = f"{named} is likely to remove it, but `fix` does not offer it here: {nearest.reason}"
    return replace(offer, reason=reason, nearest=rewrite.name)


def _modelled(found: Likely) -> str:
    return f"× {factor(found.speed)}" if found.speed else "a block of its launches may not fit"


def _advice(found: Likely, files: Files, home: str) -> Advice:
    """A rewriting in its own words, with what it asks for and may cost."""
    rewriting, applied = found.rewriting, found.applied
    done, caveat = rewriting.summary, rewriting.caveat
    sentence = f"{done[:1].upper()}{done[1:]}."
    unsafe = f"Unsafe: correct only if {caveat}." if caveat else ""
    more = _BEYOND if applied.caveat != caveat else ""
    alike = _ALIKE if found.is_alike else ""
    parts = (sentence, unsafe, more, found.rewrite.cost, alike, _UNCOMPILED)
    text = " ".join(one for one in parts if one)
    code = changed_lines(rewriting.edits, files.data, home)
    return Advice(
        text, code or None, rewrite=rewriting.rewrite, applicability=applied.applicability
    )
