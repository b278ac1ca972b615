"""``lmemscope explain``: why a kernel uses local memory, for readers new to the topic."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, get_args

import click
from msgspec.structs import replace

from lmemscope.commands.options import compile_options, path_argument, timed_fix_options
from lmemscope.commands.output import color_wanted
from lmemscope.commands.running import EXIT_INCOMPLETE, exit_code, working
from lmemscope.commands.say import complain, say, show
from lmemscope.config.settings import Settings
from lmemscope.model import Quote

if TYPE_CHECKING:
    from lmemscope.app.session import Interrupted
    from lmemscope.fixing.gathered import Fixes
    from lmemscope.model import Report

_MOST = 5
"""Number of templates explained in full if no kernel is named."""


@click.command(name="explain")
@path_argument("target", metavar="PATH[::KERNEL]")
@click.option("--ptx", "show_ptx", is_flag=True, help="Show the PTX behind each finding.")
@click.option("--sass", "show_sass", is_flag=True, help="Show the SASS behind each finding.")
@timed_fix_options
@click.option("--all", "show_all", is_flag=True, help="Also list kernels without local memory.")
@click.option(
    "--top",
    "in_full",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Explain the N costliest templates in full.  [default: {_MOST}; all that KERNEL names]",
)
@compile_options
def command(
    target: str,
    show_ptx: bool,
    show_sass: bool,
    show_all: bool,
    in_full: int | None,
    fixes: Fixes,
    settings: Settings,
    color: str,
) -> None:
    """Explain a kernel's local memory: lines, frame, causes, evidence, and what removes it.

    KERNEL is a name or a quoted glob. Without it, the costliest kernels are explained and the
    others listed. Instances of a template are explained together. For a source, or a KERNEL of few
    sources, the rewrites of `lmemscope fix` are compiled, so that what removes it is proven.

    \b
    Examples:
      lmemscope explain kernels/histogram.cu
      lmemscope explain 'kernels/running_mean.cu::*ring*' --sass
      lmemscope explain filter.cu --no-fix
      lmemscope fix filter.cu -o fix.json; lmemscope explain filter.cu --fix-from fix.json
    """
    from lmemscope.fixing.gathered import gathered_with_fixes

    path, separator, kernel = target.partition("::")
    if separator:
        settings = replace(settings, kernels=(*settings.kernels, kernel))
    most = in_full if in_full is not None or separator else _MOST
    chosen = {"ptx": show_ptx, "sass": show_sass, "live": True}
    quotes = tuple(quote for quote in get_args(Quote) if chosen[quote])

    def written(report: Report) -> None:
        everything = bool(separator) or show_all
        _write(report, color, everything=everything, most=most, path=path)

    def cut(stop: Interrupted) -> None:
        from lmemscope.fixing.run import CutError

        if isinstance(stop, CutError):
            written(stop.report)

    with working(replace(settings, quotes=quotes), cut) as session:
        report, notes = gathered_with_fixes([path], session, fixes)
    for note in notes:
        say(f"note: {note}", err=True)
    written(report)
    _complain(report)
    if not any(unit.kernels for unit in report.units):
        if separator:
            _say_unmatched(report, path, kernel)
            raise SystemExit(EXIT_INCOMPLETE)
        for note in report.notes:
            say(f"note: {note}", err=True)
    raise SystemExit(exit_code(report))


def _write(report: Report, color: str, *, everything: bool, most: int | None, path: str) -> None:
    """The text for all kernels, or for those that use local memory."""
    from lmemscope.exporters.explanation import Explainer
    from lmemscope.exporters.explanations import explanations

    width = shutil.get_terminal_size((100, 40)).columns if sys.stdout.isatty() else 100
    explainer = Explainer(
        color=color_wanted(color, None), width=min(width, 110), left_out=report.left_out
    )
    texts = explanations(
        report, explainer, clean=everything, most=most, width=min(width, 110), path=path
    )
    if report.links:
        from lmemscope.exporters.escape_terminal import document
        from lmemscope.exporters.formats import Presentation
        from lmemscope.exporters.link_lines import linked_programs

        how = Presentation(color=color_wanted(color, None), width=min(width, 110))
        texts.append(document(linked_programs(report, how)))
    if texts:
        show("\n".join(texts))
    elif any(unit.kernels for unit in report.units):
        say("No kernel uses local memory.")


def _complain(report: Report) -> None:
    """Print what failed, and why units have no kernel."""
    for unit in report.units:
        if unit.failure is not None:
            complain(unit.failure)
        elif not unit.kernels and not unit.others:
            for gap in unit.gaps:
                say(f"note: {unit.input}: [{gap.stage}] {gap.reason}", err=True)


def _say_unmatched(report: Report, path: str, glob: str) -> None:
    """One error for all readable units without a match, with suggestions."""
    from lmemscope.formats.kernel_names import nearest_names

    readable = [unit for unit in report.units if unit.failure is None]
    if not readable:
        return
    say(f"error: [explain] {path} has no kernel that matches {glob}", err=True)
    near = nearest_names(glob, (name for unit in readable for name in unit.others))
    known = f"the nearest names are {', '.join(near)}; " if near else ""
    say(f"hint: {known}`lmemscope scan` lists its kernels", err=True)
