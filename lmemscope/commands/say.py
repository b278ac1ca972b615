"""What a command says beside its report: notes, errors, figures; foreign text is made visible.

No command writes to a stream in another way, but for `lmemscope.commands.output.Sink`, which takes
what an exporter made.
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
    """Lines; a string is one line of foreign text, whatever it holds."""
    click.echo(document(parts), nl=False, err=err)


def show(text: str) -> None:
    """What was made for a terminal."""
    click.echo(text, nl=False, color=True)


def complain(error: LmemscopeError | Failure) -> None:
    """What went wrong and what to do, to standard error."""
    made = led(f"error: [{error.stage}] ", error.message)
    if error.log:
        made += [part for one in error.log.splitlines() for part in lines(one, "  ")]
    if error.hint:
        made += led("hint: ", error.hint)
    say(*made, err=True)


def refuse(error: click.ClickException, hint: str | None = None) -> NoReturn:
    """End with an error of click's own, which quotes arguments, as click does, but visibly."""
    told = io.StringIO()
    error.show(told)
    say(*lines(told.getvalue().rstrip("\n")), err=True)
    if hint is not None:
        say(*led("hint: ", hint), err=True)
    raise SystemExit(error.exit_code)
