"""The formats of a report, one row each; a format's module is imported when it is asked for."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

from lmemscope.model import WHOLE, Report, View

Explaining = Callable[[str, str], str | None]
"""From an input and a pattern to a command."""


def explain_file(path: str, pattern: str) -> str:
    """The command for a file that needs no options."""
    return f"lmemscope explain {shlex.quote(f'{path}::{pattern}')}"


@dataclass(frozen=True, slots=True)
class Presentation:
    """How a report is to be shown; a format takes of it what it has a use for.

    Attributes:
        color: whether the text may hold escape sequences.
        width: columns of the terminal, or None for a pipe or a file.
        verbose: whole logs, and log lines that were not understood.
        with_accesses: every single access.
        view: which rows come first, and whether they are grouped; what it leaves out is left out
            already.
        explaining: the command that explains the kernels of an input that a pattern means, or None
            where there is none.
    """

    color: bool = False
    width: int | None = None
    verbose: bool = False
    with_accesses: bool = False
    view: View = WHOLE
    explaining: Explaining = explain_file


class Exporter(Protocol):
    """What the module of a format has."""

    def render(self, report: Report, how: Presentation) -> str:
        """The whole text."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format of reports.

    Attributes:
        name: of ``--format``.
        endings: of files that stand for it.
        module: dotted name of its `Exporter`.
    """

    name: str
    endings: tuple[str, ...]
    module: str

    @property
    def exporter(self) -> Exporter:
        """The module, imported now."""
        return cast(Exporter, import_module(self.module))


FORMATS: tuple[Format, ...] = (
    Format("table", (".txt",), "lmemscope.exporters.terminal"),
    Format("json", (".json",), "lmemscope.exporters.json"),
    Format("markdown", (".md", ".markdown"), "lmemscope.exporters.markdown"),
    Format("sarif", (".sarif",), "lmemscope.exporters.sarif"),
    Format("html", (".html",), "lmemscope.exporters.html"),
)
"""Every format, the default first."""

_BY_NAME = {row.name: row for row in FORMATS}


def render(
    report: Report,
    format_name: str,
    *,
    color: bool = False,
    width: int | None = None,
    verbose: bool = False,
    with_accesses: bool = False,
    view: View = WHOLE,
    explaining: Explaining = explain_file,
) -> str:
    """A report in one of `FORMATS`, by name; the rest is as in `Presentation`."""
    how = Presentation(color, width, verbose, with_accesses, view, explaining)
    return _BY_NAME[format_name].exporter.render(report, how)
