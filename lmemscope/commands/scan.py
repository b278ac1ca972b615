"""``lmemscope scan``: the main table."""

from __future__ import annotations

from dataclasses import replace

import click

from lmemscope.commands import output
from lmemscope.commands.options import compile_options
from lmemscope.commands.running import analyse, exit_code
from lmemscope.config.settings import Settings


@click.command(name="scan")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(output.FORMATS),
    help="[default: from the ending of -o FILE, else table]",
)
@click.option("-o", "--output", "target", metavar="FILE", help="Write to FILE.")
@click.option("--no-causes", is_flag=True, help="Facts only, no causes and names; faster.")
@click.option("--accesses", is_flag=True, help="In JSON, every single LDL and STL.")
@click.option("-v", "--verbose", is_flag=True, help="Whole logs, and log lines not understood.")
@compile_options
def command(
    paths: tuple[str, ...],
    format_name: str | None,
    target: str | None,
    no_causes: bool,
    accesses: bool,
    verbose: bool,
    settings: Settings,
    color: str,
) -> None:
    """Show which kernels use local memory, worst first.

    PATH is a .cu, .cuh, .ptx, .cubin or .py file, a compile_commands.json, a directory, or what
    `nvcc -Xptxas -v` printed: a build log, or - for standard input.

    \b
    Examples:
      lmemscope scan kernels/
      lmemscope scan filter.cu --arch sm_80 --arch sm_90 --instantiate 'blur<5>'
      lmemscope scan build/compile_commands.json
      lmemscope scan kernels.py --run-python
      make 2>&1 | lmemscope scan -
      lmemscope scan src/ -o local-memory.md
    """
    sink = output.Sink.open(
        target, format_name, color=color, verbose=verbose, with_accesses=accesses
    )
    report = analyse(paths, replace(settings, causes=not no_causes))
    sink.write(report)
    raise SystemExit(exit_code(report))
