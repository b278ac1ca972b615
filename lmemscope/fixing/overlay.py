"""A copy of the file system in which some files read otherwise, made of links.

Compilers look for what a file includes beside it, and upwards from there. So the directories above
a patched file are real ones, with a link for each of their other entries: whatever a path leads to
from the patched file, it leads to from the original, and nothing but links and the patched files is
written. Those above each file that the source includes are real, too: what one includes by
``../``, in a directory that is a link, would be the original.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from lmemscope.files import read_input
from lmemscope.model import CompileOptions, Edit, Unit, is_library
from lmemscope.sources.edits import by_file, patched
from lmemscope.sources.includes import holds_toolkit
from lmemscope.sources.lines import from_disk

_left: list[tuple[TemporaryDirectory[str], str]] = []
"""Copies of this process that nothing uses now, with what keeps each."""
_numbers = itertools.count()


@contextlib.contextmanager
def overlaid(unit: Unit, edits: Sequence[Edit], *, is_run: bool) -> Iterator[Unit]:
    """The unit as it is with edits made to the user's files, for as long as it is asked for.

    The links stay for the next copy, at another path: much of what is known of a file is kept by
    its path. To link what is in a large directory may take longer than to compile a file.

    Args:
        unit: of the original.
        edits: of its source and of headers that it includes.
        is_run: whether the file is run, and may leave others in the copy.

    Raises:
        ValueError: edits overlap.
        OSError: a file cannot be read, or the copy not be written.
    """
    base, before = _left.pop() if _left and not is_run else (_directory(), None)
    root = os.path.join(base.name, str(next(_numbers)))
    try:
        if before is None:
            os.mkdir(root)
        else:
            os.rename(before, root)
        yield overlay(unit, edits, root)
        for file in {edit.file for edit in edits}:
            copy = _within(root, file)
            os.unlink(copy)
            os.symlink(file, copy)
    except BaseException:
        base.cleanup()
        raise
    if is_run:
        base.cleanup()
    else:
        _left.append((base, root))


def _directory() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="fix-", ignore_cleanup_errors=True)


def overlay(unit: Unit, edits: Iterable[Edit], root: str) -> Unit:
    """The unit as it is with edits made to the user's files.

    Args:
        unit: of the original.
        edits: of its source and of headers that it includes.
        root: a directory for the copy, empty or with links of another copy.

    Returns:
        The unit of the copy, under the original's name.

    Raises:
        ValueError: edits overlap.
        OSError: a file cannot be read, or the copy not be written.
    """
    edits = tuple(edits)
    files = {file: patched(read_input(file), own) for file, own in by_file(edits).items()}
    sources = from_disk(main=unit.path, options=unit.options)
    included = {
        os.path.abspath(file)
        for file in sources.quoted(unit.path, searched=True)
        if os.path.exists(file) and not is_library(file)
    }
    _mirror({*files, unit.path, *included}, root)
    for file, data in files.items():
        copy = _within(root, file)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(copy)
        with open(copy, "wb") as stream:
            stream.write(data)
    options = _redirected(unit.options, root)
    return replace(unit, path=_within(root, unit.path), options=options)


def _mirror(files: Iterable[str], root: str) -> None:
    """Real directories above each file, links for what else is in them."""
    above = {"/"}
    for file in files:
        path = os.path.dirname(file)
        while path not in above:
            above.add(path)
            path = os.path.dirname(path)
    for directory in sorted(above):
        copy = _within(root, directory)
        if os.path.islink(copy):
            os.unlink(copy)
        os.makedirs(copy, exist_ok=True)
        there = set(os.listdir(copy))
        for name in os.listdir(directory):
            path = os.path.join(directory, name)
            if name not in there and path not in above and not root.startswith(f"{path}{os.sep}"):
                os.symlink(path, os.path.join(copy, name))


def _redirected(options: CompileOptions, root: str) -> CompileOptions:
    """Include directories within the copy, but for a toolkit's own: there is nothing of the user's
    in them."""
    directories = tuple(
        path if holds_toolkit(path) else _within(root, os.path.abspath(path))
        for path in options.include_dirs
    )
    return replace(options, include_dirs=directories)


def _within(root: str, path: str) -> str:
    return os.path.join(root, os.path.relpath(path, "/")) if path != "/" else root
