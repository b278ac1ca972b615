"""``lmemscope baseline``: record the known findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from lmemscope.commands.options import (
    configured_options,
    is_typed,
    output_option,
    path_argument,
)
from lmemscope.commands.output import Sink
from lmemscope.commands.running import exit_code, say_failures, working
from lmemscope.commands.say import say
from lmemscope.config.options import DEFAULT_BASELINE
from lmemscope.config.settings import Configuration, Settings
from lmemscope.discover.locate import is_saved
from lmemscope.errors import UsageError

if TYPE_CHECKING:
    from lmemscope.model import Report


def _chosen(report: Report, settings: Settings) -> tuple[str, ...]:
    """The architectures requested; a cubin has its own, and a library's must be among them."""
    if not settings.archs:
        return ()
    found = ((unit.arch, unit.frontend != "binary") for unit in report.units if unit.arch)
    return tuple(sorted({arch for arch, made in found if made or arch in settings.archs}))


def _archs(report: Report, settings: Settings, default: str) -> str:
    """The architectures of the findings, and the reason for the choice."""
    from lmemscope.analysis.ranking import arch_order

    archs = sorted({unit.arch for unit in report.units if unit.arch}, key=arch_order)
    listed = ", ".join(archs) or "no architecture"
    if settings.archs or listed != default:
        return listed
    return f"{listed} (the default; --arch names others)"


@click.command(name="baseline")
@path_argument("paths", nargs=-1, metavar="PATH...")
@output_option(f"Write to FILE.  [default: {DEFAULT_BASELINE}]")
@click.option(
    "--allow-incomplete",
    is_flag=True,
    help="Also record the evidence that is missing now, for `check` to accept.",
)
@configured_options
def command(
    paths: tuple[str, ...],
    target: str | None,
    allow_incomplete: bool,
    configuration: Configuration,
    color: str,
) -> None:
    """Write a baseline: the findings that `check` accepts from now on.

    The file is sorted JSON with one finding per line, for version control.
    """
    from lmemscope.app.baseline_file import BaselineFile, baseline_for
    from lmemscope.app.gathered import filtered, gathered
    from lmemscope.discover.plan import DEFAULT_ARCH
    from lmemscope.gate import baseline
    from lmemscope.gate.evidence import acceptable
    from lmemscope.model import count

    path = target or configuration.baseline or DEFAULT_BASELINE
    sink = Sink.open(path, "baseline")
    file = BaselineFile.at(path, configuration)
    file.check_replaceable()
    above = baseline_for(configuration)
    settings = configuration.settings
    if is_typed("kernels"):
        raise UsageError(
            "baseline",
            "--kernel would leave the other kernels' findings out of the baseline",
            hint="leave it out; what the gate never looks at belongs in the configuration: kernels",
        )
    # Not the GPU present: the same sources must give the same baseline on every machine.
    asked = replace(settings, default_archs=(DEFAULT_ARCH,), proposals=False, accesses=False)
    with working(asked) as session:
        report = gathered(paths, session)
    if is_saved(paths[0]) and report.filters:
        raise filtered(paths[0], report.filters, (), "a baseline")
    made = baseline.from_report(
        report,
        archs=_chosen(report, settings),
        default_arch=DEFAULT_ARCH,
        gaps=acceptable(report, configuration.policy) if allow_incomplete else (),
    )
    sink.write(file.text(made))
    known = count(len(made.findings), "known finding")
    known += f", {count(len(made.gaps), 'known gap')}" if made.gaps else ""
    say(f"{path}: {known}, {_archs(report, settings, DEFAULT_ARCH)}")
    if above is not None and above.found and path == DEFAULT_BASELINE:
        say(f"note: run from here, `check` now uses this baseline instead of {above.path}")
    for note in report.notes:
        say(f"note: {note}")
    say_failures(report)
    raise SystemExit(0 if allow_incomplete else exit_code(report))
