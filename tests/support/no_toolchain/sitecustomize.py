"""In front of a child's PYTHONPATH: a Python that finds no CUDA toolchain, nor one to load."""

from __future__ import annotations

import sys
import types

pathfinder = types.ModuleType("cuda.pathfinder")
for name in ("find_nvidia_binary_utility", "find_nvidia_header_directory"):
    setattr(pathfinder, name, lambda name: None)


class DynamicLibNotFoundError(RuntimeError):
    """As pathfinder's."""


def load_nvidia_dynamic_lib(name: str) -> None:
    """Find no library."""
    raise DynamicLibNotFoundError(name)


pathfinder.__dict__.update(
    DynamicLibNotFoundError=DynamicLibNotFoundError,
    load_nvidia_dynamic_lib=load_nvidia_dynamic_lib,
)
sys.modules["cuda.pathfinder"] = pathfinder
sys.modules["cupy_backends"] = sys.modules["cupy"] = None  # type: ignore[assignment]
