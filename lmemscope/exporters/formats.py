"""The formats of all commands, one row each; what writes one is imported when it is asked for."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from lmemscope.model import (
    WHOLE,
    Checked,
    Difference,
    FixReport,
    Measurement,
    Report,
    TuneReport,
    View,
)

Explaining = Callable[[str, str], str | None]
"""From an input and a pattern to a command."""


def explain_file(path: str, pattern: str) -> str:
    """The command for a file that needs no options."""
    return f"lmemscope explain {shlex.quote(f'{path}::{pattern}')}"


def _as_named(path: str) -> str:
    return path


@dataclass(frozen=True, slots=True)
class Presentation:
    """How a document is to be shown; a format takes of it what it has a use for.

    Attributes:
        color: whether the text may hold escape sequences.
        width: columns of the terminal, or None for a pipe or a file.
        verbose: whole logs, and log lines that were not understood.
        with_accesses: every single access.
        unsafe: of a patch, whether it holds rewrites that may change what the program does.
        view: which rows come first, and whether they are grouped; what it leaves out is left out
            already.
        explaining: the command that explains the kernels of an input that a pattern means, or None
            where there is none.
        located: what a server that shows the repository's files calls one of them.
    """

    color: bool = False
    width: int | None = None
    verbose: bool = False
    with_accesses: bool = False
    unsafe: bool = False
    view: View = WHOLE
    explaining: Explaining = explain_file
    located: Callable[[str], str] = _as_named


Document = Report | Checked | Difference | FixReport | Measurement | TuneReport
"""What a command writes."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format, for all commands that have it.

    Attributes:
        name: of ``--format``.
        endings: of files that stand for it.
        writers: by what is written, ``module:function`` below this package. The function takes the
            document and the `Presentation`, and gives the whole text.
    """

    name: str
    endings: tuple[str, ...]
    writers: Mapping[type[Document], str]

    def write(self, document: Document, how: Presentation) -> str | bytes:
        """The whole text; the writer's module is imported now."""
        module, _, function = self.writers[type(document)].partition(":")
        written: str | bytes = getattr(import_module(f"{__package__}.{module}"), function)(
            document, how
        )
        return written


FORMATS: tuple[Format, ...] = (
    Format(
        "table",
        (".txt",),
        {
            Report: "terminal:render",
            Difference: "difference:text",
            FixReport: "fix_table:render",
            Measurement: "measured_table:render",
            TuneReport: "tune_text:render",
        },
    ),
    Format("text", (".txt",), {Checked: "gate_text:render"}),
    Format("patch", (".patch", ".diff"), {FixReport: "patch:render"}),
    Format(
        "json",
        (".json",),
        {
            Report: "json:render",
            Checked: "gate_document:render",
            Difference: "difference:json",
            FixReport: "fix_document:render",
            Measurement: "measured_document:render",
            TuneReport: "tune_text:json",
        },
    ),
    Format(
        "markdown",
        (".md", ".markdown"),
        {
            Report: "markdown:render",
            Checked: "gate_markdown:render",
            Difference: "difference:markdown",
            Measurement: "measured_markdown:render",
            TuneReport: "tune_text:markdown",
        },
    ),
    Format("sarif", (".sarif",), {Report: "sarif:render", Checked: "sarif:render"}),
    Format(
        "html",
        (".html",),
        {
            Report: "html:render",
            Measurement: "measured_html:render",
            TuneReport: "tune_html:render",
        },
    ),
    Format("github", (), {Checked: "github:render"}),
    Format(
        "pr-comment",
        (),
        {Checked: "pr_comment:checked", Difference: "pr_comment:difference"},
    ),
    Format("junit", (".xml",), {Checked: "junit:render"}),
)
"""Every format; of those that a command has, the first is its default."""


def formats_of(document: type[Document]) -> dict[str, Format]:
    """The formats that there are for what a command writes, by name."""
    return {row.name: row for row in FORMATS if document in row.writers}


def render(document: Document, format_name: str, **how: Any) -> str | bytes:
    """A document in one of its formats; ``how`` are fields of `Presentation`."""
    return formats_of(type(document))[format_name].write(document, Presentation(**how))
