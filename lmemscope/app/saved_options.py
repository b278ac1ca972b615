"""Check whether a saved report matches what the command would analyse now: inputs and options.

The report's inputs are looked for again, so that new files, headers and build database changes are
noticed.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lmemscope.app.plan import found_by
from lmemscope.discover.build_account import STAGE
from lmemscope.discover.locate import is_saved, shown_path
from lmemscope.errors import LmemscopeError
from lmemscope.model import STANDARD_INPUT, CompileOptions, Gap, InputId, UnitReport, is_library

if TYPE_CHECKING:
    from lmemscope.config.settings import Settings
    from lmemscope.discover.walk import Discovery, Found
    from lmemscope.model import Report

_COMPILED = ("nvrtc", "nvcc")
_DECIDING = tuple(
    "-D -U -include --include --pre-include -std --std -use_fast_math --use_fast_math "
    "-maxrregcount --maxrregcount".split()
)
"""Prefixes of options that decide what a file's kernels are."""
_OWN = re.compile(
    r"--gpu-architecture=.*|-arch=.*|-ptx|-lineinfo|-v|--ptxas-options=-(?:v|c)|--instantiate=.*"
    r"|--signature=.*|--relocatable-device-code=true|-rdc=true|-c"
)
"""Options that lmemscope passes of its own accord, or that a kernel needs."""
_CHOOSING = ("--include", "--exclude")


def with_other_options(paths: Sequence[str], report: Report, settings: Settings) -> Report:
    """The report, with a gap for each input or option that differs from the current ones.

    Args:
        paths: as typed; if none is a saved report, nothing is compared.
        report: the report of these paths.
        settings: of the command line and the configuration.
    """
    saved = [path for path in paths if is_saved(path)]
    compiled = [unit for unit in report.units if unit.frontend in _COMPILED and not unit.failure]
    if not saved:
        return report
    found = _found_now(report, settings)
    lacking: dict[str, dict[str, None]] = defaultdict(dict)
    if report.paths is None and compiled:
        lacking["does not say which files and directories it was made from"] = {saved[0]: None}
    for path in report.paths or ():
        if path != STANDARD_INPUT and not os.path.exists(path):
            lacking[f"was made from {path}, which is not on disk"][path] = None
    unseen: tuple[Gap, ...] = ()
    if not _is_part(report, settings):
        for file in _new(report, found.inputs, settings):
            lacking[f"does not hold {file}, which is among its inputs now"][file] = None
        unseen = _unseen(found, settings)
    for header, file in _headers_since(compiled, found.inputs, settings):
        lacking[f"was made without {header}, which {file} may include now"][file] = None
    for option, file in _differences(compiled, found.inputs, settings, report.notes):
        lacking[f"was made {option}"][file] = None
    gaps = [
        Gap("read", f"{saved[0]} {reason}", "evidence", file)
        for reason, files in lacking.items()
        for file in files
    ]
    others = _others(compiled, found.inputs, settings, report.default_arch)
    if others:
        said = f"{saved[0]} was made with {' '.join(others)}, which is not asked for now"
        gaps.append(Gap(STAGE, said, "note"))
    return replace(report, gaps=tuple(dict.fromkeys((*report.gaps, *gaps, *unseen))))


def _found_now(report: Report, settings: Settings) -> Discovery:
    """What the report's paths refer to now."""
    from lmemscope.discover.walk import Discovery

    given = report.paths or ()
    there = [path for path in given if path != STANDARD_INPUT and os.path.exists(path)]
    return found_by(there, settings) if there else Discovery()


def _unseen(found: Discovery, settings: Settings) -> tuple[Gap, ...]:
    """Gaps for headers with kernels that no source includes any more."""
    from lmemscope.discover.headers import unseen
    from lmemscope.discover.plan import DEFAULT_ARCH, make_units

    if not found.headers:
        return ()
    units, _ = make_units(found.inputs, (DEFAULT_ARCH,), settings)
    return unseen(found.headers, units)


def _headers_since(
    compiled: Sequence[UnitReport], found: Sequence[Found], settings: Settings
) -> Iterator[tuple[str, str]]:
    """Headers that a file may include now but did not when it was compiled, each with the file.

    Includes are followed as for the cache key. So a header that now shadows another one, or one
    that `__has_include` tests for, counts as soon as it exists.
    """
    from lmemscope.discover.plan import combined
    from lmemscope.sources.includes import closure

    options = {_place(str(InputId(one.file, one.variant))): one.options for one in found}
    done: set[str] = set()
    for unit in compiled:
        place = _place(unit.input)
        if unit.sources is None or place in done:
            continue
        done.add(place)
        file = unit.file
        known = set(map(os.path.realpath, unit.sources))
        now = combined(options.get(place), settings.options)
        had = (word[2:] for word in unit.options if word.startswith("-I"))
        directories = tuple(dict.fromkeys((*had, *now.include_dirs)))
        with contextlib.suppress(OSError):
            read = closure(os.path.abspath(file), replace(now, include_dirs=directories))
            for header in read.files:
                if os.path.realpath(header) not in known:
                    yield shown_path(header), file


def _place(name: str) -> str:
    """An input's name with an absolute path, so that different spellings compare equal."""
    named = InputId.parse(name)
    return str(replace(named, file=os.path.abspath(named.file)))


def _is_part(report: Report, settings: Settings) -> bool:
    """Whether the report covers only part of its inputs, by options that the command lacks."""
    return any(one.startswith(_CHOOSING) and one not in settings.filters for one in report.filters)


