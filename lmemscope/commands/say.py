"""Print notes, errors and figures beside a report, with foreign text made visible.

Commands write to streams only through this module, except for `lmemscope.commands.output.Sink`,
which writes what an exporter made.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, NoReturn

import click

from lmemscope.exporters.escape_terminal import Part, document, led, lines

if TYPE_CHECKING:
    from lmemscope.errors import LmemscopeError
    from lmemscope.model import Failure


def say(*parts: Part, err: bool = False) -> None:
    """Print parts as lines; a string becomes a single line of foreign text."""
    click.echo(document(parts), nl=False, err=err)


def show(text: str) -> None:
    """Print text that is already prepared for a terminal."""
    click.echo(text, nl=False, color=True)


def complain(error: LmemscopeError | Failure) -> None:
    """Print an error and its hint to standard error."""
    made = led(f"error: [{error.stage}] ", error.message)
    if error.log:
        made += [part for one in error.log.splitlines() for part in lines(one, "  ")]
    if error.hint:
        made += led("hint: ", error.hint)
    say(*made, err=True)


def refuse(error: click.ClickException, hint: str | None = None) -> NoReturn:
    """Exit with a click error, as click does, but with quoted arguments made visible."""
    told = io.StringIO()
    error.show(told)
    say(*lines(told.getvalue().rstrip("\n")), err=True)
    if hint is not None:
        say(*led("hint: ", hint), err=True)
    raise SystemExit(error.exit_code)
