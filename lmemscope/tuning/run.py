"""units → kernels → settings, handed to the workers → frontiers: the parent's half of ``tune``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass, field

from msgspec.structs import replace

from lmemscope import __version__
from lmemscope.analysis.cost import DEFAULT_BLOCK
from lmemscope.analysis.frontier import has_exploded, marked
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
    SourceLocation,
    TunedKernel,
    TunePoint,
    TuneReport,
    Unit,
    count,
)
from lmemscope.model.occupancy import BlockSource
from lmemscope.routes import kind_of_unit
from lmemscope.rules.register_cap import HARDWARE_CAP
from lmemscope.tuning.settings import NATURAL, OWN, Setting, bounds_for, caps_below
from lmemscope.tuning.sweep import Survey, Surveyed, Swept, survey, sweep


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be tuned.

    Attributes:
        kernels: globs over kernels; none means all.
        block: threads of a block, or None where the source says it.
        launch_bounds: whether blocks per multiprocessor are swept in place of register caps.
        smem_spilling: whether points that spill are also assembled to spill to shared memory.
    """

    kernels: tuple[str, ...] = ()
    block: int | None = None
    launch_bounds: bool = False
    smem_spilling: bool = False


@dataclass(frozen=True, slots=True)
class Tuned:
    """What came of it.

    Attributes:
        report: the document.
        others: short names of the kernels that no glob matches.
    """

    report: TuneReport
    others: tuple[str, ...] = ()


def tune(path: str, session: Session, asked: Asked) -> Tuned:
    """The frontiers of an input's kernels.

    Args:
        path: as the user typed it.
        session: how to compile, and where.
        asked: which kernels, and what is varied.

    Raises:
        UsageError: the request is wrong whatever the input holds.
    """
    _refuse(path, session)
    planned = make_plan([path], session)
    units = [one for one in planned.units if _has_ptx(one)]
    left = len(planned.units) - len(units)
    if left and not units:
        raise _without_ptx(path)
    surveys, failures = _surveyed(units, session, asked)
    failures = [*((name, error) for name, error in planned.errors), *failures]
    sweeps = [_Sweeps(one, asked) for each in surveys for one in each.kernels]
    while any([*_swept(sweeps, session, asked)]):
        pass
    failures += _kernel_failures(sweeps)
    if session.store is not None:
        store.trim(session.store)
    notes = [one.reason if isinstance(one, Gap) else one for one in planned.left_out]
    if left:
        notes.append(f"{count(left, 'input')} without PTX left out: tune assembles PTX")
    notes += _refusals(sweeps)
    kernels = sorted((one.tuned() for one in sweeps if one.error is None), key=_worst_first)
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
    """The kernels of units, and what cannot be compiled."""
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


@dataclass
class _Sweeps:
    """A kernel's points as they come.

    Attributes:
        kernel: what.
        asked: what is varied.
        points: by setting.
        tried: settings that were handed to a worker.
        refused: what ptxas says of settings that it does not assemble.
        block, block_from, dynamic_shared: of the points, as in `Swept`.
        error: why there are none.
    """

    kernel: Surveyed
    asked: Asked
    points: dict[Setting, TunePoint] = field(default_factory=dict)
    tried: set[Setting] = field(default_factory=set)
    block: int | None = None
    block_from: BlockSource = "best"
    location: SourceLocation | None = None
    dynamic_shared: bool | None = None
    refused: dict[Setting, str] = field(default_factory=dict)
    error: LmemscopeError | None = None

    @property
    def limits(self) -> bool:
        """Whether the kernel's program limits its registers."""
        options = self.kernel.unit.options
        return self.kernel.directives.limits or options.maxrregcount is not None

    def missing(self) -> list[Setting]:
        """The settings to try next, the most registers first."""
        if self.error is not None:
            return []
        wanted = [*([OWN] if self.limits else []), NATURAL, *self._varied()]
        if self.asked.smem_spilling:
            wanted += [
                replace(setting, smem_spilling=True)
                for setting, point in self.points.items()
                if point.spills and not setting.smem_spilling and not setting.is_own
            ]
        return [one for one in wanted if one not in self.tried]

    def _varied(self) -> list[Setting]:
        natural = self.points.get(NATURAL)
        if self.asked.launch_bounds:
            if natural is None or self.block is None:
                return []
            return self._unexploded(bounds_for(self.kernel.unit.arch, self.block))
        registers = natural.registers if natural is not None else self._guess()
        return self._unexploded(caps_below(registers)) if registers else []

    def _guess(self) -> int | None:
        """The natural registers, as they most likely are: those of the unit's own machine code."""
        return None if self.limits else self.kernel.registers

    def _unexploded(self, settings: Iterable[Setting]) -> list[Setting]:
        """Those down to the first at which spills explode, or which ptxas does not take."""
        least = max((s.cap or 0 for s, p in self.points.items() if has_exploded(p)), default=0)
        plain = (one for one in self.tried - self.points.keys() if not one.smem_spilling)
        refused = max((one.cap or 0 for one in plain), default=0)
        return [one for one in settings if least <= (one.cap or 0) > refused]

    def take(self, swept: Swept) -> None:
        """Take a worker's points."""
        self.points |= dict(swept.points)
        self.refused |= dict(swept.refused)
        if swept.dynamic_shared is not None:
            self.dynamic_shared = swept.dynamic_shared
        self.location = self.location or swept.location
        if swept.block is not None:
            self.block, self.block_from = swept.block, swept.block_from

    def tuned(self) -> TunedKernel:
        """The frontier."""
        natural = self.points[NATURAL]
        registers = natural.registers or 0
        varied = self._varied()
        kept = [NATURAL, *(one for one in varied if one in self.points)]
        both = [
            one
            for setting in kept
            for one in (setting, replace(setting, smem_spilling=True))
            if one in self.points
        ]
        points, reason = marked([self.points[one] for one in both])
        best = next((one for one in points if one.is_knee), None)
        own = self.points.get(OWN)
        if own == natural:
            own = None
        return TunedKernel(
            input=self.kernel.unit.name,
            arch=self.kernel.unit.arch,
            name=self.kernel.name,
            demangled=self.kernel.demangled,
            location=self.location,
            natural=registers,
            knee=None if best is None else best.cap or registers,
            reason=reason,
            block_from=self.block_from,
            dynamic_shared=self.dynamic_shared,
            overrides=self.kernel.directives.names,
            own=own,
            points=points,
        )


