"""``lmemscope scan``: the main table."""

from __future__ import annotations

import click

from lmemscope.analysis.reservation import reserve
from lmemscope.analysis.selection import selected, settled
from lmemscope.commands.next_command import Remembering, explaining
from lmemscope.commands.options import compile_options, group_options
from lmemscope.commands.output import Sink
from lmemscope.commands.running import exit_code
from lmemscope.commands.saved import gathered
from lmemscope.config.settings import Settings
from lmemscope.discover.present import chosen_device
from lmemscope.exporters.formats import formats_of
from lmemscope.model import Report

FORMATS = formats_of(Report)


@click.command(name="scan", cls=Remembering)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(list(FORMATS)),
    help="[default: from the ending of -o FILE, else table]",
)
@click.option("-o", "--output", "target", metavar="FILE", help="Write to FILE.")
@group_options("view")
@group_options("facts")
@click.option("--accesses", is_flag=True, help="In JSON, every single LDL and STL.")
@click.option("-v", "--verbose", is_flag=True, help="Whole logs, and log lines not understood.")
@compile_options
def command(
    paths: tuple[str, ...],
    format_name: str | None,
    target: str | None,
    accesses: bool,
    verbose: bool,
    settings: Settings,
    color: str,
) -> None:
    """Show which kernels use local memory, the costliest first.

    PATH is a .cu, .cuh, .ptx, .cubin or .py file, a compile_commands.json, a directory, what
    `nvcc -Xptxas -v` printed (a build log, or - for standard input), or a saved JSON report.

    Cost is modelled: cycles of a multiprocessor that local memory takes for each warp, with loops
    counted. Above 40 kernels, clean kernels are hidden and instances of one template with the same
    causes are merged.

    \b
    Examples:
      lmemscope scan kernels/
      lmemscope scan filter.cu --arch sm_80 --arch sm_90 --instantiate 'blur<5>'
      lmemscope scan build/compile_commands.json
      lmemscope scan kernels.py --run-python
      make 2>&1 | lmemscope scan -
      lmemscope scan --link kernels.cu helpers.cu libshapes.a
      lmemscope scan src/ -o local-memory.md
      lmemscope scan saved.json --cause dynamic-index --top 10
      lmemscope scan src/ --device H200 --stack-limit 4096
    """
    sink = Sink.open(target, format_name, formats=FORMATS, color=color)

    device = chosen_device(settings)

    def show(report: Report) -> None:
        if device is not None:
            report = reserve(report, device, settings.stack_limit, settings.pending_launches)
        view = settled(report, settings.view)
        sink.show(
            selected(report, view),
            verbose=verbose,
            with_accesses=accesses,
            view=view,
            explaining=explaining(paths, settings),
        )

    report = gathered(paths, settings, interrupted=show)
    show(report)
    raise SystemExit(exit_code(report))
