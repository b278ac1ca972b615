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
    """An instruction of SASS; None for a text that is none."""
    found = _WORDS.match(text)
    if found is None:
        return None
    opcode = found["opcode"]
    width = next((n for suffix, n in _WIDTHS.items() if suffix in opcode), 1)
    is_pair = opcode.startswith(("D", "IMAD.WIDE")) and not opcode.startswith(("DEPBAR", "DP"))
    first, _, rest = found["operands"].partition(",")
    if "[" in first or opcode.startswith(("ST", "RED")):
        return Sass(opcode, (), _registers(found["operands"], width if width > 1 else 1))
    return Sass(
        opcode,
        _registers(first, max(width, 2 if is_pair else 1)),
        _registers(rest, 2 if is_pair else 1),
    )


def _registers(operands: str, width: int) -> tuple[int, ...]:
    found: dict[int, None] = {}
    for match in _REGISTER.finditer(operands):
        count = max(width, _WIDTHS.get(match[2][:4].rstrip("U"), 1))
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
