"""Advice that makes indices constants by unrolling; only where the number of trips is one."""

from __future__ import annotations

import re

from lmemscope.model import Advice, SourceLocation
from lmemscope.rules.base import Case
from lmemscope.rules.declared import Declaration, declaration_of
from lmemscope.rules.indexing import listed
from lmemscope.rules.loops import (
    Loop,
    counting_loop,
    early_exit,
    loop_at,
    pragma_above,
)
from lmemscope.rules.register_cap import HARDWARE_CAP

_RING = re.compile(r"\(?\s*\w+(?:\s*[+-]\s*\w+)*\s*\)?\s*[%&]\s*[\w() +-]+")
"""An index that advances by one and begins anew at the end: ``(head + i) % size``."""


def unrolled_loop(case: Case) -> tuple[Advice, ...]:
    """To unroll the loops that index an array: their trip counts are constant, and it fits."""
    index = case.index
    if index is None or not _fits_registers(case):
        return ()
    if not all(s.kind == "loop-counter" and s.constant_trip for s in index.sources):
        return ()
    loop = index.loop
    if loop is None:
        text = f"Unroll every loop that indexes {case.name} (`#pragma unroll`)."
        return (Advice(f"{text}{outcome(case)}"),)
    leaves = early_exit(case.sources, loop.file, loop.line)
    if leaves is not None:
        return (
            Advice(
                f"The loop at line {loop.line} leaves early (line {leaves}), which can keep it "
                "rolled: put the rest of its body under a condition instead, and unroll it."
                f"{outcome(case)}"
            ),
        )
    asked = pragma_above(case.sources, loop.file, loop.line)
    if asked == "":
        return (
            Advice(
                f"The loop at line {loop.line} asks for unrolling already: look for another loop "
                f"that indexes {case.name}, or for a bound that the compiler cannot see."
            ),
        )
    instead = f", in place of `#pragma unroll {asked}`," if asked is not None else ""
    text = (
        f"Unroll the loop at line {loop.line} fully{instead} and every other loop that indexes "
        f"{case.name}.{outcome(case)}"
    )
    return (Advice(text, _pragma(case, loop)),)


def constant_bound(case: Case) -> tuple[Advice, ...]:
    """What makes an index constant that only counts a loop whose trips are not constant."""
    index = case.index
    if index is None or {source.kind for source in index.sources} != {"loop-counter"}:
        return ()
    if not _fits_registers(case):
        return ()
    made, loop = declaration_of(case), counting_loop(case)
    sites = case.share.sites
    moves = sites.load_sites and sites.store_sites
    expression = index.expression or ""
    if made is not None and moves and len(made.extents) == 1 and _RING.fullmatch(expression):
        return (_shift(case, made),)
    if loop is None or loop.bound is None or _may_be_constant(loop.bound):
        return ()
    text = f"The loop at line {loop.line} ends at `{loop.bound}`, which is not known when compiling"
    own = made is not None and len(made.extents) == 1 and expression == loop.counter
    if made is not None and own and loop.counts_up and loop.sign is not None:
        header = f"for ({_first(loop)}; {loop.counter} < {made.written[0]}; {loop.step})"
        guard = f"if ({loop.counter} {loop.sign} {loop.bound})"
        code = f"#pragma unroll\n{header} {guard} {loop.rest}".rstrip()
        return (
            Advice(
                f"{text}: let it run over all {made.elements} elements under a condition, and "
                f"unroll it and every other loop that indexes {case.name}.{outcome(case)}",
                code,
            ),
        )
    return (
        Advice(
            f"{text}: make it a constant (a template parameter or `constexpr`), and unroll the "
            f"loop.{outcome(case)}"
        ),
    )


def outcome(case: Case) -> str:
    """What follows once every index is a constant; no promise where more keeps it in memory."""
    also = case.object.also if case.object is not None else ()
    if also:
        return f" It stays in memory until {listed(list(also))} is removed too."
    return " Then every index is a constant."


def spare_registers(case: Case) -> int:
    """Registers per thread that the kernel could have and does not use."""
    cap = case.facts.cubin.max_registers if case.facts.cubin is not None else None
    return (cap or HARDWARE_CAP) - (case.facts.registers or 0)


def _fits_registers(case: Case) -> bool:
    """Whether the array fits the registers that are left; True where its size is not known."""
    made = declaration_of(case)
    size = case.object.size // 4 if case.object is not None else 0
    need = made.registers if made is not None and made.registers is not None else size
    return need <= spare_registers(case)


def _shift(case: Case, made: Declaration) -> Advice:
    """A ring without an index: the elements move, and the newest is always the last."""
    extent, name = made.written[0], made.path
    last = str(int(extent) - 1) if extent.isdigit() else f"{extent} - 1"
    counter = next(letter for letter in ("k", "m", "e") if letter != made.path)
    code = (
        f"#pragma unroll\nfor (int {counter} = 0; {counter} < {last}; ++{counter}) "
        f"{name}[{counter}] = {name}[{counter} + 1];"
    )
    return Advice(
        f"Move the elements of {case.name} by one in an unrolled loop instead of moving an index: "
        f"the newest is then always `{name}[{last}]`. Unroll every other loop over it.",
        code,
    )


def _pragma(case: Case, loop: SourceLocation) -> str:
    """The line to write, above the loop where that begins on its line."""
    found = loop_at(case.sources, loop.file, loop.line)
    return f"#pragma unroll\n{found.text}" if found is not None else "#pragma unroll"


def _may_be_constant(bound: str) -> bool:
    """Whether a bound is a number, or a name that is spelled as constants are."""
    return bound.isdigit() or re.fullmatch(r"[A-Z][A-Z0-9_]*|[A-Z]\w*|k[A-Z]\w*", bound) is not None


def _first(loop: Loop) -> str:
    """A header's first part, as written."""
    return loop.text.partition("(")[2].partition(";")[0].strip()
