"""From facts to causes: names where there is local memory, then one cause for every access."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from msgspec.structs import replace

from lmemscope.analysis.attribution import attribute
from lmemscope.analysis.endless import endless
from lmemscope.analysis.kernel_objects import find_objects
from lmemscope.analysis.layers import Layers
from lmemscope.analysis.names import Names
from lmemscope.analysis.ptx.run_time_stack import run_time_sizes
from lmemscope.formats.demangle import original_name
from lmemscope.formats.ptx_printf import only_prints
from lmemscope.model import (
    Cause,
    CauseShare,
    KernelFacts,
    SiteClass,
    SourceLocation,
    SourceText,
    Variable,
    calling_line,
    is_library,
    traits_of,
)

_DEVICE_LAUNCH = b"cudaCDP2LaunchDevice"
_LAUNCHES = re.compile(r"(?:__)?cuda(?:CDP2)?(?:LaunchDevice|GetParameterBuffer|GraphLaunch)")


def explain_facts(
    layers: Layers,
    facts: Sequence[KernelFacts],
    variables: Sequence[Variable] | None,
    sources: SourceText,
) -> tuple[KernelFacts, ...]:
    """Attribute the kernels that use local memory; the others cost nothing and stay as they are.

    Args:
        layers: the unit's.
        facts: of its kernels.
        variables: what a debug compilation says, or None where there was none (`needs_names`).
        sources: the user's files.
    """
    names = None
    if variables is not None and layers.ptx is not None:
        names = Names(variables, layers.ptx, sources)
    explained = []
    for fact in facts:
        if fact.uses_local_memory:
            function = layers.cubin.function(fact.name)
            fact = attribute(layers, names, sources, function, fact)
        elif _is_promoted(fact) and names:
            function = layers.cubin.function(fact.name)
            found = find_objects(layers, names, sources, function).listed
            # Of a structure, the arrays that are indexed say it all.
            kept = tuple(
                replace(one, cause="promoted", evidence_facts=())
                for one in found
                if one.name and one.extent != "rest"
            )
            fact = replace(fact, objects=kept)
        fact = _with_libraries(layers, _with_external_calls(layers, fact))
        fact = _with_endless_calls(layers, _with_pointed_calls(layers, fact))
        explained.append(_with_hidden_causes(layers, fact))
    return tuple(_roll_up(layers, fact, explained) for fact in explained)


def needs_names(layers: Layers, facts: Sequence[KernelFacts]) -> bool:
    """Whether variables' names are wanted: some kernel has objects, in the end or in its PTX."""
    wanted = any(fact.uses_local_memory or _is_promoted(fact) for fact in facts)
    return wanted and _has_objects(layers)


def _is_promoted(fact: KernelFacts) -> bool:
    """Whether PTX has local memory, and the machine code has none."""
    return not fact.uses_local_memory and fact.ptx is not None and fact.ptx.local_bytes > 0


def _roll_up(layers: Layers, fact: KernelFacts, others: Sequence[KernelFacts]) -> KernelFacts:
    """Separately compiled functions keep their ledgers; kernels that reach them must say so."""
    using = {o.name for o in others if o.kind == "function" and o.uses_local_memory}
    if fact.kind != "entry" or not using or layers.flow is None:
        return fact
    calls = layers.flow.calls(fact.name)
    reached = tuple(name for name in calls.reached if name in using)
    return replace(fact, calls=replace(calls, with_local_memory=reached)) if reached else fact


def _with_external_calls(layers: Layers, fact: KernelFacts) -> KernelFacts:
    """The facts with the call graph where no byte shows it: it leads out of the module, or deep."""
    if fact.calls is not None or layers.flow is None:
        return fact
    calls = layers.flow.calls(fact.name)
    is_needed = calls.external or calls.leads_out or not fact.stack_known
    return replace(fact, calls=calls) if is_needed else fact


def _with_hidden_causes(layers: Layers, fact: KernelFacts) -> KernelFacts:
    """The facts with shares of no bytes for the causes that neither ledger shows."""
    extra = [cause for cause in _without_bytes(layers, fact) if cause not in _causes(fact)]
    # Of several objects that were promoted, none stands for the others.
    only = (0, fact.objects[0]) if len(fact.objects) == 1 else None
    shares = tuple(
        CauseShare.of(
            cause,
            only if cause == "promoted" else None,
            0,
            SiteClass(),
            _shown_at(layers, fact, cause),
        )
        for cause in extra
    )
    if "alloca" in extra and layers.flow is not None:
        fact = replace(fact, run_time_sizes=run_time_sizes(layers.flow, fact.name))
    return replace(fact, causes=(*fact.causes, *shares)) if shares else fact


