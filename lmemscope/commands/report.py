"""``lmemscope report``: a full report as a file, from inputs or from a saved one."""

from __future__ import annotations

from dataclasses import replace

import click

from lmemscope.commands.options import compile_options
from lmemscope.commands.output import REPORT_FORMATS, Sink, rendered
from lmemscope.commands.running import analyse, exit_code
from lmemscope.config.settings import Settings
from lmemscope.exporters.formats import FORMATS


@click.command(name="report")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "-o",
    "--output",
    "target",
    metavar="FILE",
    required=True,
    help=f"Its ending says the format: {', '.join(e for row in FORMATS for e in row.endings)}.",
)
@click.option("--accesses", is_flag=True, help="In JSON, every single LDL and STL.")
@compile_options
def command(
    paths: tuple[str, ...], target: str, accesses: bool, settings: Settings, color: str
) -> None:
    """Write a full report, in the format that the ending of FILE says.

    PATH is what `scan` takes, or one saved JSON report, which is rendered without compiling.

    \b
    Examples:
      lmemscope report src/ -o local-memory.html
      lmemscope report saved.json -o local-memory.md
    """
    sink = Sink.open(target, formats=REPORT_FORMATS, color=color)
    if len(paths) == 1 and paths[0].endswith(".json"):
        from lmemscope.exporters.json import load_report

        report = load_report(paths[0])
    else:
        # A report is read beside the source: machine code belongs in it, whatever its format.
        report = analyse(paths, replace(settings, quotes=("sass",)))
    sink.write(rendered(report, sink, verbose=True, with_accesses=accesses))
    raise SystemExit(exit_code(report))
