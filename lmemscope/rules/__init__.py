"""The rules: one file per cause and named after it, its docstring the rule's page.

Facts in, findings out. The causes are listed in `lmemscope.model.cause_table`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module

from msgspec.structs import replace

from lmemscope.model import (
    CAUSES,
    Advice,
    Cause,
    Finding,
    KernelFacts,
    SourceText,
    is_library,
    traits_of,
)
from lmemscope.rules.base import Case, Rule
from lmemscope.rules.device_launch import handed
from lmemscope.rules.indexing import NO_REASONS, with_members, without_rewrite
from lmemscope.rules.inlining import not_called, only_linked
from lmemscope.rules.other_languages import advice_in


def _rule_of(cause: Cause) -> Rule:
    """The rule in the module that has the cause's name; a cause without one fails right here."""
    found: Rule = import_module(f"{__name__}.{cause.replace('-', '_')}").RULE
    if found.cause != cause:
        raise TypeError(f"the module of {cause} holds the rule of {found.cause}")
    return found


RULES: tuple[Rule, ...] = tuple(
    sorted((_rule_of(cause.name) for cause in CAUSES), key=lambda rule: rule.id)
)
"""Every rule, in the order of their numbers."""

_BY_CAUSE = {rule.cause: rule for rule in RULES}
_OF_INDICES = frozenset({"dynamic-index", "rolled-loop"})
"""Causes that constant indices alone would remove."""
_SEVERITIES = ("error", "warning", "note")
_NOT_YOURS = Advice(
    "This is library code: call it with other types or sizes, use an alternative, or leave it as "
    "it is."
)


def find(facts: KernelFacts, sources: SourceText) -> tuple[Finding, ...]:
    """Judge every line of a kernel's ledgers; worst first, stable."""
    judged = cases(facts, sources)
    findings = [replace(one, advice=advice_for(case, one)) for case, one in judged]
    findings += handed(facts, sources)
    return tuple(
        sorted(
            findings,
            key=lambda f: (_SEVERITIES.index(f.severity), -f.bytes, f.rule, f.object or ""),
        )
    )


def cases(facts: KernelFacts, sources: SourceText) -> Iterator[tuple[Case, Finding]]:
    """Every line of a kernel's ledgers with its judgement but advice, in the ledgers' order."""
    counted, by_address = facts.counted, facts.generic
    for share in facts.shares:
        accesses = [access for access in counted if share.concerns(access)]
        found = facts.objects[share.object_index] if share.object_index is not None else None
        generic = [
            access
            for access in by_address
            if share.object_index is not None and share.concerns(access)
        ]
        case = Case(facts, share, found, accesses, sources, generic)
        yield case, _BY_CAUSE[share.cause].judge(case)


def advice_for(
    case: Case,
    finding: Finding,
    proposed: Sequence[Advice] = (),
    declined: Mapping[str, str] = NO_REASONS,
) -> tuple[Advice, ...]:
    """What to do about a finding: in words, then what rewrites propose.

    Args:
        case, finding: as `cases` gives them.
        proposed: what rewrites have for it, if they were asked.
        declined: why others have nothing, by their names, what is in their way first.
    """
    if not case.language.is_cpp:
        return advice_in(case.language, case)
    if _is_librarys(case, finding):
        return (_NOT_YOURS,)
    if _is_never_run(case):
        return (not_called(case.facts),)
    names = {one.rewrite for one in proposed}
    words = tuple(
        _with_reason(one, declined)
        for one in _BY_CAUSE[case.share.cause].advice(case)
        if one.rewrite is None or one.rewrite not in names
    )
    found = (*words, *proposed)
    if case.share.cause in _OF_INDICES:
        return with_members(case, found) or without_rewrite(case, declined)
    return found


def _with_reason(advice: Advice, declined: Mapping[str, str]) -> Advice:
    """Advice, with why its rewrite does not do it as the text stands."""
    reason = declined.get(advice.rewrite) if advice.rewrite is not None else None
    if reason is None:
        return advice
    return replace(advice, text=f"{advice.text} `fix` does not offer it: {reason}.")


def _is_librarys(case: Case, finding: Finding) -> bool:
    """Whether a library's code decides what becomes of an object: its users cannot rewrite that."""
    if finding.location is not None and is_library(finding.location.file):
        return True
    lines = [access.chain[0].location for access in case.accesses if access.chain]
    indexed = traits_of(case.share.cause).indexed
    return indexed and bool(lines) and all(is_library(line.file) for line in lines)


def _is_never_run(case: Case) -> bool:
    """Whether all of it is in functions that only their addresses link with the kernel."""
    linked = only_linked(case.facts)
    if case.object is not None:
        return case.object.function in linked
    functions = {access.function for access in case.accesses}
    return bool(functions) and functions <= linked


def rule(name: str) -> Rule | None:
    """A rule by number (``LM201``) or name (``dynamic-index``)."""
    wanted = name.lower()
    return next((r for r in RULES if wanted in (r.id.lower(), r.cause)), None)
