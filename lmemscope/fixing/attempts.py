"""Trials under way: each patched unit is compiled once, however many ask for it."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from lmemscope.errors import InternalError, LmemscopeError, StageTimeoutError
from lmemscope.files import read_input
from lmemscope.fixing.effect import ALIGNMENT
from lmemscope.fixing.patch import diff
from lmemscope.fixing.trials import counts_of, report_with
from lmemscope.model import (
    Edit,
    Frontend,
    KernelReport,
    LocalObject,
    LoopCounts,
    Rewriting,
    TrialVerdict,
    Unit,
    UnitReport,
)
from lmemscope.rewrites.base import Target
from lmemscope.rewrites.numba_arrays import NumbaTarget
from lmemscope.running.limited import Limited
from lmemscope.sources.includes import closure
from lmemscope.sources.python_places import PythonText

Result = tuple[Unit, UnitReport]
"""A unit as it is."""
_SECONDS, _BYTES_A_SECOND, _TIMES = 30.0, 20_000.0, 4.0
"""A trial's time limit: to start with, by the machine code of the unit as it is, and how many times
what analysing that took."""
_WITH_HEADERS = (".cu", ".cuh")
_INCLUDE = re.compile(rb"#\s*include\s*\"")


class Results:
    """The units as they are, and which of them a file is part of.

    Attributes:
        every: all units that could be analysed.
    """

    def __init__(self, every: Sequence[Result]) -> None:
        self.every = tuple(every)
        self._read: dict[Unit, tuple[frozenset[str], bool]] = {}

    def reading(self, files: Collection[str]) -> tuple[Result, ...]:
        """The units that read any of some files: what an edit of a header does to each of them."""
        return tuple(one for one in self.every if not self._looked_up(one[0])[0].isdisjoint(files))

    def changed(self, target: Target | NumbaTarget, rewriting: Rewriting) -> tuple[Result, ...]:
        """The units that a target's rewriting changes, or that read the target's file."""
        return self.reading({target.path, *(edit.file for edit in rewriting.edits)})

    def files(self, unit: Unit) -> frozenset[str] | None:
        """The user's files that a unit is compiled from; None where there may be more of them."""
        found, is_whole = self._looked_up(unit)
        return found if is_whole else None

    def _looked_up(self, unit: Unit) -> tuple[frozenset[str], bool]:
        """Files as of `files`, and whether they are all; looked up once."""
        if unit not in self._read:
            found: tuple[str, ...] = ()
            is_whole = True
            if unit.path.endswith(_WITH_HEADERS):
                read = closure(unit.path, unit.options)
                found, is_whole = read.files, not read.computed
            elif unit.path.endswith(".py"):
                is_whole = _is_alone(unit)
            self._read[unit] = frozenset((unit.path, *found)), is_whole
        return self._read[unit]


def _is_alone(unit: Unit) -> bool:
    """Whether a Python file's kernels are made of it alone; what they include is not looked up."""
    data = read_input(unit.path)
    if _INCLUDE.search(data) is not None:
        return False
    if not unit.options.run_python:
        return True
    try:
        own = PythonText(data).imports_from((os.path.dirname(unit.path), os.getcwd()))
    except ValueError:
        return False
    return not own


class Outcome(Struct, frozen=True):
    """One unit with a rewriting: its report, or why there is none.

    Attributes:
        report: of the unit with it.
        error: why there is none.
        is_late: whether the reason is the time that it had.
    """

    report: UnitReport | None
    error: str | None = None
    is_late: bool = False


class Attempt(Struct, dict=True):
    """A rewriting tried on a target, in every unit that it concerns.

    Attributes:
        target, rewriting: what.
        results: the units as they are.
        named: whether its trials give variables their names.
        outcomes: as they are with it; empty until all are done.
    """

    target: Target | NumbaTarget
    rewriting: Rewriting
    results: Sequence[Result]
    named: bool = False
    outcomes: tuple[Outcome, ...] = ()

    @cached_property
    def read(self) -> dict[str, bytes]:
        """The files that it edits as they are, as far as they can be read."""
        found: dict[str, bytes] = {}
        for file in {edit.file for edit in self.rewriting.edits}:
            with contextlib.suppress(OSError, ValueError):
                found[file] = read_input(file)
        return found

    @cached_property
    def patch(self) -> str | None:
        """Its edits as a unified diff; None where a file cannot be read any more."""
        try:
            return diff(self.rewriting.edits, os.getcwd())
        except (OSError, ValueError):
            return None


