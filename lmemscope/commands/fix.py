"""``lmemscope fix``: try rewrites that remove local memory, and prove each by compiling it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from lmemscope.commands.options import (
    block_option,
    compile_options,
    format_options,
    path_argument,
)
from lmemscope.commands.output import Sink
from lmemscope.commands.running import EXIT_CLEAN, EXIT_INCOMPLETE, working
from lmemscope.commands.say import complain, say
from lmemscope.config.settings import Settings
from lmemscope.discover.locate import is_saved
from lmemscope.errors import UsageError
from lmemscope.exporters.formats import formats_of
from lmemscope.model import FixReport, count

if TYPE_CHECKING:
    from lmemscope.app.session import Interrupted

FORMATS = formats_of(FixReport)


@click.command(name="fix")
@path_argument("path", metavar="PATH[::KERNEL]")
@click.argument("argv", nargs=-1, type=click.UNPROCESSED, metavar="[-- ARGV...]")
@click.option(
    "--run",
    "run_it",
    is_flag=True,
    help="Run ARGV, which builds and runs the program, in copies of the tree before and after.",
)
@click.option(
    "--rtol",
    type=click.FloatRange(0.0, min_open=True),
    metavar="X",
    help="With --run: let numbers in the output differ by this relative amount.",
)
@click.option(
    "--object",
    "names",
    multiple=True,
    metavar="NAME",
    help="Only rewrite NAME; repeatable.",
)
@block_option
@click.option("--unsafe", is_flag=True, help="Also try rewrites that may change results.")
@click.option("--apply", "apply_it", is_flag=True, help="Write the patch to the files.")
@click.option("--force", is_flag=True, help="With --apply: overwrite uncommitted changes.")
@format_options(FORMATS)
@compile_options
def command(
    path: str,
    argv: tuple[str, ...],
    run_it: bool,
    rtol: float | None,
    names: tuple[str, ...],
    block: int | None,
    unsafe: bool,
    apply_it: bool,
    force: bool,
    format_name: str | None,
    target: str | None,
    settings: Settings,
    color: str,
) -> None:
    """Try rewrites that remove local memory, and show what each of them does.

    Each rewrite is compiled like the original, and all kernels of the file are compared: one that
    does not compile, spills more or harms another kernel is not offered. A safe rewrite changes no
    result but by rounding, where that is said; --unsafe also offers the others, each with the
    promise that it needs.

    \b
    Examples:
      lmemscope fix kernels/running_mean.cu --block 128
      lmemscope fix 'filter.cu::blur*' --object window
      lmemscope fix filter.cu --format patch | git apply
      lmemscope fix filter.cu --unsafe --apply
      lmemscope fix filter.cu --run --rtol 1e-5 -- sh -c 'make && ./filter'
    """
    from lmemscope.fixing.program import Program
    from lmemscope.fixing.run import Asked, CutError
    from lmemscope.fixing.run import fix as tried

    path, separator, kernel = path.partition("::")
    if is_saved(path):
        raise UsageError(
            "usage", f"{path} is a saved report: fix compiles", hint="name the source instead"
        )
    if run_it != bool(argv):
        raise UsageError(
            "usage",
            "--run needs a command after --" if run_it else f"unexpected argument {argv[0]}",
            hint="for example --run -- make check",
        )
    program = Program(argv, rtol) if argv else None
    kernels = (*settings.kernels, kernel) if separator else settings.kernels
    sink = Sink.open(target, format_name, formats=FORMATS, color=color)

    def cut(stop: Interrupted) -> None:
        if isinstance(stop, CutError):
            sink.show(stop.fixes, unsafe=unsafe)

    with working(settings, cut) as session:
        _, report = tried([path], session, Asked(kernels, names, block, unsafe, program))
    sink.show(report, unsafe=unsafe)
    if sink.format_name == "patch":
        for note in report.notes:
            say(f"note: {note}", err=True)
    if sink.format_name != "json" and not apply_it:
        _say_where_it_applies(report)
    for failed in report.failures:
        complain(failed.failure)
    _say_what_is_missing(report, names, sink.format_name)
    if report.undecided:
        say(f"warning: {_late(report)}", err=True)
    if apply_it:
        _write(report, force=force)
    raise SystemExit(EXIT_INCOMPLETE if report.failures or report.undecided else EXIT_CLEAN)


def _say_where_it_applies(report: FixReport) -> None:
    from lmemscope.fixing.patch import base_of

    base = base_of(report.chosen.edits, os.getcwd())
    if base != os.getcwd():
        say(f"note: paths in the patch are relative to {base}: git -C {base} apply", err=True)


def _late(report: FixReport) -> str:
    """The number of findings without a verdict, and how to get one."""
    late = count(report.undecided, "finding")
    return f"{late}: no rewrite was compiled in its time; --timeout SECONDS gives them more"


def _say_what_is_missing(report: FixReport, names: tuple[str, ...], format_name: str) -> None:
    found = {one.object for one in report.trials} | {one.object for one in report.untried}
    for name in names:
        if name not in found:
            say(f"note: no finding is of a variable {name}", err=True)
    if format_name == "patch" and not report.chosen.patch and not report.failures:
        unsafe = any(one.is_offered for one in report.trials)
        more = "; --unsafe takes those that may change what the program does" if unsafe else ""
        say(f"note: no rewrite is offered{more}", err=True)


def _write(report: FixReport, *, force: bool) -> None:
    """Write the patched files.

    Raises:
        UsageError: a file has uncommitted changes.
    """
    from lmemscope.fixing.apply import changed_since_commit, write

    if not report.chosen.edits:
        say("Nothing written: no rewrite is offered.", err=True)
        return
    dirty = [] if force else changed_since_commit(report.chosen.edits)
    if dirty:
        raise UsageError(
            "apply",
            f"not written: {', '.join(dirty)} has changes that are not committed",
            hint="commit or stash them, or use --force",
        )
    compiled = [one for unit in report.units for one in unit.files or ()]
    for name in write(report.chosen, compiled):
        say(f"Wrote {name}.", err=True)
