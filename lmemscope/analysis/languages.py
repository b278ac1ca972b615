"""What a kernel is written in: told by the route, its compiler's names, and its source file."""

from __future__ import annotations

import os
import re

from lmemscope.formats.ptx import PtxModule
from lmemscope.model import Artifacts, LanguageName, SourceLocation

_ENDINGS: dict[str, LanguageName] = {
    ".py": "Python",
    ".jl": "Julia",
    ".rs": "Rust",
    ".mojo": "Mojo",
    ".🔥": "Mojo",
    **dict.fromkeys((".f", ".for", ".f90", ".f95", ".f03", ".f08", ".cuf"), "Fortran"),
    **dict.fromkeys((".cu", ".cuh", ".cpp", ".cc", ".cxx", ".c", ".h", ".hpp", ".hh"), "C++"),
}
_NAMES: tuple[tuple[re.Pattern[str], LanguageName], ...] = (
    (re.compile(r"_cuda_kernel_(?:forward|backward)$"), "Warp"),
    (re.compile(r"^kernel_cutlass_"), "CuTe DSL"),
    (re.compile(r"^_ZN6cudapy"), "Numba"),
    (re.compile(r"17h[0-9a-f]{16}E$|^_R"), "Rust"),
    (re.compile(r"CuDeviceArray|DeviceArrayI"), "Julia"),
)
"""How compilers name kernels, each as its own source does: Warp's ``codegen.py``, CuTe DSL's
``dsl.py``, numba-cuda's mangler, and the Rust and CUDA.jl manglings."""


def language_of(
    artifacts: Artifacts, ptx: PtxModule | None, name: str, location: SourceLocation | None
) -> LanguageName:
    """The language of a kernel.

    Args:
        artifacts: of the unit; its route and what its cache says decide first.
        ptx: the PTX, or None.
        name: mangled, of the kernel.
        location: of its definition, where line information has it.
    """
    if artifacts.language is not None:
        return artifacts.language
    if artifacts.frontend == "numba":
        return "Numba"
    if artifacts.frontend not in ("ptx", "binary"):
        return "C++"
    named = next((language for sign, language in _NAMES if sign.search(name)), None)
    if named is not None:
        return named
    if location is not None:
        return _ENDINGS.get(os.path.splitext(location.file)[1].lower(), "unknown")
    # NVIDIA's compiler of C++ is libNVVM's front end; LLVM's own back end serves all the others.
    return "C++" if ptx is None or not ptx.is_of_llvm or name.startswith("_Z") else "unknown"
