"""From facts to causes: names where there is local memory, then one cause for every access."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from lmemscope.analysis.attribution import Attributor, needs_attribution
from lmemscope.analysis.names import Names
from lmemscope.artifacts import Artifacts
from lmemscope.errors import LmemscopeError
from lmemscope.formats.dwarf import Member, Variable, read_variables
from lmemscope.lower import debug_ptx
from lmemscope.model import Cause, CauseShare, Gap, KernelFacts, SiteClass
from lmemscope.parse import Parsed
from lmemscope.sources import SourceText

_DEVICE_LAUNCH = b"cudaCDP2LaunchDevice"


def explain_facts(
    parsed: Parsed, facts: Sequence[KernelFacts]
) -> tuple[tuple[KernelFacts, ...], tuple[Gap, ...]]:
    """Attribute the kernels that use local memory; the others cost nothing and stay as they are."""
    gaps: list[Gap] = []
    names = None
    if any(needs_attribution(fact) for fact in facts) and _has_objects(parsed):
        names = _read_names(parsed, gaps)
    attributor = Attributor(parsed, names, SourceText())
    explained = tuple(_explain(attributor, parsed, fact) for fact in facts)
    return tuple(_roll_up(attributor, fact, explained) for fact in explained), tuple(gaps)


def _roll_up(
    attributor: Attributor, fact: KernelFacts, others: tuple[KernelFacts, ...]
) -> KernelFacts:
    """Separately compiled functions keep their ledgers; kernels that reach them must say so."""
    using = {other.name for other in others if other.kind == "function" and _uses(other)}
    if fact.kind != "entry" or not using:
        return fact
    calls = attributor.calls(fact.name)
    if calls is None:
        return fact
    reached = tuple(name for name in calls.reached if name in using)
    return replace(fact, calls=replace(calls, with_local_memory=reached)) if reached else fact


def _uses(fact: KernelFacts) -> bool:
    return bool(fact.stack_frame) or (fact.sass is not None and fact.sass.ldl + fact.sass.stl > 0)


def _explain(attributor: Attributor, parsed: Parsed, fact: KernelFacts) -> KernelFacts:
    if needs_attribution(fact):
        fact = attributor.attribute(fact)
    extra = [cause for cause in _without_bytes(parsed, fact) if cause not in _causes(fact)]
    shares = tuple(CauseShare(cause, None, 0, SiteClass()) for cause in extra)
    return replace(fact, causes=(*fact.causes, *shares)) if shares else fact


def _causes(fact: KernelFacts) -> set[Cause]:
    return {share.cause for share in fact.causes}


def _without_bytes(parsed: Parsed, fact: KernelFacts) -> list[Cause]:
    """What a kernel's own frame and sites do not show."""
    found: list[Cause] = []
    if not needs_attribution(fact) and fact.ptx is not None and fact.ptx.local_bytes:
        found.append("promoted")
    function = parsed.ptx.function(fact.name) if parsed.ptx is not None else None
    if function is None:
        return found
    if _DEVICE_LAUNCH in function.text:
        found.append("device-launch")
    if fact.cubin is not None and fact.cubin.shared_spills:
        found.append("register-spill")
    if not fact.stack_known and not _causes(fact) & {"call-frame", "alloca"}:
        found.append("call-frame")
    return found


def _has_objects(parsed: Parsed) -> bool:
    """Whether any function has stack objects that could have a name."""
    return parsed.ptx is not None and any(f.survey.declarations for f in parsed.ptx.functions)


def _variables(artifacts: Artifacts) -> tuple[Variable, ...] | None:
    """What a debug compilation says of variables, or None without a source.

    Kept instead of the compilation's text, of which nothing else is read: looking at all of its
    debug information again would take a third of a cached run.
    """
    if artifacts.variables is not None:
        return artifacts.variables
    slot = artifacts.slot
    known = slot.load("variables") if slot is not None else None
    if known is not None:
        return tuple(_variable(record) for record in known[0]["variables"])
    text = debug_ptx(artifacts)
    if text is None:
        return None
    variables = read_variables(text)
    if slot is not None:
        records = [asdict(variable) for variable in variables]
        slot.store("variables", {"variables": records}, [], artifacts.tools)
    return variables


def _variable(record: dict[str, Any]) -> Variable:
    members = tuple(Member(**member) for member in record["members"])
    return Variable(**{**record, "members": members})


def _read_names(parsed: Parsed, gaps: list[Gap]) -> Names | None:
    assert parsed.ptx is not None
    try:
        variables = _variables(parsed.artifacts)
        if variables is None:
            gaps.append(Gap("names", "without the source, variables have no names"))
            return None
        return Names(variables, parsed.ptx, SourceText())
    except LmemscopeError as error:
        gaps.append(Gap("names", f"the debug compilation failed: {error.message}"))
        return None