def _swept(sweeps: Sequence[_Sweeps], session: Session, asked: Asked) -> Iterator[bool]:
    """Hand what is missing to the workers, and take what comes; gives a value for each task."""
    waiting = {id(one): one.missing() for one in sweeps}
    number = sum(map(bool, waiting.values()))
    parts = max(1, -(-session.at_once // number)) if number else 1
    otherwise = DEFAULT_BLOCK if asked.launch_bounds else None
    futures = {}
    for one in sweeps:
        # What a kernel is without a cap and what it is with a low one take a worker as long.
        chunks = [waiting[id(one)][part::parts] for part in range(parts)]
        for chunk in filter(None, chunks):
            one.tried.update(chunk)
            given = (one.kernel, tuple(chunk), asked.block, otherwise, session.store)
            futures[session.workers.submit(sweep, *given)] = one, len(chunk)
    total, done = sum(size for _, size in futures.values()), 0
    for future in as_completed(futures):
        one, size = futures[future]
        done += size
        if session.progress is not None:
            session.progress(done, total, one.kernel.demangled)
        try:
            one.take(future.result())
        except LmemscopeError as error:
            one.error = error
        yield True


def _kernel_failures(sweeps: Iterable[_Sweeps]) -> Iterator[tuple[str, LmemscopeError]]:
    """What went wrong with kernels; of those that fail alike the first, with how many there are."""
    alike: dict[tuple[str, str, str], list[_Sweeps]] = {}
    for one in sweeps:
        if one.error is not None:
            key = one.kernel.unit.name, one.kernel.unit.arch, one.error.message
            alike.setdefault(key, []).append(one)
    for (name, _, message), group in alike.items():
        error = group[0].error
        if error is not None:
            others = f" and {count(len(group) - 1, 'other kernel')}" if len(group) > 1 else ""
            error.message = f"{short_name(group[0].kernel.demangled)}{others}: {message}"
            yield name, error


def _refusals(sweeps: Iterable[_Sweeps]) -> Iterator[str]:
    """Of each kernel the first cap that ptxas does not assemble, and what it says."""
    for one in sweeps:
        for smem in (False, True):
            refused = {s: said for s, said in one.refused.items() if s.smem_spilling is smem}
            if one.error is not None or not refused:
                continue
            setting = max(refused, key=lambda setting: setting.cap or HARDWARE_CAP)
            cap = "no cap" if setting.cap is None else count(setting.cap, "register")
            way = " with spills to shared memory" if smem else ""
            yield f"{short_name(one.kernel.demangled)} left out at {cap}{way}: {refused[setting]}"


def _worst_first(kernel: TunedKernel) -> tuple[object, ...]:
    compiled = kernel.own or kernel.points[0]
    return -(compiled.spills or 0), -kernel.natural, kernel.input, kernel.arch, kernel.name
