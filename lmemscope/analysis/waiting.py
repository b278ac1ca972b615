"""Which samples of the warp sampler are of warps that wait for local memory.

A load does not stall: the first instruction that uses its result does, with the reason "long
scoreboard", which loads from local, global and texture memory share. So the registers that such
an instruction names are followed to the loads that last wrote them, in address order, and once more
from the end of the code to its beginning for what a loop carries. Of several kinds each gets its
part. What leads to no load stays unattributed. A throttled queue ("LG throttle") stalls at the load
or store itself. (Nsight Compute, Kernel Profiling Guide, "Warp Scheduler States".)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lmemscope.formats.ncu_csv import SAMPLES, THROTTLED, WAITING
from lmemscope.model import ProfiledInstruction

_WORDS = re.compile(r"\s*(?:@!?U?P\w+\s+)?(?P<opcode>[A-Z][\w.]*)\s*(?P<operands>[^;]*)")
_REGISTER = re.compile(r"(?<![\w.])R(\d{1,3})((?:\.\w+)*)")
_LOADS = ("LD.", "LDG.", "LDG ", "LDL", "LD ", "TEX", "TLD", "TXD", "SULD", "ATOM", "ATOMG")
_DOUBLE = ("DADD", "DMUL", "DFMA", "DSETP", "DMNMX")
_WIDTHS = {".64": 2, ".128": 4, ".256": 8}


@dataclass(frozen=True, slots=True)
class Sass:
    """An instruction, as far as waiting goes.

    Attributes:
        opcode: with its suffixes.
        written, read: numbers of its registers.
    """

    opcode: str
    written: tuple[int, ...]
    read: tuple[int, ...]

    @property
    def is_local(self) -> bool:
        """``LDL`` or ``STL``."""
        return self.opcode.partition(".")[0] in ("LDL", "STL")

    @property
    def is_load(self) -> bool:
        """Whether what uses its result waits on the long scoreboard."""
        return f"{self.opcode} ".startswith(_LOADS)


def parsed(text: str) -> Sass | None:
    """An instruction of SASS; None for a text that is none.

    Wide operands count as all of their registers: of loads, stores, double-precision arithmetic,
    and the result and the addend of ``IMAD.WIDE``.
    """
    found = _WORDS.match(text)
    if found is None:
        return None
    opcode = found["opcode"]
    width = next((n for suffix, n in _WIDTHS.items() if suffix in opcode), 1)
    operands = found["operands"].split(",")
    if opcode.startswith(("ST", "RED")):
        return Sass(opcode, (), _registers(operands, width))
    if opcode.startswith(_DOUBLE):
        width = 2
        return Sass(opcode, _registers(operands[:1], width), _registers(operands[1:], width))
    if opcode.startswith("IMAD.WIDE"):
        read = (*_registers(operands[1:3], 1), *_registers(operands[3:], 2))
        return Sass(opcode, _registers(operands[:1], 2), read)
    return Sass(opcode, _registers(operands[:1], width), _registers(operands[1:], 1))


def _registers(operands: Sequence[str], width: int) -> tuple[int, ...]:
    """The registers of operands, of which each has so many; of addresses, as many as it says."""
    found: dict[int, None] = {}
    for operand in operands:
        is_address = "[" in operand or "]" in operand
        for match in _REGISTER.finditer(operand):
            own = next((n for suffix, n in _WIDTHS.items() if suffix in match[2]), 1)
            count = own if is_address else max(width, own)
            found.update(dict.fromkeys(range(int(match[1]), int(match[1]) + count)))
    return tuple(found)


def local_samples(code: Sequence[ProfiledInstruction]) -> dict[int, float]:
    """Samples of warps that waited for local memory, by the index of the access in the code."""
    instructions = [parsed(one.text) for one in code]
    pending: dict[int, int] = {}
    _walk(instructions, pending, code, None)
    found: dict[int, float] = {}
    _walk(instructions, pending, code, found)
    for n, (one, sass) in enumerate(zip(code, instructions, strict=True)):
        throttled = one.figures.get(THROTTLED, 0.0)
        if sass is not None and sass.is_local and throttled:
            found[n] = found.get(n, 0.0) + throttled
    return found


def _walk(
    instructions: Sequence[Sass | None],
    pending: dict[int, int],
    code: Sequence[ProfiledInstruction],
    found: dict[int, float] | None,
) -> None:
    """Follow the code once; ``pending`` holds, by register, the load that writes it."""
    for n, sass in enumerate(instructions):
        if sass is None:
            continue
        named = (*sass.read, *sass.written)
        waited = code[n].figures.get(WAITING, 0.0)
        if found is not None and waited:
            loads = list(dict.fromkeys(pending[r] for r in named if r in pending))
            for load in loads:
                source = instructions[load]
                if source is not None and source.is_local:
                    found[load] = found.get(load, 0.0) + waited / len(loads)
        # What was used has arrived; another load of the same instruction may be on its way.
        for register in named:
            pending.pop(register, None)
        if sass.is_load:
            pending.update(dict.fromkeys(sass.written, n))


def samples(code: Sequence[ProfiledInstruction]) -> float | None:
    """All samples of a launch; None where the sampler did not run."""
    for column in SAMPLES:
        found = [one.figures[column] for one in code if column in one.figures]
        if found:
            return sum(found)
    return None
