"""The rules: one file each, its docstring the rule's page. Facts in, findings out."""

from __future__ import annotations

from lmemscope.model import Finding, KernelFacts, SourceText
from lmemscope.rules import (
    address_taken,
    alloca,
    call_frame,
    callee_save,
    const_table,
    debug_build,
    device_launch,
    dynamic_index,
    large_array,
    math_slow_path,
    param_copy,
    printf_args,
    promoted,
    register_spill,
    rolled_loop,
    unattributed,
    volatile_object,
)
from lmemscope.rules.base import Case, Rule

RULES: tuple[Rule, ...] = (
    register_spill.RULE,
    callee_save.RULE,
    dynamic_index.RULE,
    rolled_loop.RULE,
    large_array.RULE,
    const_table.RULE,
    address_taken.RULE,
    param_copy.RULE,
    volatile_object.RULE,
    printf_args.RULE,
    math_slow_path.RULE,
    call_frame.RULE,
    alloca.RULE,
    device_launch.RULE,
    debug_build.RULE,
    promoted.RULE,
    unattributed.RULE,
)
"""Every rule, in the order of their numbers."""

_BY_CAUSE = {rule.cause: rule for rule in RULES}
_SEVERITIES = ("error", "warning", "note")


def find(facts: KernelFacts, sources: SourceText) -> tuple[Finding, ...]:
    """Judge every line of a kernel's ledgers; worst first, stable."""
    findings = []
    for share in facts.causes:
        accesses = [
            access
            for access in facts.accesses
            if (access.cause, access.object) == (share.cause, share.object)
        ]
        found = facts.objects[share.object] if share.object is not None else None
        generic = [
            access
            for access in facts.generic
            if share.object is not None and access.object == share.object
        ]
        case = Case(facts, share, found, accesses, sources, generic)
        findings.append(_BY_CAUSE[share.cause].judge(case))
    return tuple(
        sorted(
            findings,
            key=lambda f: (_SEVERITIES.index(f.severity), -f.bytes, f.rule, f.object or ""),
        )
    )


def rule(name: str) -> Rule | None:
    """A rule by number (``LM201``) or name (``dynamic-index``)."""
    wanted = name.lower()
    return next((r for r in RULES if wanted in (r.id.lower(), r.cause)), None)
