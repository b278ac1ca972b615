"""Where a report goes and in which format."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import click

from lmemscope.commands.running import EXIT_USAGE, fail
from lmemscope.errors import UsageError
from lmemscope.model import Report

FORMATS = ("table", "json", "markdown", "sarif", "html")
_ENDINGS = {
    ".json": "json",
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "table",
    ".sarif": "sarif",
    ".html": "html",
}


@dataclass(frozen=True, slots=True)
class Sink:
    """A checked destination: what is wrong with it is said before anything is compiled."""

    target: str | None
    format_name: str
    color: bool
    verbose: bool
    with_accesses: bool = False

    @classmethod
    def open(
        cls,
        target: str | None,
        format_name: str | None,
        *,
        color: str,
        verbose: bool,
        with_accesses: bool = False,
    ) -> Sink:
        """Check the destination; a bad one ends the program with code 2."""
        if target is not None:
            if format_name is None:
                ending = os.path.splitext(target)[1].lower()
                if ending not in _ENDINGS:
                    unusable(
                        f"the ending of {target} names no format",
                        f"use one of {', '.join(_ENDINGS)}, or say --format",
                    )
                format_name = _ENDINGS[ending]
            directory = os.path.dirname(os.path.abspath(target))
            if not os.path.isdir(directory):
                unusable(f"{target} cannot be written: no directory {directory}", "create it")
            writable = target if os.path.exists(target) else directory
            if os.path.isdir(target) or not os.access(writable, os.W_OK):
                unusable(f"{target} cannot be written", "name a file in a writable directory")
        return cls(
            target, format_name or "table", color_wanted(color, target), verbose, with_accesses
        )

    def write(self, report: Report) -> None:
        """Render and write; a full disk or a vanished directory ends the program with code 2."""
        from lmemscope import exporters

        is_terminal = self.target is None and sys.stdout.isatty()
        text = exporters.render(
            report,
            self.format_name,
            color=self.color,
            width=_terminal_width() if is_terminal else None,
            verbose=self.verbose,
            with_accesses=self.with_accesses,
        )
        if self.target is None:
            click.echo(text, nl=False, color=self.color)
            return
        try:
            Path(self.target).write_text(text, encoding="utf-8")
        except OSError as error:
            unusable(f"{self.target} cannot be written: {error.strerror}", "name another file")


def color_wanted(color: str, target: str | None) -> bool:
    """Whether output may hold escape sequences: ``--color``, else a terminal without NO_COLOR."""
    if color != "auto":
        return color == "always"
    return target is None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _terminal_width() -> int:
    return click.get_current_context().terminal_width or os.get_terminal_size().columns


def unusable(message: str, hint: str) -> NoReturn:
    """Say what is wrong with the output and leave with the code of wrong usage."""
    fail(UsageError("output", message, hint=hint), EXIT_USAGE)
