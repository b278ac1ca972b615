"""The artefacts of a unit as its build has made them: machine code and PTX out of its object.

They stand for a compilation only where that would make the same: an object of another toolkit does
not tell what a report holds. One without PTX, as of ``CMAKE_CUDA_ARCHITECTURES=90-real``, tells all
but what PTX declares, which is not known then.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from lmemscope.formats.cubin import Cubin, release
from lmemscope.lowering.binary import images
from lmemscope.lowering.compile_cuda import gaps_of, lacking, read_source
from lmemscope.model import Artifacts, Gap, Unit, listed
from lmemscope.tools import nvcc, ptxas
from lmemscope.tools.toolchain import Toolchain

_TARGET = re.compile(rb"^\.target[ \t]+(sm_\d+[af]?)", re.MULTILINE)
_BEGINNING = 4096
_OURS = frozenset(("-ptx", "-lineinfo", "-v"))
"""Options that ask for what an object does not hold."""


def artifacts_of_object(unit: Unit, path: str, *, facts_only: bool = False) -> Artifacts | str:
    """What a build has made of a unit; else why the unit is compiled.

    Args:
        unit: CUDA C++.
        path: of the object.
        facts_only: whether nobody asks for causes, names and lines of local memory, which take a
            compilation.

    Raises:
        LmemscopeError: the object or the source cannot be read, or a tool is missing.
    """
    cubin, text = _of_architecture(unit, path)
    if cubin is None:
        return f"it holds no machine code for {unit.arch}"
    if not facts_only:
        if not all(map(cubin.is_clean, cubin.records.values())):
            return "local memory"
        if text is not None and b".local" in text:
            return "local memory in its PTX"
    tools = Toolchain(unit.toolkit).of_nvcc()
    made_by = (tools.tool("nvcc"), tools.tool("ptxas"))
    version = release(cubin.elf)
    if version != made_by[1].version:
        made = f"CUDA {version}" if version is not None else "an unknown version of CUDA"
        return f"{made} made it, and {made_by[1].version} compiles here"
    source_text, source = read_source(unit)
    asked = (*source.instantiations, *(name for name, _, _ in source.asked_in_headers))
    unmade = lacking(source, cubin.records)
    missing = asked if facts_only else (*asked, *unmade)
    if missing:
        return f"whether it holds {missing[0]} depends on how it is compiled"
    flags = (
        *nvcc.options_for(unit.arch, unit.options, tools),
        *ptxas.options_for(unit.arch, unit.options),
    )
    artifacts = Artifacts(
        unit=unit,
        frontend="nvcc",
        options=tuple(flag for flag in flags if flag not in _OURS),
        ptx=text,
        ptxas_log=None,
        cubin=bytes(cubin.elf.data),
        tools=made_by,
        gaps=_unmade(unmade),
        source=source,
    )
    gaps = gaps_of(unit, source_text, source, artifacts)
    return replace(artifacts, gaps=(*artifacts.gaps, *gaps))


def _unmade(names: Sequence[str]) -> tuple[Gap, ...]:
    """That a build makes nothing of kernels that its source defines, as under an ``#ifdef``."""
    if not names:
        return ()
    return (Gap("kernels", f"not in the build's object: {listed(list(names))}", "note"),)


def _of_architecture(unit: Unit, path: str) -> tuple[Cubin | None, bytes | None]:
    """Machine code for a unit's architecture and the PTX that it was made of, where it is held.

    Raises:
        LmemscopeError: the object cannot be read, or holds several.
    """
    cubins: list[Cubin] = []
    texts: list[bytes] = []
    for image in images(replace(unit, path=path)):
        if image.problem is not None:
            raise image.problem
        if image.entry is None or image.entry.kind != "cubin":
            continue
        cubin = Cubin(image.data)
        if cubin.arch == unit.arch:
            cubins.append(cubin)
            texts += [ptx.text for ptx in image.ptx if _target(ptx.text) == unit.arch]
    if len(cubins) != 1:
        return None, None
    own = cubins[0].ptx
    return cubins[0], own if own is not None or len(texts) != 1 else texts[0]


def _target(text: bytes) -> str | None:
    found = _TARGET.search(text[:_BEGINNING])
    return found[1].decode() if found is not None else None
