"""Arguments and results of calls that lie on the stack: neither spills nor saved registers.

The ABI passes what registers do not hold in the caller's frame: outgoing arguments lie at its
bottom, and the called function finds them above its own frame. PTX writes them as ``st.param``
and ``ld.param``. An entry's own parameters are in a constant bank.

Scheduling gives a saved register the line of a neighbour, so the address has to agree: what a body
saves it restores from the same bytes, and an argument goes one way only. Between proven arguments
and their end of the frame there is nothing else (measured on sm_90). No saved register goes through
another register than the stack pointer: a body that aligns that keeps the caller's in one, and the
place of a large result, which the caller gives, is in one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lmemscope.analysis.depots import PlacedAccess
from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.formats.ptx_isa import row_of, space_of
from lmemscope.formats.sites import STACK_POINTER, Site


def passed_on_line(flow: ModuleFlow, name: str, line: int, is_store: bool) -> PlacedAccess | None:
    """The ``st.param``, or ``ld.param``, on a PTX line that the stack can be behind."""
    wanted = "store" if is_store else "load"

    def passes(opcode: str) -> bool:
        return row_of(opcode).access == wanted and space_of(opcode) == "param"

    dataflow = flow.dataflow(name)
    if dataflow is None:
        return None
    function = dataflow.function
    own = {one for one, _, _ in function.parameters} if function.kind == "entry" else set()
    for index in dataflow.by_line.get(line, ()):
        instruction = dataflow.body.instructions[index]
        if not passes(instruction.opcode):
            continue
        address = instruction.address
        if address is not None and address.base is not None and address.base not in own:
            # A kernel's parameter may be read through its address, in a register.
            if function.kind == "entry" and address.base.startswith("%"):
                continue
            return PlacedAccess(name, index, line)
    return None


def stack_arguments(
    saves: Iterable[Site], sites: Iterable[Site], lines: Mapping[int, PlacedAccess]
) -> dict[int, PlacedAccess]:
    """Which of a body's sites pass arguments, by offset in the code.

    Args:
        saves: those that ptxas made and does not mark.
        sites: all of the body.
        lines: arguments on the lines of ``saves``, by offset in the code.
    """
    saves = list(saves)
    reached: dict[bool, set[int]] = {True: set(), False: set()}
    for site in filter(_on_stack, sites):
        reached[site.is_store].update(_bytes(site))
    # What a body also does the other way at the same bytes, it saves and restores.
    one_way = [
        site
        for site in saves
        if _on_stack(site) and reached[not site.is_store].isdisjoint(_bytes(site))
    ]
    proven = {site.pc: lines[site.pc] for site in one_way if site.pc in lines}
    stores = [site for site in one_way if site.pc in proven and site.is_store]
    loads = [site for site in one_way if site.pc in proven and not site.is_store]
    bottom = max((site.displacement + site.width for site in stores), default=0)
    top = min((site.displacement for site in loads), default=None)
    for site in one_way:
        witnesses = stores if site.is_store else loads
        if site.pc in proven or not witnesses:
            continue
        inside = site.displacement + site.width <= bottom if site.is_store else None
        if inside or (inside is None and top is not None and site.displacement >= top):
            nearest = min(witnesses, key=lambda one: abs(one.displacement - site.displacement))
            proven[site.pc] = lines[nearest.pc]
    for site in saves:
        if site.base not in (None, STACK_POINTER) and site.pc in lines:
            proven[site.pc] = lines[site.pc]
    return proven


def _on_stack(site: Site) -> bool:
    return site.base == STACK_POINTER and site.uniform_base is None and site.displacement >= 0


def _bytes(site: Site) -> range:
    """Of the frame, from the stack pointer on."""
    return range(site.displacement, site.displacement + site.width)
