"""The table of output formats for all commands; a format's module is imported on use."""

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
"""Makes a command from an input and a pattern."""


def explain_file(path: str, pattern: str) -> str:
    """The command for a file that needs no options."""
    return f"lmemscope explain {shlex.quote(f'{path}::{pattern}')}"


def _as_named(path: str) -> str:
    return path


@dataclass(frozen=True, slots=True)
class Presentation:
    """How to present a document; each format uses the settings that apply to it.

    Attributes:
        color: whether the text may contain escape sequences.
        width: columns of the terminal, or None for a pipe or a file.
        verbose: show complete logs, and log lines that were not recognised.
        with_accesses: include every access.
        unsafe: for a patch, whether it contains rewrites that may change the program's meaning.
        view: which rows come first, and whether they are grouped; excluded rows are already
            removed.
        explaining: makes the command that explains kernels of an input matching a pattern, or None.
        located: maps a file to its path in the repository, for servers that show repository files.
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
"""The documents that commands write."""


@dataclass(frozen=True, slots=True)
class Format:
    """An output format, for all commands that have it.

    Attributes:
        name: for ``--format``.
        endings: file name endings that select it.
        writers: by document type, ``module:function`` in this package. The function takes the
            document and the `Presentation`, and returns the complete text.
    """

    name: str
    endings: tuple[str, ...]
    writers: Mapping[type[Document], str]

    def write(self, document: Document, how: Presentation) -> str | bytes:
        """The complete text; imports the writer's module on first use."""
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
    """The formats for a document type, by name."""
    return {row.name: row for row in FORMATS if document in row.writers}


def render(document: Document, format_name: str, **how: Any) -> str | bytes:
    """A document in one of its formats; ``how`` are fields of `Presentation`."""
    return formats_of(type(document))[format_name].write(document, Presentation(**how))
