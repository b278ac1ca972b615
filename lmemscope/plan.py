"""From the user's paths and architectures to units."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from lmemscope.config import Settings
from lmemscope.errors import InputError, UsageError
from lmemscope.model import Frontend, Unit

DEFAULT_ARCH = "sm_90"
SUPPORTED_ENDINGS = (".cu", ".cuh", ".ptx", ".cubin")
_CUDA_ENDINGS = (".cu", ".cuh")
_WALKED_ENDINGS = (".cu", ".ptx", ".cubin")
_ARCH = re.compile(r"(?:sm|compute)_(\d+[af]?)|(\d+[af]?)")
_PTX_TARGET = re.compile(rb"^\s*\.target\s+sm_(\d+)([af]?)", re.MULTILINE)
_ALL_MAJOR = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_110", "sm_120")
_WELL_KNOWN = frozenset(
    f"sm_{number}{suffix}"
    for number in (75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121)
    for suffix in ("", "a", "f")
)


def expand_inputs(
    paths: Sequence[str],
) -> tuple[tuple[str, ...], tuple[tuple[str, InputError], ...]]:
    """Turn the user's paths into files and, for each bad path, an error beside the others.

    Directories are walked in sorted order for ``.cu``, ``.ptx`` and ``.cubin`` files.
    """
    files: dict[str, None] = {}
    errors: list[tuple[str, InputError]] = []
    for path in paths:
        if os.path.isdir(path):
            found = list(_walk(path))
            if not found:
                errors.append((path, _nothing_in(path)))
            files.update(dict.fromkeys(os.path.normpath(file) for file in found))
        elif not os.path.exists(path):
            missing = InputError("plan", f"{path} does not exist", hint="check the path")
            errors.append((path, missing))
        elif not path.lower().endswith(SUPPORTED_ENDINGS):
            errors.append((path, _unreadable_kind(path)))
        else:
            files[os.path.normpath(path)] = None
    return tuple(files), tuple(errors)


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


def make_units(files: Sequence[str], archs: Sequence[str], settings: Settings) -> tuple[Unit, ...]:
    """One unit per file and architecture, in the order of the files; a cubin has its own.

    With ``archs`` of one default, a ``.ptx`` written for a newer or feature-specific target is
    assembled for that target.
    """
    units = []
    for file in files:
        path = os.path.abspath(file)
        chosen: Sequence[str] = archs
        if not settings.archs and path.lower().endswith(".ptx"):
            chosen = (_ptx_arch(path, archs[0]),)
        elif path.lower().endswith(".cubin"):
            chosen = ("",)
        routes: tuple[Frontend, ...] = (settings.frontend,)
        if settings.frontend == "both":
            routes = ("nvrtc", "nvcc") if path.lower().endswith(_CUDA_ENDINGS) else ("auto",)
        units += [
            Unit(file, path, route, arch, settings.options, settings.toolkit)
            for arch in chosen
            for route in routes
        ]
    return tuple(units)


def _walk(directory: str) -> Iterator[str]:
    for root, names, files in os.walk(directory):
        names[:] = sorted(name for name in names if not name.startswith("."))
        for name in sorted(files):
            if name.lower().endswith(_WALKED_ENDINGS):
                yield os.path.join(root, name)


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


def _nothing_in(directory: str) -> InputError:
    return InputError(
        "plan",
        f"{directory} holds no .cu, .ptx or .cubin file",
        hint="name the files, or a directory above them",
    )


def _unreadable_kind(path: str) -> InputError:
    return InputError(
        "plan",
        f"{path} is not a kind of file that lmemscope reads",
        hint=f"it reads {', '.join(SUPPORTED_ENDINGS)} files and directories of them",
    )


def _no_gpu() -> str:
    raise UsageError("plan", "--arch native: no GPU found", hint="name one, such as --arch sm_90")
