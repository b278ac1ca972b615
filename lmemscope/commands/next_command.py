"""The command that goes on from a scan: the same inputs and options, and one kernel explained."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

import click

from lmemscope.config.options import OPTIONS
from lmemscope.config.settings import Settings
from lmemscope.discover.locate import is_build, is_saved
from lmemscope.exporters.formats import Explaining

_COMPILING = frozenset(
    one.name for row in OPTIONS if row.group == "compile" for one in (row, *row.rows)
)
_ARGUMENTS = f"{__name__}.arguments"
_TOLD = frozenset({"include", "exclude", "kernels"})
"""Options that choose among kernels, which the command does by a name and a file."""


class Remembering(click.Command):
    """A command that knows its arguments as they were typed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Note them, for what click makes of them has other words."""
        ctx.meta[_ARGUMENTS] = list(args)
        return super().parse_args(ctx, args)


def explaining(paths: Sequence[str], settings: Settings) -> Explaining:
    """How ``explain`` is called for a kernel of the current command, a `Remembering` one.

    Args:
        paths: that it was given.
        settings: its own.
    """
    options = _repeated(click.get_current_context())

    def command(path: str, pattern: str) -> str | None:
        if "-" in paths:
            return None
        saved = [one for one in paths if is_saved(one)]
        builds = [one for one in paths if is_build(one)]
        if path in paths or not (saved or builds):
            words = [f"{path}::{pattern}", *options]
        elif len(paths) > 1:
            # Which of them it comes from, nobody has noted.
            return None
        elif saved:
            words = [f"{saved[0]}::{pattern}"]
        else:
            # The build knows how the file is compiled; the file may not know its build.
            name = os.path.relpath(os.path.abspath(path), settings.root).replace(os.sep, "/")
            words = [f"{builds[0]}::{pattern}", "--include", name.replace("[", "[[]"), *options]
        return f"lmemscope explain {' '.join(map(shlex.quote, words))}"

    return command


def _repeated(context: click.Context) -> list[str]:
    """The options of compilation on a command line, as words."""
    arguments = context.meta[_ARGUMENTS]
    given, _, _ = context.command.make_parser(context).parse_args(list(arguments))
    words: list[str] = []
    for parameter in context.command.get_params(context):
        name = parameter.name or ""
        if name not in given or name not in _COMPILING - _TOLD:
            continue
        value = given[name]
        if isinstance(parameter, click.Option) and parameter.is_flag:
            words.append(parameter.opts[0] if value else (parameter.secondary_opts or [""])[0])
            continue
        for one in value if isinstance(value, list) else [value]:
            words += [parameter.opts[0], str(one)]
    return [word for word in words if word]
