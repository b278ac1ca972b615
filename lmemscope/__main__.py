"""``python -m lmemscope`` and the console script."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from lmemscope.commands.stopping import Ending
    from lmemscope.commands.streams import HeldOutput

from lmemscope import environment

_TEMPORARY = frozenset(
    {"scan", "dump", "explain", "check", "baseline", "report", "fix", "diff", "tune"}
)
_HELP = frozenset({"-h", "--help"})
_EXIT_INTERNAL = _EXIT_UNWRITTEN = 3
_DEBUG = "LMEMSCOPE_DEBUG"


def main() -> None:
    """Run the command line, and end the process with its exit code."""
    # What a command makes lives to its end; looking through it for garbage costs up to a quarter.
    gc.disable()
    try:
        os.getcwd()
    except OSError:
        # Nothing can be read from there, nor imported: before all else.
        sys.stderr.write(
            "error: [start] the current directory is gone\nhint: change to one that exists\n"
        )
        os._exit(_EXIT_INTERNAL)
    environment.settle()
    try:
        from lmemscope.commands import stopping, streams
        from lmemscope.errors import Stopped

        ending = stopping.Ending()
        ending.install()
        output = streams.take_over()
    except KeyboardInterrupt:
        os._exit(130)
    try:
        try:
            code = _run(sys.argv[1:], ending)
        except Stopped as stop:
            stopping.take_time()
            sys.stderr.write(f"{stopping.said(stop.number)}\n")
            code = stopping.exit_code(stop.number)
        except BaseException as error:  # noqa: BLE001 - the one place where all mistakes end
            code = _internal(error)
        _leave(code, output, ending)
    except Stopped as stop:
        _leave(stopping.exit_code(stop.number), output, ending)


def _run(arguments: Sequence[str], ending: Ending) -> int:
    """The exit code of a command."""
    from lmemscope.errors import LmemscopeError

    try:
        if arguments and arguments[0] in _TEMPORARY and not _HELP.intersection(arguments):
            ending.make_directory()
        from lmemscope.commands.group import cli

        cli(prog_name="lmemscope")
    except LmemscopeError as error:
        from lmemscope.commands.say import complain

        complain(error)
        return error.exit_code
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _internal(error: BaseException) -> int:
    """Say that this program made a mistake: never exit code 1, which is the gate's answer."""
    # A message may quote what was read; nothing is imported for it, for memory may be short.
    said = ascii(str(error))[1:-1]
    what = f"{type(error).__name__}: {said}" if said else type(error).__name__
    sys.stderr.write(f"error: [internal] lmemscope failed: {what}\n")
    if os.environ.get(_DEBUG):
        import traceback

        for line in "".join(traceback.format_exception(error)).splitlines():
            sys.stderr.write(f"  {ascii(line)[1:-1]}\n")
        sys.stderr.write("hint: this is a bug in lmemscope; please report it with these lines\n")
    else:
        sys.stderr.write(
            "hint: this is a bug in lmemscope; please report it with what the same command prints "
            f"under {_DEBUG}=1\n"
        )
    return _EXIT_INTERNAL


def _leave(code: int, output: HeldOutput, ending: Ending) -> NoReturn:
    """End now: tearing down the interpreter takes longer.

    What could not be written is not there to be read, whatever the command found.
    """
    try:
        sys.stdout.flush()
        lost = output.pass_on()
        if lost is not None and code < 128:
            code = _EXIT_UNWRITTEN
            sys.stderr.write(f"error: [output] standard output cannot be written: {lost}\n")
        sys.stderr.flush()
        ending.finish()
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
