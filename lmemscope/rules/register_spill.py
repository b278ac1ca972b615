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

import re

from lmemscope.formats.demangle import plain_name, short_name
from lmemscope.model import Advice, Confidence, Severity, SourceLocation, count
from lmemscope.rules.base import Case, Offer, Rule
from lmemscope.rules.enclosing import body_lines
from lmemscope.rules.indexing import listed
from lmemscope.rules.register_cap import cap_of, spilling_rooms, spilling_threads
from lmemscope.rules.shared import has_dynamic, prefers_l1

_DEFINES = re.compile(
    r"(?:#\s*define\s+|\bconst(?:expr)?\b[^=;]*?\b)(\w+)\s*(?:=|\s)\s*(\d+)\s*;?\s*$"
)
"""A name for a number."""
_SHOWN = 3
_WORTH = 8
"""Of less than this part of what is spilled, moved elsewhere, nothing is gained: ptxas spills as
much as before, or more."""


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


def advice(case: Case, offer: Offer) -> tuple[Advice, ...]:
    """By what set the cap; shared memory as another place, where ptxas can use it."""
    cap = cap_of(case.facts)
    if cap.kind == "launch-bounds" and cap.code is not None:
        first = Advice(
            f"Relax the launch bounds: {cap.way_out}. Occupancy decreases, and values that still "
            f"do not fit are spilled.{_baked_in(case, cap.code)}",
            cap.code,
            rewrite="launch-bounds",
        )
    elif cap.kind == "option" and (limit := _own_limit(case)) is not None:
        first = Advice(
            f"Raise or drop `{limit}` of the kernel. Occupancy decreases, and values that still "
            "do not fit are spilled.",
            rewrite="launch-bounds",
        )
    elif cap.kind == "option":
        first = Advice(
            "Raise or drop the register limit given to the compiler (-maxrregcount)"
            + (
                _alone(case)
                if case.facts.kind == "entry"
                else "; __launch_bounds__ on a kernel does not apply to a separately compiled "
                "function."
            )
        )
    elif cap.kind == "allocator" and cap.code is not None:
        first = Advice(
            "Without a minimum block count in the launch bounds, ptxas may save registers so "
            f"that several blocks fit, and spill to do so: {cap.way_out}. If it still spills, "
            f"keep fewer values live{_around(case)}. Occupancy can decrease.",
            cap.code,
            rewrite="launch-bounds",
        )
    elif cap.kind == "allocator":
        first = Advice(
            "ptxas spills below every limit that lmemscope knows of, so raising one may change "
            f"nothing: keep fewer values live{_around(case)}."
        )
    else:
        first = Advice(
            "There is no limit left to raise: keep fewer values live (smaller tiles, less "
            "unrolling, recomputation)."
        )
    return (first, *_in_shared_memory(case))


def _own_limit(case: Case) -> str | None:
    """The limit of registers that a kernel's head has, as written; None where it has none."""
    place, name = case.facts.location, plain_name(case.facts.demangled)
    if place is None:
        return None
    head = re.compile(rf"(__maxnreg__\s*\([^()]*\))[^;{{}}]*?(?<!\w){re.escape(name)}\s*\(")
    found = head.search(case.sources.code(place.file))
    return found[1] if found is not None else None


def _alone(case: Case) -> str:
    """How one kernel is excepted from a limit for all, where it has no bounds yet."""
    if case.facts.launch_bounds is not None:
        return "."
    return ", or set __launch_bounds__ on this kernel only."


def _asks_for_it(case: Case) -> bool:
    """Whether the kernel's text asks ptxas to spill to shared memory already."""
    place = case.facts.location
    return place is not None and any(
        "enable_smem_spilling" in case.sources.raw(place.file, number)
        for number, _ in body_lines(case.sources, place)
    )


def _around(case: Case) -> str:
    """Across what values live that are spilled, as far as the kernel has it."""
    calls = listed(sorted({short_name(callee.demangled) for callee in case.facts.callees}))
    if calls:
        return f" across calls ({calls})"
    if case.loop_depth:
        return " across loops"
    return "" if any(access.loop_depth is None for access in case.accesses) else " at once"


def _baked_in(case: Case, code: str) -> str:
    """That more than the bounds changes with bounds that ask for a smaller block.

    Where the kernel says the size of the block again, its lines; it may be said in other ways, too,
    as by the warps of a block.
    """
    bounds, place = case.facts.launch_bounds, case.facts.location
    threads = str(bounds.max_threads) if bounds is not None else ""
    if not threads or code.startswith(f"__launch_bounds__({threads},"):
        return ""
    must = (
        f" Also change the launches, and any code in the kernel that assumes blocks of {threads} "
        "threads, such as a tile that its warps share"
    )
    at = _lines_with(case, place, threads) if place is not None else []
    if not at:
        return f"{must}."
    shown = [str(number) for number in at[:_SHOWN]]
    more = [f"{len(at) - _SHOWN} more"] if len(at) > _SHOWN else []
    where = f"line{'s' if len(at) > 1 else ''} {listed([*shown, *more])}"
    return f"{must}; the number is also used at {where}."


def _lines_with(case: Case, place: SourceLocation, threads: str) -> list[int]:
    """Lines of a kernel with a number of threads, or a name that is defined as it."""
    names = {
        found.group(1)
        for line in case.sources.matching(place.file, _DEFINES)
        if (found := _DEFINES.search(line)) is not None and found.group(2) == threads
    }
    size = re.compile(rf"(?<![\w.])(?:{'|'.join([threads, *sorted(names)])})(?![\w.])")
    return [
        number
        for number, text in body_lines(case.sources, place)
        if "__launch_bounds__" not in text and size.search(text) is not None
    ]


def _in_shared_memory(case: Case) -> tuple[Advice, ...]:
    """Spilling to shared memory, where there is room and no call.

    Without launch bounds ptxas keeps room for the largest block that finds registers.
    """
    facts = case.facts
    used = facts.cubin is not None and facts.cubin.shared_spills
    calls = facts.callees or (
        facts.calls is not None
        and (facts.calls.external or facts.calls.indirect or facts.calls.reached)
    )
    if used or calls or facts.kind != "entry" or case.sources.is_relocatable:
        return ()
    if _asks_for_it(case) or has_dynamic(case) or prefers_l1(case):
        return ()  # ptxas refuses it beside dynamic shared memory
    taken = (facts.ptxas.shared if facts.ptxas is not None else None) or 0
    threads = spilling_threads(facts)
    spilled = case.share.frame_bytes
    # ptxas moves whole words of all threads.
    words = [max(0, room - taken) // (4 * threads) for room in spilling_rooms(threads)]
    least, most = (min(number * 4, spilled) for number in (min(words), max(words)))
    if not least or least < spilled // _WORTH:
        return ()
    part = "all" if least == spilled else f"{least} to {most}, by architecture,"
    beside = (
        (f" in addition to the {taken / 1024:.4g} KB that the kernel already uses") if taken else ""
    )
    return (
        Advice(
            "Spill to shared memory instead (CUDA 13 and newer), with this at the start of the "
            "kernel. ptxas uses the shared memory that a block has at full occupancy: room for "
            f"{part} of the {spilled} bytes per thread{beside}. It is not available with "
            "`-rdc=true`.",
            'asm volatile(".pragma \\"enable_smem_spilling\\";");',
            rewrite="smem-spilling",
        ),
    )


RULE = Rule("LM101", "register-spill", severity, confidence, message, advice, __name__)
