"""plan → units, handed to the workers → one report.

This is the parent's half of a scan; what happens to one unit is `lmemscope.app.worker`. The parent
imports none of the analysis, and a worker none of this. One unit's trouble is that unit's
`Failure`; the others go on.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, as_completed

from msgspec.structs import replace

from lmemscope.app.assemble import assemble, results_of
from lmemscope.app.plan import Narrow, links_of, make_plan
from lmemscope.app.session import Interrupted, Session
from lmemscope.app.worker import analyse_binary, analyse_unit, lower_unit
from lmemscope.discover.links import split_binaries
from lmemscope.errors import LmemscopeError, Stopped
from lmemscope.lowering import store
from lmemscope.model import Artifacts, Link, LinkRequest, Report, Unit, UnitReport, Wanted, count
from lmemscope.routes import kind_of_unit

Analysed = tuple[tuple[Unit, UnitReport], ...]
"""The units that could be analysed, each with its report as its worker drew it up."""


def run(
    paths: Sequence[str],
    session: Session,
    narrow: Narrow | None = None,
) -> Report:
    """Analyse inputs; the report holds one entry per unit, and per path that is no input.

    Args:
        paths: files and directories, as the user typed them.
        session: how to compile, what to keep, and where units run.
        narrow: chooses among the inputs; without it all are analysed.

    Raises:
        UsageError: the request is wrong whatever the inputs hold.
        Interrupted: by the user, while units ran; it holds what was done by then.
    """
    settings = session.settings
    wanted = Wanted(settings.kernels, settings.causes, settings.quotes)
    return _run(paths, session, wanted, narrow)[0]


def run_whole(paths: Sequence[str], session: Session) -> tuple[Report, Analysed]:
    """As `run`, with what trials of rewrites compare: all kernels, their causes and their work.

    Raises:
        UsageError, Interrupted: as `run`.
    """
    return _run(paths, session, Wanted(quotes=session.settings.quotes, work=True))


def _run(
    paths: Sequence[str],
    session: Session,
    wanted: Wanted,
    narrow: Narrow | None = None,
) -> tuple[Report, Analysed]:
    settings, progress = session.settings, session.progress
    binaries, others = split_binaries(paths) if settings.linked else ([], list(paths))
    planned = make_plan(others, session, narrow)
    linking = links_of(planned, binaries, others, settings, narrowed=narrow is not None)
    planned = replace(planned, units=linking.units, left_out=(*planned.left_out, *linking.notes))
    wanted = replace(wanted, cache=session.store, moved=session.moved)
    if planned.found.compilers and not (wanted.work or wanted.quotes):
        # Most commands meet no build, and need none of this.
        from lmemscope.discover.objects import with_objects

        units = with_objects(planned.units, planned.found.inputs, settings)
        planned = replace(planned, units=units)
    if planned.units:
        session.prestart(len(planned.units))
    futures = _submitted(planned.units, wanted, session)
    links: list[Link] = []

    def gathered(done: Collection[_Future]) -> Report:
        results = [(unit, results_of(unit, one)) for unit, one in futures if one in done]
        return assemble(planned, results, links, paths, settings)

    total = len(futures)
    unit_of = {future: unit for unit, future in futures}
    try:
        if progress is not None and futures:
            progress(0, total, futures[0][0].name)
        failed = 0
        for done, future in enumerate(as_completed(unit_of), start=1):
            failed += future.exception() is not None
            if progress is not None:
                progress(done, total, unit_of[future].name, failed)
        links += _linked(linking.requests, session)
        report = gathered(unit_of)
    except (KeyboardInterrupt, Stopped) as stop:
        ended = {future for future in unit_of if future.done() and not future.cancelled()}
        number = stop.number if isinstance(stop, Stopped) else signal.SIGINT
        kept = "; the next run goes on from there" if settings.cache is not None else ""
        counted = f"{len(ended)} of {count(total, 'input')} done{kept}"
        raise Interrupted(gathered(ended), counted, number) from stop
    if session.store is not None and any(u.failure is None and not u.cached for u in report.units):
        store.trim(session.store)
    results = ((u, made.result()) for u, made in futures if made.exception() is None)
    return report, tuple((u, made) for u, made in results if isinstance(made, UnitReport))


_Future = Future[UnitReport | tuple[UnitReport, ...]]


def _submitted(
    units: Sequence[Unit], wanted: Wanted, session: Session
) -> list[tuple[Unit, _Future]]:
    """Units with their results to come, in the order of the inputs.

    The largest source starts first, so that no worker is left alone with it at the end.
    """
    futures = {
        index: session.workers.submit(_analysis_of(units[index]), units[index], wanted)
        for index in sorted(range(len(units)), key=lambda index: -_size(units[index]))
    }
    return [(unit, futures[index]) for index, unit in enumerate(units)]


def _analysis_of(unit: Unit) -> Callable[[Unit, Wanted], UnitReport | tuple[UnitReport, ...]]:
    """What a worker does with a unit: a binary stands for many."""
    if unit.excerpt is None and kind_of_unit(unit).by_content:
        return analyse_binary
    return analyse_unit


def _size(unit: Unit) -> int:
    if unit.excerpt is not None:
        return 0
    try:
        return os.stat(unit.path).st_size
    except (OSError, ValueError):
        return 0


def _linked(requests: Sequence[LinkRequest], session: Session) -> Iterator[Link]:
    """The links, in worker processes of this machine; the units they link are in its cache."""
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
    """Artefacts of one input for every architecture asked for, and what went wrong.

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
