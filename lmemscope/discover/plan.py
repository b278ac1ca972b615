"""From inputs and architectures to units."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from lmemscope.config.settings import Settings
from lmemscope.discover.walk import Found
from lmemscope.errors import UsageError
from lmemscope.model import CompileOptions, Frontend, Unit
from lmemscope.sources.cuda import read_cuda_source

DEFAULT_ARCH = "sm_90"
_CUDA_ENDINGS = (".cu", ".cuh")
_READY_ENDINGS = (".ptx", ".cubin")
_ARCH = re.compile(r"(?:sm|compute)_(\d+[af]?)|(\d+[af]?)")
_PTX_TARGET = re.compile(rb"^\s*\.target\s+sm_(\d+)([af]?)", re.MULTILINE)
_ALL_MAJOR = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_110", "sm_120")
_WELL_KNOWN = frozenset(
    f"sm_{number}{suffix}"
    for number in (75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121)
    for suffix in ("", "a", "f")
)


def normalise_archs(archs: Sequence[str], supported: Sequence[str] | None) -> tuple[str, ...]:
    """Check and spell out ``--arch`` values.

    Args:
        archs: as typed: ``sm_90``, ``90``, ``all-major``, ``native``.
        supported: what the compiler supports, or None when it was not asked.

    Raises:
        UsageError: not an architecture, or one the compiler does not support.
    """
    result: dict[str, None] = {}
    known = supported if supported is not None else sorted(_WELL_KNOWN, key=_arch_order)
    for arch in archs:
        if arch in ("all-major", "all_major"):
            result.update(dict.fromkeys(a for a in _ALL_MAJOR if a in known))
            continue
        if arch == "native":
            result[detect_gpu() or _no_gpu()] = None
            continue
        match = _ARCH.fullmatch(arch)
        name = f"sm_{match.group(1) or match.group(2)}" if match else arch
        if match is None or (supported is not None and name.rstrip("af") not in supported):
            raise UsageError(
                "plan",
                f"unknown architecture {arch!r}",
                hint=f"supported: {', '.join(a for a in known if a[-1].isdigit())}, all-major",
            )
        result[name] = None
    return tuple(result)


def needs_supported_archs(archs: Sequence[str]) -> bool:
    """Whether checking these values takes the compiler's own list."""
    return any(arch not in _WELL_KNOWN and not arch.startswith(("all", "native")) for arch in archs)


def choose_arch() -> tuple[str, str]:
    """The architecture when none was asked for, and why, for the output."""
    gpu = detect_gpu()
    if gpu is not None:
        return gpu, f"{gpu}: the GPU present"
    return DEFAULT_ARCH, f"{DEFAULT_ARCH}: the default, no GPU found"


def detect_gpu() -> str | None:
    """Architecture of the first GPU by the CUDA driver, or None without driver or device."""
    import ctypes

    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    device = ctypes.c_int()
    if driver.cuInit(0) != 0 or driver.cuDeviceGet(ctypes.byref(device), 0) != 0:
        return None
    major, minor = ctypes.c_int(), ctypes.c_int()
    # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR, CUDA driver API, cuda.h.
    if driver.cuDeviceGetAttribute(ctypes.byref(major), 75, device) != 0:
        return None
    if driver.cuDeviceGetAttribute(ctypes.byref(minor), 76, device) != 0:
        return None
    return f"sm_{major.value}{minor.value}"


def make_units(
    inputs: Sequence[Found],
    archs: Sequence[str],
    settings: Settings,
    supported: Sequence[str] | None = None,
) -> tuple[tuple[Unit, ...], tuple[str, ...]]:
    """One unit per input and architecture, in the order of the inputs; a cubin has its own.

    Without architectures asked for, a build's are taken, and a ``.ptx`` written for a newer or
    feature-specific target than the default is assembled for that target.

    Args:
        inputs: as discovered.
        archs: asked for, or the default.
        settings: how to compile.
        supported: what the compiler supports, or None where every build's architecture is known.

    Returns:
        The units, and notes on architectures of builds that were left out.
    """
    units: list[Unit] = []
    left_out: dict[str, None] = {}
    unasked: dict[str, None] = {}
    launched = _launched_elsewhere(inputs)
    for found in inputs:
        ending = os.path.splitext(found.path)[1].lower()
        chosen: Sequence[str] = archs
        if ending == ".cubin":
            chosen = ("",)
        elif settings.archs:
            pass
        elif found.archs:
            chosen = _of_build(found.archs, supported, left_out) or archs
        elif ending == ".ptx":
            chosen = (_ptx_arch(found.path, archs[0]),)
        routes: tuple[Frontend, ...] = (settings.frontend,)
        if settings.frontend == "both":
            routes = ("auto",) if ending in _READY_ENDINGS else ("nvrtc", "nvcc")
        unit = Unit(
            found.file,
            found.path,
            settings.frontend,
            "",
            _combined(found.options, settings.options),
            settings.toolkit,
            launched.get(found.path, ()),
            variant=found.variant,
        )
        units += [
            replace(part, arch=arch, frontend=route)
            for part in _parts(unit, ending, found.walked, unasked)
            for arch in chosen
            for route in routes
        ]
    notes = [
        f"{arch}, which the build asks for, is not supported by this toolkit and left out"
        for arch in left_out
    ]
    notes += [
        f"{file} holds kernels that only running it would compile, and was not run; "
        "name it with --run-python"
        for file in unasked
    ]
    return tuple(units), tuple(notes)


