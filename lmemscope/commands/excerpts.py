"""PTX and machine code behind findings, and live registers, cut out of a unit's artefacts."""

from __future__ import annotations

import os
from collections.abc import Sequence

from lmemscope.exporters.explanation import Excerpts
from lmemscope.formats.cubin import Cubin
from lmemscope.formats.line_table import line_at
from lmemscope.formats.ptx import PtxModule
from lmemscope.formats.sass import parse_live_registers
from lmemscope.model import (
    Artifacts,
    DisplayPaths,
    KernelFacts,
    LocalAccess,
    Report,
    SourceLocation,
)
from lmemscope.tools import nvdisasm

_SHOWN = 12


def gather(
    lowered: Sequence[Artifacts], report: Report, *, ptx: bool, sass: bool, live: bool
) -> Excerpts:
    """Cut out what `explain` shows.

    Raises:
        LmemscopeError: an artefact cannot be read, or nvdisasm is missing.
    """
    by_arch = {artifacts.unit.arch: artifacts for artifacts in lowered}
    ptx_lines: dict[str, list[str]] = {}
    sass_lines: dict[str, list[str]] = {}
    peaks: dict[str, tuple[int, SourceLocation | None]] = {}
    for unit in report.units:
        artifacts = by_arch.get(unit.arch) or (lowered[0] if lowered else None)
        if artifacts is None:
            continue
        cubin = Cubin(artifacts.cubin)
        facts = [kernel.facts for kernel in unit.kernels if kernel.facts.accesses]
        if ptx:
            text = artifacts.ptx or cubin.ptx
            module = PtxModule(text) if text is not None else None
            for fact in facts:
                if module is not None:
                    ptx_lines[fact.name] = _ptx(module, fact)
        if sass:
            instructions = nvdisasm.disassemble(artifacts.cubin, _symbols(cubin, facts))
            for fact in facts:
                wanted = {access.pc: access.cause for access in _telling(fact)}
                sass_lines[fact.name] = [
                    f"{instruction.pc:#06x}  {instruction.text:<40} {wanted[instruction.pc]}"
                    for instruction in instructions.get(fact.name, ())
                    if instruction.pc in wanted
                ]
                _more(sass_lines[fact.name], len(fact.accesses))
        if live:
            counted = parse_live_registers(
                nvdisasm.listing(artifacts.cubin, ("-plr", "-lrm", "count"))
            )
            for fact in facts:
                if any(access.cause == "register-spill" for access in fact.accesses):
                    peaks[fact.name] = _peak(cubin, fact, counted.get(fact.name, {}), artifacts)
    return Excerpts(ptx_lines, sass_lines, {k: v for k, v in peaks.items() if v[0]})


def _ptx(module: PtxModule, fact: KernelFacts) -> list[str]:
    numbers = {a.ptx_line for a in fact.accesses if a.ptx_line is not None}
    shown = sorted({a.ptx_line for a in _telling(fact) if a.ptx_line is not None})
    lines = [f"{number:>6}  {module.line(number).strip()}" for number in shown]
    _more(lines, len(numbers))
    return lines


def _telling(fact: KernelFacts) -> list[LocalAccess]:
    """The accesses that say most: lanes that differ first, then deep loops."""
    ordered = sorted(fact.accesses, key=lambda a: (a.uniformity == "uniform", -a.loop_depth, a.pc))
    return ordered[:_SHOWN]


def _more(lines: list[str], total: int) -> None:
    if total > len(lines):
        lines.append(f"… {total - len(lines)} more")


def _symbols(cubin: Cubin, facts: Sequence[KernelFacts]) -> list[int]:
    names = {fact.name for fact in facts}
    return [symbol.index for symbol in cubin.elf.symbols if symbol.name in names]


def _peak(
    cubin: Cubin, fact: KernelFacts, counted: dict[int, int], artifacts: Artifacts
) -> tuple[int, SourceLocation | None]:
    if not counted:
        return 0, None
    pc = max(counted, key=lambda at: (counted[at], -at))
    entry = line_at(cubin.source_lines.get(f".text.{fact.name}", []), pc)
    paths = DisplayPaths(artifacts.unit.path, artifacts.unit.input, os.getcwd())
    place = paths.shown(entry.chain[0].location) if entry is not None else None
    return counted[pc], place
