"""Turn inputs and architectures into units."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lmemscope.config.options import rows_of
from lmemscope.config.settings import Settings
from lmemscope.discover.architectures import arch_list, usable
from lmemscope.discover.nvcc_words import told_to_all
from lmemscope.discover.walk import Found
from lmemscope.errors import UsageError
from lmemscope.files import read_input
from lmemscope.model import CUDA, CompileOptions, Gap, Unit, kind_of
from lmemscope.routes import Asked, kind_of_unit, route_of
from lmemscope.sources.cuda import read_cuda_source
from lmemscope.sources.encoding import decoded, readable

if TYPE_CHECKING:
    from lmemscope.sources.python import Survey

DEFAULT_ARCH = "sm_90"
_LISTED = 8
_COMPILING = tuple(rows_of(CompileOptions))
_ARCH = re.compile(r"(?:sm|compute)_(\d+[af]?)|(\d+[af]?)")
_ALL_MAJOR = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_110", "sm_120")
_WELL_KNOWN = frozenset(
    f"sm_{number}{suffix}"
    for number in (75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121)
    for suffix in ("", "a", "f")
)


def normalise_archs(archs: Sequence[str], supported: Sequence[str] | None) -> tuple[str, ...]:
    """Check ``--arch`` values and expand abbreviations.

    Args:
        archs: as typed: ``sm_90``, ``90``, ``all-major``, ``native``.
        supported: what the compiler supports, or None if it was not queried.

    Raises:
        UsageError: not an architecture, or not supported by the compiler.
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


def arch_words() -> tuple[str, ...]:
    """Values that ``--arch`` accepts, as far as known without querying the compiler."""
    return ("all-major", "native", *sorted(_WELL_KNOWN, key=_arch_order))


def needs_supported_archs(archs: Sequence[str]) -> bool:
    """Whether checking these values requires the compiler's list."""
    return any(arch not in _WELL_KNOWN and not arch.startswith(("all", "native")) for arch in archs)


def choose_arch() -> tuple[str, str]:
    """The architecture to use when none is requested, and why, for display."""
    gpu = detect_gpu()
    if gpu is not None:
        return gpu, f"{gpu}: the GPU present"
    return DEFAULT_ARCH, f"{DEFAULT_ARCH}: the default, no GPU found"


def detect_gpu() -> str | None:
    """The first GPU's architecture, or None without driver or device."""
    from lmemscope.tools.driver import present_gpu

    found = present_gpu()
    return None if found is None else found[0]


def make_units(
    inputs: Sequence[Found],
    archs: Sequence[str],
    settings: Settings,
    supported: Sequence[str] | None = None,
    launching: Sequence[Found] | None = None,
    surveys: Mapping[str, Survey] | None = None,
) -> tuple[tuple[Unit, ...], tuple[str | Gap, ...]]:
    """One unit per input and architecture, in input order; a cubin has its own architecture.

    If no architecture is requested, the build's are used, and a ``.ptx`` written for a newer or
    feature-specific target than the default is assembled for that target.

    Args:
        inputs: as discovered.
        archs: requested, or the default.
        settings: how to compile.
        supported: what the compiler supports, or None if every build's architecture is known.
        launching: inputs whose launches instantiate templates in headers; None for the inputs.
        surveys: of Python files, by absolute path; missing ones are made here.

    Returns:
        The units, notes about build architectures that were left out, and gaps for inputs without a
            unit.
    """
    units: list[Unit] = []
    left_out: dict[str, str] = {}
    notes: dict[str | Gap, None] = {}
    launched = _launched_elsewhere(inputs, inputs if launching is None else launching)
    for found in inputs:
        options = combined(found.options, settings.options)
        # A build's own architecture list is among its options.
        listed = arch_list(archs) if settings.archs or not found.archs else ()
        unit = Unit(
            found.file,
            found.path,
            settings.frontend,
            "",
            replace(options, nvcc_args=(*options.nvcc_args, *listed)),
            settings.toolkit,
            launched.get(found.path, ()),
            variant=found.variant,
            one_of_archs="all-major" in found.archs and not settings.archs,
            is_named_as_built=_is_named_as_built(found),
        )
        of_build = () if settings.archs else _of_build(found.archs, supported, archs, left_out)
        asked = Asked(
            archs=of_build or tuple(archs),
            explicit=bool(settings.archs or of_build),
            frontend=settings.frontend,
            walked=found.walked,
            surveys=surveys or {},
        )
        expansion = route_of(kind_of_unit(unit)).expand(unit, asked)
        units += map(_with_usable, expansion.units)
        notes.update(dict.fromkeys(expansion.notes))
    is_run = settings.options.run_python
    if not any(one.is_open and is_run for one in (surveys or {}).values()):
        # The kernels of a file that is run are known only after the run.
        _check_signatures(settings.options.signatures, surveys or {})
    dropped = [f"{arch}, which the build asks for, {why}" for arch, why in left_out.items()]
    return tuple(units), (*dropped, *notes)


