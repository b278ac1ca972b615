"""Leaves of a slice: where a value enters a function."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from lmemscope.model import SourceKind, Uniformity

_LANE_REGISTERS = ("%tid", "%laneid", "%lanemask")
_BLOCK_REGISTERS = ("%ctaid", "%clusterid", "%cluster_ctaid")
_OTHER_REGISTERS = frozenset(
    {
        *("%ntid", "%nctaid", "%nclusterid", "%cluster_nctaid", "%cluster_nctarank", "%gridid"),
        *("%warpid", "%nwarpid", "%smid", "%nsmid", "%is_explicit_cluster", "%aggr_smem_size"),
        *("%clock", "%clock_hi", "%clock64", "%globaltimer", "%globaltimer_lo", "%globaltimer_hi"),
        *("%total_smem_size", "%dynamic_smem_size", "%current_graph_exec"),
    }
)
_NUMBERED_REGISTERS = re.compile(r"%(?:envreg|pm|reserved_smem_offset_)\d+(?:_64)?")
_ORDER: tuple[Uniformity, ...] = ("uniform", "unknown", "lane-varying", "data-dependent")


@dataclass(frozen=True, slots=True, order=True)
class Leaf:
    """Where a value comes from.

    Attributes:
        kind: as in the contract, plus ``symbol`` for the address of a named variable.
        name: the PTX name: a parameter, a special register, a called function, a symbol.
        constant_trip: of a loop counter: whether the loop's trip count has a constant maximum.
        header: of a loop counter: index of the loop's first instruction.
        offset: of memory: where the stack object that it is loaded from begins in the depot; -1
            where it is other memory.
    """

    kind: SourceKind
    name: str | None = None
    constant_trip: bool = False
    header: int = -1
    offset: int = -1

    @property
    def is_dynamic(self) -> bool:
        """Whether an index with this leaf cannot become constant by unrolling loops."""
        return not (self.kind == "loop-counter" and self.constant_trip)


def worst(values: Iterable[Uniformity]) -> Uniformity:
    """The least uniform of several."""
    return max(values, key=_ORDER.index, default="uniform")


@lru_cache(maxsize=1 << 12)
def special(register: str) -> tuple[Leaf, Uniformity] | None:
    """What a special register is, and whether the lanes of a warp read one value from it.

    PTX ISA 9, section 10. Clocks and ids of a warp, a multiprocessor or a block are one value in
    a warp that reads them together.
    """
    if register.startswith(_LANE_REGISTERS):
        return Leaf("thread-id", register), "lane-varying"
    if register.startswith(_BLOCK_REGISTERS):
        return Leaf("block-id", register), "uniform"
    name = register.partition(".")[0]
    if name in _OTHER_REGISTERS or _NUMBERED_REGISTERS.fullmatch(name):
        return Leaf("other", register), "uniform"
    return None


def is_symbol(operand: str) -> bool:
    """Whether an operand is the name of a variable or a function."""
    first = operand[:1]
    return first in ("$", "_") or (first.isascii() and first.isalpha())
