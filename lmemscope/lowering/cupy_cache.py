"""Sources in CuPy's kernel cache: ``DIGEST.cubin.cu``, beside the cubin compiled from it.

CuPy writes them if ``CUPY_CACHE_SAVE_CUDA_SOURCE`` is set. They are compiled as CuPy does, for the
cubin's architecture; the program's own options are not in the cache.
"""

from __future__ import annotations

import os

from msgspec.structs import replace

from lmemscope.errors import FormatError
from lmemscope.files import read_input
from lmemscope.formats.cubin import Cubin
from lmemscope.formats.cupy_cache import unwrapped
from lmemscope.lowering.python import compile_text
from lmemscope.lowering.reading import read_text
from lmemscope.model import Artifacts, Gap, Unit
from lmemscope.routes import Asked, Expansion, per_arch


def expand(unit: Unit, asked: Asked) -> Expansion:
    """One unit, for the architecture of the cubin beside it unless others are requested."""
    code = _beside(unit)
    if code is None or asked.explicit:
        return per_arch(unit, asked)
    return Expansion((replace(unit, arch=code.arch),))


def lower(unit: Unit, cache_directory: str | None) -> Artifacts:
    """Compile the source, and report any difference from the cached code.

    Raises:
        LmemscopeError: it cannot be read, or NVRTC is missing or rejects it.
    """
    text = read_text(unit, "CUDA C++ source")
    made = compile_text(unit, text, (), (), (), cache_directory)
    code = _beside(unit)
    if code is None or code.arch != unit.arch:
        return made
    own = Cubin(made.cubin).records
    figures = {name: (one.registers, one.stack_frame) for name, one in code.records.items()}
    if {name: (one.registers, one.stack_frame) for name, one in own.items()} == figures:
        return made
    reason = (
        "the code in CuPy's cache has other figures: the program has options of its own, or "
        "another version compiled it; scan the .cubin for its own"
    )
    return replace(made, gaps=(*made.gaps, Gap("cupy", reason, "evidence")))


def _beside(unit: Unit) -> Cubin | None:
    try:
        return Cubin(unwrapped(read_input(os.path.splitext(unit.path)[0])))
    except (OSError, FormatError):
        return None
