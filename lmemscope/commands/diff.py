"""``lmemscope diff``: what changed between two reports, inputs, architectures or revisions."""

from __future__ import annotations

import functools

import click
from msgspec.structs import replace

from lmemscope.commands.options import compile_options, format_options, path_argument
from lmemscope.commands.output import Sink
from lmemscope.commands.running import exit_code, say_failures, working
from lmemscope.commands.say import say
from lmemscope.config.settings import Settings
from lmemscope.exporters.formats import formats_of
from lmemscope.model import Difference

FORMATS = formats_of(Difference)


_SEVERAL = {
    "name": "toolkits",
    "multiple": True,
    "help": "Compare the installed toolkit with DIR; given twice, compare the two.",
}


@click.command(name="diff")
@path_argument("paths", nargs=-1, metavar="OLD NEW | PATH...")
@click.option("--git", "revisions", metavar="A..B", help="Compare PATH... at two git revisions.")
@format_options(FORMATS)
@functools.partial(compile_options, toolkit=_SEVERAL)
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

    OLD and NEW are saved JSON reports or inputs. One PATH with two --arch compares architectures,
    one PATH with --toolkit compares toolkits, and --git compares two revisions.

    \b
    Examples:
      lmemscope diff old.json new.json
      lmemscope diff before.cu after.cu
      lmemscope diff kernels/ --arch sm_80 --arch sm_120
      lmemscope diff kernels/ --toolkit /usr/local/cuda-13.0
      lmemscope diff --git main..HEAD kernels/ --format markdown
    """
    from lmemscope.app.difference import compared

    sink = Sink.open(target, format_name, formats=FORMATS, color=color)
    with working(replace(settings, accesses=False)) as session:
        old, new, difference = compared(paths, revisions, toolkits, session)
    sink.show(difference)
    for note in dict.fromkeys((*old.notes, *new.notes)):
        say(f"note: {note}", err=True)
    say_failures(old, new)
    raise SystemExit(exit_code(old, new))
