"""Find the CUDA tools and determine their versions.

`cuda.pathfinder` locates them (site-packages wheels first, then conda, then ``CUDA_HOME`` and the
system), so that compiler, assembler and disassembler come from the same installation as the NVRTC
that CuPy loads. A toolkit named by the user replaces all of that, and nothing is taken from
elsewhere. Everything here is lazy: importing pathfinder takes longer than starting Python.
"""

from __future__ import annotations

import functools
import glob
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lmemscope.errors import ToolMissingError
from lmemscope.model import Tool
from lmemscope.tools import process
from lmemscope.tools.toolkit import Toolkit

WHEELS = {
    "nvrtc": "nvidia-cuda-nvrtc",
    "nvcc": "nvidia-cuda-nvcc",
    "ptxas": "nvidia-cuda-nvcc",
    "nvlink": "nvidia-cuda-nvcc",
    "nvjitlink": "nvidia-nvjitlink",
    "nvdisasm": "nvidia-cuda-nvdisasm",
    "cuda headers": "nvidia-cuda-runtime",
    "cccl headers": "nvidia-cuda-cccl",
}
"""The wheel that provides each part of the toolchain."""

_HEADER_WHEELS = (
    ("cublasdx", "nvidia-mathdx"),
    ("cufftdx", "nvidia-mathdx"),
    ("curand", "nvidia-curand"),
    ("cublas", "nvidia-cublas"),
    ("nvblas", "nvidia-cublas"),
    ("cufft", "nvidia-cufft"),
    ("cusparseLt", "nvidia-cusparselt-{cuda}"),
    ("cusparse", "nvidia-cusparse"),
    ("cusolver", "nvidia-cusolver"),
    ("cudnn", "nvidia-cudnn-{cuda}"),
    ("nccl", "nvidia-nccl-{cuda}"),
    ("nvshmem", "nvidia-nvshmem-{cuda}"),
    ("cutensor", "cutensor-{cuda}"),
    ("cutlass/", "nvidia-cutlass"),
    ("cute/", "nvidia-cutlass"),
    ("npp", "nvidia-npp"),
    ("nvjpeg", "nvidia-nvjpeg"),
    ("nvJitLink", "nvidia-nvjitlink"),
    ("nvFatbin", "nvidia-nvfatbin"),
    ("nvrtc", "nvidia-cuda-nvrtc"),
    ("nvml", "nvidia-nvml-dev"),
    ("cupti", "nvidia-cuda-cupti"),
    ("cufile", "nvidia-cufile"),
    ("cuda_profiler_api", "nvidia-cuda-profiler-api"),
    ("cudaProfiler", "nvidia-cuda-profiler-api"),
    ("nvtx3/", "nvidia-nvtx"),
    ("nvToolsExt", "nvidia-nvtx"),
    ("cub/", "nvidia-cuda-cccl"),
    ("thrust/", "nvidia-cuda-cccl"),
    ("cuda/", "nvidia-cuda-cccl"),
    ("nv/", "nvidia-cuda-cccl"),
)
"""Prefixes of header names, with the CUDA 13 wheel that contains them; the first match counts."""

_LIBRARY_DIRS = (
    "nvidia/*/include",
    "cutlass_library/source/include",
    "cutensor/include",
)
"""Where wheels of CUDA libraries put their headers, below site-packages (from the header
descriptors of ``cuda.pathfinder``, which starts processes if asked for a missing one)."""

_NO_NVCC_IN_WHEELS = (
    "the wheels of CUDA 12 hold no nvcc; name a CUDA 12 installation with --toolkit"
)
_HEADER_OF = {"cudart": "cuda_runtime.h", "cccl": "cub/cub.cuh"}
_MISSING_HEADER = re.compile(
    r'(?:source file "|error: )([\w./+-]+\.(?:hpp|hxx|hh|h|cuh|inl|inc))\b'
)
_VERSION = re.compile(r"\bV(\d+\.\d+\.\d+)\b")


@dataclass(frozen=True, slots=True)
class Toolchain:
    """The source of all tools for a unit; tools of two toolkits are never mixed.

    Attributes:
        directory: absolute path of the toolkit that the user named; None for the installed tools.
    """

    directory: str | None = None

    def find(self, name: str) -> str:
        """Path of a program such as ``ptxas``.

        Raises:
            ToolMissingError: it was not found; the hint names the wheel.
        """
        named = self._named
        if named is None:
            return _installed(name)
        path = named.tool(name)
        if path is None:
            raise _not_in(named, name, name)
        return path

    def tool(self, name: str) -> Tool:
        """A program with its path and version.

        Raises:
            ToolMissingError: as `find`.
        """
        path = self.find(name)
        return Tool(name, tool_version(path), path)

    def of_nvcc(self) -> Toolchain:
        """The toolchain that nvcc belongs to: this one, unless nvcc was found elsewhere.

        CUDA 12 wheels do not contain nvcc. An installed one is then used together with its own
        ptxas and headers, since their version may differ from the wheels'.

        Raises:
            ToolMissingError: nvcc was not found.
        """
        if self._named is not None:
            return self
        directory = os.path.dirname(os.path.realpath(self.find("nvcc")))
        installation = Toolkit(os.path.dirname(directory))
        own = installation.tool("ptxas")
        if own is None or not installation.headers():
            return self
        try:
            same = os.path.samefile(own, self.find("ptxas"))
        except ToolMissingError:
            same = False
        return self if same else Toolchain(installation.directory)

    def header_dirs(self) -> tuple[str, ...]:
        """The existing header directories of the CUDA runtime and CCCL."""
        named = self._named
        return _installed_headers() if named is None else named.headers()

    def find_headers(self, name: str) -> str | None:
        """Header directory of a component, by pathfinder's name for it (``cudart``, ``cccl``)."""
        named = self._named
        if named is None:
            return _installed_header_dir(name)
        holds = _HEADER_OF[name]
        return next((d for d in named.headers() if os.path.exists(os.path.join(d, holds))), None)

    def nvrtc(self) -> str | None:
        """Path of NVRTC's library in a named toolkit; None if CuPy finds the installed one.

        Raises:
            ToolMissingError: the toolkit has no NVRTC.
        """
        named = self._named
        if named is None:
            return None
        path = named.nvrtc()
        if path is None:
            raise _not_in(named, "NVRTC", "nvrtc", "or compile with --frontend nvcc")
        return path

    @property
    def _named(self) -> Toolkit | None:
        return None if self.directory is None else Toolkit(self.directory)


