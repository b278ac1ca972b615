"""Run a scan: plan the units, hand them to workers, and assemble one report.

This is the parent process's half; `lmemscope.app.worker` handles a single unit. The parent imports
none of the analysis, and a worker none of this module. An error in one unit becomes that unit's
`Failure`, and the others continue.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, as_completed
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lmemscope.app.assemble import assemble, results_of
from lmemscope.app.plan import Narrow, links_of, make_plan
from lmemscope.app.readings import Readings
from lmemscope.app.session import Interrupted, Session
from lmemscope.app.worker import analyse_binary, analyse_unit, lower_unit
from lmemscope.discover.links import split_binaries
from lmemscope.errors import LmemscopeError, Stopped
from lmemscope.lowering import store
from lmemscope.model import (
    Artifacts,
    Link,
    LinkRequest,
    Report,
    Share,
    Unit,
    UnitReport,
    Wanted,
    count,
)
from lmemscope.model.inputs import PACKAGE
from lmemscope.routes import kind_of_unit

if TYPE_CHECKING:
    from lmemscope.running.pool import Progress

Analysed = tuple[tuple[Unit, UnitReport], ...]
"""The units that could be analysed, each with its worker's report."""


def run(
    paths: Sequence[str],
    session: Session,
    narrow: Narrow | None = None,
) -> Report:
    """Analyse inputs and report one entry per unit, and one per path that is not an input.

    Args:
        paths: files and directories, as the user typed them.
        session: how to compile, what to keep, and where units run.
        narrow: selects inputs; None analyses all.

    Raises:
        UsageError: the request is wrong whatever the inputs contain.
        Interrupted: the user stopped the run; the exception holds the units completed so far.
    """
    return run_analysed(paths, session, narrow)[0]


def run_analysed(
    paths: Sequence[str], session: Session, narrow: Narrow | None = None
) -> tuple[Report, Analysed]:
    """As `run`, and return the analysed units too.

    Raises:
        UsageError, Interrupted: as `run`.
    """
    settings = session.settings
    wanted = Wanted(
        settings.kernels,
        settings.causes,
        settings.quotes,
        proposals=settings.causes and settings.proposals,
        accesses=settings.accesses,
    )
    return _run(paths, session, wanted, narrow)


def run_whole(paths: Sequence[str], session: Session) -> tuple[Report, Analysed]:
    """As `run`, with what rewrite trials compare: every kernel, its causes and its work.

    Raises:
        UsageError, Interrupted: as `run`.
    """
    settings = session.settings
    wanted = Wanted(quotes=settings.quotes, work=True, proposals=settings.proposals)
    return _run(paths, session, wanted)


def _run(
    paths: Sequence[str],
    session: Session,
    wanted: Wanted,
    narrow: Narrow | None = None,
) -> tuple[Report, Analysed]:
    settings = session.settings
    binaries, others = split_binaries(paths) if settings.linked else ([], list(paths))
    planned = make_plan(others, session, narrow)
    linking = links_of(planned, binaries, others, settings, narrowed=narrow is not None)
    planned = replace(planned, units=linking.units, left_out=(*planned.left_out, *linking.notes))
    wanted = replace(wanted, cache=session.store, moved=session.moved)
    if planned.found.compilers and not (wanted.work or wanted.quotes):
        # Imported late: most commands have no build.
        from lmemscope.discover.objects import with_objects

        units = with_objects(planned.units, planned.found.inputs, settings)
        planned = replace(planned, units=units)
    submitted = _submitted(planned.units, wanted, session)
    links: list[Link] = []

    def gathered(ended: Collection[_Submitted]) -> Report:
        results = [(one.unit, results_of(one.unit, one.futures)) for one in ended]
        return assemble(planned, results, links, paths, settings)

    try:
        _wait(submitted, session.progress)
        links += _linked(linking.requests, session)
        report = gathered(submitted)
    except (KeyboardInterrupt, Stopped) as stop:
        ended = [one for one in submitted if one.has_ended()]
        number = stop.number if isinstance(stop, Stopped) else signal.SIGINT
        kept = "; the next run goes on from there" if settings.cache is not None else ""
        counted = f"{len(ended)} of {count(len(submitted), 'input')} done{kept}"
        raise Interrupted(gathered(ended), counted, number) from stop
    if session.store is not None and any(u.failure is None and not u.cached for u in report.units):
        store.trim(session.store)
    made = (one for one in submitted if one.futures[0].exception() is None)
    results = ((one.unit, one.futures[0].result()) for one in made)
    return report, tuple((u, made) for u, made in results if isinstance(made, UnitReport))


