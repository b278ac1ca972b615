"""``lmemscope baseline``: write down what is known."""

from __future__ import annotations

import os
from pathlib import Path

import click

from lmemscope.commands.check import DEFAULT
from lmemscope.commands.options import compile_options
from lmemscope.commands.output import unusable
from lmemscope.commands.running import EXIT_USAGE, analyse, exit_code, fail
from lmemscope.config.settings import Settings
from lmemscope.errors import UsageError


@click.command(name="baseline")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("-o", "--output", "target", metavar="FILE", help=f"[default: {DEFAULT}]")
@compile_options
def command(paths: tuple[str, ...], target: str | None, settings: Settings, color: str) -> None:
    """Write a baseline: the findings that `check` accepts from now on.

    The file is JSON with one finding per line, sorted, made for version control.
    """
    from lmemscope.config import file as configuration
    from lmemscope.gate import baseline

    try:
        found = configuration.find()
    except UsageError as error:
        fail(error, EXIT_USAGE)
    configured = found.section.get("baseline")
    path = target or (os.path.join(found.directory, str(configured)) if configured else DEFAULT)
    report = analyse(paths, settings)
    made = baseline.from_report(report)
    try:
        Path(path).write_text(baseline.render(made), encoding="utf-8")
    except OSError as error:
        unusable(f"{path} cannot be written: {error.strerror}", "name another file with -o")
    click.echo(f"{path}: {len(made.entries)} known findings")
    for unit in report.units:
        if unit.failure is not None:
            click.echo(f"error: [{unit.failure.stage}] {unit.failure.message}", err=True)
    raise SystemExit(exit_code(report))