def _new(report: Report, found: Sequence[Found], settings: Settings) -> list[str]:
    """Inputs that the report does not cover, for display."""
    from lmemscope.discover.plan import DEFAULT_ARCH, make_units

    names = {_place(unit.input) for unit in report.units}
    names |= {_place(unit.file) for unit in report.units}
    names |= {_place(gap.input) for gap in report.gaps if gap.input is not None}
    new = [one for one in found if _place(str(InputId(one.file, one.variant))) not in names]
    # A Python file is an input only if it holds kernels.
    units, notes = make_units(new, (DEFAULT_ARCH,), settings)
    said = {note.input for note in notes if isinstance(note, Gap) and note.kind != "note"}
    return sorted({unit.name for unit in units} | {name for name in said if name is not None})


def _differences(
    compiled: Sequence[UnitReport],
    found: Sequence[Found],
    settings: Settings,
    notes: Collection[str],
) -> Iterator[tuple[str, str]]:
    """How units were compiled differently from now, each with its file."""
    from lmemscope.discover.plan import combined

    by_name = {_place(str(InputId(one.file, one.variant))): one for one in found}
    made_for: dict[str, set[str]] = defaultdict(set)
    for unit in compiled:
        place = _place(unit.input)
        made_for[place].add(unit.arch)
        one = by_name.get(place)
        file = unit.file
        options = combined(one.options if one is not None else None, settings.options)
        for option in _lacking(unit, options):
            yield f"without {option}, which is asked for now", file
        # Without a build, only the run that wrote the report knows how a file was compiled.
        if one is not None and one.options is not None:
            for option in _beyond(unit, options):
                yield f"with {option}, which is not asked for now", file
    for option, file in _never(compiled, settings):
        yield f"without {option}, which is asked for now", file
    for name, archs in made_for.items() if not settings.archs else ():
        for arch in by_name[name].archs if name in by_name else ():
            is_left_out = any(note.startswith(f"{arch}, which the build") for note in notes)
            if arch.startswith("sm_") and arch not in archs and not is_left_out:
                file = shown_path(InputId.parse(name).file)
                yield f"without {arch}, for which its build compiles now", file


def _wanted(unit: UnitReport, options: CompileOptions) -> list[str]:
    """The arguments that the unit's compilation would have now."""
    if unit.frontend == "nvcc":
        return [*options.words(), *options.nvcc_args, *options.ptxas_args]
    passed = (f"--ptxas-options={one}" for one in options.ptxas_args)
    return [*options.words(), *options.nvrtc_args, *passed]


def _lacking(unit: UnitReport, options: CompileOptions) -> Iterator[str]:
    """Options that the unit's compilation should have had but lacked."""
    had = set(unit.options)
    yield from (word for word in _wanted(unit, options) if word not in had)
    registers = options.maxrregcount
    if registers is not None and not any(
        word.lstrip("-") == f"maxrregcount={registers}" for word in had
    ):
        yield f"--maxrregcount={registers}"


def _beyond(unit: UnitReport, options: CompileOptions) -> Iterator[str]:
    """Macros, files and limits that the unit's compilation had but should not have had."""
    wanted = set(_wanted(unit, options))
    if options.maxrregcount is not None:
        wanted |= {f"{dash}maxrregcount={options.maxrregcount}" for dash in ("-", "--")}
    for word in unit.options:
        if word not in wanted and word.startswith(_DECIDING):
            yield word


def _others(
    compiled: Sequence[UnitReport],
    found: Sequence[Found],
    settings: Settings,
    default_arch: str | None,
) -> dict[str, None]:
    """Options of a report that are not asked for now and that `_differences` leaves out.

    Without a build, the run that wrote the report may have known better how to compile a file.
    """
    from lmemscope.discover.plan import DEFAULT_ARCH, combined

    by_name = {_place(str(InputId(one.file, one.variant))): one for one in found}
    others: dict[str, None] = {}
    for unit in compiled:
        one = by_name.get(_place(unit.input))
        built = one.options if one is not None else None
        wanted = _wanted(unit, combined(built, settings.options))
        for word in unit.options:
            is_toolkit = word.startswith("-I") and is_library(f"{word[2:]}/")
            is_known = built is not None and word.startswith(_DECIDING)
            if word not in wanted and not (is_known or is_toolkit or _OWN.fullmatch(word)):
                others[word] = None
        archs = settings.archs or (one.archs if one is not None else ())
        if not archs and default_arch is None and unit.arch != DEFAULT_ARCH:
            others[f"--arch {unit.arch}"] = None
    return others


def _never(compiled: Sequence[UnitReport], settings: Settings) -> Iterator[tuple[str, str]]:
    """Settings that should have applied to some unit of a file, but applied to none."""
    from lmemscope.discover.plan import normalise_archs

    archs: tuple[str, ...] = settings.archs
    with contextlib.suppress(LmemscopeError):
        archs = normalise_archs(settings.archs, None)
    routes = _COMPILED if settings.frontend == "both" else (settings.frontend,)
    files: dict[str, list[UnitReport]] = defaultdict(list)
    for unit in compiled:
        files[unit.file].append(unit)
    for file, units in files.items():
        made_for, made_by = {one.arch for one in units}, {one.frontend for one in units}
        yield from ((f"--arch {arch}", file) for arch in archs if arch not in made_for)
        for route in routes:
            if route in _COMPILED and route not in made_by:
                yield f"--frontend {route}", file
    had = {word for unit in compiled for word in unit.options}
    for name in settings.options.instantiate:
        if f"--instantiate={name}" not in had:
            yield f"--instantiate {name}", next(iter(files))
