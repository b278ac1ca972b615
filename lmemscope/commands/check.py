"""``lmemscope check``: the gate for CI."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from lmemscope.commands.options import (
    configured_options,
    format_options,
    group_options,
    package_option,
    path_argument,
    typed,
    with_packages,
)
from lmemscope.commands.output import Sink, append
from lmemscope.commands.percentage import Percentage
from lmemscope.commands.running import working
from lmemscope.config.settings import Configuration
from lmemscope.errors import UsageError
from lmemscope.exporters.formats import Presentation, formats_of
from lmemscope.model import Checked

if TYPE_CHECKING:
    from lmemscope.app.baseline_file import BaselineFile
    from lmemscope.app.gate import Asked
    from lmemscope.model import Baseline

FORMATS = formats_of(Checked)


@click.command(name="check")
@path_argument("paths", nargs=-1, metavar="PATH...", required=False)
@package_option
@group_options("gate")
@click.option(
    "--changed",
    "revision",
    metavar="REV",
    help="Only analyse files that changed, themselves or their headers, since a git revision.",
)
@click.option(
    "--new-since",
    metavar="REV",
    help="Also accept findings of the merge base with a git revision; needs no baseline.",
)
@click.option("--allow-incomplete", is_flag=True, help="Pass even if evidence is missing.")
@click.option(
    "--trust-configuration",
    is_flag=True,
    help="With --changed or --new-since: accept a change that weakens the gate itself.",
)
@click.option(
    "--measured",
    metavar="FILE",
    type=click.Path(),
    help="Also check a JSON document from `lmemscope measure`; needs --max-local-share.",
)
@click.option(
    "--max-local-share",
    "most",
    type=Percentage(),
    metavar="PERCENT",
    help="With --measured: fail if more of a kernel's L1 traffic is local memory.",
)
@click.option(
    "--update", is_flag=True, help="Remove findings that no longer exist from the baseline."
)
@click.option("--ratchet", is_flag=True, help="Record improvements in the baseline.")
@format_options(FORMATS)
@click.option("-v", "--verbose", is_flag=True, help="Also show known and allowed findings.")
@configured_options
def command(
    paths: tuple[str, ...],
    packages: tuple[str, ...],
    revision: str | None,
    new_since: str | None,
    allow_incomplete: bool,
    trust_configuration: bool,
    measured: str | None,
    most: float | None,
    update: bool,
    ratchet: bool,
    format_name: str | None,
    target: str | None,
    verbose: bool,
    configuration: Configuration,
    color: str,
) -> None:
    """Fail on local memory that is neither known nor allowed.

    By default any local memory fails, except printf buffers and objects that ptxas promoted to
    registers. --max-frame and --max-sites replace that rule, --max-spill replaces it for spills.
    Limits, allowances and the baseline can be set in [tool.lmemscope] of pyproject.toml, or in
    lmemscope.toml. The nearest lmemscope-baseline.json upwards is used.

    \b
    Exit codes: 0 passed, 1 failed, 3 evidence is missing.

    \b
    Examples:
      lmemscope baseline src/ && lmemscope check src/
      lmemscope check src/ --changed HEAD
      lmemscope check src/ --new-since origin/main
      lmemscope check src/ --forbid register-spill
      lmemscope check src/ --max-frame 256 -o lmem.sarif
      lmemscope check --measured measured.json --max-local-share 5%
    """
    from lmemscope.app.baseline_file import baseline_for
    from lmemscope.app.gate import Asked, with_measurement

    _refuse_mixed(new_since, revision, writes=update or ratchet)
    _refuse_alone(measured, most)
    if measured is None or paths or packages:
        paths = with_packages(paths, packages)
    if format_name is None and target is None and os.environ.get("GITHUB_ACTIONS") == "true":
        format_name = "github"
    sink = Sink.open(target, format_name, formats=FORMATS, color=color)
    file = baseline_for(configuration)
    known = file.load() if file is not None else None
    if file is not None and (update or ratchet):
        Sink.open(file.path, "baseline")
    asked = Asked(
        revision, new_since, allow_incomplete, trust_configuration, update, ratchet, typed()
    )
    checked, written = _judged(paths, configuration, file, known, asked)
    if measured is not None and most is not None:
        checked = with_measurement(checked, measured, most, configuration.settings.kernels)
    if file is not None and written is not None:
        Sink(file.path, "baseline").write(file.text(written))
    _write(checked, sink, verbose=verbose)
    raise SystemExit(checked.result.exit_code)


def _refuse_mixed(new_since: str | None, revision: str | None, *, writes: bool) -> None:
    if new_since is not None and (revision is not None or writes):
        raise click.UsageError(
            "--new-since implies --changed, and goes with neither --update nor --ratchet: "
            "what another revision has is in no baseline"
        )


def _refuse_alone(measured: str | None, most: float | None) -> None:
    if (measured is None) != (most is None):
        raise UsageError(
            "usage",
            "--measured and --max-local-share need each other",
            hint="for example --measured measured.json --max-local-share 5%",
        )


def _judged(
    paths: tuple[str, ...],
    configuration: Configuration,
    file: BaselineFile | None,
    known: Baseline | None,
    asked: Asked,
) -> tuple[Checked, Baseline | None]:
    """The gate's answer for the paths; without paths, an empty answer."""
    from lmemscope.app.gate import judge, measured_alone, settings_as

    if not paths:
        return measured_alone(allow_incomplete=asked.allow_incomplete), None
    # Rewrites are asked only about failures; on other machines, about all findings.
    elsewhere = configuration.settings.executor is not None
    settings = settings_as(known, configuration.settings)
    settings = replace(settings, accesses=False, proposals=elsewhere)
    if any("promoted" in (limit.forbid or ()) for limit in configuration.policy.limits):
        # Device code embedded as bytes shows only in PTX, which a build's object may lack.
        settings = replace(settings, objects=False)
    with working(settings) as session:
        return judge(paths, session, configuration, file, known, asked)


def _write(checked: Checked, sink: Sink, *, verbose: bool) -> None:
    """Write the answer in its format; if that goes to a file, also print the text."""
    sink.show(checked, verbose=verbose)
    if sink.target is not None and sink.format_name != "text":
        Sink(None, "text", sink.color).show(checked, verbose=verbose)
    # Last: if it cannot be written, the answer has already been given.
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary and sink.format_name == "github":
        append(summary, FORMATS["markdown"].write(checked, Presentation()))