class OutOfTimeError(Exception):
    """The time for all attempts is over."""


class Attempts:
    """Starts trials and waits for them.

    Args:
        executor: where they run.
        cache: directory where results are kept, or None.
        progress: told how many are done, of how many, and what is being tried.
        seconds: that analysing the units as they are took.
        most: seconds for all attempts from now on, or None.
    """

    def __init__(
        self,
        executor: Executor,
        cache: str | None,
        progress: Callable[[int, int, str], None] | None = None,
        seconds: float = 0.0,
        most: float | None = None,
    ) -> None:
        self._until = time.monotonic() + most if most is not None else None
        self._executor, self._cache, self._progress = executor, cache, progress
        self._seconds = seconds
        self._counts: dict[Unit, tuple[LoopCounts, ...]] = {}
        self._routes: dict[Unit, Frontend] = {}
        self._futures: dict[tuple[Unit, tuple[Edit, ...], bool], Future[UnitReport]] = {}
        self._originals: dict[
            tuple[Unit, tuple[tuple[str, str, int], ...]], Future[UnitReport]
        ] = {}
        self._pending: list[Attempt] = []
        self._objects: dict[int, int] = {}
        self._removed: set[int] = set()
        self.done: list[Attempt] = []
        self.total = 0

    def start(
        self,
        target: Target | NumbaTarget,
        results: Sequence[Result],
        rewriting: Rewriting,
        *,
        for_several: bool = False,
    ) -> None:
        """Start one; units run beside each other.

        Args:
            target, results, rewriting: what is tried, and the units that it concerns.
            for_several: whether it is made for other objects, too: then names have to tell which
                of them are gone.
        """
        names = for_several or has_equals(target)
        for unit, report in results:
            self._counts.setdefault(unit, counts_of(report))
            self._routes.setdefault(unit, report.frontend)
            self._future(unit, rewriting.edits, self._limit(unit, report), names=names)
            if rewriting.takes:
                self._original(unit, rewriting)
        self._pending.append(Attempt(target, rewriting, results, names))
        self.total += 1
        self._objects.setdefault(id(target), len(self._objects) + 1)

    def say(self, doing: str) -> None:
        """Tell what is done now, behind the attempts."""
        if self._progress is not None and self.done:
            self._progress(len(self.done), len(self.done), doing)

    def note(self, target: Target | NumbaTarget, verdict: TrialVerdict) -> None:
        """Take what came of an attempt on a target, for who watches."""
        if verdict == "removed":
            self._removed.add(id(target))

    def finish(self) -> Iterator[Attempt]:
        """Those that were started, as they end, in their order.

        Raises:
            OutOfTimeError: some have not ended when the time for all is over; those that have were
                given before.
        """
        pending, self._pending = self._pending, []
        is_late = False
        for attempt in pending:
            if self._progress is not None:
                # Before it is waited for: a file with many instances takes a minute.
                self._progress(len(self.done), self.total, self._named(attempt))
            try:
                self._end(attempt)
            except OutOfTimeError:
                is_late = True
                continue
            self.done.append(attempt)
            yield attempt
        if is_late:
            raise OutOfTimeError

    def _end(self, attempt: Attempt) -> None:
        """Wait for what an attempt needs."""
        attempt.outcomes = tuple(
            self.outcome(unit, attempt.rewriting.edits, names=attempt.named)
            for unit, _ in attempt.results
        )
        if attempt.rewriting.takes:
            attempt.results = tuple(
                (unit, replace(report, kernels=self._with_numbers(unit, report, attempt)))
                for unit, report in attempt.results
            )

    def _original(self, unit: Unit, rewriting: Rewriting) -> Future[UnitReport]:
        """A unit as it is, its parameters the numbers that a rewriting tells its kernels."""
        key = (unit, rewriting.takes)
        if key not in self._originals:
            known = {one.kernel: one for one in self._counts.get(unit, ())}
            for kernel, parameter, number in rewriting.takes:
                one = known.get(kernel, LoopCounts(kernel))
                known[kernel] = replace(one, largest=(*one.largest, (parameter, number)))
            self._originals[key] = self._executor.submit(
                report_with, unit, (), self._cache, False, tuple(known.values())
            )
        return self._originals[key]

    def _with_numbers(
        self, unit: Unit, report: UnitReport, attempt: Attempt
    ) -> tuple[KernelReport, ...]:
        """A unit's kernels, with what they do where their parameters have an attempt's numbers."""
        try:
            found = {
                one.facts.name: one.work
                for one in self._result(self._original(unit, attempt.rewriting)).kernels
            }
        except LmemscopeError:
            # It compiled before: what is left is the numbers that anything may have.
            return report.kernels
        return tuple(replace(one, work=found.get(one.facts.name)) for one in report.kernels)

    def _named(self, attempt: Attempt) -> str:
        """``window, object 2 of 5: select; a fix for 1 so far``."""
        target = attempt.target
        number = self._objects[id(target)]
        what = target.name or target.cause
        said = f"{what}, object {number} of {len(self._objects)}: {attempt.rewriting.rewrite}"
        return f"{said}; a fix for {len(self._removed)} so far" if self._removed else said

    def outcome(self, unit: Unit, edits: tuple[Edit, ...], *, names: bool = False) -> Outcome:
        """What a unit is with edits made; compiled now, if it is not known.

        Raises:
            OutOfTimeError: as `finish`.
        """
        try:
            return Outcome(self._result(self._future(unit, edits, names=names)))
        except OutOfTimeError:
            raise
        except StageTimeoutError as error:
            why = f"compiling it gives {error.message}; --timeout SECONDS sets the limit"
            return Outcome(None, why, is_late=True)
        except LmemscopeError as error:
            return Outcome(None, _first_error(error))
        except (ValueError, OSError) as error:
            return Outcome(None, str(error))
        except Exception as error:  # noqa: BLE001 - a mistake of ours, in this trial alone
            return Outcome(None, InternalError.of(error).message)

    def _result(self, future: Future[UnitReport]) -> UnitReport:
        left = max(0.0, self._until - time.monotonic()) if self._until is not None else None
        try:
            return future.result(left)
        except TimeoutError as error:
            if future.done():
                raise
            raise OutOfTimeError from error

    def _future(
        self,
        unit: Unit,
        edits: tuple[Edit, ...],
        seconds: float | None = None,
        *,
        names: bool = False,
    ) -> Future[UnitReport]:
        # What has names serves whoever asks for none.
        key = (unit, edits, names or (unit, edits, True) in self._futures)
        if key not in self._futures:
            trial = report_with if seconds is None else Limited(report_with, seconds)
            self._futures[key] = self._executor.submit(
                trial, self._routed(unit), edits, self._cache, names, self._counts.get(unit, ())
            )
        return self._futures[key]

    def _routed(self, unit: Unit) -> Unit:
        """A unit for the compiler that took it: another one's code is no measure of an edit."""
        by_nvrtc = unit.frontend == "auto" and self._routes.get(unit) == "nvrtc"
        return replace(unit, frontend="nvrtc") if by_nvrtc else unit

    def _limit(self, unit: Unit, report: UnitReport) -> float | None:
        """Seconds after which a trial is given up on; None where the user has set a limit.

        Loops written out can keep a compiler busy for an hour. What the unit itself took is not
        known where it was kept from an earlier run, but how much code it is made into.
        """
        if unit.options.time_limit is not None:
            return None
        sizes = (one.facts.cubin.code_bytes or 0 for one in report.kernels if one.facts.cubin)
        return round(max(_SECONDS + sum(sizes) / _BYTES_A_SECOND, _TIMES * self._seconds))


def has_equals(target: Target | NumbaTarget) -> bool:
    """Whether others of a kernel's objects have together nearly the size of the target's, so that
    frames do not tell which of them is gone."""
    return any(
        any(
            abs(some - hit.case.object.size) < ALIGNMENT
            for some in _sums(hit.facts.objects, hit.case.object)
        )
        for hit in target.hits
        if hit.case.object is not None
    )


def _sums(objects: Iterable[LocalObject], own: LocalObject) -> frozenset[int]:
    """Bytes of one or more objects beside one, as far as they are not many more than its own."""
    found: set[int] = set()
    for one in objects:
        if one is not own:
            found |= {some + one.size for some in (0, *found) if some < own.size + ALIGNMENT}
    return frozenset(found)


def _first_error(error: LmemscopeError) -> str:
    """The compiler's first error, for a line of a table."""
    lines = (error.log or "").splitlines()
    return next((line for line in lines if "error" in line), error.message).strip()
