"""``python -m lmemscope`` and the console script."""

from __future__ import annotations


def main() -> None:
    """Run the command line."""
    from lmemscope.cli import cli

    cli(prog_name="lmemscope")


if __name__ == "__main__":
    main()
