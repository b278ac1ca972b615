"""Link-time optimisation with nvJitLink, using only the calls it needs.

nvlink's own ``-lto`` needs the same library, and does not find it in the wheels. The signatures
come from the nvJitLink documentation, section "User Interface" (nvJitLink.h), in which function
names have the library's version as a suffix: ``__nvJitLinkCreate_13_5``.
"""

from __future__ import annotations

import ctypes
import functools
import glob
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from lmemscope.errors import CompileError, ToolMissingError
from lmemscope.model import Tool
from lmemscope.tools import child
from lmemscope.tools.toolchain import INSTALLED, Toolchain, how_to_install

_ANY_INPUT = 10
_PATTERNS = ("lib/libnvJitLink.so*", "lib64/libnvJitLink.so*", "nvidia/*/lib/libnvJitLink.so*")


@dataclass(frozen=True, slots=True)
class LtoResult:
    """The optimised image, and the library that made it."""

    image: bytes
    tool: Tool


def link(
    objects: Sequence[tuple[str, bytes]], arch: str, toolchain: Toolchain = INSTALLED
) -> LtoResult:
    """Link intermediate code, cubins, host objects and archives, in a separate process.

    Raises:
        ToolMissingError: nvJitLink is not installed.
        CompileError: it rejects the program; ``log`` is its message.
        WorkerCrashError: it crashed.
    """
    return child.call(_link, objects, arch, library(toolchain))


def _link(objects: Sequence[tuple[str, bytes]], arch: str, path: str) -> LtoResult:
    calls = _Library(path)
    handle = ctypes.c_void_p()
    words = [f"-arch={arch}".encode(), b"-lto", b"-verbose"]
    array = (ctypes.c_char_p * len(words))(*words)
    if calls.create(ctypes.byref(handle), len(words), array) != 0:
        raise CompileError("link", f"nvJitLink {calls.version} takes no -arch={arch} with -lto")
    try:
        for name, content in objects:
            size = ctypes.c_size_t(len(content))
            if calls("AddData", handle, _ANY_INPUT, content, size, os.fsencode(name)) != 0:
                raise _refusal(calls, handle, f"does not take {name}")
        if calls("Complete", handle) != 0:
            raise _refusal(calls, handle, "cannot link it")
        size = ctypes.c_size_t()
        calls("GetLinkedCubinSize", handle, ctypes.byref(size))
        image = ctypes.create_string_buffer(size.value)
        calls("GetLinkedCubin", handle, image)
        return LtoResult(image.raw, Tool("nvjitlink", calls.version, path))
    finally:
        calls("Destroy", ctypes.byref(handle))


@functools.cache
def library(toolchain: Toolchain = INSTALLED) -> str:
    """Path of the library.

    Raises:
        ToolMissingError: it was not found.
    """
    if toolchain.directory is not None:
        found = (glob.glob(os.path.join(toolchain.directory, pattern)) for pattern in _PATTERNS)
        path = next((one for paths in found for one in sorted(paths)), None)
    else:
        path = _installed()
    if path is None:
        hint = how_to_install("nvjitlink")
        raise ToolMissingError("toolchain", "nvJitLink was not found", hint=hint)
    return path


def _installed() -> str | None:
    from cuda import pathfinder

    try:
        path: str | None = pathfinder.load_nvidia_dynamic_lib("nvJitLink").abs_path
    except pathfinder.DynamicLibNotFoundError:
        return None
    return path


def tool(toolchain: Toolchain = INSTALLED) -> Tool:
    """The library with its path and version.

    Raises:
        ToolMissingError: as `library`.
    """
    path = library(toolchain)
    return Tool("nvjitlink", _Library(path).version, path)


class _Library:
    """The loaded library; its functions are called by name without prefix and version."""

    def __init__(self, path: str) -> None:
        try:
            self._library = ctypes.CDLL(path)
        except OSError as error:
            raise ToolMissingError(
                "toolchain",
                f"nvJitLink cannot be loaded from {path}: {error}",
                hint=how_to_install("nvjitlink"),
            ) from error
        major, minor = ctypes.c_uint(), ctypes.c_uint()
        self._library.nvJitLinkVersion(ctypes.byref(major), ctypes.byref(minor))
        self.version = f"{major.value}.{minor.value}"
        self._suffix = f"_{major.value}_{minor.value}"

    @property
    def create(self) -> Callable[..., Any]:
        return self._function("Create")

    def __call__(self, name: str, *arguments: object) -> int:
        return int(self._function(name)(*arguments))

    def _function(self, name: str) -> Callable[..., Any]:
        versioned = getattr(self._library, f"__nvJitLink{name}{self._suffix}", None)
        found: Callable[..., Any] = versioned or getattr(self._library, f"nvJitLink{name}")
        return found


def _refusal(calls: _Library, handle: ctypes.c_void_p, why: str) -> CompileError:
    size = ctypes.c_size_t()
    calls("GetErrorLogSize", handle, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value + 1)
    calls("GetErrorLog", handle, text)
    log = text.value.decode("utf-8", "replace").strip()
    first = log.splitlines()[0] if log else "no message"
    return CompileError("link", f"nvJitLink {why}: {first}", log=log or None)
