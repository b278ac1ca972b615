"""What a kernel is written in: told by the route, its compiler's names, and its source file."""

from __future__ import annotations

import os
import re

from lmemscope.formats.ptx import PtxModule
from lmemscope.model import Artifacts, LanguageName, SourceLocation

_ENDINGS: dict[str, LanguageName] = {
    ".py": "python",
    ".jl": "julia",
    ".rs": "rust",
    ".mojo": "mojo",
    ".🔥": "mojo",
    **dict.fromkeys((".f", ".for", ".f90", ".f95", ".f03", ".f08", ".cuf"), "fortran"),
    **dict.fromkeys((".cu", ".cuh", ".cpp", ".cc", ".cxx", ".c", ".h", ".hpp", ".hh"), "cpp"),
}
_NAMES: tuple[tuple[re.Pattern[str], LanguageName], ...] = (
    (re.compile(r"_cuda_kernel_(?:forward|backward)$"), "warp"),
    (re.compile(r"^kernel_cutlass_"), "cute-dsl"),
    (re.compile(r"^(?!_Z).*_Kt\d(?:_|$)"), "cutile"),
    (re.compile(r"^_ZN6cudapy"), "numba"),
    (re.compile(r"17h[0-9a-f]{16}E$|^_RN"), "rust"),
    (re.compile(r"CuDeviceArray"), "julia"),
    (re.compile(r"^_kernel_\w+_s\d+_\w+_block_id_[xyzw]$"), "halide"),
    (re.compile(r"6A6A\w*_[0-9a-f]{16}$"), "mojo"),
)
"""How compilers name kernels, each as its own source does: Warp's ``codegen.py``, CuTe DSL's
``dsl.py``, cuTile's ``_name_mangling.py``, the manglings of numba-cuda, Rust and CUDA.jl; Halide 21
and Mojo 1.2 by the names that they gave."""


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
        return "numba"
    if artifacts.frontend not in ("ptx", "binary"):
        return "cpp"
    named = next((language for sign, language in _NAMES if sign.search(name)), None)
    if named is not None:
        return named
    if location is not None:
        return _ENDINGS.get(os.path.splitext(location.file)[1].lower(), "unknown")
    # NVIDIA's compiler of C++ is libNVVM's front end; LLVM's own back end serves all the others.
    return "cpp" if ptx is None or not ptx.is_of_llvm or name.startswith("_Z") else "unknown"
