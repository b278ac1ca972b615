"""Advice that makes indices constants by unrolling; only where the number of trips is one."""

from __future__ import annotations

import re

from lmemscope.formats.demangle import short_name
from lmemscope.formats.statements import bracketed
from lmemscope.model import Advice, SourceLocation, is_foreign
from lmemscope.rules.aliases import is_reinterpreted, namesakes
from lmemscope.rules.base import Case
from lmemscope.rules.bounds import around_too, differs_by_thread, is_of_template, outer_loop
from lmemscope.rules.constants import meaning, number_of
from lmemscope.rules.declared import Declaration, declaration_of
from lmemscope.rules.indexing import still_kept
from lmemscope.rules.launched import block_of
from lmemscope.rules.loops import (
    Loop,
    body_of,
    counting_loops,
    early_exit,
    loop_at,
    pragma_above,
)
from lmemscope.rules.register_cap import HARDWARE_CAP
from lmemscope.rules.ring import is_ring, shifted
from lmemscope.rules.shared import shared_memory

_WHILE = re.compile(r"\s*(?:while\s*\(|do\b|for\s*\()")
MOST_WRITTEN_OUT = 131072
"""Instructions up to which nvcc writes a loop out, whatever a pragma asks for.

Measured with nvcc 13.5 on loops of 16 to 1024 turns: 124,868 are written out, 153,600 are not.
"""
_MUCH_CODE = 8192
"""Instructions of a loop that is written out from which its code is a cost of its own: 128 KB."""
LARGEST_UNROLLED = 4096
"""Bytes of an array up to which unrolling is tried though no thread has registers for all of it:
four times what a thread can hold, of which a part may be in use at a time."""
SPILLING = 2048
"""Instructions of such a loop from which values of several turns may not fit registers together."""
_MOST_GUARDED = 32
"""Elements of an array up to which a loop over all of them is worth its conditions."""
_LINES_WRITTEN_OUT = 1024
"""Lines of source that such a loop may be once its turns are written out: with 27 turns of a body
of 200 lines a kernel that spilled nothing spilled over 500 bytes."""
_ABOVE = 12
"""Lines above a loop on which comments and directives may be, with its pragma among them."""
_OTHER_VALUES = 32
"""Registers that a kernel needs beside an array; an array that leaves fewer does not fit."""
REGISTERS, _GRANULE, _SCARCE = 65536, 8, 128
"""Registers of a multiprocessor, all of which one block can have; they are given out by 8 (CUDA C++
Programming Guide, "Compute Capabilities"); and how few for a thread are spoken of."""
_AT_MOST = re.compile(r"\bmin\s*(?:<[\w\s]+>\s*)?\(")
_LIMIT = re.compile(r"[\w\s.()*+/%-]+<=?[\w\s.()*+/%-]+")
"""A condition that stays false once it is: a sum or product of counters below a limit."""


def unrolled_loop(case: Case, *, is_table: bool = False) -> tuple[Advice, ...]:
    """To unroll the loops that index an array: their trip counts are constant, and it may fit.

    Where it fits only if part of it is in registers already, that is said, and shared memory is
    another place for it.

    Args:
        case: of the array.
        is_table: whether it holds numbers that never change: with constant indices they stand in
            the instructions, and take no registers.
    """
    saved = ""
    if case.facts.kind != "entry":
        saved = (
            " A separately compiled function must save the caller's registers that it uses "
            "for them: keep it only if the stack frame shrinks."
        )
    saved += _left_by_launch(case)
    if is_table or _fits_registers(case):
        return _unrolled(case, saved)
    needed, spare = _needed(case), spare_registers(case)
    limit = spare + (case.facts.registers or 0)
    fewest = _packed(case) or needed
    if needed is None or fewest is None or fewest > limit - _OTHER_VALUES:
        return ()
    if spare <= 0 and _spills(case):
        return ()  # Nothing is left of the registers, and other values spill already.
    takes = f"{needed} registers"
    if needed > limit - _OTHER_VALUES:
        takes = f"{fewest} registers if four bytes share one, {needed} if not"
    found = _unrolled(
        case,
        f" Its elements take {takes}, minus those already in registers, and {spare} are "
        f"available below the limit of {limit}: keep it only if ptxas does not "
        f"spill{', in any instance of the template' if _is_instance(case) else ''}.{saved}",
    )
    return (*found, *shared_memory(case)) if found else ()


def _spills(case: Case) -> bool:
    """Whether ptxas spills registers of the kernel as it is."""
    return any(share.cause == "register-spill" for share in case.facts.shares)


