"""Cubins: machine code is all there is, and PTX text where the compiler left it inside."""

from __future__ import annotations

import os

from msgspec.structs import replace

from lmemscope.errors import InputError
from lmemscope.formats.cubin import Cubin
from lmemscope.lowering import triton_cache
from lmemscope.lowering.reading import read_bytes
from lmemscope.model import Artifacts, Gap, Unit
from lmemscope.routes import Along, Asked, Expansion

_ELF_MAGIC = b"\x7fELF"


def is_walked(path: str, beside: frozenset[str]) -> bool:
    """Every such file, but code in CuPy's cache whose source lies beside it and is read."""
    return f"{os.path.basename(path).lower()}.cu" not in beside


def expand(unit: Unit, asked: Asked) -> Expansion:
    """One unit: the file says its own architecture."""
    frontend = "auto" if asked.frontend == "both" else asked.frontend
    return Expansion((replace(unit, arch="", frontend=frontend),))


def lower(unit: Unit, cache_directory: str | None, along: Along | None = None) -> Artifacts:
    """Read the file; nothing is compiled, so nothing is kept.

    Raises:
        InputError: it cannot be read, or is no ELF file.
    """
    del along, cache_directory
    data = read_bytes(unit)
    if not data.startswith(_ELF_MAGIC):
        raise InputError(
            "read",
            f"{unit.input} is not a cubin: it does not begin with the ELF magic",
            hint="extract one with: cuobjdump -xelf all FILE",
        )
    reason = "a cubin carries no report; spill figures of ptxas are not known"
    found = triton_cache.beside(unit.path)
    return Artifacts(
        unit=unit,
        frontend="binary",
        options=found.options if found is not None else (),
        ptx=found.ptx if found is not None and not Cubin(data).ptx else None,
        ptxas_log=None,
        cubin=data,
        tools=(),
        gaps=(Gap("ptxas", reason, "evidence"),),
    )
