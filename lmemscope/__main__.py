"""``python -m lmemscope`` and the console script."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

_COMPILING = frozenset({"scan", "dump", "explain", "check", "baseline", "report"})
_EARLY = 4
_HELP = frozenset({"-h", "--help"})


def main() -> None:
    """Run the command line."""
    arguments = sys.argv[1:]
    if arguments and arguments[0] in _COMPILING and not _HELP.intersection(arguments):
        # The worker loads NVRTC while this process imports click and parses the flags.
        from lmemscope.running import launch, preload, warmth

        units = warmth.expected_units()
        without_nvrtc = units > 0 or "--toolkit" in arguments
        # More than one only where all of them are sure to have work.
        for _ in range(min(units // 4, len(os.sched_getaffinity(0)), _EARLY) or 1):
            worker = launch.start(preload.WARM if without_nvrtc else preload.COLD)
            launch.started_early.append(worker)
    from lmemscope.commands.group import cli

    try:
        cli(prog_name="lmemscope")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        _leave(code)


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
