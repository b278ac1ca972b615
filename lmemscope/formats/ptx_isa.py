"""The PTX instruction set (PTX ISA 9, section 9.7): one row of properties per opcode.

This is the only place that knows opcodes. An opcode without a row may define its first operand,
with an unknown value. `ptx_operands` interprets the operands of an instruction.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

Access = Literal["load", "store", "atomic"]
Control = Literal["branch", "call", "return", "exit", "trap"]
Fold = Callable[[Sequence[int]], int]
Fusion = Literal["adds", "scales", "combines"]
Kind = Literal[
    "bits",
    "choice",
    "comparison",
    "copy",
    "extreme",
    "logic",
    "product",
    "quotient",
    "shift",
    "sum",
]
Origin = Literal["operands", "stack", "memory", "threads", "unknown"]
Unit = Literal[
    "arithmetic",
    "bits",
    "branch",
    "call",
    "comparison",
    "conversion",
    "free",
    "memory",
    "selection",
    "special",
]
Wait = Literal["mask", "warp", "block"]

_SPACES = frozenset({"const", "global", "local", "param", "shared", "tex"})
GENERIC = "generic"
_READABLE = frozenset({*_SPACES, GENERIC})
_WRITABLE = frozenset({"global", "local", "param", "shared", GENERIC})
_GLOBAL = frozenset({"global"})
_COMMON = frozenset({"global", "shared", GENERIC})


class Opcode(NamedTuple):
    """The effect of instructions with one opcode.

    Attributes:
        results: number of leading operands it defines; an address among them is still read.
        fewest: minimum number of operands; 0 if no code depends on their positions.
        origin: what the results are computed from.
        updates: whether it also reads what it defines.
        carries: whether it reads the carry flag.
        kind: of computation.
        pointers: positions of operands whose memory the result may point into.
        fold: computes the result from integers.
        commutes: whether its two operands may be exchanged.
        bounds: whether one constant operand gives the result a constant maximum.
        packs: whether it only moves bits of its operands.
        access, spaces: what it does to memory at its address, and in which state spaces; `GENERIC`
            if it may have none.
        writes: whether other threads see an effect other than such an access.
        control: its effect on control flow.
        waits: what it waits for: lanes named by a mask, its last operand; the whole warp; a block
            or what a barrier in memory counts.
        lanes: whether all lanes get one result, or each its own, whatever the operands are.
        unit: the execution unit.
        doubles: whether it becomes two machine instructions for 64 bits.
        fuses: how ptxas fuses it with another instruction.
    """

    results: int = 0
    fewest: int = 0
    origin: Origin = "operands"
    updates: bool = False
    carries: bool = False
    kind: Kind | None = None
    pointers: tuple[int, ...] = ()
    fold: Fold | None = None
    commutes: bool = False
    bounds: bool = False
    packs: bool = False
    access: Access | None = None
    spaces: frozenset[str] = frozenset()
    writes: bool = False
    control: Control | None = None
    waits: Wait | None = None
    lanes: Literal["same", "own"] | None = None
    unit: Unit = "arithmetic"
    doubles: bool = False
    fuses: Fusion | None = None

    @property
    def is_pure(self) -> bool:
        """Whether equal operands always give equal results, with no other effect."""
        return self.results > 0 and self.origin == "operands"

    @property
    def is_either(self) -> bool:
        """Whether a result is one of two operands."""
        return self.kind in ("choice", "extreme")

    @property
    def is_seen(self) -> bool:
        """Whether other threads, or the host, can observe any effect."""
        return self.writes or self.access in ("store", "atomic") or self.control == "trap"

    @property
    def may_be_local(self) -> bool:
        """Whether it accesses memory that may be local."""
        return self.access is not None and "local" in self.spaces


_WIDEST = 64


def shifted_by(bits: int) -> int:
    """The effective shift amount: no register has more than 64 bits (PTX ISA, ``shl``)."""
    return min(max(bits, 0), _WIDEST)


def _computed(fewest: int = 0, kind: Kind | None = None, unit: Unit = "arithmetic") -> Opcode:
    return Opcode(1, fewest, kind=kind, unit=unit)


def _pair(kind: Kind, fold: Fold) -> Opcode:
    """An opcode with two interchangeable operands, each of which may be a pointer."""
    return Opcode(1, 3, kind=kind, pointers=(1, 2), fold=fold, commutes=True)


def _packed(fewest: int, kind: Kind) -> Opcode:
    return Opcode(1, fewest, kind=kind, packs=True)


def _warp(results: int = 0, origin: Origin = "threads") -> Opcode:
    return Opcode(results, origin=origin, waits="warp")


_SAME = Opcode(1, origin="threads", waits="mask", lanes="same")
_TEXTURE = Opcode(1, origin="memory", access="load", unit="memory")
_SPECIAL = _computed(unit="special")
_BAR = Opcode(waits="block", unit="branch")
_VIDEO = _computed()

_BY_NAME: Mapping[str, Opcode] = {
    # Integers, floating point, half precision.
    "abs": _computed(2, "sum", "selection")._replace(fold=lambda of: abs(of[0])),
    "add": _pair("sum", lambda of: of[0] + of[1])._replace(fuses="adds"),
    "bfe": Opcode(1, 4, kind="bits"),
    "bfi": _packed(5, "bits"),
    "bfind": _computed(0, "bits", "bits"),
    "bmsk": _computed(0, "bits"),
    "brev": _computed(2, "bits", "bits"),
    "clz": _computed(2, "bits", "bits"),
    "copysign": _computed(),
    "cos": _SPECIAL,
    "div": _computed(3, "quotient", "special")._replace(fold=lambda of: _divided(*of)[0]),
    "dp2a": _computed(0, "product"),
    "dp4a": _computed(0, "product"),
    "ex2": _SPECIAL,
    "fma": _computed(4, "product"),
    "fns": _computed(0, "bits"),
    "lg2": _SPECIAL,
    "mad": Opcode(
        1, 4, kind="product", pointers=(3,), fold=lambda of: of[0] * of[1] + of[2], doubles=True
    ),
    "mad24": _computed(4, "product"),
    "max": _pair("extreme", max)._replace(unit="comparison", doubles=True),
    "min": _pair("extreme", min)._replace(bounds=True, unit="comparison", doubles=True),
    "mul": _pair("product", lambda of: of[0] * of[1])._replace(
        pointers=(), doubles=True, fuses="scales"
    ),
    "mul24": _computed(3, "product")._replace(commutes=True),
    "neg": _computed(2, "sum", "selection")._replace(fold=lambda of: -of[0]),
    "popc": _computed(2, "bits", "bits"),
    "rcp": _SPECIAL,
    "rem": Opcode(
        1, 3, kind="quotient", fold=lambda of: _divided(*of)[1], bounds=True, unit="special"
    ),
    "rsqrt": _SPECIAL,
    "sad": _computed(4, "sum"),
    "sin": _SPECIAL,
    "sqrt": _SPECIAL,
    "sub": Opcode(1, 3, kind="sum", pointers=(1,), fold=lambda of: of[0] - of[1], fuses="adds"),
    "szext": _computed(0, "bits"),
    "tanh": _SPECIAL,
    "testp": _computed(0, "comparison"),
    # Extended precision.
    "addc": Opcode(1, 3, carries=True, kind="sum"),
    "madc": Opcode(1, 4, carries=True, kind="product"),
    "subc": Opcode(1, 3, carries=True, kind="sum"),
    # Comparison and selection.
    "selp": Opcode(1, 4, kind="choice", pointers=(1, 2), unit="selection", doubles=True),
    "set": _computed(3, "comparison", "comparison"),
    "setp": _computed(3, "comparison", "comparison"),
    "slct": Opcode(1, 4, kind="choice", pointers=(1, 2), unit="selection"),
    # Logic and shifts.
    "and": _pair("logic", lambda of: of[0] & of[1])._replace(bounds=True, fuses="combines"),
    "cnot": _computed(2, "logic"),
    "lop3": _computed(5, "logic"),
    "not": Opcode(1, 2, kind="logic", fold=lambda of: ~of[0], fuses="combines"),
    "or": _pair("logic", lambda of: of[0] | of[1])._replace(packs=True, fuses="combines"),
    "shf": _computed(4, "shift"),
    "shl": Opcode(
        1,
        3,
        kind="shift",
        fold=lambda of: of[0] << shifted_by(of[1]),
        packs=True,
        doubles=True,
        fuses="scales",
    ),
    "shr": Opcode(1, 3, kind="shift", fold=lambda of: of[0] >> shifted_by(of[1]), doubles=True),
    "xor": _pair("logic", lambda of: of[0] ^ of[1])._replace(fuses="combines"),
    # Data movement and conversion.
    "applypriority": Opcode(),
    "cp": Opcode(writes=True, unit="memory"),
    "createpolicy": _computed(),
    "cvt": Opcode(
        1, 2, kind="copy", pointers=(1,), fold=lambda of: of[0], packs=True, unit="conversion"
    ),
    "cvta": Opcode(1, 2, kind="copy", pointers=(1,), fold=lambda of: of[0], unit="free"),
    "discard": Opcode(unit="free"),
    "getctarank": _computed(),
    "isspacep": _computed(0, "comparison", "free"),
    "ld": Opcode(1, 2, "memory", access="load", spaces=_READABLE, unit="memory"),
    "ldu": Opcode(
        1, 2, "memory", access="load", spaces=frozenset({"global", GENERIC}), unit="memory"
    ),
    "mapa": Opcode(1, pointers=(1,)),
    "mov": Opcode(1, 2, kind="copy", pointers=(1,), fold=lambda of: of[0], packs=True, unit="free"),
    "multimem": Opcode(access="store", spaces=_GLOBAL),
    "prefetch": Opcode(unit="free"),
    "prefetchu": Opcode(unit="free"),
    "prmt": _packed(4, "bits"),
    "shfl": Opcode(1, origin="threads", waits="mask", unit="memory"),
    "st": Opcode(0, 2, access="store", spaces=_WRITABLE, unit="memory"),
    "tensormap": Opcode(writes=True),
    # Textures and surfaces.
    "istypep": _computed(0, "comparison"),
    "suld": _TEXTURE,
    "suq": _TEXTURE._replace(unit="arithmetic"),
    "sured": Opcode(writes=True),
    "sust": Opcode(writes=True, unit="memory"),
    "tex": _TEXTURE,
    "tld4": _TEXTURE,
    "txq": _TEXTURE._replace(unit="arithmetic"),
    # Control flow.
    "bra": Opcode(0, 1, control="branch", unit="branch"),
    "brx": Opcode(0, 2, control="branch", unit="branch"),
    "call": Opcode(0, 0, "threads", control="call", unit="call"),
    "exit": Opcode(control="exit", unit="free"),
    "ret": Opcode(control="return", unit="free"),
    "trap": Opcode(control="trap", unit="free"),
    # Synchronization.
    "activemask": Opcode(1, origin="threads", lanes="same"),
    "atom": Opcode(1, 0, "memory", access="atomic", spaces=_COMMON, unit="memory"),
    "bar": _BAR,
    "barrier": _BAR,
    "clusterlaunchcontrol": _computed(),
    "elect": Opcode(1, origin="threads", waits="mask", lanes="own"),
    "fence": Opcode(unit="free"),
    "griddepcontrol": Opcode(),
    "match": Opcode(1, origin="threads", waits="mask"),
    "mbarrier": Opcode(1, origin="memory", writes=True),
    "membar": Opcode(unit="free"),
    "red": Opcode(access="atomic", spaces=_COMMON, unit="memory"),
    "redux": _SAME,
    "vote": _SAME,
    # Matrices, whose fragments lie across the lanes.
    "ldmatrix": _warp(1, "memory")._replace(
        access="load", spaces=frozenset({"shared"}), unit="memory"
    ),
    "mma": _warp(1),
    "movmatrix": _warp(1),
    "stmatrix": _warp()._replace(access="store", spaces=frozenset({"shared"}), unit="memory"),
    "tcgen05": _warp()._replace(writes=True),
    "wgmma": _warp(),
    "wmma": _warp()._replace(writes=True),
    # The stack.
    "alloca": Opcode(1, 2, "stack"),
    "stackrestore": Opcode(),
    "stacksave": Opcode(1, origin="stack"),
    # Video: scalars, and the lanes of a register.
    **dict.fromkeys("vabsdiff vadd vmad vmax vmin vset vshl vshr vsub".split(), _VIDEO),
    **dict.fromkeys("vabsdiff2 vadd2 vavrg2 vmax2 vmin2 vset2 vsub2".split(), _VIDEO),
    **dict.fromkeys("vabsdiff4 vadd4 vavrg4 vmax4 vmin4 vset4 vsub4".split(), _VIDEO),
    # Miscellaneous.
    "brkpt": Opcode(),
    "nanosleep": Opcode(),
    "pmevent": Opcode(),
    "setmaxnreg": _warp(),
}
_REDUCED = _BAR._replace(results=1, origin="threads", lanes="same")
_VARIANTS: Mapping[tuple[str, str], Opcode] = {
    ("bar", "arrive"): _BAR._replace(waits=None),
    ("bar", "red"): _REDUCED,
    ("bar", "warp"): _BAR._replace(waits="mask"),
    ("barrier", "arrive"): _BAR._replace(waits=None),
    ("barrier", "red"): _REDUCED,
    ("clusterlaunchcontrol", "try_cancel"): Opcode(),
    ("match", "all"): _SAME,
    ("mbarrier", "test_wait"): Opcode(1, origin="memory", waits="block"),
    ("mbarrier", "try_wait"): Opcode(1, origin="memory", waits="block"),
    ("multimem", "ld_reduce"): Opcode(1, 0, "memory", access="load", spaces=_GLOBAL),
    ("multimem", "red"): Opcode(access="atomic", spaces=_GLOBAL),
    ("tcgen05", "ld"): _warp(1, "memory"),
    ("tcgen05", "red"): _warp(2, "memory"),
    ("wgmma", "mma_async"): _warp(1)._replace(updates=True),
    ("wmma", "load"): _warp(1, "memory"),
    ("wmma", "mma"): _warp(1),
}
"""Rows for opcodes with certain modifiers; the last match counts."""
_UNKNOWN = Opcode(1, origin="unknown", updates=True)

COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lo": lambda a, b: a < b,
    "ls": lambda a, b: a <= b,
    "hi": lambda a, b: a > b,
    "hs": lambda a, b: a >= b,
}
"""The comparisons of ``setp`` (PTX ISA, "Comparisons")."""
UNSIGNED = frozenset({"lo", "ls", "hi", "hs"})
"""Comparisons of unsigned numbers."""


# A module has few distinct opcodes, and analyses query each instruction's many times.
@lru_cache(maxsize=1 << 12)
def parts_of_opcode(opcode: str) -> tuple[str, ...]:
    """An opcode's operation and modifiers: ``("ld", "local", "v4", "f32")``."""
    return tuple(opcode.split("."))


