"""The report of inputs with what rewrites achieve, tried now or read from a document of ``fix``."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from lmemscope.app.execute import run_whole
from lmemscope.app.gathered import gathered, gathered_analysed, limited
from lmemscope.app.session import Session
from lmemscope.app.worker import analyse_unit
from lmemscope.discover.locate import is_saved
from lmemscope.errors import LmemscopeError, UsageError
from lmemscope.model import Report, Unit, UnitReport, Wanted

SECONDS = 10.0
"""Time for rewrites that nobody asked for: some ten trials of an ordinary file on two cores."""
_SOURCES = (".cu", ".cuh", ".py")
_FEW = 2
"""Units of a project that are compiled for rewrites that nobody asked for."""


@dataclass(frozen=True, slots=True)
class Fixes:
    """Where proven fixes come from.

    Attributes:
        tries: whether rewrites are tried now.
        saved: path of a saved document of ``fix``, or None.
        block: threads of a block at most, where rewrites are tried and the source does not say it.
        is_soon: whether rewrites of sources are tried as long as that takes only `SECONDS`.
    """

    tries: bool
    saved: str | None
    block: int | None
    is_soon: bool = False

    def __post_init__(self) -> None:
        if self.block is not None and not (self.tries or self.is_soon):
            raise UsageError(
                "usage", "--block is for rewrites that are tried", hint="ask for them with --fix"
            )
        if self.tries and self.saved is not None:
            raise UsageError(
                "usage",
                "--fix tries rewrites, and --fix-from takes what was tried before",
                hint="leave one of them out",
            )


def gathered_with_fixes(
    paths: Sequence[str], session: Session, fixes: Fixes
) -> tuple[Report, tuple[str, ...]]:
    """The report of inputs; where asked for, findings show the best proven fix, and no advice that
    was tried in vain.

    Args:
        paths: as the user typed them.
        session: how to compile and what to keep.
        fixes: where they come from.

    Returns:
        The report, and those of its notes that say which saved fixes no longer hold.

    Raises:
        UsageError: rewrites are to be tried on a saved report, or as `gathered`.
        InputError: a saved document does not exist, or is damaged.
        Interrupted, CutError: by the user; the latter's report shows what was tried by then.
    """
    if fixes.saved is not None:
        return _with_saved(paths, session, fixes.saved)
    if fixes.is_soon:
        return _with_soon(paths, session, fixes)
    if not fixes.tries:
        return gathered(paths, session), ()
    saved = next((path for path in paths if is_saved(path)), None)
    if saved is not None:
        raise UsageError(
            "usage",
            f"{saved} is a saved report: --fix compiles",
            hint="name the source instead, or take what `fix` saved with --fix-from",
        )
    # Most reports are made without.
    from lmemscope.fixing.attach import with_fixes
    from lmemscope.fixing.run import Asked, CutError, fix

    kernels = session.settings.kernels
    try:
        report, found = fix(paths, session, Asked(kernels, block=fixes.block))
    except CutError as cut:
        cut.report = _limited(with_fixes(cut.report, cut.fixes, is_cut=True), kernels)
        raise
    return _limited(with_fixes(report, found), kernels), ()


def _with_soon(
    paths: Sequence[str], session: Session, fixes: Fixes
) -> tuple[Report, tuple[str, ...]]:
    """The report with what rewrites achieve that can be tried soon.

    That is for sources, and for kernels that are named of a project with few that have them.
    """
    from lmemscope.fixing.attach import with_fixes
    from lmemscope.fixing.run import Asked, CutError, LateError, try_rewrites

    kernels = session.settings.kernels
    is_whole = all(_is_source(one) for one in paths)
    if is_whole:
        report, analysed = run_whole(paths, session, objects=True)
    else:
        report, analysed = gathered_analysed(paths, session)
    until = time.monotonic() + SECONDS
    own = [
        (unit, made)
        for unit, made in analysed
        # A program that runs for its kernels would run again for each trial.
        if made.kernels and _is_source(unit.path) and not unit.options.run_python
    ]
    if not is_whole and not (kernels and 0 < len(own) <= _FEW):
        return report, ()
    here = [*_compiled(own, session, until, is_whole=is_whole)]
    asked = Asked(kernels, block=fixes.block, seconds=max(0.0, until - time.monotonic()))
    try:
        found = try_rewrites(
            report, here, session.workers, asked, session.settings.cache, session.progress
        )
    except LateError as late:
        session.stop()
        note = f"{late}; `lmemscope fix` tries the others"
        return _limited(with_fixes(report, late.fixes, is_cut=True), kernels), (note,)
    except CutError as cut:
        cut.report = _limited(with_fixes(report, cut.fixes, is_cut=True), kernels)
        raise
    return _limited(with_fixes(report, found), kernels), ()


def _is_source(path: str) -> bool:
    return path.endswith(_SOURCES) and os.path.isfile(path)


def _compiled(
    analysed: Iterable[tuple[Unit, UnitReport]], session: Session, until: float, *, is_whole: bool
) -> Iterator[tuple[Unit, UnitReport]]:
    """Units as they are compiled here, with all kernels and their work.

    What a build has compiled is no measure of what is compiled here.

    Args:
        analysed: the units.
        session: where they are analysed.
        until: when those that have not ended are left out.
        is_whole: whether all that were compiled here have all kernels already.
    """
    wanted = Wanted(work=True, cache=session.store, moved=session.moved)
    futures = []
    for unit, made in analysed:
        is_built = made.built is not None and made.built.state == "current"
        if is_whole and not is_built:
            yield unit, made
            continue
        unit = replace(unit, built=None)
        futures.append((unit, session.workers.submit(analyse_unit, unit, wanted)))
    for unit, future in futures:
        # It has been analysed, and is reported; only its rewrites are not known.
        with contextlib.suppress(LmemscopeError, TimeoutError):
            yield unit, future.result(max(0.0, until - time.monotonic()))


def _limited(report: Report, kernels: Sequence[str]) -> Report:
    """The kernels that were asked for: trials look at each, for each may be harmed."""
    if not kernels:
        return report
    return replace(report, units=tuple(limited(one, kernels) for one in report.units))


def _with_saved(
    paths: Sequence[str], session: Session, path: str
) -> tuple[Report, tuple[str, ...]]:
    from lmemscope.exporters.fix_document import load
    from lmemscope.fixing.attach import with_fixes
    from lmemscope.fixing.same import that_holds

    saved = load(path)
    report = gathered(paths, session)
    holding, said = that_holds(saved, report)
    notes = tuple(f"{path}: {one}" for one in said)
    report = with_fixes(report, holding)
    return replace(report, notes=(*report.notes, *notes)), notes
