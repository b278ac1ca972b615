"""``lmemscope report``: write a full report to a file, from inputs or a saved report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from lmemscope.analysis.selection import selected, settled
from lmemscope.commands.options import (
    compile_options,
    fix_options,
    group_options,
    output_option,
    path_argument,
)
from lmemscope.commands.output import Sink
from lmemscope.commands.running import exit_code, working
from lmemscope.commands.say import say
from lmemscope.config.settings import Settings
from lmemscope.exporters.formats import formats_of
from lmemscope.model import Report

if TYPE_CHECKING:
    from lmemscope.fixing.gathered import Fixes

FORMATS = formats_of(Report)
_ENDINGS = [ending for row in FORMATS.values() for ending in row.endings]


@click.command(name="report")
@path_argument("paths", nargs=-1, metavar="PATH...")
@output_option(f"Write to FILE, in the format of its ending: {', '.join(_ENDINGS)}.", required=True)
@click.option("--accesses", is_flag=True, help="List every LDL and STL in JSON.")
@fix_options
@group_options("view")
@compile_options
def command(
    paths: tuple[str, ...],
    target: str,
    accesses: bool,
    fixes: Fixes,
    settings: Settings,
    color: str,
) -> None:
    """Write a full report, in the format that the ending of FILE says.

    PATH is what `scan` takes, or saved JSON reports, which are rendered without compiling.

    \b
    Examples:
      lmemscope report src/ -o local-memory.html
      lmemscope report saved.json -o local-memory.md
      lmemscope report src/ --fix-from fix.json -o local-memory.sarif
    """
    from lmemscope.fixing.gathered import gathered_with_fixes

    sink = Sink.open(target, formats=FORMATS, color=color)
    # Readers compare a report with the source, so it quotes SASS in every format.
    with working(replace(settings, quotes=("sass",), accesses=accesses)) as session:
        report, notes = gathered_with_fixes(paths, session, fixes)
    for note in notes:
        say(f"note: {note}", err=True)
    view = settled(report, settings.view)
    report = selected(report, view)
    sink.show(report, verbose=True, with_accesses=accesses, view=view)
    raise SystemExit(exit_code(report))