def _left_by_launch(case: Case) -> str:
    """What the largest block that is launched leaves of registers, where no bound asks for it."""
    block = block_of(case)
    if block is None or case.facts.launch_bounds is not None:
        return ""
    left = REGISTERS // block.threads // _GRANULE * _GRANULE
    if left > _SCARCE:
        return ""
    return (
        f" A block of {block.threads} threads can launch with at most {left} registers per "
        f"thread: if the kernel needs more, `__launch_bounds__({block.threads})` enforces "
        "that limit, and may cause spills."
    )


def _needed(case: Case) -> int | None:
    """Registers that an array's elements take; of one whose declaration is not read, its bytes'."""
    made, found = declaration_of(case), case.object
    if made is not None:
        return made.registers
    return None if found is None else -(-found.size // 4)


def _packed(case: Case) -> int | None:
    """Registers that narrow elements take which share them; None of others."""
    made = declaration_of(case)
    if made is None or made.elements is None or not made.element_bytes or made.element_bytes >= 4:
        return None
    return -(-made.elements * made.element_bytes // 4)


def _is_instance(case: Case) -> bool:
    return "<" in short_name(case.facts.demangled)


def _unrolled(case: Case, condition: str) -> tuple[Advice, ...]:
    """To unroll the loops, with a condition behind it as a sentence."""
    index = case.index
    if index is None or namesakes(case):
        return ()
    if index.loop is not None and is_foreign(index.loop.file):
        return ()  # The loop is nobody's to change here.
    if any(s.kind != "loop-counter" or s.constant_trip is False for s in index.all_sources):
        return ()
    if (index.written_out or 0) > MOST_WRITTEN_OUT:
        return ()
    if index.written_out is None and not condition:
        condition = " Keep it only if ptxas does not spill."
    loop = _rolled_one(case)
    if loop is None and declaration_of(case) is None:
        return _unrolled_where(case, index.loop, condition)
    if loop is None:
        text = (
            f"Unroll every loop that indexes {case.name} and stays rolled (`#pragma unroll`), "
            "including loops in macros and inlined functions; a loop that already has the "
            "pragma may need a bound that the compiler can see."
        )
        return (Advice(f"{text}{outcome(case)}{condition}", rewrite="unroll"),)
    asked = _asked(case, loop)
    if asked == "":
        return (
            Advice(
                f"The loop at {_at(case, loop)} already requests unrolling: look for another "
                f"loop that indexes {case.name}, or for a bound that the compiler cannot see."
            ),
        )
    instead = f", in place of `#pragma unroll {asked}`," if asked is not None else ""
    text = (
        f"Unroll the loop at {_at(case, loop)} fully{instead} and every other loop that indexes "
        f"{case.name} and stays rolled.{outcome(case)}{_known_end(case, loop)}{condition}"
    )
    if early_exit(case.sources, loop.file, loop.line) is not None:
        text += " It can exit early: each unrolled iteration keeps the exit test."
    size = index.written_out or 0
    if SPILLING < size <= _MUCH_CODE:
        text += (
            f" Unrolled, the loop may take up to {_rounded(size, 100)} instructions: keep it "
            "only if ptxas does not spill and the kernel is faster."
        )
    if size > _MUCH_CODE:
        text += (
            f" Unrolled, the loop may take up to {_rounded(size, 1000):,} instructions, which "
            "takes long to compile and may exceed the instruction cache or the registers: "
            "keep it only if the kernel is faster."
        )
    return (Advice(text, f"#pragma unroll\n{loop.text}", rewrite="unroll"),)


def _rounded(size: int, step: int) -> int:
    """The next whole step, for a bound stays one."""
    return -(-size // step) * step


def _unrolled_where(case: Case, place: SourceLocation | None, condition: str) -> tuple[Advice, ...]:
    """To unroll a loop whose head counts nothing, such as one over pointers, by its line."""
    if (
        place is None
        or is_foreign(place.file)
        or _WHILE.match(case.sources.line(place.file, place.line)) is None
    ):
        return ()
    text = (
        f"Unroll the loop at {case.line(place)} fully, and every other loop that indexes "
        f"{case.name} and stays rolled.{outcome(case)}{condition}"
    )
    head = case.sources.line(place.file, place.line).strip()
    return (Advice(text, f"#pragma unroll\n{head}", rewrite="unroll"),)


def _known_end(case: Case, loop: Loop) -> str:
    """What a loop's end must be, as a sentence, where no constant in sight says what it is."""
    if loop.bound is None or _may_be_constant(loop.bound):
        return ""
    place = SourceLocation(loop.file, loop.line)
    if number_of(loop.bound, case.sources, place) is not None:
        return ""
    if is_of_template(case.sources, loop):
        return ""
    around = around_too(case, loop)
    if around:
        return around
    made = meaning(loop.bound, case.sources, place)
    if made is not None and _AT_MOST.search(made.value) is not None:
        return ""  # It has a largest value, which is enough.
    return (
        f" The compiler must know `{loop.bound}` for this; otherwise run the loop to its "
        "largest value, with its condition inside."
    )


def _asked(case: Case, loop: Loop) -> str | None:
    """What ``#pragma unroll`` above a rolled loop asks for: of several, as of an ``#if``, a number.

    ``""`` of one without a number, None where there is none.
    """
    found: list[str] = []
    for line in range(loop.line, max(loop.line - _ABOVE, 1), -1):
        asked = pragma_above(case.sources, loop.file, line)
        text = case.sources.line(loop.file, line - 1).strip()
        if asked is not None:
            found.append(asked)
        elif text and not text.startswith("#"):
            break
    return next((asked for asked in found if asked), found[0] if found else None)


def _rolled_one(case: Case) -> Loop | None:
    """The loop at the line that the analysis gives, else one around the access that may be it."""
    place = case.index.loop if case.index is not None else None
    found = loop_at(case.sources, place.file, place.line) if place is not None else None
    if found is not None:
        return found
    around = counting_loops(case)
    free = (one for one in around if pragma_above(case.sources, one.file, one.line) != "")
    return next(free, None)


def constant_bound(case: Case) -> tuple[Advice, ...]:
    """What makes an index constant that counts a loop whose number of trips is not constant."""
    index = case.index
    made_of = index.all_sources if index is not None else ()
    counters = [source for source in made_of if source.kind == "loop-counter"]
    if index is not None and {source.kind for source in index.made_of} == {"copy"}:
        # Whatever loop is around it does not count it.
        return _written_out(case) if _fits_registers(case) and not namesakes(case) else ()
    if index is None or not counters or not _fits_registers(case) or namesakes(case):
        return ()
    if index.least_uniform == "data-dependent" and len(counters) == len(made_of):
        return ()  # Some counter counts data: no loop's end makes it a constant.
    made, loop = declaration_of(case), _open_loop(case)
    expression = index.expression or ""
    of_one_dimension = made is not None and len(made.extents) == 1
    extent = _counted(made, loop, expression)
    if made is not None and loop is not None and extent is not None:
        if is_reinterpreted(case):
            return ()  # The counter may count other pieces than elements.
        # Whatever else the index is made of decides how often the loop turns.
        open_ended = not all(counter.constant_trip for counter in counters)
        small = made.extents[extent] <= _MOST_GUARDED
        stays = _LIMIT.fullmatch(loop.condition) is not None and not _is_changed(case, loop)
        short = made.extents[extent] * len(body_of(case.sources, loop)) <= _LINES_WRITTEN_OUT
        if loop.counts_up and open_ended and small and stays and short:
            return (_guarded(case, made, loop, extent),)
        if of_one_dimension:
            return ()
    if len(counters) != len(made_of):
        return ()
    sites = case.share.sites
    moves = sites.load_sites and sites.store_sites
    if made is not None and of_one_dimension and moves and is_ring(expression):
        return shifted(case, made)
    if loop is None or loop.bound is None or _may_be_constant(loop.bound):
        return ()
    return _ended(case, loop)


def _ended(case: Case, loop: Loop) -> tuple[Advice, ...]:
    """What gives a loop a constant number of trips whose end is not a constant."""
    outer = outer_loop(case.sources, loop)
    around = ""
    if outer is not None and outer.bound is not None:
        around = (
            f" `{loop.bound}` is computed from its counter: unroll the loop at "
            f"{_at(case, loop)} too."
        )
        loop = outer
    if loop.bound is None or is_foreign(loop.file):
        return ()
    made = (
        "If it has only one value, or a few, make it a constant (a template parameter or "
        "`constexpr`)"
    )
    way = (
        f"{made} and unroll the loop; otherwise, run the loop to the largest value, with its "
        "condition inside."
    )
    if differs_by_thread(case.sources, loop):
        way = "Run it to the largest value, with its condition inside, and unroll it."
    text = (
        f"The loop at {_at(case, loop)} ends at `{loop.bound}`, which is not a compile-time "
        f"constant. {way}"
    )
    if _may_be_constant(loop.bound):
        text = f"Unroll the loop at {_at(case, loop)} fully."
    return (
        Advice(
            f"{text}{around}{outcome(case, of_one_loop=True)} A loop stays rolled if it would "
            f"exceed about {MOST_WRITTEN_OUT // 1000 // 10 * 10},000 instructions.",
            rewrite="bounded-loop",
        ),
    )


def _at(case: Case, loop: Loop) -> str:
    """The line of a loop's head, with its file where that is another than the kernel's."""
    return case.line(SourceLocation(loop.file, loop.line))


def _open_loop(case: Case) -> Loop | None:
    """The innermost loop around the access whose end is not a constant; one that may be at last."""
    loops = [one for one in counting_loops(case) if one.bound is None or not one.bound.isdigit()]
    named = (one for one in loops if one.bound is None or not _may_be_constant(one.bound))
    return next(named, next(iter(loops), None))


def _counted(made: Declaration | None, loop: Loop | None, expression: str) -> int | None:
    """The dimension of an array that a loop's counter alone indexes; None where none is."""
    if made is None or loop is None or not made.extents:
        return None
    parts = bracketed(expression) if expression.startswith("[") else [expression]
    if len(parts) != len(made.extents) or parts.count(loop.counter) != 1:
        return None
    others = (part for part in parts if part != loop.counter)
    if any(not re.fullmatch(r"\w+", part) for part in others):
        return None
    return parts.index(loop.counter)


def _is_changed(case: Case, loop: Loop) -> bool:
    """Whether the body changes what the condition is made of: it may come true again then."""
    names = set(re.findall(r"(?<![\w.>])[A-Za-z_]\w*", loop.condition))
    changes = re.compile(
        rf"(?<![\w.>])(?:{'|'.join(map(re.escape, sorted(names)))})\s*(?:[-+*/%&|^]?=(?!=)|\+\+|--)"
        rf"|(?:\+\+|--|&)\s*(?:{'|'.join(map(re.escape, sorted(names)))})\b"
    )
    return any(changes.search(text) for text in body_of(case.sources, loop))


def _guarded(case: Case, made: Declaration, loop: Loop, dimension: int) -> Advice:
    """The loop over a whole dimension, its own condition inside."""
    bound = (
        f"ends at `{loop.bound}`"
        if loop.bound is not None
        else f"ends where `{loop.condition}` fails"
    )
    why = "which is not a compile-time constant"
    outer = outer_loop(case.sources, loop)
    if outer is not None:
        why = f"and the loop at {_at(case, outer)} counts `{outer.counter}`"
    extent = made.written[dimension]
    header = f"for ({loop.init}; {loop.counter} < {extent}; {loop.step})"
    after = ""
    if not loop.declares_counter:
        after = f" After the loop, `{loop.counter}` is then {extent}, whatever its condition."
    return Advice(
        f"The loop at {_at(case, loop)} {bound}, {why}. Run it over all "
        f"{made.extents[dimension]} elements with that condition inside, unroll it, and do "
        f"the same for every other loop that indexes {case.name}, if none runs further; if "
        f"one does, compare with each index instead.{after}{outcome(case)} Keep it only if "
        "ptxas does not spill.",
        f"#pragma unroll\n{header} if ({loop.condition}) {loop.rest}".rstrip(),
        rewrite="bounded-loop",
    )


def outcome(case: Case, *, of_one_loop: bool = False) -> str:
    """What follows once every index is a constant; no promise where more keeps it in memory.

    Args:
        case: of the object.
        of_one_loop: the advice is about one loop, and others may index the object.
    """
    also = case.object.also if case.object is not None else ()
    if also:
        return still_kept(also)
    made_of = case.index.all_sources if case.index is not None else None
    counted = made_of is not None and all(s.kind == "loop-counter" for s in made_of)
    if counted and not of_one_loop:
        return " Every index is then a constant."
    if any(source.kind == "copy" for source in made_of or ()):
        return (
            " This index is then a constant; every other index must be one too: replace each "
            "`memcpy` or `memset` of run-time length with such a loop."
        )
    return " This index is then a constant; every other index must be one too."


def spare_registers(case: Case) -> int:
    """Registers per thread that the kernel could have and does not use."""
    cap = case.facts.cubin.max_registers if case.facts.cubin is not None else None
    return (cap or HARDWARE_CAP) - (case.facts.registers or 0)


def _fits_registers(case: Case) -> bool:
    """Whether the array fits the registers that are left; True where its size is not known.

    Of one that is larger than registers can be, and a rolled loop's all the same, little is used.
    """
    size = case.object.size if case.object is not None else 0
    if case.share.cause == "rolled-loop" and size > HARDWARE_CAP * 4:
        return True
    made = declaration_of(case)
    need = made.registers if made is not None and made.registers is not None else size // 4
    return need <= spare_registers(case)


def _written_out(case: Case) -> tuple[Advice, ...]:
    """A copy of run-time length as a loop over all elements."""
    made = declaration_of(case)
    if made is None or len(made.extents) != 1 or made.extents[0] > _MOST_GUARDED:
        return ()
    return (
        Advice(
            "Give the `memcpy` or `memset` a constant length, or replace it with an unrolled "
            f"loop (`#pragma unroll`) over all {made.extents[0]} elements, with its length as "
            "a condition inside. This index is then a constant; every other index must be "
            "one too."
        ),
    )


def _may_be_constant(bound: str) -> bool:
    """Whether a bound is a number, or a name that is spelled as constants are."""
    return bound.isdigit() or re.fullmatch(r"[A-Z][A-Z0-9_]*|[A-Z]\w*|k[A-Z]\w*", bound) is not None
