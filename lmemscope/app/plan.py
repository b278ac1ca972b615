"""Turn the user's paths into a plan: the units to analyse, and what is left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from lmemscope.app.session import Session
from lmemscope.config.settings import Settings
from lmemscope.discover import plan
from lmemscope.discover.links import LinkPlan, plan_links
from lmemscope.discover.walk import Builds, Discovery, Found, Globs, discover
from lmemscope.errors import LmemscopeError, UsageError
from lmemscope.model import Gap, Unit, kind_of
from lmemscope.tools.toolkit import Toolkit

if TYPE_CHECKING:
    from lmemscope.discover.changed import Narrowed
    from lmemscope.sources.python import Survey

Narrow = Callable[[Discovery], "Narrowed"]
"""Selects which of the discovered inputs are analysed."""


class Plan(Struct, frozen=True):
    """The result of planning.

    Attributes:
        found: the inputs.
        units: their units.
        errors: paths that are not inputs.
        left_out: notes and gaps.
        default_arch: why an architecture was chosen when none was named, or None.
        elsewhere: absolute paths of files read by inputs that are not analysed.
        compiled: units of all inputs, including those not analysed.
        archs: the architectures requested, or the default.
        supported: what the compiler supports, if it was queried.
    """

    found: Discovery
    units: tuple[Unit, ...]
    errors: tuple[tuple[str, LmemscopeError], ...]
    left_out: tuple[str | Gap, ...]
    default_arch: str | None
    elsewhere: frozenset[str]
    compiled: tuple[Unit, ...]
    archs: tuple[str, ...]
    supported: tuple[str, ...] | None


def make_plan(paths: Sequence[str], session: Session, narrow: Narrow | None = None) -> Plan:
    """Make a plan for the given paths.

    Args:
        paths: files and directories, as the user typed them.
        session: how to compile.
        narrow: selects inputs; None analyses all.

    Raises:
        UsageError: the request is wrong whatever the inputs contain.
    """
    settings = session.settings
    if settings.toolkit is not None and not Toolkit(settings.toolkit).holds_any():
        raise UsageError(
            "usage",
            f"{settings.toolkit} holds no part of the CUDA toolkit",
            hint="name a CUDA installation, or a directory that CUDA wheels are installed in",
        )
    found = found_by(paths, settings)
    narrowed = narrow(found) if narrow is not None else None
    inputs: Sequence[Found] = found.inputs if narrowed is None else narrowed.inputs
    elsewhere = narrowed.elsewhere if narrowed is not None else frozenset()
    if inputs:
        # Fork workers before looking for a GPU: its driver starts threads.
        session.prestart(len(inputs))
    asked = settings.archs or plan.build_archs(inputs)
    supported: tuple[str, ...] | None = None
    if plan.needs_supported_archs(asked):
        from lmemscope.tools import nvrtc

        supported = session.workers.submit(nvrtc.supported_archs, session.toolchain).result()
    why = None
    if settings.archs:
        archs = plan.normalise_archs(settings.archs, supported)
    elif settings.default_archs:
        archs = plan.normalise_archs(settings.default_archs, None)
    else:
        arch, why = plan.choose_arch()
        archs = (arch,)
    surveys = _surveys(found.inputs, session)
    units, notes = plan.make_units(inputs, archs, settings, supported, found.inputs, surveys)
    # If a build names the same architecture as the default, the default decided nothing.
    undecided = {one.path for one in inputs if not one.archs}
    if not any(
        unit.arch in archs and unit.excerpt is None and unit.path in undecided for unit in units
    ):
        why = None
    # A header included only by inputs that are not analysed still counts as compiled.
    compiled = units
    if narrow is not None and found.headers:
        compiled, _ = plan.make_units(found.inputs, archs, settings, supported, surveys=surveys)
    left_out = (*settings.left_out, *found.notes, *found.gaps, *notes)
    errors = tuple(found.errors)
    return Plan(found, units, errors, left_out, why, elsewhere, compiled, tuple(archs), supported)


def found_by(paths: Sequence[str], settings: Settings) -> Discovery:
    """The inputs that paths stand for."""
    builds = Builds(use=settings.build_database, trust=settings.trust_build)
    return discover(paths, Globs.of(settings), builds)


def links_of(
    planned: Plan,
    binaries: Sequence[str],
    paths: Sequence[str],
    settings: Settings,
    *,
    narrowed: bool,
) -> LinkPlan:
    """What each Python file defines; workers find out, because a file can take arbitrarily long."""
    if not (settings.linked or settings.link):
        return LinkPlan(planned.units)

    def make_units(found: Sequence[Found]) -> Sequence[Unit]:
        return plan.make_units(found, planned.archs, settings, planned.supported)[0]

    every = make_units(planned.found.inputs) if narrowed else planned.units
    return plan_links(planned.units, every, binaries, paths, settings, make_units)


def _surveys(inputs: Sequence[Found], session: Session) -> dict[str, Survey]:
    """What Python files hold; workers look, for one file may take as long as it likes."""
    paths = {
        one.path: one.file
        for one in inputs
        if (kind := kind_of(one.path)) is not None and kind.reads == "imports"
    }
    if not paths:
        return {}
    from lmemscope.sources.python import Survey, survey

    found: dict[str, Survey] = {}
    with session.readers() as readers:
        futures = {path: readers.submit(survey, path, name) for path, name in paths.items()}
        for path, future in futures.items():
            try:
                found[path] = future.result()
            except Exception:  # noqa: BLE001 - the unit's own worker meets it again, and says so
                # A timeout, a crash or a bug affects only this file.
                found[path] = Survey(None)
    return found