INSTALLED = Toolchain()
"""The tools of this environment."""


def _not_in(toolkit: Toolkit, what: str, name: str, otherwise: str = "") -> ToolMissingError:
    own = Toolchain(toolkit.directory)
    hint = f"pip install --target {toolkit.directory} {wheel_of(name, own)}, in the version wanted"
    if name == "nvcc" and _of_cuda_12(own):
        hint = _NO_NVCC_IN_WHEELS
    return ToolMissingError(
        "toolchain",
        f"{toolkit.directory} holds no {what}",
        hint=f"{hint}; {otherwise}" if otherwise else hint,
    )


@functools.cache
def _installed(name: str) -> str:
    from cuda import pathfinder

    path = pathfinder.find_nvidia_binary_utility(name)
    if path is None:
        raise ToolMissingError("toolchain", f"{name} was not found", hint=how_to_install(name))
    return str(path)


@functools.cache
def _installed_headers() -> tuple[str, ...]:
    found = (_installed_header_dir(name) for name in ("cudart", "cccl"))
    own = tuple(path for path in found if path is not None)
    return tuple(dict.fromkeys((*own, *_library_headers(own[:1]))))


def _library_headers(runtime: Sequence[str]) -> Iterator[str]:
    """Header directories of library wheels installed beside the runtime's."""
    for directory in runtime:
        site, found, _ = directory.rpartition(f"{os.sep}nvidia{os.sep}")
        for pattern in _LIBRARY_DIRS if found else ():
            yield from sorted(glob.glob(os.path.join(glob.escape(site), pattern)))


def _installed_header_dir(name: str) -> str | None:
    from cuda import pathfinder

    path = pathfinder.find_nvidia_header_directory(name)
    return None if path is None else os.path.normpath(path)


@functools.cache
def tool_version(path: str) -> str | None:
    """The version that a tool prints (``13.5.37``), or None if it prints none."""
    match = _VERSION.search(process.run([path, "--version"]).output)
    return match.group(1) if match else None


def missing_header(log: str) -> str | None:
    """A header that a compiler did not find and that no NVIDIA wheel contains, or None."""
    header = header_not_found(log)
    of_wheel = header is None or header.startswith(tuple(prefix for prefix, _ in _HEADER_WHEELS))
    return None if of_wheel else header


def missing_header_hint(log: str, toolchain: Toolchain = INSTALLED) -> str | None:
    """Advice about a header that a compiler did not find, or None if there is none.

    Args:
        log: the compiler's output.
        toolchain: of the compiler; advice names a wheel for its CUDA version.
    """
    header = header_not_found(log)
    if header is None:
        return None
    for prefix, wheel in _HEADER_WHEELS:
        if header.startswith(prefix):
            return f"{header} comes with: pip install {_of_version(wheel, toolchain)}"
    return f"name the directory of {header} with -I"


def unresolved_hint(log: str) -> str | None:
    """Advice about an undefined function from another file, or None if ptxas reports none."""
    if "Unresolved extern function" not in log:
        return None
    return "another file defines it: name both, with --link, which compiles for linking"


def header_not_found(log: str) -> str | None:
    """The header that a compiler did not find, or None."""
    match = _MISSING_HEADER.search(log)
    if match is None or not ("No such file" in log or "open source file" in log):
        return None
    return match.group(1)


def how_to_install(name: str) -> str:
    """Advice about a missing part of the installed toolchain, by its name in `WHEELS`."""
    if name == "nvcc" and _of_cuda_12(INSTALLED):
        return f"{_NO_NVCC_IN_WHEELS}, or set CUDA_HOME to it"
    return f"install it with: pip install {wheel_of(name)}"


def wheel_of(name: str, toolchain: Toolchain = INSTALLED) -> str:
    """The wheel for a part of the toolchain (a key of `WHEELS`), for the CUDA version in use."""
    # CUDA 12 has no such wheel; a newer disassembler reads output of an older ptxas.
    if name == "nvdisasm":
        return WHEELS[name]
    return _of_version(WHEELS[name], toolchain)


def _of_cuda_12(toolchain: Toolchain) -> bool:
    return any("cuda_runtime" in path.split(os.sep) for path in toolchain.header_dirs())


def _of_version(wheel: str, toolchain: Toolchain) -> str:
    """A wheel's name for the CUDA version in use: up to 12, names end in the version."""
    old = _of_cuda_12(toolchain)
    cuda = "cu12" if old else "cu13"
    named = wheel.format(cuda=cuda)
    return f"{named}-cu12" if old and named == wheel and wheel.startswith("nvidia-") else named


def host_compiler() -> str | None:
    """The host C++ compiler that nvcc uses by default, or None."""
    return shutil.which("g++")
