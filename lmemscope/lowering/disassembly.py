"""Disassemble machine code with nvdisasm, only when SASS is quoted."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from lmemscope.analysis.layers import Layers
from lmemscope.analysis.quotes import needs_disassembly, quotes_of
from lmemscope.errors import LmemscopeError
from lmemscope.formats.sass import (
    NOT_DISASSEMBLED,
    Disassembly,
    DisassemblyRequest,
    SassInstruction,
    parse_live_registers,
)
from lmemscope.model import Artifacts, Gap, KernelFacts, Quote, Quotes
from lmemscope.tools import nvdisasm
from lmemscope.tools.toolchain import Toolchain


def disassemble(
    artifacts: Artifacts, asked: DisassemblyRequest
) -> tuple[Disassembly, tuple[Gap, ...]]:
    """Run nvdisasm on a unit's machine code; if that fails, a gap says why."""
    toolchain = Toolchain(artifacts.unit.toolkit)
    instructions: Mapping[str, Sequence[SassInstruction]] = {}
    live: Mapping[str, Mapping[int, int]] = {}
    try:
        if asked.symbols is not None:
            instructions = nvdisasm.disassemble(artifacts.cubin, asked.symbols, toolchain)
        if asked.live:
            flags = ("-plr", "-lrm", "count")
            live = parse_live_registers(
                nvdisasm.listing(artifacts.cubin, flags, toolchain=toolchain)
            )
    except LmemscopeError as error:
        hint = f"; {error.hint}" if error.hint else ""
        return NOT_DISASSEMBLED, (
            Gap("quotes", f"machine code is not shown: {error.message}{hint}"),
        )
    return Disassembly(instructions, live), ()


def quoted(
    layers: Layers, facts: Sequence[KernelFacts], wanted: Collection[Quote]
) -> tuple[Mapping[str, Quotes], tuple[Gap, ...]]:
    """Lines of PTX and SASS behind the findings, taken from this unit's artefacts."""
    asked = needs_disassembly(layers, facts, wanted)
    code, gaps = (NOT_DISASSEMBLED, ()) if asked is None else disassemble(layers.artifacts, asked)
    return quotes_of(layers, facts, wanted, code), gaps
