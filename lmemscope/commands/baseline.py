"""``lmemscope baseline``: write down what is known."""

from __future__ import annotations

import click

from lmemscope.commands.options import configured_options
from lmemscope.commands.output import Sink
from lmemscope.commands.running import analyse, exit_code
from lmemscope.config.options import DEFAULT_BASELINE
from lmemscope.config.settings import Configuration


@click.command(name="baseline")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("-o", "--output", "target", metavar="FILE", help=f"[default: {DEFAULT_BASELINE}]")
@configured_options
def command(
    paths: tuple[str, ...], target: str | None, configuration: Configuration, color: str
) -> None:
    """Write a baseline: the findings that `check` accepts from now on.

    The file is JSON with one finding per line, sorted, made for version control.
    """
    from lmemscope.gate import baseline

    path = target or configuration.baseline or DEFAULT_BASELINE
    sink = Sink.open(path, "baseline")
    report = analyse(paths, configuration.settings)
    made = baseline.from_report(report)
    sink.write(baseline.render(made))
    click.echo(f"{path}: {len(made.entries)} known findings")
    for unit in report.units:
        if unit.failure is not None:
            click.echo(f"error: [{unit.failure.stage}] {unit.failure.message}", err=True)
    raise SystemExit(exit_code(report))
