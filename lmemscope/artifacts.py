"""What the toolchain made of a unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lmemscope.cache import Slot
from lmemscope.inputs.cuda_source import CudaSource
from lmemscope.model import Frontend, Gap, Tool, Unit

if TYPE_CHECKING:
    from lmemscope.formats.dwarf import Variable


@dataclass(frozen=True, slots=True)
class Artifacts:
    """What the toolchain made of a unit.

    Attributes:
        unit: what was asked for.
        frontend: the route taken.
        options: the compiler options of that route.
        ptx: PTX text, as its line numbers are used, or None (see ``gaps``).
        ptxas_log: the compiler's log that holds ptxas's report, or None (see ``gaps``).
        cubin: machine code for ``unit.arch``.
        tools: what was used.
        gaps: what is missing and why.
        source: what the CUDA source says about itself, or None for other inputs.
        slot: where the outputs are kept for the next run, or None.
        cached: whether they came from there.
        program: the text that was compiled where that is not the file's, or None.
        variables: what the front end knows of variables, where no debug compilation can tell.
    """

    unit: Unit
    frontend: Frontend
    options: tuple[str, ...]
    ptx: bytes | None
    ptxas_log: str | None
    cubin: bytes
    tools: tuple[Tool, ...]
    gaps: tuple[Gap, ...] = ()
    source: CudaSource | None = None
    slot: Slot | None = None
    cached: bool = False
    program: str | None = None
    variables: tuple[Variable, ...] | None = None