@lru_cache(maxsize=1 << 12)
def row_of(opcode: str) -> Opcode:
    """The effect of an opcode with all its modifiers."""
    operation, *modifiers = parts_of_opcode(opcode)
    row = _BY_NAME.get(operation, _UNKNOWN)
    for modifier in modifiers:
        row = _VARIANTS.get((operation, modifier), row)
    is_synchronous = "sync" in modifiers or row.waits == "block"
    return row if is_synchronous else row._replace(waits=None)


@lru_cache(maxsize=1 << 12)
def space_of(opcode: str) -> str:
    """The state space of a load's or store's address; `GENERIC` without one."""
    spaces = (part.partition("::")[0] for part in parts_of_opcode(opcode)[1:])
    return next((one for one in spaces if one in _SPACES), GENERIC)


def operations(where: Callable[[Opcode], bool]) -> frozenset[str]:
    """The opcodes, without modifiers, whose row satisfies a condition."""
    return frozenset(name for name, row in _BY_NAME.items() if where(row))


def opcodes_in(text: bytes, among: frozenset[str]) -> Iterator[str]:
    """The opcodes in a text, in any spelling, whose operation is in a set."""
    for found in _written(among).finditer(text):
        yield b"".join(found[0].split()).decode()


@lru_cache
def _written(operations: frozenset[str]) -> re.Pattern[bytes]:
    names = "|".join(sorted(operations)).encode()
    return re.compile(rb"(?<![\w.$%%])(?:%s)(?![\w$])(?:\s*\.[\w:]+)*" % names)


def _divided(dividend: int, divisor: int) -> tuple[int, int]:
    """Quotient, rounded towards zero, and remainder.

    Raises:
        ZeroDivisionError: the divisor is zero.
    """
    quotient = abs(dividend) // abs(divisor) * (1 if (dividend < 0) == (divisor < 0) else -1)
    return quotient, dividend - quotient * divisor
