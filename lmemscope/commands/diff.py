"""``lmemscope diff``: what changed between two reports, inputs, architectures or revisions."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from lmemscope.commands.checkout import BuildCopy, written_out
from lmemscope.commands.options import compile_options, format_options, path_argument
from lmemscope.commands.output import Sink
from lmemscope.commands.running import analyse, exit_code
from lmemscope.commands.saved import filtered, gathered
from lmemscope.commands.say import say
from lmemscope.config.settings import Settings
from lmemscope.errors import UsageError
from lmemscope.exporters.formats import formats_of
from lmemscope.model import Difference, InputId

if TYPE_CHECKING:
    from lmemscope.model import Report

FORMATS = formats_of(Difference)


_SEVERAL = {
    "name": "toolkits",
    "multiple": True,
    "help": "Compare the installed toolkit with DIR; given twice, compare the two.",
}


@click.command(name="diff")
@path_argument("paths", nargs=-1, metavar="OLD NEW | PATH...")
@click.option("--git", "revisions", metavar="A..B", help="Compare PATH... at two git revisions.")
@format_options(FORMATS)
@functools.partial(compile_options, toolkit=_SEVERAL)
def command(
    paths: tuple[str, ...],
    revisions: str | None,
    format_name: str | None,
    target: str | None,
    toolkits: tuple[str, ...],
    settings: Settings,
    color: str,
) -> None:
    """Show per kernel what changed, and which cause explains it.

    OLD and NEW are saved JSON reports or inputs. One PATH with two --arch compares architectures,
    one PATH with --toolkit compares toolkits, and --git compares two revisions.

    \b
    Examples:
      lmemscope diff old.json new.json
      lmemscope diff before.cu after.cu
      lmemscope diff kernels/ --arch sm_80 --arch sm_120
      lmemscope diff kernels/ --toolkit /usr/local/cuda-13.0
      lmemscope diff --git main..HEAD kernels/ --format markdown
    """
    from lmemscope.gate.difference import difference
    from lmemscope.rules.clean_kernels import with_clean

    sink = Sink.open(target, format_name, formats=FORMATS, color=color)
    old, new, ignore_arch, ignore_input = _sides(paths, revisions, toolkits, settings)
    if old.filters != new.filters:
        # Only saved reports differ in this: what is analysed here is filtered alike.
        side, other = (old, new) if old.filters else (new, old)
        name, name2 = paths if side is old else reversed(paths)
        raise filtered(name, side.filters, other.filters, name2)
    old, new = with_clean(old), with_clean(new)
    sink.show(difference(old, new, ignore_arch=ignore_arch, ignore_input=ignore_input))
    for note in dict.fromkeys((*old.notes, *new.notes)):
        say(f"note: {note}", err=True)
    for unit in (*old.units, *new.units):
        if unit.failure is not None:
            say(f"error: [{unit.failure.stage}] {unit.failure.message}", err=True)
    raise SystemExit(max(exit_code(old), exit_code(new)))


def _sides(
    paths: Sequence[str], revisions: str | None, chosen: Sequence[str], settings: Settings
) -> tuple[Report, Report, bool, bool]:
    """The two reports, and whether architectures or files are to be ignored in matching."""
    if len(paths) == 1 and chosen and revisions is None and len(chosen) <= 2:
        pair = chosen if len(chosen) == 2 else [settings.toolkit, *chosen]
        old, new = (analyse(paths, replace(settings, toolkit=each)) for each in pair)
        return old, new, False, False
    if len(chosen) > 1:
        raise UsageError("usage", "several --toolkit compare one PATH", hint="name one of each")
    if chosen:
        settings = replace(settings, toolkit=chosen[0])
    if revisions is not None:
        first, separator, second = revisions.partition("..")
        if not separator or not first or not second:
            raise UsageError("git", f"{revisions} names no two revisions", hint="write A..B")
        return _at(first, paths, settings), _at(second, paths, settings), False, False
    if len(paths) == 1 and len(settings.archs) == 2:
        old, new = (analyse(paths, replace(settings, archs=(arch,))) for arch in settings.archs)
        return old, new, True, False
    if len(paths) != 2:
        raise UsageError(
            "usage",
            "diff takes two things to compare",
            hint="OLD NEW, or one PATH with two --arch or a --toolkit, or --git A..B PATH...",
        )
    old, new = (gathered([path], settings) for path in paths)
    # Of a build log there are units for each file that it names: "build.log[src/a.cu]".
    single = all(len({InputId.parse(u.input).file for u in r.units}) == 1 for r in (old, new))
    return old, new, False, single


def _at(revision: str, paths: Sequence[str], settings: Settings) -> Report:
    """Scan paths as they were in a revision, written out to a temporary directory."""
    with written_out(revision) as checkout:
        here = os.getcwd()
        if settings.build_database:
            BuildCopy(checkout).write(paths)
        os.chdir(checkout.directory)
        try:
            report = analyse([checkout.relative(path) for path in paths], checkout.mapped(settings))
            checkout.refuse_live_files(report)
        finally:
            os.chdir(here)
        return report
