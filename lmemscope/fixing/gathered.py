"""The report of inputs with what rewrites achieve, tried now or read from a document of ``fix``."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from lmemscope.app.gathered import gathered, gathered_analysed, limited
from lmemscope.app.session import Session
from lmemscope.discover.locate import is_saved
from lmemscope.errors import LmemscopeError, UsageError
from lmemscope.model import Report, Unit, UnitReport, Wanted

_SOURCES = (".cu", ".cuh", ".py")
_FEW = 2
"""Units of a project that are compiled for rewrites that nobody asked for."""
_MOST_TIMES = 3
"""How many times as long as usual large files may be tried."""


@dataclass(frozen=True, slots=True)
class Fixes:
    """Where proven fixes come from.

    Attributes:
        tries: whether rewrites are tried now.
        saved: path of a saved document of ``fix``, or None.
        block: threads of a block at most, where rewrites are tried and the source does not say it.
        seconds: for which rewrites of sources are tried though nobody asked for them, or None.
    """

    tries: bool
    saved: str | None
    block: int | None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.block is not None and not self.tries and self.seconds is None:
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
    if fixes.seconds is not None:
        return _in_time(paths, session, fixes.block, fixes.seconds)
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


def _in_time(
    paths: Sequence[str], session: Session, block: int | None, seconds: float
) -> tuple[Report, tuple[str, ...]]:
    """The report with what rewrites achieve that can be tried in some seconds.

    That is for sources, and for kernels that are named of a project with few that have them. Where
    the analysis took long, as does each trial then, they have twice its time, but not much more
    than usual: a user waits for them.
    """
    from lmemscope.app.execute import run_whole
    from lmemscope.fixing.attach import with_fixes
    from lmemscope.fixing.run import Asked, CutError, LateError, try_rewrites

    kernels = session.settings.kernels
    is_whole = all(_is_source(one) for one in paths)
    began = time.monotonic()
    report, analysed = (run_whole if is_whole else gathered_analysed)(paths, session)
    ended = time.monotonic()
    until = ended + min(max(seconds, 2 * (ended - began)), _MOST_TIMES * seconds)
    # A program that runs for its kernels would run again for each trial.
    own = [
        (unit, made)
        for unit, made in analysed
        if made.kernels and _is_source(unit.path) and not unit.options.run_python
    ]
    if not is_whole:
        if not (kernels and 0 < len(own) <= _FEW):
            return report, ()
        own = [*_whole([unit for unit, _ in own], session, until)]
    asked = Asked(kernels, block=block, seconds=max(0.0, until - time.monotonic()))
    try:
        found = try_rewrites(
            report, own, session.workers, asked, session.settings.cache, session.progress
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


def _whole(
    units: Iterable[Unit], session: Session, until: float
) -> Iterator[tuple[Unit, UnitReport]]:
    """Units with all their kernels and the work of each, as `run_whole` has them.

    Args:
        units: that were analysed, and are reported.
        session: where they are analysed.
        until: when those that have not ended are left out: only their rewrites are not known then.
    """
    from lmemscope.app.worker import analyse_unit

    wanted = Wanted(work=True, cache=session.store, moved=session.moved)
    futures = [(unit, session.workers.submit(analyse_unit, unit, wanted)) for unit in units]
    for unit, future in futures:
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