def build_archs(inputs: Sequence[Found]) -> tuple[str, ...]:
    """Architectures that builds ask for, without duplicates."""
    return tuple(dict.fromkeys(arch for found in inputs for arch in found.archs))


def _parts(unit: Unit, ending: str, walked: bool, unasked: dict[str, None]) -> tuple[Unit, ...]:
    """The programs in a file: one, but any number in a Python file.

    A directory does not stand for what nobody may compile without running it.
    """
    if ending != ".py":
        return (unit,)
    from lmemscope.sources.python import is_broken, needs_running, programs_in

    parts = programs_in(unit)
    if walked and parts == (unit,) and not is_broken(unit):
        # The words were there, but no kernel: nobody asked about this file.
        return ()
    if not walked or unit.options.run_python:
        return parts
    kept = tuple(part for part in parts if not needs_running(part))
    if len(kept) < len(parts):
        unasked[unit.input] = None
    return kept


def _of_build(
    archs: Sequence[str], supported: Sequence[str] | None, left_out: dict[str, None]
) -> tuple[str, ...]:
    known = [a for a in archs if supported is None or a.rstrip("af") in supported or a[:3] != "sm_"]
    left_out.update(dict.fromkeys(arch for arch in archs if arch not in known))
    return normalise_archs(known, supported)


def _combined(build: CompileOptions | None, own: CompileOptions) -> CompileOptions:
    """A build's options and the user's; where only one can hold, the user's."""
    if build is None:
        return own
    return CompileOptions(
        include_dirs=(*own.include_dirs, *build.include_dirs),
        defines=(*build.defines, *own.defines),
        std=own.std or build.std,
        maxrregcount=own.maxrregcount or build.maxrregcount,
        use_fast_math=own.use_fast_math or build.use_fast_math,
        instantiate=own.instantiate,
        nvrtc_args=(*build.nvrtc_args, *own.nvrtc_args),
        nvcc_args=(*build.nvcc_args, *own.nvcc_args),
        ptxas_args=(*build.ptxas_args, *own.ptxas_args),
        signatures=own.signatures,
        run_python=own.run_python,
        time_limit=own.time_limit,
    )


def _launched_elsewhere(inputs: Sequence[Found]) -> dict[str, tuple[str, ...]]:
    """For each header among the inputs, what the other inputs launch, by absolute path."""
    headers = [found.path for found in inputs if found.path.lower().endswith(".cuh")]
    if not headers:
        return {}
    launches: dict[str, None] = {}
    for found in inputs:
        if found.path.lower().endswith(_CUDA_ENDINGS):
            with contextlib.suppress(OSError):
                text = Path(found.path).read_text(encoding="utf-8", errors="replace")
                launches.update(dict.fromkeys(read_cuda_source(text).launches))
    return dict.fromkeys(headers, tuple(launches))


def _ptx_arch(path: str, default: str) -> str:
    try:
        with Path(path).open("rb") as stream:
            match = _PTX_TARGET.search(stream.read(65536))
    except OSError:
        return default
    if match is None:
        return default
    number, suffix = match.group(1).decode(), match.group(2).decode()
    newer = int(number) > int(re.sub(r"\D", "", default))
    return f"sm_{number}{suffix}" if suffix or newer else default


def _arch_order(arch: str) -> tuple[int, str]:
    return int(re.sub(r"\D", "", arch)), arch


def _no_gpu() -> str:
    raise UsageError("plan", "--arch native: no GPU found", hint="name one, such as --arch sm_90")
