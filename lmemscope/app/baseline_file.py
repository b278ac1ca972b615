"""Find the baseline that a command uses: the one named, else the nearest one upwards."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lmemscope.app.gathered import filtered
from lmemscope.config.options import DEFAULT_BASELINE
from lmemscope.discover.checkouts import upwards
from lmemscope.discover.locate import is_saved
from lmemscope.errors import UsageError

if TYPE_CHECKING:
    from lmemscope.config.settings import Configuration
    from lmemscope.model import Baseline, GateFailure, Report


_BEGINNING = 4096
_SIGN = b"lmemscope.baseline/"


@dataclass(frozen=True, slots=True)
class BaselineFile:
    """A baseline file.

    Attributes:
        path: for display.
        directory: absolute; the baseline's paths are relative to it. It is the file's own directory
            if that is the working directory or one above it, else the configuration's.
        found: whether it was found by searching upwards rather than named.
    """

    path: str
    directory: str
    found: bool = False

    @classmethod
    def at(cls, path: str, configuration: Configuration) -> BaselineFile:
        """The baseline at a path."""
        own = os.path.dirname(os.path.abspath(path))
        here = os.getcwd()
        above = here == own or here.startswith(os.path.join(own, ""))
        return cls(path, own if above else os.path.abspath(configuration.settings.root))

    def check_replaceable(self) -> None:
        """Check that overwriting the file destroys nothing except a baseline (even a damaged one).

        The configuration, or a symbolic link in the tree, may point at any file of the user's.

        Raises:
            UsageError: the path is another kind of file, or a dangling link.
        """
        hint = "name another file with -o, or remove this one"
        if os.path.islink(self.path) and not os.path.exists(self.path):
            raise UsageError("baseline", f"{self.path} is a link to nothing", hint=hint)
        if not os.path.isfile(self.path):
            return
        with open(self.path, "rb") as stream:
            beginning = stream.read(_BEGINNING)
        if beginning and _SIGN not in beginning:
            said = f"{self.path} is no baseline, and is not overwritten"
            raise UsageError("baseline", said, hint=hint)

    def load(self) -> Baseline:
        """Read the baseline.

        Raises:
            UsageError: the file does not exist or is not a baseline.
        """
        from lmemscope.gate import baseline

        return baseline.load(self.path)

    def reported(self, known: Baseline, report: Report) -> Baseline:
        """The baseline, with its paths rewritten to match the report's.

        Raises:
            UsageError: the baseline was written through a filter that hides findings the report may
                have.
        """
        from lmemscope.gate.places import as_reported

        if known.filters and known.filters != report.filters:
            raise filtered(self.path, known.filters, report.filters, "this run")
        return as_reported(known, self.directory, report)

    def text(self, known: Baseline) -> str:
        """The file's content, for findings whose paths are relative to the working directory."""
        from lmemscope.gate import baseline
        from lmemscope.gate.places import as_written

        return baseline.render(as_written(known, self.directory))


def baseline_for(configuration: Configuration) -> BaselineFile | None:
    """The configured baseline, or else the nearest one from the working directory upwards.

    The search stops at the top of the git repository: anything above belongs to another project.
    """
    if configuration.baseline is not None:
        return BaselineFile.at(configuration.baseline, configuration)
    here = os.getcwd()
    for directory in upwards(here):
        path = os.path.join(directory, DEFAULT_BASELINE)
        if os.path.exists(path):
            return BaselineFile(os.path.relpath(path), directory, found=directory != here)
    return None


def unused(paths: Sequence[str], used: BaselineFile | None) -> Iterator[str]:
    """Notes about baselines near the inputs that the command does not use."""
    here = os.getcwd()
    taken = None if used is None else os.path.realpath(used.path)
    found: dict[str, None] = {}
    for path in paths:
        named = os.path.abspath(path)
        for directory in upwards(named if os.path.isdir(named) else os.path.dirname(named)):
            own = os.path.join(directory, DEFAULT_BASELINE)
            if directory == here:
                break
            if os.path.exists(own):
                if os.path.realpath(own) != taken:
                    found[directory] = None
                break
    for directory in found:
        shown = os.path.relpath(directory)
        yield (
            f"{os.path.join(shown, DEFAULT_BASELINE)} is not used: a baseline is looked up from "
            f"the working directory upwards; to use it, run the command in {shown}"
        )


def without_architectures(
    paths: Sequence[str],
    file: BaselineFile | None,
    known: Baseline | None,
    report: Report,
    failures: Sequence[GateFailure],
    typed: Mapping[str, Any],
    archs: Sequence[str],
) -> Iterator[str]:
    """A note about new findings for architectures that the baseline does not cover.

    Architectures chosen by an input or its build, which a baseline does not record, are ignored.

    Args:
        paths: as typed.
        file: the baseline's file.
        known: the baseline.
        report: the report compared with it.
        failures: the gate's failures.
        typed: the options given on the command line, by name.
        archs: the architectures requested.
    """
    from lmemscope.analysis.ranking import arch_order
    from lmemscope.app.next_command import writing_baseline

    if file is None or known is None or not archs:
        return
    default = {known.default_arch} if known.default_arch and not known.archs else set()
    has = {*known.archs, *(entry.arch for entry in known.findings)} or default
    new = {one.arch for one in failures if one.kind == "new"} - has
    if not new:
        return
    named = [path for path in paths if not is_saved(path)] or report.paths or ("PATH",)
    target = file.path if file.path != DEFAULT_BASELINE else None
    command = writing_baseline(named, sorted((*has, *new), key=arch_order), target, typed)
    lacks = ", ".join(sorted(new, key=arch_order))
    yield f"{file.path} was not written for {lacks}; to add its findings: {command}"
