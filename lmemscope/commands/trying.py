"""Rewrites tried by worker processes, and reports with what came of them, now or in a document."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from lmemscope.commands import stopping
from lmemscope.commands.running import in_workers
from lmemscope.commands.saved import gathered, limited
from lmemscope.commands.say import say
from lmemscope.discover.locate import is_saved
from lmemscope.errors import UsageError
from lmemscope.model import count

if TYPE_CHECKING:
    from lmemscope.config.settings import Settings
    from lmemscope.fixing.run import Asked
    from lmemscope.model import FixReport, Report

Function = TypeVar("Function", bound=Callable[..., Any])
_MOST_THREADS = 1024
"""Of a block, on every architecture: CUDA C++ Programming Guide, "Compute Capabilities"."""


block_option = click.option(
    "--block",
    type=click.IntRange(1, _MOST_THREADS),
    metavar="N",
    help="Assume at most N threads per block where neither launches nor __launch_bounds__ say it.",
)


@dataclass(frozen=True, slots=True)
class Fixes:
    """Where proven fixes come from.

    Attributes:
        tries: whether rewrites are tried now.
        saved: path of a saved document of ``fix``, or None.
        block: threads of a block at most, where rewrites are tried and the source does not say it.
    """

    tries: bool
    saved: str | None
    block: int | None


def fix_options(function: Function) -> Callable[..., Any]:
    """Add what says where proven fixes come from; it arrives as ``fixes``."""

    @click.option("--fix", "with_fix", is_flag=True, help="Try rewrites; show what is proven.")
    @click.option(
        "--fix-from",
        "fix_from",
        metavar="FILE",
        type=click.Path(),
        help="Show what `fix --format json` has proven, if it still holds.",
    )
    @block_option
    @functools.wraps(function)
    def command(
        *args: Any, with_fix: bool, fix_from: str | None, block: int | None, **options: Any
    ) -> Any:
        if block is not None and not with_fix:
            raise UsageError(
                "usage", "--block is for rewrites that are tried", hint="ask for them with --fix"
            )
        return function(*args, fixes=Fixes(with_fix, fix_from, block), **options)

    return command


def tried(
    paths: Sequence[str],
    settings: Settings,
    asked: Asked,
    interrupted: Callable[[Report, FixReport], None] | None = None,
) -> tuple[Report, FixReport]:
    """Analyse inputs and try what may remove their local memory, with worker processes.

    Args:
        paths: as the user typed them.
        settings: how to compile.
        asked: which kernels and objects.
        interrupted: shows what was tried when the user ends the run; without it nothing is shown.

    Returns:
        The report of all kernels, whichever were asked for, and what was tried.

    Raises:
        UsageError: the request is wrong whatever the inputs hold.
    """
    from lmemscope.fixing.run import CutError, fix

    try:
        found = in_workers(settings, lambda session, progress: fix(paths, session, asked, progress))
    except CutError as cut:
        stopping.take_time()
        if interrupted is not None:
            interrupted(cut.analysed, cut.report)
        said, tries = stopping.said(cut.number), count(cut.total, "rewrite")
        say(f"{said}: {cut.done} of {tries} tried", err=True)
        raise SystemExit(stopping.exit_code(cut.number)) from cut
    if settings.cache is not None and settings.executor is None:
        from lmemscope.lowering import store

        store.trim(settings.cache)
    return found


def gathered_with_fixes(
    paths: Sequence[str],
    settings: Settings,
    fixes: Fixes,
    interrupted: Callable[[Report], None] | None = None,
) -> Report:
    """The report of inputs; where asked for, findings show the best proven fix, and no advice that
    was tried in vain.

    Args:
        paths: as the user typed them.
        settings: how to compile and what to keep.
        fixes: where they come from.
        interrupted: shows what is known when the user ends the run while rewrites are tried;
            without it nothing is shown.

    Raises:
        UsageError: both are asked for; or rewrites are to be tried on a saved report.
        InputError: a saved document does not exist, or is damaged.
    """
    if fixes.saved is not None:
        if fixes.tries:
            raise UsageError(
                "usage",
                "--fix tries rewrites, and --fix-from takes what was tried before",
                hint="leave one of them out",
            )
        return _with_saved(paths, settings, fixes.saved)
    if not fixes.tries:
        return gathered(paths, settings)
    return _with_tried(paths, settings, fixes.block, interrupted)


def _with_tried(
    paths: Sequence[str],
    settings: Settings,
    block: int | None,
    interrupted: Callable[[Report], None] | None,
) -> Report:
    from lmemscope.fixing.attach import with_fixes
    from lmemscope.fixing.run import Asked

    saved = next((path for path in paths if is_saved(path)), None)
    if saved is not None:
        raise UsageError(
            "usage",
            f"{saved} is a saved report: --fix compiles",
            hint="name the source instead, or take what `fix` saved with --fix-from",
        )

    def shown(report: Report, found: FixReport, *, is_cut: bool = False) -> Report:
        report = with_fixes(report, found, is_cut=is_cut)
        if not settings.kernels:
            return report
        # Trials looked at every kernel, for each may be harmed.
        return replace(report, units=tuple(limited(one, settings.kernels) for one in report.units))

    def cut(report: Report, found: FixReport) -> None:
        if interrupted is not None:
            interrupted(shown(report, found, is_cut=True))

    return shown(*tried(paths, settings, Asked(settings.kernels, block=block), cut))


def _with_saved(paths: Sequence[str], settings: Settings, path: str) -> Report:
    from lmemscope.exporters.fix_document import load
    from lmemscope.fixing.attach import with_fixes
    from lmemscope.fixing.same import that_holds

    saved = load(path)
    report = gathered(paths, settings)
    holding, said = that_holds(saved, report)
    notes = tuple(f"{path}: {one}" for one in said)
    for note in notes:
        say(f"note: {note}", err=True)
    report = with_fixes(report, holding)
    return replace(report, notes=(*report.notes, *notes))
