"""``lmemscope cache``: show or clear the store of compiler outputs."""

from __future__ import annotations

import click

from lmemscope.commands.say import say
from lmemscope.config.cache_directory import default_directory
from lmemscope.errors import UsageError


@click.group(name="cache")
def command() -> None:
    """Show or clear the cache of compiler outputs.

    A changed source, header, option or toolkit is compiled again, so results never depend on
    clearing the cache. LMEMSCOPE_CACHE_DIR sets its directory; --no-cache bypasses it.
    """


@command.command(name="info")
def info() -> None:
    """Show the directory and the size of the cache."""
    from lmemscope.lowering import store

    directory = _directory()
    held = store.contents(directory)
    say(f"directory  {directory}")
    say(f"entries    {held.entries}")
    say(f"size       {_size(held.bytes)} of at most {_size(store.LIMIT)}")


@command.command(name="clear")
def clear() -> None:
    """Remove every entry."""
    from lmemscope.lowering import store

    directory = _directory()
    try:
        removed = store.clear(directory)
    except OSError as error:
        raise UsageError(
            "cache",
            f"{directory} cannot be emptied: {error.strerror}",
            hint="check its permissions",
        ) from error
    noun = "entry" if removed.entries == 1 else "entries"
    say(f"removed {removed.entries} {noun}, {_size(removed.bytes)}")


def _directory() -> str:
    directory = default_directory()
    if directory is None:
        raise UsageError(
            "cache",
            "there is no cache: this user has no home directory",
            hint="set LMEMSCOPE_CACHE_DIR to a directory",
        )
    return directory


def _size(size: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"
