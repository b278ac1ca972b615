"""``lmemscope measure``: GPU counters of a run, by kernel, variable and cause."""

from __future__ import annotations

from functools import partial

import click

from lmemscope.commands.options import compile_options, format_options
from lmemscope.commands.output import Sink
from lmemscope.commands.running import (
    EXIT_CLEAN,
    EXIT_INCOMPLETE,
    exit_code,
    say_failures,
    working,
)
from lmemscope.commands.say import complain
from lmemscope.config.settings import Settings
from lmemscope.errors import UsageError
from lmemscope.exporters.formats import formats_of
from lmemscope.model import Measurement

FORMATS = formats_of(Measurement)
_MOST_LAUNCHES = 1000
_SIGNALS = 128
"""Added to the number of the signal that ended a program, as shells do."""


@click.command(name="measure")
@click.argument("argv", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
@click.option(
    "--import",
    "profiles",
    multiple=True,
    metavar="FILE",
    type=click.Path(),
    help="Read a profile instead of running COMMAND: .ncu-rep, or ncu's CSV; repeatable.",
)
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="PATH",
    type=click.Path(),
    help="Take variables and causes from a source, a directory or a saved report; repeatable.  "
    "[default: the code in COMMAND's executable]",
)
@click.option(
    "--ncu",
    "ncu_path",
    metavar="PATH",
    type=click.Path(),
    help="Use this ncu.  [default: on PATH, else where CUDA is installed]",
)
@click.option(
    "--launch-skip",
    "skip",
    type=click.IntRange(0, _MOST_LAUNCHES),
    default=0,
    metavar="N",
    help="Do not profile the first N launches of each kernel.",
)
@click.option(
    "--launch-count",
    "number",
    type=click.IntRange(1, _MOST_LAUNCHES),
    default=5,
    show_default=True,
    metavar="N",
    help="Profile up to N launches of each kernel.",
)
@click.option(
    "--run-timeout",
    "seconds",
    type=click.FloatRange(0.0, min_open=True),
    metavar="S",
    help="End COMMAND after S seconds; what ran by then is reported.",
)
@format_options(FORMATS)
@partial(compile_options, arch={"help": "Analyse for SM; repeatable.  [default: what ran]"})
def command(
    argv: tuple[str, ...],
    profiles: tuple[str, ...],
    sources: tuple[str, ...],
    ncu_path: str | None,
    skip: int,
    number: int,
    seconds: float | None,
    format_name: str | None,
    target: str | None,
    settings: Settings,
    color: str,
) -> None:
    """Run COMMAND under Nsight Compute, and say what each variable's local memory moved.

    COMMAND's input, output and errors are untouched, and its exit status is kept. It runs several
    times as long, because ncu repeats each kernel to collect all counters; a kernel that prints
    does so each time.

    \b
    Exit codes: COMMAND's own, if not 0; else 0, or 3 if nothing was measured or an input could not
    be analysed.

    \b
    Examples:
      lmemscope measure -- ./app args
      lmemscope measure --source src/ --kernel 'blur*' -o measured.json -- ./app
      lmemscope measure --source train.json -- python train.py
      lmemscope measure --import profile.ncu-rep --source filter.cu
      lmemscope measure --import raw.csv --import source.csv --source filter.cu
    """
    from lmemscope.app import measure

    if bool(argv) == bool(profiles):
        raise UsageError(
            "usage",
            "measure either runs a program or reads profiles, not both"
            if argv
            else "measure needs a program to run, or a profile",
            hint="write lmemscope measure -- ./app, or --import FILE.ncu-rep",
        )
    sink = Sink.open(target, format_name, formats=FORMATS, color=color)
    asked = measure.Asked(argv, ncu_path, skip, number, seconds) if argv else None
    taken = (
        measure.run(asked, settings)
        if asked is not None
        else measure.read(profiles, settings, ncu_path)
    )
    if taken.problem is not None:
        complain(taken.problem)
        raise SystemExit(_status(taken.status) or EXIT_INCOMPLETE)
    with working(measure.settings_for(taken, settings)) as session:
        found, reports = measure.measurement(taken, asked, profiles, sources, session)
    sink.show(found)
    say_failures(*reports)
    raise SystemExit(_status(found.exit_status) or exit_code(*reports) or EXIT_CLEAN)


def _status(status: int | None) -> int:
    """A program's exit status as a shell reports it."""
    if status is None:
        return 0
    return status if status >= 0 else _SIGNALS - status
