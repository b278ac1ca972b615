"""Cubin inputs: machine code, and PTX if the compiler embedded it or left it beside the file."""

from __future__ import annotations

import os

from msgspec.structs import replace

from lmemscope.errors import CompileError, FormatError, InputError, ToolMissingError
from lmemscope.formats.cubin import Cubin, number_of
from lmemscope.formats.ptx import PtxModule
from lmemscope.formats.tool_note import ptxas_arguments
from lmemscope.lowering import jit_cache
from lmemscope.lowering.embedded_ptx import assembled
from lmemscope.lowering.reading import read_bytes
from lmemscope.model import Artifacts, Gap, Unit
from lmemscope.routes import Along, Asked, Expansion
from lmemscope.sources.tool_words import ptxas_words

_ELF_MAGIC = b"\x7fELF"


def is_walked(path: str, beside: frozenset[str]) -> bool:
    """Every cubin, except in CuPy's cache if the source lies beside it and is read instead."""
    return f"{os.path.basename(path).lower()}.cu" not in beside


def expand(unit: Unit, asked: Asked) -> Expansion:
    """One unit: the file states its own architecture."""
    frontend = "auto" if asked.frontend == "both" else asked.frontend
    return Expansion((replace(unit, arch="", frontend=frontend),))


def lower(unit: Unit, cache_directory: str | None, along: Along | None = None) -> Artifacts:
    """Read the file; if it lacks line information, use the PTX beside it, which is assembled.

    Raises:
        InputError: it cannot be read, or is not an ELF file.
        FormatError: it is not a cubin.
    """
    del along
    data = read_bytes(unit)
    if not data.startswith(_ELF_MAGIC):
        raise InputError(
            "read",
            f"{unit.input} is not a cubin: it does not begin with the ELF magic",
            hint="extract one with: cuobjdump -xelf all FILE",
        )
    cubin, found = Cubin(data), jit_cache.beside(unit.path)
    artifacts = Artifacts(
        unit=unit,
        frontend="binary",
        options=found.options,
        ptx=None,
        ptxas_log=None,
        cubin=data,
        tools=(),
        language=found.language,
    )
    if cubin.ptx is not None or found.ptx is None:
        return artifacts
    if all(map(cubin.is_clean, cubin.records.values())):
        return replace(artifacts, ptx=found.ptx)
    return _with_ptx(artifacts, found.ptx, cubin, cache_directory)


def _with_ptx(
    artifacts: Artifacts, ptx: bytes, cubin: Cubin, cache_directory: str | None
) -> Artifacts:
    """Artefacts with the PTX found beside a cubin that embeds none, assembled for its target."""
    arguments = ptxas_words(ptxas_arguments(cubin.elf) or ()).kept
    try:
        # The cubin may not distinguish sm_90 from sm_90a.
        target = PtxModule(ptx).target
        same = target is not None and number_of(target) == number_of(cubin.arch)
        unit = replace(artifacts.unit, arch=target if target and same else cubin.arch)
        made = assembled(unit, ptx, arguments, cache_directory)
    except (CompileError, FormatError, ToolMissingError) as error:
        reason = f"the PTX beside the cubin is not used: {error.message}"
        return replace(artifacts, gaps=(Gap("ptx", reason),))
    return replace(artifacts, ptx=ptx, ptxas_log=made.log, tools=(made.tool,), assembled=made.cubin)
