"""Flags turned into one frozen `Settings`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lmemscope.model import CompileOptions, Frontend


@dataclass(frozen=True, slots=True)
class Settings:
    """What a command was asked to do, beyond its inputs.

    Attributes:
        archs: architectures asked for; empty means "choose".
        frontend: route from CUDA C++ to PTX.
        options: how to compile.
        kernels: globs over kernel names; empty means all.
        jobs: compilations at a time.
        timeout: seconds that one unit may take, or None.
        causes: whether to look for causes and names, or to stop at the facts.
    """

    archs: tuple[str, ...] = ()
    frontend: Frontend = "auto"
    options: CompileOptions = field(default_factory=CompileOptions)
    kernels: tuple[str, ...] = ()
    jobs: int = 1
    timeout: float | None = None
    causes: bool = True


def settings_from_flags(flags: Mapping[str, Any]) -> Settings:
    """Build settings from click's values."""
    return Settings(
        archs=tuple(flags["arch"]),
        frontend=flags["frontend"],
        options=CompileOptions(
            include_dirs=tuple(os.path.abspath(path) for path in flags["include_dirs"]),
            defines=tuple(flags["defines"]),
            std=flags["std"],
            maxrregcount=flags["maxrregcount"],
            use_fast_math=flags["use_fast_math"],
            instantiate=tuple(flags["instantiate"]),
            nvrtc_args=tuple(flags["nvrtc_args"]),
            nvcc_args=tuple(flags["nvcc_args"]),
            ptxas_args=tuple(flags["ptxas_args"]),
        ),
        kernels=tuple(flags["kernels"]),
        jobs=flags["jobs"] or available_cpus(),
        timeout=flags["timeout"],
    )


def available_cpus() -> int:
    """CPUs this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
