"""Which lines of PTX and machine code show a kernel's findings best, cut out of its own layers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from lmemscope.analysis.layers import Layers
from lmemscope.formats.line_table import line_at
from lmemscope.formats.sass import Disassembly, DisassemblyRequest, SassInstruction
from lmemscope.model import (
    KernelFacts,
    LocalAccess,
    Quote,
    Quotes,
    SourceLocation,
    reader_line,
)

_SHOWN = 12


def needs_disassembly(
    layers: Layers, facts: Sequence[KernelFacts], wanted: Collection[Quote]
) -> DisassemblyRequest | None:
    """What only a disassembler can tell of what is wanted, or None where nothing is."""
    using = {fact.name for fact in facts if fact.counted}
    spilling = any(share.cause == "register-spill" for fact in facts for share in fact.causes)
    symbols = None
    if "sass" in wanted and using:
        symbols = tuple(s.number for s in layers.cubin.elf.symbols if s.name in using)
    live = "live" in wanted and spilling
    return DisassemblyRequest(symbols, live) if symbols is not None or live else None


def quotes_of(
    layers: Layers,
    facts: Sequence[KernelFacts],
    wanted: Collection[Quote],
    code: Disassembly,
) -> dict[str, Quotes]:
    """Quotes by kernel, for those that access local memory.

    Args:
        layers: the unit's own.
        facts: of its kernels, with causes.
        wanted: which quotes.
        code: what `needs_disassembly` asked for.
    """
    if not wanted:
        return {}
    result = {}
    for fact in facts:
        if not fact.counted:
            continue
        live, at = _peak_of_live_registers(layers, fact, code.live.get(fact.name, {}))
        sass, places = _sass_lines(code.instructions.get(fact.name, ()), fact)
        result[fact.name] = Quotes(
            ptx=_ptx_lines(layers, fact) if "ptx" in wanted else (),
            sass=sass,
            live_registers=live,
            live_at=at,
            sass_at=places,
        )
    return result


def _ptx_lines(layers: Layers, facts: KernelFacts) -> tuple[str, ...]:
    if layers.ptx is None:
        return ()
    numbers = {a.ptx_line for a in facts.counted if a.ptx_line is not None}
    shown = sorted({a.ptx_line for a in _telling(facts) if a.ptx_line is not None})
    lines = [f"{number:>6}  {layers.ptx.line(number).strip()}" for number in shown]
    return (*lines, *_more(len(lines), len(numbers)))


def _sass_lines(
    instructions: Sequence[SassInstruction], facts: KernelFacts
) -> tuple[tuple[str, ...], tuple[SourceLocation | None, ...]]:
    """Instructions as text, and the source line that each belongs to."""
    wanted = {access.pc: access for access in _telling(facts)}
    shown = [instruction for instruction in instructions if instruction.pc in wanted]
    if not shown:
        return (), ()
    lines = [f"{one.pc:#06x}  {one.text:<40} {wanted[one.pc].cause}" for one in shown]
    home = facts.home
    places = [wanted[one.pc].line(home) for one in shown]
    more = _more(len(lines), len(facts.counted))
    return (*lines, *more), (*places, *(None for _ in more))


def _peak_of_live_registers(
    layers: Layers, facts: KernelFacts, counted: Mapping[int, int]
) -> tuple[int | None, SourceLocation | None]:
    """The highest count and its source line; the first one where there are several."""
    spills = any(access.cause == "register-spill" for access in facts.counted)
    if not counted or not spills:
        return None, None
    pc = max(counted, key=lambda at: (counted[at], -at))
    entry = line_at(layers.cubin.source_lines.get(f".text.{facts.name}", []), pc)
    home = facts.home
    chain = layers.lines.shown_chain(entry.chain) if entry is not None else ()
    return counted[pc], reader_line(chain, home)


def _telling(facts: KernelFacts) -> list[LocalAccess]:
    """The accesses that say most: lanes that differ first, then deep loops."""
    ordered = sorted(
        facts.counted, key=lambda a: (a.uniformity == "uniform", -(a.loop_depth or 0), a.pc)
    )
    return ordered[:_SHOWN]


def _more(shown: int, total: int) -> tuple[str, ...]:
    return (f"… {total - shown} more",) if total > shown else ()
