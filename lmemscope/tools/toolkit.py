"""Search a directory for parts of the CUDA toolkit: an installation, or wheels placed by pip.

Both layouts have one or more roots with ``bin``, ``include`` and ``lib``: one root for an
installation (``/usr/local/cuda``; CUDA Installation Guide for Linux), ``nvidia/cu13`` for CUDA 13
wheels, and one root per component (``nvidia/cuda_nvcc``, …) for CUDA 12 wheels. The wheels' roots
may be below a virtual environment.
"""

from __future__ import annotations

import functools
import glob
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

_LIBRARY = re.compile(r"libnvrtc\.so(?:\.(\d+))*$")


@dataclass(frozen=True, slots=True)
class Toolkit:
    """A toolkit that the user named; nothing is taken from anywhere else.

    Attributes:
        directory: absolute path.
    """

    directory: str

    def tool(self, name: str) -> str | None:
        """Path of a program such as ``ptxas``, or None."""
        for root in _roots(self.directory):
            path = os.path.join(root, "bin", name)
            if os.path.isfile(path) and os.access(path, os.X_OK):
                return path
        return None

    def holds_any(self) -> bool:
        """Whether it contains a compiler or assembler."""
        return self.nvrtc() is not None or any(map(self.tool, ("nvcc", "ptxas", "nvdisasm")))

    def headers(self) -> tuple[str, ...]:
        """Header directories, including those of the CUDA runtime and CCCL."""
        found: dict[str, None] = {}
        for root in _roots(self.directory):
            for pattern in ("include", "targets/*/include", "include/cccl"):
                for path in sorted(glob.glob(os.path.join(glob.escape(root), pattern))):
                    found.setdefault(os.path.realpath(path))
        return tuple(found)

    def nvrtc(self) -> str | None:
        """Path of NVRTC's shared library, the newest if there are several, or None."""
        found: list[tuple[tuple[int, ...], str]] = []
        for root in _roots(self.directory):
            for pattern in ("lib64", "lib", "targets/*/lib"):
                names = os.path.join(glob.escape(root), pattern, "libnvrtc.so*")
                for path in glob.glob(names):
                    if _LIBRARY.search(path):
                        numbers = tuple(int(n) for n in re.findall(r"\d+", os.path.basename(path)))
                        found.append((numbers, path))
        return max(found)[1] if found else None


@functools.cache
def _roots(directory: str) -> tuple[str, ...]:
    return tuple(_existing(directory))


def _existing(directory: str) -> Iterator[str]:
    base = glob.escape(directory)
    yield directory
    for pattern in ("nvidia/*", "lib/python*/site-packages/nvidia/*"):
        yield from sorted(path for path in glob.glob(f"{base}/{pattern}") if os.path.isdir(path))
