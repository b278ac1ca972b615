"""Why ptxas keeps a register in memory, where it does not mark it as a spill.

Marks can be missing. The cubin lists the spills of a code section in one record whose size has 16
bits, so that of 8192 and more, eight bytes each, only the remainder is there (measured: ptxas 13.5,
18,467 spills, 2083 marks). What a function keeps for its caller is at most all registers; where it
stores more than these hold and does not mark it, it spills.
"""

from __future__ import annotations

from lmemscope.analysis.causes import REGISTER_FILE_BYTES, ProvenCause
from lmemscope.analysis.origin import Origin, on_line_of
from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.formats.cubin import CubinFunction
from lmemscope.formats.demangle import original_name
from lmemscope.model import Cause, Evidence, EvidenceKind, KernelFacts


class Saves:
    """What ptxas keeps in memory in a kernel's section, and does not mark.

    Args:
        flow: analyses of the PTX.
        facts: the kernel in whose section it is.
    """

    def __init__(self, flow: ModuleFlow, facts: KernelFacts) -> None:
        self._flow, self._facts = flow, facts
        self._spills: dict[str, Evidence | None] = {}

    def cause(self, body: CubinFunction, origin: Origin) -> ProvenCause:
        """The cause of a site that ptxas made and does not mark.

        Args:
            body: the machine code that holds it: the kernel's own, or a function's.
            origin: the site's.
        """
        flow, facts = self._flow, self._facts
        where = Evidence("no-local-access", ptx_line=origin.ptx_line)
        shown = (where,) if origin.ptx_line is not None else ()
        calls = flow.calls(facts.name)
        if body.kind == "function":
            spilled = self._spilled(body)
            if spilled is not None:
                return ProvenCause("register-spill", (spilled, where))
            cause, how = _of_function(flow, facts.name, body.name)
            return ProvenCause(cause, (Evidence(how, body.name), *shown))
        opcode = _call_on_line(flow, origin)
        if opcode is not None:
            seen = Evidence("ptx-instruction", ptx_line=origin.ptx_line, opcode=opcode)
            return ProvenCause("call-frame", (seen,))
        reported = facts.ptxas
        if reported is not None and (reported.spill_stores or reported.spill_loads):
            said = Evidence("reported-spill", bytes=reported.spill_stores)
            return ProvenCause("register-spill", (said, where))
        spilled = self._spilled(body) if reported is None else None
        if spilled is not None:
            return ProvenCause("register-spill", (spilled, where))
        if calls.reached or calls.indirect:
            return ProvenCause("call-frame", (where, Evidence("calls-without-spill")))
        return ProvenCause("unattributed", (where,))

    def _spilled(self, body: CubinFunction) -> Evidence | None:
        """What shows that a function spills where nothing is marked; None where it may save."""
        if body.name not in self._spills:
            self._spills[body.name] = _beyond_saving(self._facts, body)
        return self._spills[body.name]


def _beyond_saving(facts: KernelFacts, body: CubinFunction) -> Evidence | None:
    """The bytes that a function stores without a mark, if all registers hold fewer.

    No more than ptxas says of it, where that is known: other stores than its own are no spills.
    """
    callee = next((one for one in facts.callees if one.name == body.name), None)
    split = callee.sites if callee is not None else facts.own_sites
    reported = callee.ptxas if callee is not None else facts.ptxas
    if split is None or split.spill.store_bytes <= REGISTER_FILE_BYTES:
        return None
    marked = sum(site.width for site in body.sites if site.is_store and site.spill_refill)
    stored = split.spill.store_bytes
    if reported is not None and reported.spill_stores is not None:
        stored = min(stored, reported.spill_stores)
    unmarked = stored - marked
    if unmarked <= REGISTER_FILE_BYTES:
        return None
    return Evidence("unmarked-spill", bytes=unmarked, limit=REGISTER_FILE_BYTES)


def _of_function(flow: ModuleFlow, kernel: str, name: str) -> tuple[Cause, EvidenceKind]:
    """Why a function beside a kernel's code keeps registers, and how it is called."""
    calls, original = flow.calls(kernel), original_name(name)
    if original in calls.recursive or original in flow.called_below(original):
        is_own = original in flow.callees.get(original, ())
        return "call-frame", "calls-itself" if is_own else "called-again"
    # What ptxas adds itself is called by whoever divides, or takes a root.
    if original in calls.reached or name.startswith("$"):
        return "callee-save", "called-directly"
    if flow.ptx.function(original) is None:
        return (
            ("call-frame", "called-by-pointer")
            if calls.indirect
            else ("callee-save", "called-directly")
        )
    if original not in calls.pointed:
        if original != original_name(kernel):
            return "callee-save", "not-called"
        # A virtual function is in its class's table.
        is_pointed = flow.ptx.takes_address(original)
        return "callee-save", "called-by-pointer" if is_pointed else "compiled-alone"
    if flow.ptx.takes_address(original):
        return "call-frame", "called-by-pointer"
    return "callee-save", "called-directly"


def _call_on_line(flow: ModuleFlow, origin: Origin) -> str | None:
    """The opcode of a call on the site's line, or of an instruction that hands its values over."""
    for dataflow, index in on_line_of(flow, origin):
        instruction = dataflow.body.instructions[index]
        if instruction.isa.control in ("call", "return") or "param" in instruction.modifiers:
            return instruction.opcode
    return None
