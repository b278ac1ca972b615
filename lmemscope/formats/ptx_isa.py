"""Which registers a PTX instruction defines and reads, for every opcode of PTX ISA 9 (section 9.7).

The one place that answers it. An opcode that is not in the table may define its first operand: that
counts as a definition, by a value of which nothing is known.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from lmemscope.formats.ptx_body import Address, Instruction, Operand, Vector, parts_of_opcode

CARRY = "%cc.cf"
"""The carry flag as a register: ``add.cc`` defines it, ``addc`` reads it."""
_CARRY_READERS = frozenset({"addc", "subc", "madc"})
_PART = re.compile(r"(%[\w$@]+)\.(?:[bh]\d|[xyzwrgba])")
"""A part of a register: ``%r1.h0`` of video instructions, ``%v.x`` of vectors."""
_SPECIAL = re.compile(r"%n?(?:tid|ctaid|clusterid)\.|%cluster_n?ctaid\.")

Origin = Literal["operands", "memory", "threads", "unknown"]
"""What results are computed from: operands alone, memory, other threads, or what is not known."""


class Opcode(NamedTuple):
    """What an opcode defines.

    Attributes:
        results: how many leading operands it defines; an address is read all the same.
        origin: what the results are computed from.
        updates: whether it also reads what it defines.
    """

    results: int
    origin: Origin = "operands"
    updates: bool = False


_NONE = Opcode(0)
_COMPUTED = Opcode(1)
_LOADED = Opcode(1, "memory")
_EXCHANGED = Opcode(1, "threads")
_UNKNOWN = Opcode(1, "unknown", updates=True)

_BY_RESULT = {
    # Integers, extended precision, floating point, half precision.
    "abs add addc bfe bfi bfind bmsk brev clz copysign cos div dp2a dp4a ex2 fma fns lg2 mad mad24 "
    "madc max min mul mul24 neg popc rcp rem rsqrt sad sin sqrt sub subc szext tanh testp": (
        _COMPUTED
    ),
    # Comparison, selection, logic, shifts.
    "and cnot lop3 not or selp set setp shf shl shr slct xor": _COMPUTED,
    # Data movement and conversion.
    "createpolicy cvt cvta getctarank isspacep mapa mov prmt": _COMPUTED,
    "ld ldu": _LOADED,
    "shfl": _EXCHANGED,
    "applypriority cp discard multimem prefetch prefetchu st tensormap": _NONE,
    # Textures and surfaces.
    "suld suq tex tld4 txq": _LOADED,
    "istypep": _COMPUTED,
    "sured sust": _NONE,
    # Control flow.
    "bra brx exit ret": _NONE,
    "call": Opcode(0, "threads"),
    # Synchronization.
    "atom mbarrier": _LOADED,
    "activemask elect match redux vote": _EXCHANGED,
    "clusterlaunchcontrol": _COMPUTED,
    "bar barrier fence griddepcontrol membar red": _NONE,
    # Matrices, whose fragments lie across the lanes.
    "mma movmatrix": _EXCHANGED,
    "ldmatrix": _LOADED,
    "stmatrix tcgen05 wgmma wmma": _NONE,
    # The stack.
    "alloca stacksave": _COMPUTED,
    "stackrestore": _NONE,
    # Video.
    "vabsdiff vadd vmad vmax vmin vset vshl vshr vsub": _COMPUTED,
    "vabsdiff2 vadd2 vavrg2 vmax2 vmin2 vset2 vsub2": _COMPUTED,
    "vabsdiff4 vadd4 vavrg4 vmax4 vmin4 vset4 vsub4": _COMPUTED,
    # Miscellaneous.
    "brkpt nanosleep pmevent setmaxnreg trap": _NONE,
}
_OPCODES = {name: row for names, row in _BY_RESULT.items() for name in names.split()}
_VARIANTS = {
    ("bar", "red"): _EXCHANGED,
    ("barrier", "red"): _EXCHANGED,
    ("clusterlaunchcontrol", "try_cancel"): _NONE,
    ("multimem", "ld_reduce"): _LOADED,
    ("tcgen05", "ld"): _LOADED,
    ("tcgen05", "red"): Opcode(2, "memory"),
    ("wgmma", "mma_async"): Opcode(1, "threads", updates=True),
    ("wmma", "load"): _LOADED,
    ("wmma", "mma"): _EXCHANGED,
}
"""Where a modifier decides; the last that fits counts."""


def opcode_of(instruction: Instruction) -> Opcode:
    """What an instruction's opcode defines."""
    return _opcode(instruction.opcode)


# A module has few different opcodes, and analyses ask of each instruction many times.
@lru_cache(maxsize=1 << 12)
def _opcode(opcode: str) -> Opcode:
    operation, *modifiers = parts_of_opcode(opcode)
    found = _OPCODES.get(operation, _UNKNOWN)
    for (of, modifier), row in _VARIANTS.items():
        if of == operation and modifier in modifiers:
            found = row
    return found


def known_operations() -> frozenset[str]:
    """The first parts of all opcodes of the table."""
    return frozenset(_OPCODES)


def may_change(instruction: Instruction) -> bool:
    """Whether a result may differ from one execution to the next with the same operands."""
    return opcode_of(instruction).origin != "operands"


def defined(instruction: Instruction) -> tuple[str, ...]:
    """Registers that an instruction defines, or, of an unknown opcode, may define.

    ``_`` takes a result that nobody wants.
    """
    results = tuple(
        register
        for operand in _results(instruction)
        if not isinstance(operand, Address)
        for register in registers_of(operand)
    )
    return (*results, CARRY) if "cc" in instruction.modifiers else results


def read(instruction: Instruction) -> tuple[str, ...]:
    """Registers that an instruction reads, the predicate that it runs under first.

    What it keeps where the predicate is false is not among them.
    """
    row, results = opcode_of(instruction), len(_results(instruction))
    found = registers_of(instruction.predicate or "")
    for position, operand in enumerate(instruction.operands):
        is_result = position < results and not isinstance(operand, Address)
        if not is_result or row.updates:
            found += registers_of(operand)
        else:
            found += _partly_kept(operand)
    if instruction.operation in _CARRY_READERS:
        found.append(CARRY)
    return tuple(found)


def registers_of(operand: Operand | None) -> list[str]:
    """Registers that an operand names; of a part of one, the register."""
    if isinstance(operand, Address):
        return [operand.base] if operand.base is not None and operand.base[:1] == "%" else []
    if isinstance(operand, Vector):
        return [_whole(item) for item in operand.items if item.startswith("%")]
    if isinstance(operand, str):
        name = operand.lstrip("!-")
        return [_whole(name)] if name.startswith("%") else []
    return []


def _results(instruction: Instruction) -> tuple[Operand, ...]:
    """Operands that an instruction defines, addresses among them."""
    operands = instruction.operands
    if instruction.operation == "call":
        # The list of results, if there is one, stands before the callee.
        return operands[:1] if operands and isinstance(operands[0], Vector) else ()
    return operands[: opcode_of(instruction).results]


def _partly_kept(operand: Operand) -> list[str]:
    """Registers of a result that are written in part, and keep the rest."""
    items = operand.items if isinstance(operand, Vector) else (operand,)
    return [_whole(item) for item in items if isinstance(item, str) and _whole(item) != item]


def _whole(name: str) -> str:
    """The register that a name is a part of, or the name."""
    if "." not in name or _SPECIAL.match(name):
        return name
    part = _PART.fullmatch(name)
    return part[1] if part is not None else name
