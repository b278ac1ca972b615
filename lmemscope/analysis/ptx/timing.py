"""What PTX instructions cost: which pipe executes them, how often, and what waits for them.

The classes are the rows of the table "Throughput of Native Arithmetic Instructions" in the CUDA C++
Programming Guide. Some instructions of PTX are several of the machine: their numbers are those of
the code that ptxas makes of them for sm_90, the path that is taken without denormal numbers.
"""

from __future__ import annotations

from lmemscope.formats.ptx_body import Instruction, number_of
from lmemscope.formats.ptx_isa import space_of
from lmemscope.model import Pipe, Stall

_INTEGER = frozenset("i u s b".split())
_EITHER = frozenset(("add", "sub", "mul", "mad"))
"""Integer arithmetic that ptxas gives to the FMA pipe (``IMAD``) where the integer one is busy, as
it does shifts by a constant, so that the schedulers' slots bound it: of what 125 versions executed
on an H200, it was half."""
_CALL = 12
"""Instructions that a call takes beside the function: arguments, saves, the return."""
_DIVISION_32, _DIVISION_64 = 16, 60
"""Instructions of an integer division; by a constant NVVM multiplies."""
_ROUNDED, _ROUNDED_64 = 8, 18
"""Instructions of a division, reciprocal or root that is rounded correctly."""


def is_free(instruction: Instruction) -> bool:
    """Whether ptxas makes no machine instruction of it, or one outside of any loop.

    Copies between registers are coalesced; addresses of one space become another's for nothing.
    """
    row, parts = instruction.isa, instruction.modifiers
    if row.unit == "free" or (row.may_be_local and space_of(instruction.opcode) == "param"):
        return True
    if parts[-1] == "pred":
        return True  # It is part of the comparison that it combines.
    widening = {"u64", "s64"} & set(parts[1:2]) and {"u32", "s32"} & set(parts[2:3])
    return row.unit == "conversion" and bool(widening)


def executed(instruction: Instruction) -> tuple[tuple[Pipe, int], ...]:
    """Machine instructions by the pipe that executes them."""
    parts, row = instruction.modifiers, instruction.isa
    unit, type_ = row.unit, parts[-1]
    if is_free(instruction):
        return ()
    if unit == "memory":
        return (("memory", 1),)
    if unit == "branch":
        return (("none", 1),)
    if unit == "call":
        return (("integer", _CALL),)
    if unit == "special" and ("rn" in parts or "full" in parts):
        if type_ == "f64":
            return (("fp64", _ROUNDED_64 // 2), ("integer", _ROUNDED_64 // 2), ("special", 1))
        return (("fp32", 2 if "full" in parts else _ROUNDED), ("special", 1))
    if unit == "special" and type_[:1] in _INTEGER:
        wide = type_.endswith("64")
        return (("integer", _DIVISION_64 if wide else _DIVISION_32), ("special", 1))
    if unit == "special":
        return (("special", 1), ("fp32", 1))
    if unit == "bits":
        return (("special", 1),)
    if unit == "conversion":
        return (("conversion" if "f" in "".join(parts[1:]).replace("ftz", "") else "integer", 1),)
    if type_ == "f64":
        return (("fp64", 1),) if unit != "selection" else (("integer", 2),)
    if type_[:1] == "f" or type_[:2] == "bf":
        is_logic = unit in ("selection", "comparison")
        return (("integer" if is_logic else "fp32", 1),)
    operation = instruction.operation
    is_scaled = operation == "shl" and number_of(instruction.operands[-1]) is not None
    pipe: Pipe = "none" if operation in _EITHER or is_scaled else "integer"
    if type_.endswith("64") and row.doubles:
        return ((pipe, 1 if row.fuses == "scales" and "hi" in parts else 2),)
    return ((pipe, 1),)


def waited_for(instruction: Instruction) -> Stall | None:
    """What an instruction that needs the result waits for; None where it need not wait."""
    row = instruction.isa
    if is_free(instruction):
        return None
    if row.unit == "memory" and row.results:
        # A shuffle goes through shared memory's crossbar, and has no address.
        return _SPACES.get(space_of(instruction.opcode), "global") if row.access else "shared"
    pipes = dict(executed(instruction))
    if "special" in pipes or "conversion" in pipes:
        return "special"
    return "fp64" if "fp64" in pipes else "arithmetic"


_SPACES: dict[str, Stall] = {
    "local": "local",
    "shared": "shared",
    "const": "arithmetic",
}


def chained(instruction: Instruction) -> int:
    """How many instructions of a row wait for each other where PTX has one."""
    return max(1, sum(number for _, number in executed(instruction)))


def width(instruction: Instruction) -> int:
    """Bytes per lane of a load or store."""
    parts = instruction.modifiers
    bits = "".join(char for char in parts[-1] if char.isdigit())
    vector = next((int(p[1:]) for p in parts if p in ("v2", "v4", "v8")), 1)
    return max(1, int(bits) // 8 if bits else 4) * vector