_Future = Future[UnitReport | Readings]
_Task = tuple[Callable[..., UnitReport | Readings], tuple[object, ...]]
_LARGE = 32 << 20
"""Each additional worker pays off for this many bytes of a binary."""
_MOST_SHARES = 256
_UNPACKED = 2
"""Maximum number of workers per package: each unpacks its members into memory."""


@dataclass
class _Submitted:
    """A unit that has been submitted to the workers.

    Attributes:
        futures: its results; several if workers share a binary.
        left: number of results still pending.
    """

    unit: Unit
    futures: Sequence[_Future]
    left: int

    def has_ended(self) -> bool:
        """Whether all results are available."""
        return all(future.done() and not future.cancelled() for future in self.futures)


def tasks_of(unit: Unit, wanted: Wanted, at_once: int, claims: Callable[[], str]) -> list[_Task]:
    """Split a unit into worker tasks: one for a source, several shares for a large binary.

    Args:
        unit: what is analysed.
        wanted: what its reports should contain.
        at_once: maximum number of tasks.
        claims: gives the path of a new file by which workers divide a binary.
    """
    kind = kind_of_unit(unit) if unit.excerpt is None else None
    if kind is None or not kind.by_content:
        return [(analyse_unit, (unit, wanted))]
    most = min(at_once, _UNPACKED) if kind is PACKAGE else at_once
    number = min(most, 1 + _size(unit) // _LARGE, _MOST_SHARES)
    path = claims() if number > 1 else None
    return [(analyse_binary, (unit, wanted, Share(one, path))) for one in range(number)]


def _submitted(units: Sequence[Unit], wanted: Wanted, session: Session) -> list[_Submitted]:
    """Submit units to the workers; the result is in input order.

    The largest source starts first, so that no worker is left alone with it at the end.
    """
    tasks = [tasks_of(unit, wanted, session.at_once, session.new_file) for unit in units]
    if tasks:
        session.prestart(sum(map(len, tasks)))
    futures = {
        index: [session.workers.submit(task, *given) for task, given in tasks[index]]
        for index in sorted(range(len(units)), key=lambda index: -_size(units[index]))
    }
    return [
        _Submitted(unit, futures[index], len(futures[index])) for index, unit in enumerate(units)
    ]


def _wait(submitted: Sequence[_Submitted], progress: Progress | None) -> None:
    """Wait for all units and report progress as each completes."""
    by_future = {future: one for one in submitted for future in one.futures}
    if progress is not None and submitted:
        progress(0, len(submitted), submitted[0].unit.name)
    done = failed = 0
    for future in as_completed(by_future):
        one = by_future[future]
        one.left -= 1
        if not one.left:
            done += 1
            failed += any(each.exception() is not None for each in one.futures)
            if progress is not None:
                progress(done, len(submitted), one.unit.name, failed)


def _size(unit: Unit) -> int:
    if unit.excerpt is not None:
        return 0
    try:
        return os.stat(unit.path).st_size
    except (OSError, ValueError):
        return 0


def _linked(requests: Sequence[LinkRequest], session: Session) -> Iterator[Link]:
    """Link programs in worker processes on this machine, whose cache holds the units to link."""
    if not requests:
        return
    from lmemscope.linking import failed, link_program

    with session.readers() as workers:
        futures = [workers.submit(link_program, request) for request in requests]
        for request, future in zip(requests, futures, strict=True):
            try:
                yield future.result()
            except LmemscopeError as error:
                yield failed(request, error)


def lower_all(path: str, session: Session) -> tuple[list[Artifacts], list[LmemscopeError]]:
    """One input's artefacts for every requested architecture, and the errors.

    Raises:
        UsageError: as `run`.
    """
    planned = make_plan([path], session)
    done: list[Artifacts] = []
    failed: list[LmemscopeError] = [error for _, error in planned.errors]
    for unit in planned.units:
        try:
            done.append(session.workers.submit(lower_unit, unit, session.store).result())
        except LmemscopeError as error:
            failed.append(error)
    return done, failed
