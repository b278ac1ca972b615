"""``lmemscope check``: the gate."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from lmemscope.commands.baseline_file import baseline_for, unused
from lmemscope.commands.gate_configuration import say_of
from lmemscope.commands.gate_inputs import inputs_of, with_stale
from lmemscope.commands.options import (
    configured_options,
    format_options,
    group_options,
    is_typed,
    package_option,
    path_argument,
    with_packages,
)
from lmemscope.commands.output import Sink, append
from lmemscope.commands.saved import filtered, gathered
from lmemscope.commands.saved_options import with_other_options
from lmemscope.config.settings import Configuration, Settings
from lmemscope.discover.locate import is_saved
from lmemscope.exporters.formats import Presentation, formats_of
from lmemscope.model import Checked, Written
from lmemscope.rules.clean_kernels import with_clean

if TYPE_CHECKING:
    from lmemscope.commands.baseline_file import BaselineFile
    from lmemscope.discover.changed import Selection
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
@click.option("--allow-incomplete", is_flag=True, help="Pass although evidence is missing.")
@click.option(
    "--trust-configuration",
    is_flag=True,
    help="With --changed: accept a configuration that is weaker than the revision's.",
)
@click.option("--update", is_flag=True, help="Remove findings that are gone from the baseline.")
@click.option("--ratchet", is_flag=True, help="Record improvements in the baseline.")
@format_options(FORMATS)
@click.option("-v", "--verbose", is_flag=True, help="Also show known and allowed findings.")
@configured_options
def command(
    paths: tuple[str, ...],
    packages: tuple[str, ...],
    revision: str | None,
    allow_incomplete: bool,
    trust_configuration: bool,
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
      lmemscope check src/ --forbid register-spill
      lmemscope check src/ --max-frame 256 -o lmem.sarif
    """
    from lmemscope.gate import baseline, compare

    paths = with_packages(paths, packages)
    if format_name is None and target is None and os.environ.get("GITHUB_ACTIONS") == "true":
        format_name = "github"
    sink = Sink.open(target, format_name, formats=FORMATS, color=color)
    file = baseline_for(configuration)
    known = file.load() if file is not None else None
    changing = file is not None and (update or ratchet)
    kept = Sink.open(file.path, "baseline") if file is not None and changing else None
    settings = configuration.settings if known is None else _as_known(configuration.settings, known)
    since = _since(
        revision, paths, file.path if file is not None else None, configuration, settings
    )
    narrow = since.narrow if since is not None else None
    report = gathered(paths, settings, narrow=narrow, verify=True)
    unchanged = since.unchanged if since is not None else ()
    theirs = known.filters if known is not None else ()
    # What this command's own flags leave out is said below; what is missing of a file is not known.
    foreign = tuple(one for one in report.filters if one not in settings.filters)
    saved = next(filter(is_saved, paths), None)
    if saved is not None and foreign and report.filters != theirs:
        other = "the gate" if known is None else "the baseline"
        raise filtered(saved, foreign, theirs, other)
    if file is not None and known is not None:
        known = file.reported(known, report)
    report = with_clean(report)
    report = with_other_options(paths, with_stale(paths, report), settings)
    result = compare.compare(
        report,
        configuration.policy,
        known,
        tolerance=configuration.tolerance,
        toolchain_tolerance=configuration.toolchain_tolerance,
        allow_incomplete=allow_incomplete,
        inputs=inputs_of(
            paths,
            report,
            known,
            settings,
            globs_typed=bool(settings.narrowed),
            archs_typed=is_typed("arch"),
        ),
        kernels=settings.kernels,
        unchanged=unchanged,
    )
    said = say_of(configuration, report, since, trusted=trust_configuration)
    result = said.added_to(result)
    about = since.notes if since is not None else ()
    hints = unused(paths, file) if configuration.baseline is None else ()
    result = replace(result, notes=(*about, *_about(file), *hints, *result.notes))
    if kept is not None and file is not None and known is not None:
        changed = baseline.without(known, result.gone) if update else known
        changed = baseline.ratcheted(changed, result.better) if ratchet else changed
        kept.write(file.text(changed))
    done = Written(update=kept is not None and update, ratchet=kept is not None and ratchet)
    _write(Checked(report, result, done), sink, verbose=verbose)
    raise SystemExit(result.exit_code)


def _about(file: BaselineFile | None) -> Iterator[str]:
    """What a reader has to know about what was compared."""
    if file is not None and file.found:
        yield f"the baseline is {file.path}"


def _as_known(settings: Settings, known: Baseline) -> Settings:
    """The settings with the baseline's architectures where nobody named any.

    The gate must not depend on the GPU of whoever runs it.
    """
    if settings.archs:
        return settings
    if known.archs:
        return replace(settings, archs=known.archs)
    # Earlier baselines say nothing of their own but what their findings do.
    default = (known.default_arch,) if known.default_arch else {e.arch for e in known.entries}
    return replace(settings, default_archs=tuple(sorted(default)))


def _since(
    revision: str | None,
    paths: Sequence[str],
    baseline: str | None,
    configuration: Configuration,
    settings: Settings,
) -> Selection | None:
    """What chooses the files that changed since a revision, if one is given."""
    if revision is None:
        return None
    from lmemscope.discover import changed

    return changed.since(revision, paths, baseline, configuration.file, settings)


def _write(checked: Checked, sink: Sink, *, verbose: bool) -> None:
    """The answer in its format; where a file takes that, the text is for whoever watches."""
    sink.show(checked, verbose=verbose)
    if sink.target is not None and sink.format_name != "text":
        Sink(None, "text", sink.color).show(checked, verbose=verbose)
    # Last: where it cannot be written, the answer has been given all the same.
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary and sink.format_name == "github":
        append(summary, FORMATS["markdown"].write(checked, Presentation()))
