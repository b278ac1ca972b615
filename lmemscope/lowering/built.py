"""The artefacts of a unit as its build has made them: machine code and PTX out of its object.

They stand for a compilation only where that would make the same: an object of another toolkit does
not tell what a report holds. One without PTX, as of ``CMAKE_CUDA_ARCHITECTURES=90-real``, tells all
but what PTX declares, which is not known then.

Causes, names and lines of local memory take PTX with line information, which the front end has to
make, and the machine code of the kernels that use it, which says which line each access is from.
All other machine code is the build's.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from lmemscope.formats.cubin import Cubin, CubinFunction, release
from lmemscope.formats.instructions import are_alike
from lmemscope.lowering.binary import images
from lmemscope.lowering.compile_cuda import compile_by_nvcc, gaps_of, lacking, read_source
from lmemscope.lowering.kept import kept
from lmemscope.lowering.store import Slot, slot_by
from lmemscope.model import Artifacts, CudaSource, Gap, Tool, Unit, listed
from lmemscope.routes import Along
from lmemscope.tools import nvcc, ptxas
from lmemscope.tools.toolchain import Toolchain

_TARGET = re.compile(rb"^\.target[ \t]+(sm_\d+[af]?)", re.MULTILINE)
_BEGINNING = 4096
_LOCAL = b".local"
_OURS = frozenset(("-ptx", "-lineinfo", "-v"))
"""Options that ask for what an object does not hold."""


class BuiltCode(Struct, frozen=True):
    """What an object holds of a unit.

    Attributes:
        unit: CUDA C++.
        cubin: for the unit's architecture.
        ptx: that it was made of, or None.
        text, source: of the unit's file.
        tools: nvcc and ptxas, of the version that made it.
        using: mangled names of the kernels whose machine code uses local memory.
        unmade: kernels that the source defines and the object lacks, as under an ``#ifdef``.
    """

    unit: Unit
    cubin: Cubin
    ptx: bytes | None
    text: str
    source: CudaSource
    tools: tuple[Tool, Tool]
    using: tuple[str, ...]
    unmade: Sequence[str]

    @property
    def is_without_local(self) -> bool:
        """Whether neither machine code nor PTX has anything in local memory."""
        return not self.using and (self.ptx is None or _LOCAL not in self.ptx)

    def artifacts(self) -> Artifacts:
        """What the object holds, without lines of local memory."""
        unit = self.unit
        toolchain = Toolchain(unit.toolkit).of_nvcc()
        flags = (
            *nvcc.options_for(unit.arch, unit.options, toolchain),
            *ptxas.options_for(unit.arch, unit.options),
        )
        artifacts = Artifacts(
            unit=unit,
            frontend="nvcc",
            options=tuple(flag for flag in flags if flag not in _OURS),
            ptx=self.ptx,
            ptxas_log=None,
            cubin=bytes(self.cubin.elf.data),
            tools=self.tools,
            gaps=(),
            source=self.source,
        )
        return self._with_gaps(replace(artifacts, gaps=_unmade(self.unmade)))

    def slot(self, compiled: Slot | None) -> Slot | None:
        """Where what is made beside this object is stored.

        Args:
            compiled: where a compilation of the unit is.
        """
        if compiled is None:
            return None
        digest = hashlib.sha256(self.cubin.elf.data).hexdigest()
        return slot_by(compiled.directory, compiled.key, digest)

    def explained(self, slot: Slot | None, along: Along) -> Artifacts | None:
        """The object's machine code with the PTX, and the lines, of its local memory.

        Args:
            slot: as `slot` gives it.
            along: what to do while a compiler runs.

        Returns:
            None where the PTX or machine code that is made now is not the object's.

        Raises:
            LmemscopeError: a compiler is missing or refuses the unit.
        """
        made = kept(
            self.unit,
            slot,
            self.source,
            lambda: compile_by_nvcc(self.unit, self.source, along, self.using),
        )
        if not self._is_made_of(made.ptx):
            return None
        assembled = made.cubin if self.using else None
        again = Cubin(assembled) if assembled is not None else None
        if again is not None and not all(_is_equal(self.cubin, again, one) for one in self.using):
            return None
        artifacts = replace(made, cubin=bytes(self.cubin.elf.data), assembled=assembled)
        return self._with_gaps(artifacts)

    def _is_made_of(self, ptx: bytes | None) -> bool:
        """Whether PTX has in local memory what the object's has, where that is held."""
        return self.ptx is None or (ptx is not None and _of_local(ptx) == _of_local(self.ptx))

    def _with_gaps(self, artifacts: Artifacts) -> Artifacts:
        more = gaps_of(self.unit, self.text, self.source, artifacts)
        return replace(artifacts, gaps=(*artifacts.gaps, *more))


def code_of_object(unit: Unit, path: str, *, facts_only: bool = False) -> BuiltCode | str:
    """What a build has made of a unit; else why the unit is compiled.

    Args:
        unit: CUDA C++.
        path: of the object.
        facts_only: whether nobody asks for causes, names and lines of local memory.

    Raises:
        LmemscopeError: the object or the source cannot be read, or a tool is missing.
    """
    cubin, ptx = _of_architecture(unit, path)
    if cubin is None:
        return f"it holds no machine code for {unit.arch}"
    tools = Toolchain(unit.toolkit).of_nvcc()
    made_by = (tools.tool("nvcc"), tools.tool("ptxas"))
    version = release(cubin.elf)
    if version != made_by[1].version:
        made = f"CUDA {version}" if version is not None else "an unknown version of CUDA"
        return f"{made} made it, and {made_by[1].version} compiles here"
    text, source = read_source(unit)
    using = tuple(name for name, one in cubin.records.items() if not cubin.is_clean(one))
    unmade = lacking(source, cubin.records)
    code = BuiltCode(unit, cubin, ptx, text, source, made_by, using, unmade)
    missing = (*source.instantiations, *(name for name, _, _ in source.asked_in_headers))
    if not facts_only and code.is_without_local:
        missing = (*missing, *code.unmade)
    return f"whether it holds {missing[0]} depends on how it is compiled" if missing else code


def _of_local(ptx: bytes) -> list[bytes]:
    """What PTX declares in local memory and how it is accessed there, in order.

    Objects hold their PTX with other blanks.
    """
    return [b" ".join(line.split()) for line in ptx.splitlines() if _LOCAL in line]


def _is_equal(cubin: Cubin, again: Cubin, name: str) -> bool:
    """Whether a kernel's code has the registers, the frame and the accesses of another, in place.

    Other kernels of the module decide where it keeps addresses.
    """
    if name not in again.records:
        return False
    mine, other = cubin.function(name), again.function(name)
    return are_alike(cubin.code(mine), again.code(other)) and _shape(mine) == _shape(other)


def _shape(function: CubinFunction) -> tuple[object, ...]:
    return function.registers, function.stack_frame, function.min_stack, function.all_sites


def _unmade(names: Sequence[str]) -> tuple[Gap, ...]:
    """That a build makes nothing of kernels that its source defines."""
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
