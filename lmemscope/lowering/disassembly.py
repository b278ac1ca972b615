"""Machine code as a disassembler shows it; only what is quoted asks for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lmemscope.errors import LmemscopeError
from lmemscope.formats.sass import (
    NOT_DISASSEMBLED,
    Disassembly,
    DisassemblyRequest,
    SassInstruction,
    parse_live_registers,
)
from lmemscope.model import Artifacts, Gap
from lmemscope.tools import nvdisasm
from lmemscope.tools.toolchain import Toolchain


def disassemble(
    artifacts: Artifacts, asked: DisassemblyRequest
) -> tuple[Disassembly, tuple[Gap, ...]]:
    """Run nvdisasm on a unit's machine code; where it cannot, a gap says why."""
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
