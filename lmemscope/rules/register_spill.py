r"""Registers are spilled to local memory.

What it is. More values are live at once than the kernel has registers, so ptxas stores some in the
stack frame (STL) and loads them back (LDL).

How to recognise it. ptxas -v reports spill stores and loads; SASS marks the instructions as
SpillRefill; the PTX has no local access there.

What it costs. An instruction and an L1 access per spilled word, 4 sectors for 4 bytes. Spills
outside loops are often free.

How to remove it. Loosen ``__launch_bounds__`` or ``-maxrregcount``, at the cost of occupancy. At
the architecture's 255, keep fewer values live: smaller tiles, less unrolling, values recomputed or
in shared memory. Without a minimum of blocks in the launch bounds, ptxas may save registers for
several: a minimum of one prevents that. From CUDA 13,
``asm volatile(".pragma \"enable_smem_spilling\";");`` at the beginning of the kernel spills to
shared memory as far as it fits, without dynamic shared memory and ``-rdc=true``. ``lmemscope tune``
shows each cap.

When to leave it. A few bytes outside the hot loop, where occupancy matters more.
"""

from __future__ import annotations

from lmemscope.formats.demangle import short_name
from lmemscope.model import Advice, Confidence, Severity, count
from lmemscope.rules.base import Case, Rule
from lmemscope.rules.indexing import listed
from lmemscope.rules.register_cap import cap_of


def severity(case: Case) -> Severity:
    """An error in a loop, where each turn pays for it; elsewhere a warning."""
    return "error" if case.loop_depth else "warning"


def confidence(case: Case) -> Confidence:
    """Certain where ptxas marks every site; else it follows from ptxas's report only."""
    marked = all(
        any(evidence.kind == "spill-mark" for evidence in access.evidence_facts)
        for access in case.accesses
    )
    return "certain" if marked else "likely"


def message(case: Case) -> str:
    """How many bytes, what set the register cap, and what is spilled to shared memory instead."""
    cap = cap_of(case.facts)
    sites = case.share.sites
    shared = case.facts.cubin.shared_spills if case.facts.cubin is not None else 0
    held = f"{case.facts.registers} registers are not enough"
    if cap.kind == "allocator":
        held = f"ptxas spills at {case.facts.registers} registers, below every limit"
    text = (
        f"{held} ({cap.reason}): {sites.store_bytes} bytes of spill stores, "
        f"{sites.load_bytes} bytes of spill loads{_in_callees(case)}"
    )
    if shared:
        size = case.facts.ptxas.shared if case.facts.ptxas is not None else None
        verb = "uses" if shared == 1 else "use"
        text += (
            f"; {count(shared, 'more spill instruction')} {verb} shared memory ({size} bytes per "
            "block in all), which ptxas's spill figures exclude"
        )
    return text


def _in_callees(case: Case) -> str:
    """How much of it is in functions that the kernel calls; empty of nothing, or if not known.

    Slow paths of the library's are such functions, too, and no figure of ptxas's counts those.
    """
    whole, own = case.facts.sites, case.facts.own_sites
    # What calls save is of the same class: then the shares are not told apart here.
    if whole is None or own is None or whole.spill != case.share.sites:
        return ""
    stored = whole.spill.store_bytes - own.spill.store_bytes
    loaded = whole.spill.load_bytes - own.spill.load_bytes
    if not stored and not loaded:
        return ""
    return (
        f", of which {stored} and {loaded} are in called functions; ptxas's figures for the "
        "kernel exclude them"
    )


def advice(case: Case) -> tuple[Advice, ...]:
    """Looser bounds as they are proposed, else in words; shared memory as another place."""
    return (_by_cap(case),)


def _by_cap(case: Case) -> Advice:
    cap = cap_of(case.facts)
    is_kernel = case.facts.kind == "entry"
    if cap.kind == "launch-bounds" and cap.code is not None:
        return Advice(
            f"Relax the launch bounds: {cap.way_out}. Occupancy decreases, and values that still "
            "do not fit are spilled.",
            cap.code,
            rewrite="launch-bounds",
        )
    if cap.kind == "option":
        alone = ", or set __launch_bounds__ on this kernel only."
        if case.facts.launch_bounds is not None:
            alone = "."
        if not is_kernel:
            alone = "; __launch_bounds__ on a kernel does not apply to a separately compiled "
            alone += "function."
        return Advice(
            "Raise or drop the register limit of the kernel (`__maxnreg__`) or of the compiler "
            f"(-maxrregcount){alone}"
        )
    if cap.kind == "allocator" and cap.code is not None:
        return Advice(
            "Without a minimum block count in the launch bounds, ptxas may save registers so "
            f"that several blocks fit, and spill to do so: {cap.way_out}. If it still spills, "
            f"keep fewer values live{_around(case)}. Occupancy can decrease.",
            cap.code,
            rewrite="launch-bounds",
        )
    if cap.kind == "allocator":
        return Advice(
            "ptxas spills below every limit that lmemscope knows of, so raising one may change "
            f"nothing: keep fewer values live{_around(case)}."
        )
    return Advice(
        "There is no limit left to raise: keep fewer values live (smaller tiles, less "
        "unrolling, recomputation)."
    )


def _around(case: Case) -> str:
    """Across what values live that are spilled, as far as the kernel has it."""
    calls = listed(sorted({short_name(callee.demangled) for callee in case.facts.callees}))
    if calls:
        return f" across calls ({calls})"
    if case.loop_depth:
        return " across loops"
    return "" if any(access.loop_depth is None for access in case.accesses) else " at once"


RULE = Rule("LM101", "register-spill", severity, confidence, message, advice, __name__)
