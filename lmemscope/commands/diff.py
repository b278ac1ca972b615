"""``lmemscope diff``: what changed between two reports, inputs, architectures or revisions."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from lmemscope.commands.options import comparing_options
from lmemscope.commands.output import Formats, Sink
from lmemscope.commands.running import analyse, exit_code
from lmemscope.commands.saved import filtered, gathered
from lmemscope.config.settings import Settings
from lmemscope.errors import UsageError

if TYPE_CHECKING:
    from lmemscope.model import Report

FORMATS: Formats = {"table": (".txt",), "json": (".json",), "markdown": (".md", ".markdown")}


@click.command(name="diff")
@click.argument("paths", nargs=-1, required=True, metavar="OLD NEW | PATH...")
@click.option("--git", "revisions", metavar="A..B", help="Compare PATH... in two git revisions.")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(list(FORMATS)),
    help="[default: from the ending of -o FILE, else table]",
)
@click.option("-o", "--output", "target", metavar="FILE", help="Write to FILE.")
@comparing_options
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

    OLD and NEW are saved JSON reports or inputs. With one PATH and two --arch the architectures
    are compared; with one PATH and --toolkit two toolkits; with --git two revisions of PATH....

    \b
    Examples:
      lmemscope diff old.json new.json
      lmemscope diff before.cu after.cu
      lmemscope diff kernels/ --arch sm_80 --arch sm_120
      lmemscope diff kernels/ --toolkit /usr/local/cuda-13.0
      lmemscope diff --git main..HEAD kernels/ --format markdown
    """
    from lmemscope.exporters.difference import render_difference
    from lmemscope.gate.difference import difference, toolchain_changes

    sink = Sink.open(target, format_name, formats=FORMATS, color=color)
    old, new, ignore_arch, ignore_input = _sides(paths, revisions, toolkits, settings)
    if old.filters != new.filters:
        # Only saved reports differ in this: what is analysed here is filtered alike.
        side, other = (old, new) if old.filters else (new, old)
        name, name2 = paths if side is old else reversed(paths)
        raise filtered(name, side.filters, other.filters, name2)
    found = difference(old, new, ignore_arch=ignore_arch, ignore_input=ignore_input)
    sink.write(render_difference(found, sink.format_name, toolchain_changes(old, new)))
    for note in dict.fromkeys((*old.notes, *new.notes)):
        click.echo(f"note: {note}", err=True)
    for unit in (*old.units, *new.units):
        if unit.failure is not None:
            click.echo(f"error: [{unit.failure.stage}] {unit.failure.message}", err=True)
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
    single = all(len({u.input.partition("[")[0] for u in r.units}) == 1 for r in (old, new))
    return old, new, False, single


def _at(revision: str, paths: Sequence[str], settings: Settings) -> Report:
    """Scan paths as they were in a revision, from a temporary worktree."""
    with _worktree(revision) as checkout:
        here = os.getcwd()
        os.chdir(checkout.directory)
        try:
            return analyse([checkout.relative(path) for path in paths], checkout.mapped(settings))
        finally:
            os.chdir(here)


@dataclass(frozen=True, slots=True)
class _Checkout:
    """Another revision of the repository.

    Attributes:
        live, tree: top directories of the repository and of its checkout, without links.
        here: the directory to compare in, in the repository.
    """

    live: str
    tree: str
    here: str

    @property
    def directory(self) -> str:
        """The same directory in the checkout."""
        return self.path(self.here)

    def path(self, path: str) -> str:
        """An absolute path in the checkout; one outside of the repository stays."""
        real = os.path.realpath(path)
        if real != self.live and not real.startswith(self.live + os.sep):
            return path
        return os.path.normpath(os.path.join(self.tree, os.path.relpath(real, self.live)))

    def relative(self, path: str) -> str:
        """An input as both revisions call it: relative, if it is in the repository."""
        if not os.path.isabs(path) or self.path(path) == path:
            return path
        return os.path.relpath(self.path(path), self.directory)

    def argument(self, text: str) -> str:
        """An argument of a compiler with the paths that it holds: ``X``, ``-IX``, ``--flag=X``."""
        lead, separator, path = text.rpartition("=")
        if text.startswith("-I"):
            lead, separator, path = "-I", "", text[2:]
        return f"{lead}{separator}{self.path(path)}" if os.path.isabs(path) else text

    def mapped(self, settings: Settings) -> Settings:
        """The settings with directories and files of the checkout.

        Each checkout has a path of its own, which no later run could look up in a cache.
        """
        options = settings.options
        return replace(
            settings,
            cache=None,
            root=self.path(settings.root),
            options=replace(
                options,
                include_dirs=tuple(map(self.path, options.include_dirs)),
                nvrtc_args=tuple(map(self.argument, options.nvrtc_args)),
                nvcc_args=tuple(map(self.argument, options.nvcc_args)),
                ptxas_args=tuple(map(self.argument, options.ptxas_args)),
            ),
        )


@contextmanager
def _worktree(revision: str) -> Iterator[_Checkout]:
    from lmemscope.tools import process

    with tempfile.TemporaryDirectory(prefix="lmemscope-") as base:
        tree = os.path.join(base, "tree")
        # An option-like revision must not become an option of git.
        made = process.run(["git", "worktree", "add", "--detach", "--quiet", "--", tree, revision])
        if made.returncode != 0:
            raise UsageError(
                "git", f"cannot check out {revision}: {made.output.strip()}", hint="check the name"
            )
        top = process.run(["git", "rev-parse", "--show-toplevel"]).output.strip()
        try:
            yield _Checkout(os.path.realpath(top), os.path.realpath(tree), os.getcwd())
        finally:
            process.run(["git", "worktree", "remove", "--force", tree])
