"""The click group and its front page; each command is a module beside this one.

Commands are imported when they run, so that ``--help`` does not load a compiler binding.
"""

from __future__ import annotations

import importlib
import os
import shlex
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from lmemscope import __version__

_COMMANDS = {
    "cache": "Show or clear the cache of compiler outputs.",
    "baseline": "Record the findings that check accepts.",
    "check": "Fail on local memory that is neither known nor allowed.",
    "diff": "Compare two reports, inputs, architectures or revisions.",
    "doctor": "Show which tools were found, and what is missing.",
    "dump": "Print the PTX, SASS, cubin or compiler log of an input.",
    "explain": "Explain a kernel's local memory and what would remove it.",
    "fix": "Try rewrites that remove local memory, each proven by compiling it.",
    "measure": "Measure local memory on a GPU, by kernel, variable and cause.",
    "report": "Write a full report as Markdown, HTML, JSON or SARIF.",
    "rules": "List the causes, or show the page of one.",
    "schema": "Print the JSON Schema of a document.",
    "tune": "Show what each register cap costs in spills and gains in occupancy.",
    "scan": "Show which kernels use local memory, as a table or a report.",
}
"""Name and one-line help of each command; the module has the same name."""

EXIT_CODES = """\b
Exit codes:
  0  clean, or nothing asked to fail
  1  the gate failed
  2  usage: unknown option, architecture or value
  3  an input could not be analysed, evidence is missing, or output cannot be written
  129, 130, 143  ended by a signal: hung up, interrupted, terminated
"""


_ARGUMENTS = f"{__name__}.arguments"


class LazyGroup(click.Group):
    """A group that lists its commands and their help without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, sorted."""
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command's module and return the command."""
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"lmemscope.commands.{cmd_name}").command
        return command

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Parse the arguments; click's errors quote them with control characters made visible."""
        typed = tuple(args)
        try:
            context = super().make_context(info_name, args, parent, **extra)
        except click.ClickException as error:
            _refuse(error, typed)
        context.meta[_ARGUMENTS] = typed
        return context

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command named by the first argument; the error suggests similar names."""
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            raise _UnknownCommandError(args, ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; click's errors quote arguments with control characters made visible."""
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            _refuse(error, ctx.meta[_ARGUMENTS])

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The command list for ``--help``, from the table rather than from the commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, _COMMANDS[name]) for name in self.list_commands(ctx)])


class _UnknownCommandError(click.UsageError):
    """The first argument is not a command.

    Attributes:
        hint: a suggestion, or None.
    """

    def __init__(self, arguments: Sequence[str], ctx: click.Context) -> None:
        from difflib import get_close_matches

        name = arguments[0]
        super().__init__(f"No such command {name!r}.", ctx)
        near = get_close_matches(name, _COMMANDS, 1)
        is_path = os.path.exists(name) or "/" in name or "." in name
        self.hint: str | None = None
        if is_path:
            self.hint = f"use lmemscope scan {' '.join(map(shlex.quote, arguments))}"
        elif near:
            self.hint = f"use lmemscope {near[0]}"


_CLOSE = 0.75
"""How alike an option is that may have been meant."""


def _refuse(error: click.ClickException, arguments: Sequence[str]) -> NoReturn:
    from lmemscope.app.nvcc_spelling import suggestion
    from lmemscope.commands.say import refuse

    hint = None
    if isinstance(error, click.NoSuchOption):
        from difflib import get_close_matches

        # click takes `--link` for close to `--baseline`.
        near = get_close_matches(error.option_name, error.possibilities or (), cutoff=_CLOSE)
        error = click.NoSuchOption(error.option_name, None, near, error.ctx)
        hint = suggestion(error.option_name, arguments)
    elif isinstance(error, _UnknownCommandError):
        hint = error.hint
    refuse(error, hint)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EXIT_CODES,
)
@click.version_option(__version__, "-V", "--version", prog_name="lmemscope")
def cli() -> None:
    """Which CUDA kernels use local memory, what causes it, and what would remove it.

    Kernels are compiled with NVRTC, or with nvcc if a file holds host code. PTX, the report of
    ptxas and the SASS are compared, because each layer alone is misleading. No GPU is needed.

    Start with:  lmemscope scan my_kernels.cu
    """
