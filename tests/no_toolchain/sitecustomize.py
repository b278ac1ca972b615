"""In front of a child's PYTHONPATH: a Python that finds no CUDA toolchain, nor one to load."""

from __future__ import annotations

import sys
import types

pathfinder = types.ModuleType("cuda.pathfinder")
for name in ("find_nvidia_binary_utility", "find_nvidia_header_directory"):
    setattr(pathfinder, name, lambda name: None)
sys.modules["cuda.pathfinder"] = pathfinder
sys.modules["cupy_backends"] = sys.modules["cupy"] = None  # type: ignore[assignment]
