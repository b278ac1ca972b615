"""PTX inputs: assemble them with ptxas."""

from __future__ import annotations

import os
import re

from msgspec.structs import replace

from lmemscope.errors import CompileError, InputError
from lmemscope.files import open_regular
from lmemscope.formats.hlo import hlo_beside, kernel_lines_in, line_of
from lmemscope.formats.ptx_scan import code_of
from lmemscope.lowering import jit_cache
from lmemscope.lowering.kept import kept
from lmemscope.lowering.reading import read_text
from lmemscope.lowering.relocatable import launching_gap
from lmemscope.lowering.store import slot_for
from lmemscope.model import Artifacts, Gap, SourceLocation, Unit
from lmemscope.routes import Along, Asked, Expansion, per_arch
from lmemscope.sources.encoding import encoded
from lmemscope.tools import ptxas
from lmemscope.tools.toolchain import Toolchain

_TARGET = re.compile(rb"^[ \t]*\.target\s+sm_(\d+)([af]?)", re.MULTILINE)
_ENTRY = re.compile(rb"(?<![\w$])\.entry\b")
_LAUNCHES = re.compile(r"Unresolved extern function '\w*cuda(?:CDP2)?(?:Get|Launch)\w*'")
"""ptxas reports this for PTX with device-side launches: the device runtime has to be linked."""
_HEAD = 65536


def is_walked(path: str, beside: frozenset[str]) -> bool:
    """Whether to take the file from a directory: not if it is read together with a cubin."""
    return not jit_cache.is_read_with_cubin(path, beside)


def expand(unit: Unit, asked: Asked) -> Expansion:
    """One unit per architecture; by default, the file's own target if it needs that.

    That is the case if its ``.target`` is newer than the default or has a feature suffix: ptxas
    would reject it for the default. In a directory, PTX without functions is skipped, which XLA
    writes for modules of constants.
    """
    if asked.walked and _is_empty(unit.path):
        return Expansion((), (Gap("read", f"{unit.input} is empty", "note", unit.input),))
    route = replace(asked, frontend="auto" if asked.frontend == "both" else asked.frontend)
    if not asked.explicit:
        route = replace(route, archs=(_arch(unit.path, asked.archs[0]),))
    return per_arch(unit, route)


def lower(unit: Unit, cache_directory: str | None, along: Along | None = None) -> Artifacts:
    """Assemble the file.

    Raises:
        LmemscopeError: it cannot be read, or ptxas is missing or rejects it.
    """
    del along
    text = read_text(unit, "PTX")
    if not text.strip():
        raise InputError("read", f"{unit.input} is empty: it holds no PTX")
    slot = slot_for(cache_directory, unit)
    artifacts = kept(unit, slot, None, lambda: _assembled(unit, encoded(text)))
    return replace(artifacts, defined=_defined(unit, artifacts.ptx or b""))


def _defined(unit: Unit, ptx: bytes) -> dict[str, SourceLocation]:
    """Source lines of the kernels' operations, if XLA dumped what it compiled."""
    hlo = hlo_beside(unit.path)
    try:
        lines = kernel_lines_in(hlo) if hlo is not None else {}
    except OSError:
        return {}
    names = [name.decode() for name in jit_cache.entries(ptx)] if lines else ()
    found = {name: line_of(name, lines) for name in names}
    return {name: place for name, place in found.items() if place is not None}


def _is_empty(path: str) -> bool:
    try:
        return os.path.getsize(path) == 0
    except OSError:
        return False


def _assembled(unit: Unit, data: bytes) -> Artifacts:
    if _ENTRY.search(code_of(data)) is None:
        # Compile for a linker: without -c, ptxas drops functions that no kernel calls.
        return replace(_by_ptxas(_relocatable(unit), data), unit=unit)
    try:
        return _by_ptxas(unit, data)
    except CompileError as refusal:
        if _LAUNCHES.search(refusal.log or "") is None:
            raise
    artifacts = _by_ptxas(_relocatable(unit), data)
    gap = launching_gap("assembled as relocatable code (ptxas -c)")
    return replace(artifacts, unit=unit, gaps=(*artifacts.gaps, gap))


def _relocatable(unit: Unit) -> Unit:
    return replace(unit, options=unit.options.as_relocatable())


def _by_ptxas(unit: Unit, data: bytes) -> Artifacts:
    flags = ptxas.options_for(unit.arch, unit.options)
    result = ptxas.assemble(data, unit.input, flags, Toolchain(unit.toolkit))
    return Artifacts(unit, "ptx", flags, data, result.log, result.cubin, (result.tool,))


def _arch(path: str, default: str) -> str:
    try:
        with open_regular(path) as stream:
            match = _TARGET.search(stream.read(_HEAD))
    except OSError:
        return default
    if match is None:
        return default
    number, suffix = match.group(1).decode(), match.group(2).decode()
    newer = int(number) > int(re.sub(r"\D", "", default))
    return f"sm_{number}{suffix}" if suffix or newer else default
