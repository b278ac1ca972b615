"""Decide from a Python file's words whether it may make kernels, before parsing it."""

from __future__ import annotations

import re

from lmemscope.files import cached_while_unchanged, read_input
from lmemscope.sources.encoding import python_encoding
from lmemscope.sources.python_modules import local_modules

MAKERS = {
    "RawKernel": "a CuPy kernel",
    "RawModule": "a CuPy module",
    "ElementwiseKernel": "a CuPy kernel",
    "ReductionKernel": "a CuPy kernel",
    "create_ufunc": "a CuPy ufunc",
    "create_reduction_func": "a CuPy reduction",
    "rawkernel": "a cupyx.jit kernel",
    "compile_with_cache": "a CuPy module",
    "SourceModule": "a PyCUDA module",
    "DynamicSourceModule": "a PyCUDA module",
    "load_inline": "a PyTorch extension",
    "nvrtcCreateProgram": "an NVRTC program",
    "nvrtcCompileProgram": "an NVRTC program",
    "compile_ptx": "a Numba kernel",
    "compile_ptx_for_current_device": "a Numba kernel",
    "CUSource": "CUDA C++ that Numba links",
    "PTXSource": "PTX that Numba links",
    "InclusiveScanKernel": "a PyCUDA kernel",
    "ExclusiveScanKernel": "a PyCUDA kernel",
    "GenericScanKernel": "a PyCUDA kernel",
    "GenericDebugScanKernel": "a PyCUDA kernel",
    "module_from_file": "a PyCUDA module",
    "module_from_buffer": "a PyCUDA module",
    "set_cufft_callbacks": "a cuFFT callback",
    "_create_jit_fn": "a PyTorch kernel",
    "_create_multi_output_jit_fn": "a PyTorch kernel",
    **dict.fromkeys(
        ("cuModuleLoad", "cuModuleLoadData", "cuModuleLoadDataEx", "cuModuleLoadFatBinary"),
        "a module of the driver",
    ),
    **dict.fromkeys(("cuLibraryLoadData", "cuLibraryLoadFromFile"), "a library of the driver"),
    **dict.fromkeys(("cudaLibraryLoadData", "cudaLibraryLoadFromFile"), "a library of the runtime"),
    **dict.fromkeys(("cuLinkAddData", "cuLinkAddFile"), "a module that the driver links"),
}
"""Names of functions and decorators that make kernels, wherever they are imported from, with what
each makes."""
_MAKING = frozenset(
    one.encode()
    for one in (
        *("cupy", "cupyx", "cupy_backends", "numba", "pycuda", "__global__", "pynvrtc"),
        *("pynvjitlink", "mxnet", "chainer", "cpp_extension", "_compile_kernel", *MAKERS),
    )
)
SIGNS = _MAKING | {b"jit", b"local", b"cuda"}
"""Words without which a file makes no kernels."""
_BLANKED = bytes(
    byte if (chr(byte).isalnum() and byte < 128) or byte == 95 else 32 for byte in range(256)
)
_PIECE = 1 << 20
"""Bytes whose words are taken at once: each takes some 50 bytes of memory."""
_PACKAGED = re.compile(rb"cuda(?<!\wcuda)\s*\.\s*(?:core|bindings)\b")
_OF_MODULE = re.compile(rb"\.\s*(?:jit|local\s*\.\s*array)\b")
_OTHER_MODULE = re.compile(rb"\b(?:jax|torch|triton)\Z")
_LONGEST = len("triton") + 1
_IMPORTED = re.compile(rb"(?m:^)[ \t]*from\b[^\n;]*\bimport\b[^\n;]*\bjit\b")
_UNFOLLOWED = re.compile(
    rb"\b(?:import_module|__import__|__builtins__|builtins|globals|locals|vars|getattr|exec|eval"
    rb"|modules|attrgetter|methodcaller|getmembers|runpy|resolve_name|locate|f_globals"
    rb"|__dict__|__getattribute__)\b"
)
"""Ways in which a file may reach what it does not name."""


def words_in(data: bytes, wanted: frozenset[bytes]) -> frozenset[bytes]:
    """Which of some words are in a text: each whole, of ASCII letters, digits and ``_``.

    To split all of a text into words takes half the time of a pattern or of several searches.
    """
    plain, found, at = data.translate(_BLANKED), set[bytes](), 0
    while at < len(plain):
        end = plain.find(b" ", at + _PIECE)
        end = end if end >= 0 else len(plain)
        found |= wanted.intersection(plain[at:end].split())
        at = end
    return frozenset(found)


def may_hold_kernels(data: bytes, words: frozenset[bytes] | None = None) -> bool:
    """Whether a file mentions what makes kernels; true if its encoding is not supported.

    Args:
        data: its bytes.
        words: those of `SIGNS` that it has, if they are known.
    """
    words = words if words is not None else words_in(data, SIGNS)
    return (
        not words.isdisjoint(_MAKING)
        or (b"cuda" in words and _PACKAGED.search(data) is not None)
        or (
            not words.isdisjoint((b"jit", b"local"))
            and any(_makes_kernels(data, one.start()) for one in _OF_MODULE.finditer(data))
        )
        or (b"jit" in words and _IMPORTED.search(data) is not None)
        or python_encoding(data) is None
    )


def _makes_kernels(data: bytes, dot: int) -> bool:
    """Whether the ``jit`` after a dot may belong to a supported package."""
    end = dot
    while end and data[end - 1 : end].isspace():
        end -= 1
    return _OTHER_MODULE.search(data[max(end - _LONGEST, 0) : end]) is None


def is_worth_parsing(path: str) -> bool:
    """Whether a Python file may make kernels, by its words and those of modules it imports.

    Raises:
        OSError: it cannot be read.
    """
    data = read_input(path)
    return _UNFOLLOWED.search(data) is not None or reaches_makers(path, data)


def reaches_makers(path: str, data: bytes) -> bool:
    """Whether a file, or a user's module that it imports, mentions what makes kernels."""
    return may_hold_kernels(data) or any(map(_names_makers, local_modules(path)))


def _names_makers(path: str) -> bool:
    try:
        return _names_makers_of(path)
    except OSError:
        return False


@cached_while_unchanged(16384)
def _names_makers_of(path: str) -> bool:
    return may_hold_kernels(read_input(path))
