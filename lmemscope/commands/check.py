"""``lmemscope check``: the gate."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lmemscope.commands.options import compile_options
from lmemscope.commands.output import color_wanted, unusable
from lmemscope.commands.running import (
    EXIT_CLEAN,
    EXIT_GATE,
    EXIT_INCOMPLETE,
    EXIT_USAGE,
    analyse,
    fail,
)
from lmemscope.config.settings import Settings
from lmemscope.errors import LmemscopeError, UsageError

if TYPE_CHECKING:
    from lmemscope.config.file import Configuration
    from lmemscope.model import Baseline, GateResult, Policy, Report

FORMATS = ("text", "sarif", "github", "junit", "markdown")


@click.command(name="check")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--baseline", "baseline_path", metavar="FILE", help="Known findings.")
@click.option("--max-frame", type=click.IntRange(0), metavar="BYTES", help="Limit for all kernels.")
@click.option("--max-spill", type=click.IntRange(0), metavar="BYTES", help="Stores and loads.")
@click.option("--max-sites", type=click.IntRange(0), metavar="N", help="LDL and STL instructions.")
@click.option("--max-registers", type=click.IntRange(0), metavar="N", help="Per thread.")
@click.option("--forbid", multiple=True, metavar="CAUSE", help="Only this cause; repeatable.")
@click.option("--allow", multiple=True, metavar="CAUSE", help="Not this cause; repeatable.")
@click.option(
    "--tolerance", type=click.IntRange(0), metavar="BYTES", help="Drift of known findings."
)
@click.option("--allow-incomplete", is_flag=True, help="Missing evidence does not fail.")
@click.option("--update", is_flag=True, help="Remove what is gone from the baseline.")
@click.option("--ratchet", is_flag=True, help="Take improvements into the baseline.")
@click.option("--format", "format_name", type=click.Choice(FORMATS), help="[default: text]")
@click.option("-o", "--output", "target", metavar="FILE", help="Write to FILE.")
@click.option("-v", "--verbose", is_flag=True, help="Also what is known or allowed.")
@compile_options
def command(
    paths: tuple[str, ...],
    baseline_path: str | None,
    max_frame: int | None,
    max_spill: int | None,
    max_sites: int | None,
    max_registers: int | None,
    forbid: tuple[str, ...],
    allow: tuple[str, ...],
    tolerance: int | None,
    allow_incomplete: bool,
    update: bool,
    ratchet: bool,
    format_name: str | None,
    target: str | None,
    verbose: bool,
    settings: Settings,
    color: str,
) -> None:
    """Fail on local memory that is neither known nor allowed.

    Without limits, a baseline or allowances, any local memory fails but the buffers of printf and
    what ptxas kept in registers. Configuration: limits, allowances and baseline in
    [tool.lmemscope] of pyproject.toml, or lmemscope.toml.

    \b
    Ends with 0 when the gate passes, 1 when it fails, 3 when evidence is missing.

    \b
    Examples:
      lmemscope baseline src/ && lmemscope check src/
      lmemscope check src/ --forbid register-spill
      lmemscope check src/ --max-frame 256 --format sarif -o lmem.sarif
    """
    from lmemscope.config import file as configuration
    from lmemscope.gate import compare, policy

    try:
        found = configuration.find()
        rules = policy.from_configuration(found.section, found.path or "")
        rules = _with_flags(rules, max_frame, max_spill, max_sites, max_registers, forbid, allow)
        path = _baseline_path(baseline_path, found)
        known = _load(path)
        drift = tolerance if tolerance is not None else int(found.section.get("tolerance", 0))
    except LmemscopeError as error:
        fail(error, EXIT_USAGE if isinstance(error, UsageError) else EXIT_INCOMPLETE)
    report = analyse(paths, settings)
    try:
        result = compare.compare(report, rules, known, tolerance=drift)
    except UsageError as error:
        fail(error, EXIT_USAGE)
    _rewrite(path, known, report, result, update=update, ratchet=ratchet)
    _write(report, result, format_name, target, color, allow_incomplete, verbose)
    if result.failures:
        raise SystemExit(EXIT_GATE)
    if not any(unit.kernels for unit in report.units) and not allow_incomplete:
        click.echo("error: [check] no kernel was checked", err=True)
        raise SystemExit(EXIT_INCOMPLETE)
    raise SystemExit(EXIT_INCOMPLETE if result.missing and not allow_incomplete else EXIT_CLEAN)


def _with_flags(
    rules: Policy,
    max_frame: int | None,
    max_spill: int | None,
    max_sites: int | None,
    max_registers: int | None,
    forbid: tuple[str, ...],
    allow: tuple[str, ...],
) -> Policy:
    from dataclasses import replace

    from lmemscope.gate.policy import cause_of
    from lmemscope.model import Limit

    numbers = (max_frame, max_spill, max_sites, max_registers)
    if all(number is None for number in numbers) and not forbid and not allow:
        return rules
    extra = Limit(
        max_frame=max_frame,
        max_spill=max_spill,
        max_sites=max_sites,
        max_registers=max_registers,
        forbid=tuple(cause_of(name, "--forbid") for name in forbid) or None,
        allow=tuple(cause_of(name, "--allow") for name in allow),
    )
    return replace(rules, limits=(*rules.limits, extra))


def _baseline_path(flag: str | None, found: Configuration) -> str | None:
    if flag is not None:
        return flag
    configured = found.section.get("baseline")
    if configured is not None:
        return os.path.join(found.directory, str(configured))
    return DEFAULT if os.path.exists(DEFAULT) else None


DEFAULT = "lmemscope-baseline.json"


def _load(path: str | None) -> Baseline | None:
    from lmemscope.gate import baseline

    return None if path is None else baseline.load(path)


def _rewrite(
    path: str | None,
    known: Baseline | None,
    report: Report,
    result: GateResult,
    *,
    update: bool,
    ratchet: bool,
) -> None:
    """Remove stale entries and take improvements, where that was asked for."""
    from lmemscope.gate import baseline

    if path is None or known is None or not (update or ratchet):
        return
    changed = baseline.without(known, result.gone) if update else known
    if ratchet:
        smaller = {
            (entry.input, entry.arch, entry.fingerprint): entry.bytes
            for entry in baseline.from_report(report).entries
        }
        changed = baseline.ratcheted(changed, smaller)
    try:
        Path(path).write_text(baseline.render(changed), encoding="utf-8")
    except OSError as error:
        unusable(f"{path} cannot be written: {error.strerror}", "check its permissions")


def _write(
    report: Report,
    result: GateResult,
    format_name: str | None,
    target: str | None,
    color: str,
    allow_incomplete: bool,
    verbose: bool,
) -> None:
    from lmemscope.exporters.gate_text import render_gate

    if format_name is None and os.environ.get("GITHUB_ACTIONS") == "true" and target is None:
        format_name = "github"
    plain = render_gate(
        result,
        color=color_wanted(color, target),
        allow_incomplete=allow_incomplete,
        verbose=verbose,
        width=shutil.get_terminal_size().columns if sys.stdout.isatty() else 100,
    )
    text = plain
    if format_name == "sarif":
        from lmemscope.exporters.sarif import render_sarif

        text = render_sarif(report, result)
    elif format_name == "junit":
        from lmemscope.exporters.junit import render_junit

        text = render_junit(report, result)
    elif format_name == "markdown":
        from lmemscope.exporters.gate_markdown import render_gate_markdown

        text = render_gate_markdown(report, result)
    elif format_name == "github":
        from lmemscope.exporters.gate_markdown import render_gate_markdown
        from lmemscope.exporters.github import render_annotations

        text = render_annotations(result) + plain
        summary = os.environ.get("GITHUB_STEP_SUMMARY")
        if summary:
            with open(summary, "a", encoding="utf-8") as stream:
                stream.write(render_gate_markdown(report, result))
    if target is None:
        click.echo(text, nl=False)
        return
    try:
        Path(target).write_text(text, encoding="utf-8")
    except OSError as error:
        unusable(f"{target} cannot be written: {error.strerror}", "name another file")
    if format_name not in (None, "text"):
        click.echo(plain, nl=False)
