"""Whether saved reports were made as the settings of `check` would make them now."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from lmemscope.discover.locate import is_saved
from lmemscope.errors import LmemscopeError
from lmemscope.model import CompileOptions, Gap, InputId, UnitReport

if TYPE_CHECKING:
    from lmemscope.config.settings import Settings
    from lmemscope.model import Report

_COMPILED = ("nvrtc", "nvcc")


def with_other_options(paths: Sequence[str], report: Report, settings: Settings) -> Report:
    """A report with a gap for each option of the settings that its saved units were made without.

    What a unit was made with beyond the settings, such as what a build says, is no difference.

    Args:
        paths: as typed; where none is a saved report, there is nothing to compare.
        report: of them.
        settings: of the command line and the configuration.
    """
    saved = [path for path in paths if is_saved(path)]
    compiled = [unit for unit in report.units if unit.frontend in _COMPILED and not unit.failure]
    if not saved or not compiled:
        return report
    lacking: dict[str, dict[str, None]] = defaultdict(dict)
    for unit in compiled:
        for option in _lacking(unit, settings.options):
            lacking[option][InputId.parse(unit.input).file] = None
    for option, file in _never(compiled, settings):
        lacking[option][file] = None
    gaps = tuple(
        Gap(
            "read",
            f"{saved[0]} was made without {option}, which is asked for now",
            "evidence",
            file,
        )
        for option, files in lacking.items()
        for file in files
    )
    return replace(report, gaps=(*report.gaps, *gaps))


def _lacking(unit: UnitReport, options: CompileOptions) -> Iterator[str]:
    """Options that the unit's compilation should have had and had not."""
    had = set(unit.options)
    wanted = list(options.words())
    if unit.frontend == "nvcc":
        wanted += [*options.nvcc_args, *options.ptxas_args]
    else:
        wanted += [*options.nvrtc_args]
        wanted += [f"--ptxas-options={one}" for one in options.ptxas_args]
    yield from (word for word in wanted if word not in had)
    registers = options.maxrregcount
    if registers is not None and not any(
        word.lstrip("-") == f"maxrregcount={registers}" for word in had
    ):
        yield f"--maxrregcount={registers}"


def _never(compiled: Sequence[UnitReport], settings: Settings) -> Iterator[tuple[str, str]]:
    """What some unit of a file should have been made for, or by, and none was."""
    from lmemscope.discover.plan import normalise_archs

    archs: tuple[str, ...] = settings.archs
    with contextlib.suppress(LmemscopeError):
        archs = normalise_archs(settings.archs, None)
    routes = _COMPILED if settings.frontend == "both" else (settings.frontend,)
    files: dict[str, list[UnitReport]] = defaultdict(list)
    for unit in compiled:
        files[InputId.parse(unit.input).file].append(unit)
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
