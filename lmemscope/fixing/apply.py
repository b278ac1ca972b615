"""Writing a patch to the user's files, byte for byte, and only where nothing can be lost."""

from __future__ import annotations

import os
from collections.abc import Iterable

from lmemscope import whole
from lmemscope.errors import OutputError, ToolMissingError
from lmemscope.files import read_input
from lmemscope.fixing.overlay import by_file
from lmemscope.model import Edit
from lmemscope.sources.edits import patched
from lmemscope.tools.git import Repository


def changed_since_commit(edits: Iterable[Edit]) -> list[str]:
    """Files of a git working tree that differ from the last commit, or that it does not have.

    A file outside of any repository is not among them.
    """
    return [os.path.relpath(file) for file in sorted(by_file(edits)) if _is_changed(file)]


def write(edits: Iterable[Edit]) -> list[str]:
    """Make the edits; encoding, line ends and permissions stay as they are.

    Returns:
        The files' names, relative to the working directory.

    Raises:
        OutputError: a file cannot be written, or is not what was compiled any more.
    """
    made = {}
    for file, own in sorted(by_file(edits).items()):
        try:
            made[file] = patched(read_input(file), own)
        except (OSError, ValueError) as error:
            raise OutputError(
                "apply", f"{os.path.relpath(file)} cannot be patched: {error}"
            ) from error
    for file, data in made.items():
        try:
            whole.write(file, data)
        except OSError as error:
            raise OutputError(
                "apply",
                f"{os.path.relpath(file)} cannot be written: {error.strerror}",
                hint="apply the output of --format patch elsewhere",
            ) from error
    return [os.path.relpath(file) for file in made]


def _is_changed(file: str) -> bool:
    path = os.path.realpath(file)
    try:
        repository, _ = Repository.around(os.path.dirname(path))
    except ToolMissingError:
        return False
    if repository is None:
        return False
    head = repository.commit("HEAD")
    known = repository.text(head, os.path.relpath(path, repository.top)) if head else None
    if known is None:
        return True
    data = read_input(path)
    return known not in (data, data.replace(b"\r\n", b"\n"))
