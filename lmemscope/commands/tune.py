"""``lmemscope tune``: spills and occupancy under each register cap, and the best cap."""

from __future__ import annotations

import click

from lmemscope.commands.options import (
    block_option_saying,
    compile_options,
    format_options,
    path_argument,
)
from lmemscope.commands.output import Sink
from lmemscope.commands.running import EXIT_CLEAN, EXIT_INCOMPLETE, working
from lmemscope.commands.say import complain, say
from lmemscope.config.settings import Settings
from lmemscope.exporters.formats import formats_of
from lmemscope.model import TuneReport

FORMATS = formats_of(TuneReport)


@click.command(name="tune")
@path_argument("path", metavar="PATH[::KERNEL]")
@click.option(
    "--launch-bounds",
    is_flag=True,
    help="Vary the minimum blocks per multiprocessor instead of the register cap.",
)
@click.option(
    "--smem-spilling",
    is_flag=True,
    help="Also spill to shared memory at each cap that spills (CUDA 13).",
)
@block_option_saying(
    "Compare for blocks of N threads.  [default: as launched, else launch bounds, else the best]"
)
@format_options(FORMATS)
@compile_options
def command(
    path: str,
    launch_bounds: bool,
    smem_spilling: bool,
    block: int | None,
    format_name: str | None,
    target: str | None,
    settings: Settings,
    color: str,
) -> None:
    """Show what each register cap costs a kernel in spills and gains it in occupancy.

    The kernel is compiled to PTX once, then assembled without a cap and at each multiple of 8
    registers below, until spills explode. Launch bounds and maxnreg of the kernel itself are
    undone for this. The knee is the point with the least modelled cost.

    \b
    Examples:
      lmemscope tune filter.cu
      lmemscope tune 'solver.cu::step*' --arch sm_90 --block 128
      lmemscope tune filter.cu --launch-bounds
      lmemscope tune filter.cu -o frontier.html
    """
    from lmemscope.tuning.run import tune as tuned
    from lmemscope.tuning.settings import Asked

    path, separator, kernel = path.partition("::")
    sink = Sink.open(target, format_name, formats=FORMATS, color=color)
    asked = Asked((kernel,) if separator else (), block, launch_bounds, smem_spilling)
    with working(settings) as session:
        found = tuned(path, session, asked)
    report = found.report
    is_unmatched = not report.kernels and not report.failures and bool(found.others)
    is_empty = not report.kernels and (bool(report.failures) or is_unmatched)
    if not is_empty or sink.format_name == "json":
        sink.show(report)
    for failed in report.failures:
        complain(failed.failure)
    if is_unmatched:
        _say_unmatched(path, (*settings.kernels, *asked.kernels), found.others)
    raise SystemExit(EXIT_INCOMPLETE if report.failures or is_unmatched else EXIT_CLEAN)


def _say_unmatched(path: str, globs: tuple[str, ...], others: tuple[str, ...]) -> None:
    from lmemscope.formats.kernel_names import nearest_names

    named = ", ".join(globs)
    say(f"error: [tune] {path} has no kernel that matches {named}", err=True)
    near = nearest_names(named, others)
    known = f"the nearest names are {', '.join(near)}; " if near else ""
    say(f"hint: {known}`lmemscope scan --all` lists its kernels", err=True)