def _with_endless_calls(layers: Layers, fact: KernelFacts) -> KernelFacts:
    """The facts with those of its functions that call themselves whatever happens."""
    if fact.calls is None or layers.flow is None or not fact.calls.recursive:
        return fact
    found = endless(layers.flow, fact.calls.recursive)
    return replace(fact, calls=replace(fact.calls, endless=found)) if found else fact


def _with_pointed_calls(layers: Layers, fact: KernelFacts) -> KernelFacts:
    """The facts with the line of the call through a pointer that makes the sites of its callees.

    What is called so may be any of several functions, and their first lines say nothing of it.
    """
    calls = fact.calls
    if calls is None or not calls.indirect or calls.recursive:
        return fact
    sites = [access for access in fact.counted if access.cause == "call-frame"]
    if not sites or any(access.function == fact.name for access in sites):
        return fact
    callees = {original_name(access.function) for access in sites}
    place = _shown_at(layers, fact, "call-frame", callees)
    shares = tuple(
        replace(share, location=place) if share.cause == "call-frame" else share
        for share in fact.causes
    )
    return replace(fact, causes=shares) if place is not None else fact


def _with_libraries(layers: Layers, fact: KernelFacts) -> KernelFacts:
    """The facts with those of its functions that a library's file defines."""
    if fact.calls is None or layers.ptx is None:
        return fact
    ptx, found = layers.ptx, []
    for name in sorted({*fact.calls.reached, *(callee.name for callee in fact.callees)}):
        function = ptx.function(name)
        first = function.first_loc if function is not None else None
        if first is not None and is_library(ptx.files.get(first[0], "")):
            found.append(name)
    return replace(fact, calls=replace(fact.calls, library=tuple(found))) if found else fact


def _shown_at(
    layers: Layers, fact: KernelFacts, cause: Cause, callees: Collection[str] = ()
) -> SourceLocation | None:
    """The line of a cause without bytes: of the call that makes it, in the deepest loop.

    Args:
        layers: the unit's.
        fact: the kernel's.
        cause: of the calls.
        callees: only calls through pointers that may be of one of these; any if there are none.
    """
    flow = layers.flow
    if flow is None or cause not in ("device-launch", "call-frame", "alloca"):
        return None
    lines, places = layers.lines, []
    for name in flow.reached(fact.name):
        dataflow = flow.dataflow(name)
        if cause == "alloca":
            instructions = dataflow.body.instructions if dataflow is not None else ()
            taken = (one for one in instructions if one.operation == "alloca")
            found = (calling_line(lines.of_instruction(one)) for one in taken)
            places += [(name != fact.name, 0, place) for place in found if place is not None]
            continue
        for call in dataflow.flow.calls if dataflow is not None else ():
            callee = call.callee
            if cause == "device-launch":
                wanted = callee is not None and _LAUNCHES.match(callee) is not None
            else:
                wanted = callee is None or name in flow.reached(callee)
                if callees and callee is None:
                    wanted = any(flow.fits(name, call, one) for one in callees)
            if not wanted or dataflow is None:
                continue
            chain = lines.of_instruction(dataflow.body.instructions[call.index])
            place = calling_line(chain)
            if place is not None:
                places.append((name != fact.name, -dataflow.flow.depth(call.index), place))
    return min(places)[2] if places else None


def _causes(fact: KernelFacts) -> set[Cause]:
    return {share.cause for share in fact.causes}


def _without_bytes(layers: Layers, fact: KernelFacts) -> list[Cause]:
    """What a kernel's own frame and sites do not show."""
    found: list[Cause] = []
    if _is_promoted(fact):
        found.append("promoted")
    function = layers.ptx.function(fact.name) if layers.ptx is not None else None
    if function is None:
        return found
    if _DEVICE_LAUNCH in function.text:
        found.append("device-launch")
    if fact.cubin is not None and fact.cubin.shared_spills:
        found.append("register-spill")
    if not fact.stack_known and not any(traits_of(cause).deepens for cause in _causes(fact)):
        takes = _takes_stack(layers, fact)
        calls = layers.flow.calls(fact.name) if layers.flow is not None else None
        found += ["alloca"] if takes else []
        if not takes or (calls is not None and (calls.recursive or calls.indirect)):
            found.append("call-frame")
    return found


def _takes_stack(layers: Layers, fact: KernelFacts) -> bool:
    """Whether an ``alloca`` is left in PTX that no access of the machine code shows."""
    return layers.flow is not None and bool(run_time_sizes(layers.flow, fact.name))


def _has_objects(layers: Layers) -> bool:
    """Whether any function has stack objects that could have a name."""
    if layers.ptx is None or only_prints(layers.artifacts.ptx or b""):
        return False
    return any(f.survey.declarations for f in layers.ptx.functions)
