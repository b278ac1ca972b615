"""Describe a kernel's figures in sentences, for one or all instances of its template."""

from __future__ import annotations

from collections.abc import Sequence

from lmemscope.exporters import layout
from lmemscope.exporters.escape_terminal import Part
from lmemscope.exporters.occupancy_text import occupancies_said
from lmemscope.formats.demangle import demangle, short_name
from lmemscope.model import CallFacts, KernelFacts

_CALLED = 60


def cut_name(name: str, width: int) -> str:
    """A function name of at most ``width``: inner scopes are cut first, then template arguments."""
    if len(name) <= width:
        return name
    template, opened, arguments = name.partition("<")
    # `shortened` keeps two thirds at the beginning.
    return layout.shortened(f"{layout.scoped(template, width * 2 // 3)}{opened}{arguments}", width)


def figures(kernels: Sequence[KernelFacts]) -> str:
    """The figures of a template's instances, as ranges."""
    registers = layout.span([one.registers for one in kernels])
    frame = layout.span([one.stack_frame for one in kernels])
    parts = [f"{registers} register{'' if registers == '1' else 's'}"]
    parts.append(f"stack frame of {frame} bytes per thread")
    stores = layout.span([one.all_spill_stores for one in kernels])
    loads = layout.span([one.all_spill_loads for one in kernels])
    if "?" in (stores, loads):
        parts.append("spills unknown")
    elif (stores, loads) == ("0", "0"):
        parts.append("no spills")
    else:
        called = any(
            (one.all_spill_stores, one.all_spill_loads) != (one.spill_stores, one.spill_loads)
            for one in kernels
        )
        own = ", including called functions" if called else ""
        parts.append(f"{stores} bytes of spill stores and {loads} bytes of spill loads{own}")
    sites = [one.sass for one in kernels if one.sass is not None]
    if len(sites) == len(kernels):
        ldl = layout.span([one.load_sites for one in sites])
        stl = layout.span([one.store_sites for one in sites])
        parts.append(f"{ldl} LDL and {stl} STL instructions")
    held = occupancies_said(kernels)
    if held is not None:
        parts.append(held)
    if not all(one.stack_known for one in kernels):
        parts.append("stack depth not statically known")
    return ", ".join(parts) + "." + _calls(kernels[0].calls)


def disagreements(facts: KernelFacts) -> tuple[Part, ...]:
    """Disagreements between sources, one per line."""
    lines: list[Part] = []
    for found in facts.disagreements:
        lines += ["", f"Sources disagree on {found.quantity}: {found.said}."]
    return tuple(lines)


def _calls(calls: CallFacts | None) -> str:
    """The call graph as a sentence."""
    if calls is None or not (calls.reached or calls.indirect):
        return ""
    named = [
        cut_name(short_name(demangle(name)), _CALLED)
        + (" (recursive)" if name in calls.recursive else "")
        for name in calls.reached
    ]
    if calls.indirect:
        named.append("functions through pointers")
    return f" It calls {', '.join(named)}."
