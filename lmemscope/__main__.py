"""``python -m lmemscope`` and the console script."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from lmemscope import environment

_COMPILING = frozenset({"scan", "dump", "explain", "check", "baseline", "report"})
_HELP = frozenset({"-h", "--help"})


def main() -> None:
    """Run the command line."""
    environment.settle()
    try:
        _run(sys.argv[1:])
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        _leave(130)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        _leave(code)


def _run(arguments: Sequence[str]) -> None:
    if arguments and arguments[0] in _COMPILING and not _HELP.intersection(arguments):
        # The worker loads NVRTC, or what a cached run needs, while this process parses the flags.
        from lmemscope.running import launch, marks

        preload = marks.preload("--toolkit" in arguments)
        launch.started_early.append(launch.start(preload))
    from lmemscope.commands.group import cli

    if "_LMEMSCOPE_COMPLETE" in os.environ:
        from lmemscope.commands import completion

        completion.register()
    cli(prog_name="lmemscope")


def _leave(code: int) -> NoReturn:
    """End now: workers see their pipes close, and tearing down the interpreter takes longer."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        code = code or 1
    os._exit(code)


if __name__ == "__main__":
    main()
