"""Determine which inputs are linked together, from an option, the configuration or a build."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from lmemscope.config.settings import Settings
from lmemscope.discover.build_database import Entry, read_database
from lmemscope.discover.link_steps import LinkStep, link_steps
from lmemscope.discover.locate import database_in, is_below, is_database, shown_path
from lmemscope.discover.walk import Found
from lmemscope.errors import InputError
from lmemscope.files import open_regular
from lmemscope.model import Gap, LinkRequest, Unit, count, kind_of_binary
from lmemscope.routes import is_linkable, linked_unit

_MAGICS = (b"\x7fELF", b"!<arch>\n", b"\x50\xed\x55\xba")
_OPTION = "--link"

MakeUnits = Callable[[Sequence[Found]], Sequence[Unit]]
"""Makes units for inputs that are linked but not analysed."""


@dataclass(frozen=True, slots=True)
class LinkPlan:
    """The links of a run.

    Attributes:
        units: those analysed, with the options that linking requires.
        requests: one per link and architecture.
        notes: sentences about what is not linked; gaps for inputs that the configuration links but
            that do not exist, so that the gate does not pass.
    """

    units: tuple[Unit, ...]
    requests: tuple[LinkRequest, ...] = ()
    notes: tuple[str | Gap, ...] = ()


@dataclass(frozen=True, slots=True)
class _Program:
    """Inputs that form one program."""

    name: str
    origin: str
    units: tuple[Unit, ...]
    binaries: tuple[tuple[str, str], ...] = ()
    depths: tuple[tuple[str, int], ...] = ()


def split_binaries(paths: Iterable[str]) -> tuple[list[str], list[str]]:
    """The host objects and archives among the paths, and the other paths."""
    binaries: list[str] = []
    others: list[str] = []
    for path in paths:
        is_binary = kind_of_binary(path) is not None and _has_code(path)
        (binaries if is_binary else others).append(path)
    return binaries, others


def _has_code(path: str) -> bool:
    try:
        with open_regular(path) as stream:
            return stream.read(8).startswith(_MAGICS)
    except OSError:
        return False


def plan_links(
    units: Sequence[Unit],
    every: Sequence[Unit],
    binaries: Sequence[str],
    paths: Sequence[str],
    settings: Settings,
    make_units: MakeUnits,
) -> LinkPlan:
    """Plan the links of a run.

    Args:
        units: the units that are analysed.
        every: units of all inputs, including those not analysed.
        binaries: host objects and archives that the user named.
        paths: the other paths, as typed.
        settings: of the run.
        make_units: see `MakeUnits`.
    """
    notes: list[str | Gap] = []
    programs = list(_of_groups(units, settings, make_units, notes))
    if settings.linked:
        built = list(_of_builds(paths, make_units, notes))
        named = [(os.path.normpath(path), os.path.abspath(path)) for path in binaries]
        parts = [unit for unit in every if is_linkable(unit)]
        if not built and (parts or named):
            built = [_Program("program", _OPTION, tuple(parts), tuple(named))]
            left = dict.fromkeys(unit.input for unit in every if not is_linkable(unit))
            notes += [f"{name} is no part of a linked program" for name in left]
        elif named:
            notes.append(f"{named[0][0]} is not linked: the build says what its links are made of")
        programs += built
    requests = [request for one in programs for request in _requests(one, settings)]
    together = {(unit.path, unit.options) for one in programs for unit in one.units}
    compiled = [
        linked_unit(unit) if (unit.path, unit.options) in together else unit for unit in units
    ]
    return LinkPlan(tuple(compiled), tuple(requests), tuple(notes))


def _requests(program: _Program, settings: Settings) -> Iterator[LinkRequest]:
    """A link for each architecture that the inputs are compiled for."""
    archs = dict.fromkeys(unit.arch for unit in program.units if unit.arch)
    for arch in archs or settings.archs or ("",):
        once: dict[str, Unit] = {}
        for unit in program.units:
            # A cubin's architecture is its own; nvlink checks that it matches the link's.
            if unit.arch in (arch, ""):
                once.setdefault(f"{unit.path} {unit.variant} {unit.program}", unit)
        yield LinkRequest(
            name=program.name,
            arch=arch,
            units=tuple(once.values()),
            binaries=program.binaries,
            depths=program.depths,
            lto=settings.lto,
            toolkit=settings.toolkit,
            origin=program.origin,
            cache=settings.cache,
            time_limit=settings.timeout,
        )


def _of_groups(
    units: Sequence[Unit], settings: Settings, make_units: MakeUnits, notes: list[str | Gap]
) -> Iterator[_Program]:
    """Groups in the configuration with at least one analysed input."""
    for group in settings.link:
        files, unknown = _matching(group.inputs, settings.root)
        here = [unit for unit in units if unit.path in files and is_linkable(unit)]
        if not here and files:
            continue
        lacks = [f"{pattern} names no file" for pattern in unknown]
        if not group.inputs:
            lacks = ["it names no inputs"]
        notes += [Gap("link", f"group {group.name}: {why}", "evidence") for why in lacks]
        if not files:
            continue
        binaries, others = split_binaries(files)
        analysed = {unit.path for unit in here}
        more = [Found(shown_path(path), path) for path in others if path not in analysed]
        every = [*here, *(make_units(more) if more else ())]
        # In the group's order: archive members resolve only symbols missing before the archive.
        every.sort(key=lambda unit: files.index(unit.path))
        yield _Program(
            name=group.name,
            origin="[[link]]",
            units=tuple(every),
            binaries=tuple((shown_path(path), path) for path in binaries),
            depths=group.depth,
        )


def _matching(patterns: Sequence[str], root: str) -> tuple[list[str], list[str]]:
    """Absolute paths of the files that match the patterns, and the patterns without a match."""
    files: dict[str, None] = {}
    unknown = []
    for pattern in patterns:
        whole = os.path.normpath(os.path.join(root, pattern))
        found = [whole] if os.path.isfile(whole) else []
        # A configuration from the tree may name files anywhere, but only its own tree is searched.
        if not found and is_below(whole, root):
            found = sorted(glob.glob(whole, recursive=True))
        if not found:
            unknown.append(pattern)
        files.update(dict.fromkeys(path for path in found if os.path.isfile(path)))
    return list(files), unknown


def _of_builds(
    paths: Sequence[str], make_units: MakeUnits, notes: list[str | Gap]
) -> Iterator[_Program]:
    """The link steps of build directories among the paths."""
    for path in paths:
        database = path if is_database(path) else database_in(path)
        if database is None or not os.path.isfile(database):
            continue
        steps, broken = link_steps(os.path.dirname(os.path.abspath(database)))
        notes += broken
        entries = _entries(database) if steps else ()
        for step in steps:
            program = _of_step(step, entries, make_units, notes)
            if program is not None:
                yield program


def _entries(database: str) -> tuple[Entry, ...]:
    try:
        return read_database(database).entries
    except InputError:
        # It is also an input, and its error is reported there.
        return ()


def _of_step(
    step: LinkStep, entries: Sequence[Entry], make_units: MakeUnits, notes: list[str | Gap]
) -> _Program | None:
    """A build's link as a program; None if none of it is relocatable device code."""
    found: list[Found] = []
    for source, target in step.sources:
        ways = [entry for entry in entries if entry.path == source]
        # A file that is compiled in only one way is the same for all targets.
        entry = next((one for one in ways if one.output == target), ways[0] if ways else None)
        if entry is None:
            notes.append(f"link {step.name}: no entry says how {shown_path(source)} is compiled")
        elif _is_relocatable(entry):
            flags = entry.flags
            one = Found(shown_path(source), source, flags.options, flags.archs)
            found.append(replace(one, responses=flags.responses))
    if not found:
        return None
    if step.missing:
        listed = ", ".join(map(shown_path, step.missing[:3]))
        notes.append(f"link {step.name}: {count(len(step.missing), 'input')} not built: {listed}")
    return _Program(
        name=step.name,
        origin=shown_path(step.said_by),
        units=tuple(make_units(found)),
        binaries=tuple((shown_path(path), path) for path in step.binaries if _has_code(path)),
    )


def _is_relocatable(entry: Entry) -> bool:
    return "-rdc=true" in entry.flags.options.nvcc_args