def _with_usable(unit: Unit) -> Unit:
    """A unit without a build's virtual architecture if a user asks for an earlier one."""
    words = usable(unit.options.nvcc_args, unit.arch)
    if words == unit.options.nvcc_args:
        return unit
    return replace(unit, options=replace(unit.options, nvcc_args=words))


def _is_named_as_built(found: Found) -> bool:
    """Whether an input's build uses the same paths for it and its headers as are used here."""
    entry = found.entry
    return entry is not None and entry.path == found.path and not entry.flags.is_relative


def _check_signatures(signatures: Sequence[str], surveys: Mapping[str, Survey]) -> None:
    """Reject signatures for kernels that are in no Python file among the inputs."""
    programs = [name for one in surveys.values() for name, _ in one.programs or ()]
    named = [*programs, *(name.partition("#")[0] for name in programs)]
    for signature in signatures:
        name = signature.partition("(")[0].strip().rpartition(":")[2]
        if surveys and name not in named:
            raise UsageError(
                "plan",
                f"--signature {signature!r}: the Python files that were read have no kernel {name}",
                hint=f"there are {', '.join(sorted(set(programs))[:_LISTED]) or 'none'}",
            )


def build_archs(inputs: Sequence[Found]) -> tuple[str, ...]:
    """The architectures that builds request, without duplicates."""
    return tuple(dict.fromkeys(arch for found in inputs for arch in found.archs))


def _of_build(
    archs: Sequence[str],
    supported: Sequence[str] | None,
    default: Sequence[str],
    left_out: dict[str, str],
) -> tuple[str, ...]:
    """A build's architectures that can be compiled here; empty if the default is used."""
    known: list[str] = []
    refused: list[tuple[str, str]] = []
    for arch in archs:
        if arch == "native":
            gpu = detect_gpu()
            if gpu is None:
                refused.append((arch, "is not known without a GPU and left out"))
            else:
                known.append(gpu)
        elif arch.startswith("sm_") and supported and arch.rstrip("af") not in supported:
            refused.append((arch, "is not supported by this toolkit and left out"))
        else:
            known.append(arch)
    instead = "" if known else f"; {', '.join(default)} takes its place"
    for arch, why in refused:
        left_out.setdefault(arch, f"{why}{instead}")
    return normalise_archs(known, supported)


def combined(build: CompileOptions | None, own: CompileOptions) -> CompileOptions:
    """A build's options combined with the user's, which take precedence.

    Raises:
        InputError: as `told_to_all`.
    """
    own = told_to_all(own)
    if build is None:
        return own
    merged = {}
    for row in _COMPILING:
        ours, theirs = getattr(own, row.field), getattr(build, row.field)
        if isinstance(ours, tuple):
            merged[row.field] = ours + theirs if row.merge == "before" else theirs + ours
        else:
            merged[row.field] = ours or theirs
    return replace(own, **merged)


def _launched_elsewhere(
    inputs: Sequence[Found], launching: Sequence[Found]
) -> dict[str, tuple[str, ...]]:
    """For each header among the inputs, by absolute path, what the other inputs launch."""
    kinds = {found.path: kind_of(found.path) or CUDA for found in (*inputs, *launching)}
    headers = [found.path for found in inputs if kinds[found.path].is_header]
    if not headers:
        return {}
    launches: dict[str, None] = {}
    for found in launching:
        if kinds[found.path].is_cuda:
            with contextlib.suppress(OSError):
                text = readable(decoded(read_input(found.path)).text)
                launches.update(dict.fromkeys(read_cuda_source(text).launches))
    return dict.fromkeys(headers, tuple(launches))


def _arch_order(arch: str) -> tuple[int, str]:
    return int(re.sub(r"\D", "", arch)), arch


def _no_gpu() -> str:
    raise UsageError("plan", "--arch native: no GPU found", hint="name one, such as --arch sm_90")
