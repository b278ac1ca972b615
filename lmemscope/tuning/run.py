"""Run ``tune``: find an input's kernels, hand their settings to workers, build the results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from lmemscope import __version__
from lmemscope.analysis.frontier import marked
from lmemscope.app.assemble import failure_of
from lmemscope.app.plan import make_plan
from lmemscope.app.session import Session
from lmemscope.discover.locate import is_saved
from lmemscope.errors import LmemscopeError, UsageError
from lmemscope.formats.demangle import short_name
from lmemscope.lowering import store
from lmemscope.model import (
    FailedInput,
    Gap,
    TunedKernel,
    TuneReport,
    Unit,
    count,
)
from lmemscope.routes import kind_of_unit
from lmemscope.tuning.settings import NATURAL, OWN, Asked
from lmemscope.tuning.sweep import Survey, Surveyed, Swept, survey, sweep


@dataclass(frozen=True, slots=True)
class Tuned:
    """The result of ``tune``.

    Attributes:
        report: the document.
        others: short names of the kernels that match no glob.
    """

    report: TuneReport
    others: tuple[str, ...] = ()


def tune(path: str, session: Session, asked: Asked) -> Tuned:
    """Tune an input's kernels.

    Args:
        path: as the user typed it.
        session: how to compile, and where.
        asked: which kernels, and what to vary.

    Raises:
        UsageError: the request is wrong whatever the input contains.
    """
    _refuse(path, session)
    planned = make_plan([path], session)
    units = [one for one in planned.units if _has_ptx(one)]
    left = len(planned.units) - len(units)
    if left and not units:
        raise _without_ptx(path)
    surveys, failures = _surveyed(units, session, asked)
    failures = [*((name, error) for name, error in planned.errors), *failures]
    swept, refused = _swept([one for each in surveys for one in each.kernels], session, asked)
    failures += _kernel_failures(refused)
    if session.store is not None:
        store.trim(session.store)
    notes = [one.reason if isinstance(one, Gap) else one for one in planned.left_out]
    if left:
        notes.append(f"{count(left, 'input')} without PTX left out: tune assembles PTX")
    notes += _refusals(swept)
    kernels = sorted((_tuned(*one) for one in swept), key=_worst_first)
    report = TuneReport(
        version=__version__,
        kernels=tuple(kernels),
        failures=tuple(FailedInput(name, failure_of(error)) for name, error in failures),
        default_arch=planned.default_arch,
        notes=tuple(notes),
    )
    return Tuned(report, tuple(name for each in surveys for name in each.others))


def _refuse(path: str, session: Session) -> None:
    if is_saved(path):
        raise UsageError(
            "usage", f"{path} is a saved report: tune compiles", hint="name the source instead"
        )
    if session.settings.linked:
        raise UsageError(
            "usage",
            "tune assembles one kernel at a time, and no linked program",
            hint="leave out --link; callees of other files count as they are compiled alone",
        )


def _has_ptx(unit: Unit) -> bool:
    kind = kind_of_unit(unit)
    return unit.excerpt is None and not kind.by_content and not kind.is_device_code


def _without_ptx(path: str) -> UsageError:
    return UsageError(
        "usage",
        f"{path} has been assembled already: tune assembles PTX",
        hint="name the source, or its .ptx (lmemscope dump --ptx -o FILE)",
    )


def _surveyed(
    units: Iterable[Unit], session: Session, asked: Asked
) -> tuple[list[Survey], list[tuple[str, LmemscopeError]]]:
    """The kernels of the units, and the units that cannot be compiled."""
    globs = (*session.settings.kernels, *asked.kernels)
    futures = [(unit, session.workers.submit(survey, unit, globs, session.store)) for unit in units]
    found: list[Survey] = []
    failures: list[tuple[str, LmemscopeError]] = []
    for unit, future in futures:
        if session.progress is not None:
            session.progress(len(found) + len(failures), len(futures), unit.name, len(failures))
        try:
            found.append(future.result())
        except LmemscopeError as error:
            failures.append((unit.name, error))
    return found, failures


def _swept(
    kernels: Sequence[Surveyed], session: Session, asked: Asked
) -> tuple[list[tuple[Surveyed, Swept]], list[tuple[Surveyed, LmemscopeError]]]:
    """The points of each kernel, and the errors of kernels without points."""
    runs = max(1, -(-session.at_once // max(1, len(kernels))))
    futures = [
        (one, session.workers.submit(sweep, one, asked, runs, session.store)) for one in kernels
    ]
    found: list[tuple[Surveyed, Swept]] = []
    failures: list[tuple[Surveyed, LmemscopeError]] = []
    for done, (one, future) in enumerate(futures):
        if session.progress is not None:
            session.progress(done, len(futures), one.demangled)
        try:
            found.append((one, future.result()))
        except LmemscopeError as error:
            failures.append((one, error))
    return found, failures


def _tuned(kernel: Surveyed, swept: Swept) -> TunedKernel:
    """The result for one kernel."""
    points = dict(swept.points)
    natural, own = points[NATURAL], points.get(OWN)
    kept = [
        points[one]
        for setting in points
        if not setting.smem_spilling and not setting.is_own
        for one in (setting, replace(setting, smem_spilling=True))
        if one in points
    ]
    frontier, reason = marked(kept)
    best = next((one for one in frontier if one.is_knee), None)
    registers = natural.registers or 0
    return TunedKernel(
        input=kernel.unit.name,
        arch=kernel.unit.arch,
        name=kernel.name,
        demangled=kernel.demangled,
        location=swept.location,
        natural=registers,
        knee=None if best is None else best.cap or registers,
        reason=reason,
        block_from=swept.block_from,
        dynamic_shared=swept.dynamic_shared,
        overrides=kernel.directives.names,
        own=own if own != natural else None,
        points=frontier,
    )


def _kernel_failures(
    failed: Iterable[tuple[Surveyed, LmemscopeError]],
) -> Iterator[tuple[str, LmemscopeError]]:
    """Errors of kernels; for identical errors, the first one with their number."""
    alike: dict[tuple[str, str, str], list[tuple[Surveyed, LmemscopeError]]] = {}
    for kernel, error in failed:
        key = kernel.unit.name, kernel.unit.arch, error.message
        alike.setdefault(key, []).append((kernel, error))
    for (name, _, message), ((first, error), *rest) in alike.items():
        others = f" and {count(len(rest), 'other kernel')}" if rest else ""
        error.message = f"{short_name(first.demangled)}{others}: {message}"
        yield name, error


def _refusals(swept: Iterable[tuple[Surveyed, Swept]]) -> Iterator[str]:
    """ptxas's messages about caps under which it does not assemble a kernel."""
    for kernel, found in swept:
        for setting, said in found.refused:
            cap = "no cap" if setting.cap is None else count(setting.cap, "register")
            way = " with spills to shared memory" if setting.smem_spilling else ""
            yield f"{short_name(kernel.demangled)} left out at {cap}{way}: {said}"


def _worst_first(kernel: TunedKernel) -> tuple[object, ...]:
    compiled = kernel.own or kernel.points[0]
    return -(compiled.spills or 0), -kernel.natural, kernel.input, kernel.arch, kernel.name
