"""``python -m lmemscope`` and the console script."""

from __future__ import annotations

import sys

_COMPILING = frozenset({"scan", "dump"})
_HELP = frozenset({"-h", "--help"})


def main() -> None:
    """Run the command line."""
    arguments = sys.argv[1:]
    if arguments and arguments[0] in _COMPILING and not _HELP.intersection(arguments):
        # The worker loads NVRTC while this process imports click and parses the flags.
        from lmemscope import launch

        launch.started_early.append(launch.start("lmemscope.preload"))
    from lmemscope.cli import cli

    cli(prog_name="lmemscope")


if __name__ == "__main__":
    main()
