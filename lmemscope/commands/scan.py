"""``lmemscope scan``: the main table."""

from __future__ import annotations

import click
from msgspec.structs import replace

from lmemscope.analysis.reservation import reserve
from lmemscope.analysis.selection import is_small, selected, settled
from lmemscope.commands.options import (
    compile_options,
    format_options,
    group_options,
    package_option,
    path_argument,
    typed,
    with_packages,
)
from lmemscope.commands.output import Sink
from lmemscope.commands.running import exit_code, working
from lmemscope.config.settings import Settings
from lmemscope.discover.present import chosen_device
from lmemscope.exporters.formats import formats_of
from lmemscope.model import Report
from lmemscope.rules.clean_kernels import with_clean

FORMATS = formats_of(Report)


@click.command(name="scan")
@path_argument("paths", nargs=-1, metavar="PATH...", required=False)
@package_option
@format_options(FORMATS)
@group_options("view")
@group_options("facts")
@click.option("--accesses", is_flag=True, help="List every LDL and STL in JSON.")
@click.option("-v", "--verbose", is_flag=True, help="Show whole logs, and lines not understood.")
@compile_options
def command(
    paths: tuple[str, ...],
    packages: tuple[str, ...],
    format_name: str | None,
    target: str | None,
    accesses: bool,
    verbose: bool,
    settings: Settings,
    color: str,
) -> None:
    """Show which kernels use local memory, the costliest first.

    PATH is a .cu, .cuh, .ptx, .cubin or .py file, a directory, a compile_commands.json, the output
    of `nvcc -Xptxas -v` (a build log, or - for standard input), a saved JSON report, or what holds
    device code already: an object, a library, a program, an archive or a wheel.

    Cost is modelled: the cycles per warp that local memory takes, with loops counted. Above 40
    kernels, clean kernels are hidden and instances of one template with the same causes are
    merged.

    \b
    Examples:
      lmemscope scan kernels/
      lmemscope scan filter.cu --arch sm_80 --arch sm_90 --instantiate 'blur<5>'
      lmemscope scan build/compile_commands.json
      lmemscope scan kernels.py --run-python
      make 2>&1 | lmemscope scan -
      lmemscope scan --link kernels.cu helpers.cu libshapes.a
      lmemscope scan src/ -o local-memory.md
      lmemscope scan dist/solver-1.0-cp311-linux_x86_64.whl --arch sm_90
      lmemscope scan saved.json --cause dynamic-index --top 10
      lmemscope scan src/ --device H200 --stack-limit 4096
    """
    from lmemscope.app.gathered import gathered
    from lmemscope.app.next_command import explaining

    paths = with_packages(paths, packages)

    sink = Sink.open(target, format_name, formats=FORMATS, color=color)
    device = chosen_device(settings)

    def show(report: Report) -> None:
        if device is not None:
            report = reserve(report, device, settings.stack_limit, settings.pending_launches)
        if settings.view.all or is_small(report):
            report = with_clean(report)
        view = settled(report, settings.view)
        sink.show(
            selected(report, view),
            verbose=verbose,
            with_accesses=accesses,
            view=view,
            explaining=explaining(paths, settings, typed()),
        )

    # The table does not show advice.
    settings = replace(settings, proposals=sink.format_name != "table", accesses=accesses)
    with working(settings, interrupted=lambda stop: show(stop.report)) as session:
        report = gathered(paths, session)
    show(report)
    raise SystemExit(exit_code(report))
