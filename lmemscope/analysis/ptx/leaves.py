"""Leaves of a slice: where a value enters a function."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lmemscope.analysis.ptx.definitions import Definitions
from lmemscope.model import SourceKind, Uniformity

ARITHMETIC = frozenset(
    "mov add sub mul mad mul24 shl shr and or xor not neg abs min max rem div cvt cvta "
    "selp bfe bfi lea sad prmt shf cnot setp set slct addc subc madc fma".split()
)
_LANE_REGISTERS = ("%tid", "%laneid", "%lanemask")
_BLOCK_REGISTERS = ("%ctaid", "%clusterid", "%cluster_ctaid")
_LAUNCH_REGISTERS = ("%ntid", "%nctaid", "%nclusterid", "%cluster_nctaid", "%gridid", "%warpid")
_ORDER: tuple[Uniformity, ...] = ("uniform", "unknown", "lane-varying", "data-dependent")


@dataclass(frozen=True, slots=True, order=True)
class Leaf:
    """Where a value comes from.

    Attributes:
        kind: as in the contract, plus ``symbol`` for the address of a named variable.
        name: the PTX name: a parameter, a special register, a called function, a symbol.
        constant_trip: of a loop counter: whether the loop's trip count is a constant.
        header: of a loop counter: index of the loop's first instruction.
        uniformity: what this leaf alone makes of the value.
    """

    kind: SourceKind
    name: str | None = None
    constant_trip: bool = False
    header: int = -1
    uniformity: Uniformity = "uniform"

    @property
    def is_dynamic(self) -> bool:
        """Whether an index with this leaf cannot become constant by unrolling loops."""
        return not (self.kind == "loop-counter" and self.constant_trip)


def worst(values: Iterable[Uniformity]) -> Uniformity:
    """The least uniform of several."""
    return max(values, key=_ORDER.index, default="uniform")


def special(register: str) -> Leaf | None:
    """The leaf that a register is which nothing defines, or None for a plain one."""
    if register.startswith(_LANE_REGISTERS):
        return Leaf("thread-id", register, uniformity="lane-varying")
    if register.startswith(_BLOCK_REGISTERS):
        return Leaf("block-id", register)
    if register.startswith(_LAUNCH_REGISTERS):
        return Leaf("other", register)
    if register.startswith(("%SP", "%SPL")):
        return None
    return Leaf("other", register, uniformity="unknown") if "." in register else None


def entering(code: Definitions, index: int) -> Leaf | None:
    """The leaf that an instruction is, or None for arithmetic."""
    instruction = code.body.instructions[index]
    operation = instruction.operation
    if operation in ("ld", "ldu"):
        address = instruction.address
        if "param" in instruction.modifiers and address is not None:
            if address.base in code.parameters:
                plain = code.function.kind == "entry"
                return Leaf("parameter", address.base, uniformity="uniform" if plain else "unknown")
            return Leaf("call", _returning(code, index), uniformity="unknown")
        # A load from a named variable: one address for all lanes.
        return Leaf("memory", address.base if address is not None else None)
    if operation in ARITHMETIC:
        return None
    if operation in ("tex", "suld", "atom", "tld4", "ldmatrix"):
        return Leaf("memory", uniformity="data-dependent")
    # shfl, vote, inline assembly and whatever else: not followed.
    return Leaf("other", operation, uniformity="unknown")


def symbols(code: Definitions, index: int) -> set[Leaf]:
    """Addresses of named variables that an instruction takes; the function's own are none."""
    instruction = code.body.instructions[index]
    if instruction.operation not in ("mov", "cvta"):
        return set()
    own = {declaration.name for declaration in code.body.locals}
    return {
        Leaf("symbol", operand)
        for operand in instruction.operands[1:]
        if isinstance(operand, str) and _is_symbol(operand) and operand not in own
    }


def _is_symbol(operand: str) -> bool:
    first = operand[:1]
    return first in ("$", "_") or (first.isascii() and first.isalpha())


def _returning(code: Definitions, index: int) -> str | None:
    """The function whose result an instruction reads: the last one called before it."""
    before = [call for call in code.flow.calls if call.index < index]
    return before[-1].callee if before else None
