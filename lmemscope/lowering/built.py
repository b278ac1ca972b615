"""Use a unit's machine code and PTX from the object file of its build, instead of compiling.

An object replaces compilation only if compiling would give the same result: one built by another
toolkit is not used. An object without PTX (``CMAKE_CUDA_ARCHITECTURES=90-real``) gives everything
except what PTX declares, which is then unknown.

Causes, names and lines of local memory require PTX with line information, which the front end must
produce, and the machine code of the kernels that use it, to map each access to a line. All other
machine code is the build's.
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
"""Options that request output which an object does not contain."""


class BuiltCode(Struct, frozen=True):
    """A unit's contents in an object file.

    Attributes:
        unit: CUDA C++.
        cubin: for the unit's architecture.
        ptx: the PTX it was assembled from, or None.
        text, source: of the unit's file.
        tools: the versions of nvcc and ptxas that built it.
        using: mangled names of the kernels whose machine code uses local memory.
        unmade: kernels defined in the source but absent from the object, for example under
            ``#ifdef``.
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
        """Whether neither the machine code nor the PTX uses local memory."""
        return not self.using and (self.ptx is None or _LOCAL not in self.ptx)

    def artifacts(self) -> Artifacts:
        """The object's artefacts, without line information for local memory."""
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
        """Where output compiled to explain this object is stored.

        Args:
            compiled: the slot of an ordinary compilation of the unit.
        """
        if compiled is None:
            return None
        digest = hashlib.sha256(self.cubin.elf.data).hexdigest()
        return slot_by(compiled.directory, compiled.key, digest)

    def explained(self, slot: Slot | None, along: Along) -> Artifacts | None:
        """The object's machine code, with PTX and lines for its local memory.

        Args:
            slot: as `slot` returns it.
            along: what to do while a compiler runs.

        Returns:
            None if the PTX or machine code compiled now differs from the object's.

        Raises:
            LmemscopeError: a compiler is missing or rejects the unit.
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
        """Whether PTX uses local memory exactly as the object's PTX does, if the object has any."""
        return self.ptx is None or (ptx is not None and _of_local(ptx) == _of_local(self.ptx))

    def _with_gaps(self, artifacts: Artifacts) -> Artifacts:
        more = gaps_of(self.unit, self.text, self.source, artifacts)
        return replace(artifacts, gaps=(*artifacts.gaps, *more))


def code_of_object(unit: Unit, path: str, *, facts_only: bool = False) -> BuiltCode | str:
    """A unit's contents in its build's object, or the reason why the unit must be compiled.

    Args:
        unit: CUDA C++.
        path: of the object.
        facts_only: whether causes, names and lines of local memory are not needed.

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
    """The declarations of and accesses to local memory in PTX, in order.

    Whitespace is ignored: PTX in objects is formatted differently.
    """
    return [b" ".join(line.split()) for line in ptx.splitlines() if _LOCAL in line]


def _is_equal(cubin: Cubin, again: Cubin, name: str) -> bool:
    """Whether two builds of a kernel have the same registers, frame and local memory accesses.

    Other instructions may differ: addresses depend on the module's other kernels.
    """
    if name not in again.records:
        return False
    mine, other = cubin.function(name), again.function(name)
    return are_alike(cubin.code(mine), again.code(other)) and _shape(mine) == _shape(other)


def _shape(function: CubinFunction) -> tuple[object, ...]:
    return function.registers, function.stack_frame, function.min_stack, function.all_sites


def _unmade(names: Sequence[str]) -> tuple[Gap, ...]:
    """Gaps for kernels that the source defines but the build does not compile."""
    if not names:
        return ()
    return (Gap("kernels", f"not in the build's object: {listed(list(names))}", "note"),)


def _of_architecture(unit: Unit, path: str) -> tuple[Cubin | None, bytes | None]:
    """The machine code for a unit's architecture, and the PTX that it was assembled from, if any.

    None and None unless the object has exactly one cubin for the architecture.

    Raises:
        LmemscopeError: the object cannot be read.
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
