"""Writing a patch to the user's files, byte for byte, and only where nothing can be lost."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator

from lmemscope import whole
from lmemscope.discover.checkouts import is_top, upwards
from lmemscope.errors import OutputError, ToolMissingError
from lmemscope.files import read_input
from lmemscope.fixing.patch import diff
from lmemscope.model import Chosen, Edit, FileContent
from lmemscope.sources.edits import by_file, patched
from lmemscope.tools.git import Repository

_WRITABLE = 0o222


def changed_since_commit(edits: Iterable[Edit]) -> list[str]:
    """Files of a git working tree that differ from the last commit, or that it does not have.

    A file outside of any repository is not among them.
    """
    return [os.path.relpath(file) for file in sorted(by_file(edits)) if _is_changed(file)]


def write(chosen: Chosen, compiled: Iterable[FileContent]) -> list[str]:
    """Make the edits; encoding, line ends and permissions stay as they are.

    All files are checked before the first is written.

    Args:
        chosen: the edits, and the patch that was made of them.
        compiled: files as they were compiled, as far as they are known.

    Returns:
        The files' names, relative to the working directory.

    Raises:
        OutputError: a file cannot be written, is not what was compiled any more, or is reached by a
            link that leads out of its project.
    """
    known = {os.path.abspath(one.file): one.sha256 for one in compiled}
    made = {}
    for file, own in sorted(by_file(chosen.edits).items()):
        name = os.path.relpath(file)
        if (outside := _outside(file)) is not None:
            raise OutputError(
                "apply",
                f"{name} is not written: {outside[0]} is a link that leads out of the project",
                hint=f"if you mean to change that file, fix {outside[1]} itself",
            )
        try:
            data = read_input(file)
            made[file] = patched(data, own)
        except (OSError, ValueError) as error:
            raise OutputError("apply", f"{name} cannot be patched: {error}") from error
        digest = hashlib.sha256(data).hexdigest()
        if known.get(file, digest) != digest or not _is_unchanged(chosen):
            raise OutputError(
                "apply",
                f"{name} is not written: it has changed since it was compiled",
                hint="run fix again",
            )
        if not os.access(file, os.W_OK) or not os.stat(file).st_mode & _WRITABLE:
            raise OutputError(
                "apply",
                f"{name} cannot be written: it is read-only",
                hint="apply the output of --format patch elsewhere",
            )
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


def _is_unchanged(chosen: Chosen) -> bool:
    """Whether the edits still make the patch that they made."""
    try:
        return diff(chosen.edits, os.getcwd()) == chosen.patch
    except (OSError, ValueError):
        return False


def _outside(file: str) -> tuple[str, str] | None:
    """A link on a file's path that leads out of its project, and the file that it leads to.

    A project is a checkout, or else the working directory. Of a file in neither, whatever link
    leads out of its own directory counts.
    """
    links = list(_links(file))
    if not links:
        return None
    here = os.getcwd()
    *_, top = upwards(os.path.dirname(file))
    root = top if is_top(top) else here if _is_below(file, here) else os.path.dirname(links[0])
    real = os.path.realpath(file)
    if _is_below(real, os.path.realpath(root)):
        return None
    return os.path.relpath(links[0]), real


def _links(file: str) -> Iterator[str]:
    """The parts of a path that are links, outermost first."""
    path = os.sep
    for part in file.split(os.sep):
        path = os.path.join(path, part)
        if os.path.islink(path):
            yield path


def _is_below(path: str, directory: str) -> bool:
    return os.path.commonpath([path, directory]) == directory


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
