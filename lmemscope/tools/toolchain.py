"""Finds and versions the CUDA tools; the only place that starts one of them.

Where things are is `cuda.pathfinder`'s business (site-packages wheels first, then conda, then
``CUDA_HOME`` and the system), so that the compiler, the assembler and the disassembler come from
the same installation as the NVRTC that CuPy loads. A toolkit that the user names takes the place
of all of that, and then nothing is taken from elsewhere. Everything here is lazy: importing
pathfinder costs more than starting Python.
"""

from __future__ import annotations

import functools
import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lmemscope.errors import StageTimeoutError, ToolMissingError
from lmemscope.model import Tool
from lmemscope.tools.toolkit import Toolkit

WHEELS = {
    "nvrtc": "nvidia-cuda-nvrtc",
    "nvcc": "nvidia-cuda-nvcc",
    "ptxas": "nvidia-cuda-nvcc",
    "nvlink": "nvidia-cuda-nvcc",
    "nvdisasm": "nvidia-cuda-nvdisasm",
    "cuobjdump": "nvidia-cuda-cuobjdump",
    "cuda headers": "nvidia-cuda-runtime",
    "cccl headers": "nvidia-cuda-cccl",
}
"""Which wheel brings which part of the toolchain."""

_HEADER_WHEELS = (
    ("curand", "nvidia-curand"),
    ("cublas", "nvidia-cublas"),
    ("cufft", "nvidia-cufft"),
    ("cusparse", "nvidia-cusparse"),
    ("cusolver", "nvidia-cusolver"),
    ("npp", "nvidia-npp"),
    ("nvjpeg", "nvidia-nvjpeg"),
    ("cuda_profiler_api", "nvidia-cuda-profiler-api"),
    ("nvtx3/", "nvidia-nvtx"),
)
_HEADER_OF = {"cudart": "cuda_runtime.h", "cccl": "cub/cub.cuh"}
_MISSING_HEADER = re.compile(r'(?:source file "|error: )([\w./+-]+\.(?:h|hpp|cuh))')
_VERSION = re.compile(r"\bV(\d+\.\d+\.\d+)\b")


@dataclass(frozen=True, slots=True)
class Completed:
    """What a finished tool left behind; ``output`` is stdout and stderr in one."""

    command: tuple[str, ...]
    returncode: int
    output: str

    @property
    def command_line(self) -> str:
        """The invocation, quoted so that a person can paste it into a shell."""
        return shlex.join(self.command)


_named: Toolkit | None = None


def use(directory: str | None) -> None:
    """Take every tool from a directory, or, with None, from where they are installed."""
    global _named
    _named = None if directory is None else Toolkit(directory)


def named_nvrtc() -> str | None:
    """Path of NVRTC's library in the toolkit that the user named, or None without one.

    Raises:
        ToolMissingError: the toolkit has no NVRTC.
    """
    if _named is None:
        return None
    path = _named.nvrtc()
    if path is None:
        raise _not_in(_named, "NVRTC", "nvrtc", "or compile with --frontend nvcc")
    return path


def _not_in(toolkit: Toolkit, what: str, name: str, otherwise: str = "") -> ToolMissingError:
    hint = f"pip install --target {toolkit.directory} {WHEELS[name]}, in the version wanted"
    return ToolMissingError(
        "toolchain",
        f"{toolkit.directory} holds no {what}",
        hint=f"{hint}; {otherwise}" if otherwise else hint,
    )


def find_tool(name: str) -> str:
    """Return the path of a tool such as ``ptxas``.

    Raises:
        ToolMissingError: it is not installed; the hint names the wheel.
    """
    if _named is None:
        return _installed(name)
    path = _named.tool(name)
    if path is None:
        raise _not_in(_named, name, name)
    return path


@functools.cache
def _installed(name: str) -> str:
    from cuda import pathfinder

    path = pathfinder.find_nvidia_binary_utility(name)
    if path is None:
        raise ToolMissingError(
            "toolchain",
            f"{name} was not found",
            hint=f"install it with: pip install {WHEELS[name]}",
        )
    return str(path)


@functools.cache
def tool_version(path: str) -> str | None:
    """Version of a tool as it prints it (``13.5.37``), or None if it prints none."""
    match = _VERSION.search(run([path, "--version"]).output)
    return match.group(1) if match else None


def tool(name: str) -> Tool:
    """A tool with its path and version.

    Raises:
        ToolMissingError: as `find_tool`.
    """
    path = find_tool(name)
    return Tool(name, tool_version(path), path)


def header_dirs() -> tuple[str, ...]:
    """Directories of the CUDA runtime's and CCCL's headers, those that are installed."""
    return _installed_headers() if _named is None else _named.headers()


@functools.cache
def _installed_headers() -> tuple[str, ...]:
    return tuple(path for name in ("cudart", "cccl") if (path := find_headers(name)) is not None)


def find_headers(name: str) -> str | None:
    """Header directory of a component as pathfinder names it (``cudart``, ``cccl``), or None."""
    if _named is not None:
        holds = _HEADER_OF[name]
        return next((d for d in _named.headers() if os.path.exists(os.path.join(d, holds))), None)
    from cuda import pathfinder

    path = pathfinder.find_nvidia_header_directory(name)
    return None if path is None else os.path.normpath(path)


def missing_header_hint(log: str) -> str | None:
    """What to do about the header that a compiler did not find, or None where it found all."""
    match = _MISSING_HEADER.search(log)
    if match is None or not ("No such file" in log or "open source file" in log):
        return None
    header = match.group(1)
    for prefix, wheel in _HEADER_WHEELS:
        if header.startswith(prefix):
            return f"{header} comes with: pip install {wheel}"
    return f"name the directory of {header} with -I"


def host_compiler() -> str | None:
    """The host C++ compiler that nvcc would use by default, or None."""
    return shutil.which("g++")


def run(
    command: Sequence[str], *, cwd: Path | None = None, timeout: float | None = None
) -> Completed:
    """Run a tool to its end; never through a shell, never with standard input.

    Args:
        command: program and arguments.
        cwd: directory to run in.
        timeout: seconds; the whole process group is killed after that.

    Raises:
        ToolMissingError: the program cannot be started.
        StageTimeoutError: it ran longer than ``timeout``.
    """
    try:
        process = subprocess.Popen(
            list(command),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=timeout is not None,
        )
    except OSError as error:
        raise ToolMissingError("toolchain", f"{command[0]} cannot be started: {error}") from error
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired as error:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        name = Path(command[0]).name
        raise StageTimeoutError(name, f"{name} ran longer than {timeout:g} s") from error
    return Completed(tuple(command), process.returncode, output)
