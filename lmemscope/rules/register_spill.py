r"""Registers are spilled to local memory.

What it is. More values are alive at once than the kernel may have registers, so ptxas writes some
to the stack frame (STL) and reads them back (LDL).

How to recognise it. ptxas -v reports spill stores and loads; in SASS the instructions are marked
SpillRefill; the PTX has no local access there.

What it costs. Every spilled word is an extra instruction and an access of the L1 cache; addresses
are the same in all lanes, so a 4-byte access moves 4 sectors. Spills outside loops are often free.

How to remove it. Find what set the cap: ``__launch_bounds__``, ``-maxrregcount``, or the
architecture's 255. Loosen the first two, at the price of fewer threads in flight. Under 255 the
kernel itself must hold less at once: smaller tiles, less unrolling, values recomputed or staged in
shared memory. From CUDA 13, ``asm volatile(".pragma \"enable_smem_spilling\";");`` spills to shared
memory, which then is missing elsewhere and can lower occupancy.

When to leave it. A few bytes outside the hot loop, where more threads in flight are worth more.
"""

from __future__ import annotations

from lmemscope.model import Advice, Confidence, Severity, count
from lmemscope.rules.base import Case, Rule
from lmemscope.rules.register_cap import cap_of


def severity(case: Case) -> Severity:
    """An error in a loop, where each turn pays for it; elsewhere a warning."""
    return "error" if case.loop_depth else "warning"


def confidence(case: Case) -> Confidence:
    """Certain where ptxas marks every site; else it follows from ptxas's report only."""
    marked = all(
        any(evidence.kind == "spill-mark" for evidence in access.evidence)
        for access in case.accesses
    )
    return "certain" if marked else "likely"


def message(case: Case) -> str:
    """How many bytes, what set the register cap, and what is spilled to shared memory instead."""
    cap = cap_of(case.facts)
    sites = case.share.sites
    shared = case.facts.cubin.shared_spills if case.facts.cubin is not None else 0
    text = (
        f"{case.facts.registers} registers are not enough ({cap.reason}): "
        f"{sites.store_bytes} bytes of spill stores, {sites.load_bytes} bytes of spill loads"
    )
    if shared:
        size = case.facts.ptxas.shared if case.facts.ptxas is not None else None
        verb = "uses" if shared == 1 else "use"
        text += (
            f"; {count(shared, 'more spill instruction')} {verb} shared memory ({size} bytes "
            "per block in all), which ptxas's spill figures leave out"
        )
    return text


def advice(case: Case) -> tuple[Advice, ...]:
    """By what set the cap; shared memory as another place, unless it is used already."""
    cap = cap_of(case.facts)
    first = {
        "launch-bounds": Advice(
            f"Loosen the launch bounds: {cap.way_out}; fewer threads will be in flight.", cap.code
        ),
        "option": Advice(
            "Raise or drop the register limit given to the compiler (-maxrregcount), or set "
            "__launch_bounds__ on this kernel alone."
        ),
        "hardware": Advice(
            "The kernel is at the architecture's limit: hold fewer values at once (smaller tiles, "
            "less unrolling, recompute instead of keeping)."
        ),
        "allocator": Advice(
            "ptxas chose fewer registers than the limit; shorten the life of values across "
            "calls and loops."
        ),
    }[cap.kind]
    if case.facts.cubin is not None and case.facts.cubin.shared_spills:
        return (first,)
    return (
        first,
        Advice(
            "Spill to shared memory instead (CUDA 13): faster, but it takes shared memory for "
            "every thread of the block, which can lower occupancy.",
            'asm volatile(".pragma \\"enable_smem_spilling\\";");',
        ),
    )


RULE = Rule("LM101", "register-spill", severity, confidence, message, advice, __name__)
