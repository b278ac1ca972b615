"""Report directories that a walk skips and that contain files of the project.

A walk skips hidden directories, virtual environments and build output, because they contain no
hand-written sources. If such a directory contains project files although a parent was named,
evidence is missing. Files that git tracks, or would add, belong to the project. Without git, every
CUDA source counts unless a tool created the directory.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lmemscope.discover.checkouts import is_own, is_top, upwards
from lmemscope.discover.cpp_files import may_be_included
from lmemscope.discover.locate import is_below, is_build_tree, own_place, shown_path
from lmemscope.discover.tree import walk
from lmemscope.errors import LmemscopeError
from lmemscope.model import Gap, count, kind_of, listed
from lmemscope.routes import route_of
from lmemscope.tools.git import Repository

_BY_NAME = {
    "CMakeFiles": "a directory of CMake's",
    "__pycache__": "a directory of Python's",
    "node_modules": "a directory of npm's",
}
_OF_TOOLS = frozenset({".git", ".hg", ".svn"})
_ENTRIES = 200_000
_NAMED = 3
_PATHS = 500


@dataclass(frozen=True, slots=True)
class Unwalked:
    """The contents of skipped directories.

    Attributes:
        gaps: one per directory: missing evidence, or a note.
        headers: absolute paths of the project's headers, and of C++ files that define kernels.
    """

    gaps: tuple[Gap, ...]
    headers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A directory that a walk skipped.

    Attributes:
        path: for display.
        why: text to follow its name.
        base: absolute path of the directory that was named.
    """

    path: str
    why: str
    base: str


def why_skipped(parent: str, name: str) -> str | None:
    """Why a walk skips a directory, or None if it does not."""
    path = os.path.join(parent, name)
    if name.startswith("."):
        return "a hidden directory"
    if name in _BY_NAME:
        return _BY_NAME[name]
    if os.path.exists(os.path.join(path, "pyvenv.cfg")):
        return "a virtual environment, for it holds pyvenv.cfg"
    return "a symbolic link" if os.path.islink(path) else None


def account(
    skipped: Sequence[Skipped], looked_at: Collection[str], admit: Callable[[str], bool]
) -> Unwalked:
    """Account for skipped directories; their headers are handled with those of walked directories.

    Args:
        skipped: by one command.
        looked_at: absolute paths of its inputs.
        admit: whether the user's globs accept an absolute path.
    """
    directories = [one for one in skipped if os.path.basename(one.path) not in _OF_TOOLS]
    real = {os.path.realpath(path) for path in looked_at}
    without: dict[str, list[str]] = defaultdict(list)
    gaps: list[Gap] = []
    headers: dict[str, None] = {}
    for directory, found in _of_project(directories):
        wanted = [path for path in found if admit(path) and os.path.realpath(path) not in real]
        files = [path for path in wanted if _is_input(path)]
        headers |= dict.fromkeys(path for path in wanted if _is_header(path, directory))
        if not files:
            without[directory.why].append(directory.path)
            continue
        reason = (
            f"{listed([*map(shown_path, files)])}: not looked at, for {directory.path} is "
            f"{directory.why}; name it too, or exclude it"
        )
        gaps.append(Gap("walk", reason, "evidence", directory.path))
    for why, paths in without.items():
        named = ", ".join(paths[:_NAMED]) + (", …" if len(paths) > _NAMED else "")
        said = f"{count(len(paths), 'directory')} not walked, each {why}: {named}"
        gaps.append(Gap("walk", said, "note"))
    return Unwalked(tuple(gaps), tuple(headers))


def _of_project(directories: Sequence[Skipped]) -> Iterator[tuple[Skipped, list[str]]]:
    """Each directory with the absolute paths of the project's files in it."""
    by_top: dict[str, list[Skipped]] = defaultdict(list)
    tops: dict[str, str] = {}
    for directory in directories:
        own = own_place(directory.path)
        # The named directory may be the top itself; a repository below it is separate.
        start = own if own == own_place(directory.base) else os.path.dirname(own)
        if start not in tops:
            tops[start] = _top(start)
        by_top[tops[start]].append(directory)
    for top, those in by_top.items():
        known = known_to_git(top, [own_place(one.path) for one in those])
        for directory in those:
            yield directory, sorted(_files(directory, known))


def _files(directory: Skipped, known: Mapping[str, bool] | None) -> Iterator[str]:
    """The project's files in a directory, according to git; without git, its CUDA sources."""
    own = own_place(directory.path)
    by_tool = _made_by_tool(own, directory.base)
    if known is None:
        if not by_tool:
            yield from filter(_is_cuda, _below(own))
        return
    for path, is_tracked in known.items():
        if by_tool and not is_tracked:
            continue
        if path == own or is_below(path, own):
            # A submodule, another repository, or a link to a directory has its own files.
            yield from _below(path) if os.path.isdir(path) else (path,)


def top_of(path: str) -> str:
    """The top of the repository around a file, or the file system's root."""
    return _top(os.path.dirname(own_place(path)))


def _top(directory: str) -> str:
    *_, top = upwards(directory)
    return top


def known_to_git(top: str, directories: Sequence[str]) -> dict[str, bool] | None:
    """Absolute paths of the project's files, and whether each is tracked; None without git.

    Args:
        top: of the repository.
        directories: absolute paths, without links, of directories or files to query.
    """
    if not is_top(top):
        return None
    relative = [os.path.relpath(path, top) for path in directories]
    try:
        repository, _ = Repository.around(top)
        if repository is None:
            return None
        found = repository.own_files(relative if len(relative) <= _PATHS else ())
    except LmemscopeError:
        return None
    return {os.path.join(repository.top, path): tracked for path, tracked in found.items()}


def _made_by_tool(path: str, base: str) -> bool:
    """Whether a tool created a directory, recognised by files that only the tool writes."""
    if os.path.exists(os.path.join(path, "pyvenv.cfg")):
        interpreters = ("bin/python", "Scripts/python.exe")
        return any(os.path.exists(os.path.join(path, one)) for one in interpreters)
    if is_build_tree(path):
        return True
    if os.path.basename(path) == "CMakeFiles":
        parent = os.path.dirname(path)
        while parent == base or is_below(parent, base):
            if os.path.exists(os.path.join(parent, "CMakeCache.txt")):
                return True
            parent = os.path.dirname(parent)
    return False


def _below(directory: str) -> Iterator[str]:
    """Files below a directory without following links, up to a number that no project reaches."""
    left = _ENTRIES
    for root, names, files in walk(directory):
        names[:] = [name for name in names if name not in _OF_TOOLS]
        for name in files:
            yield os.path.join(root, name)
            left -= 1
        if left < 0:
            return


def _is_cuda(path: str) -> bool:
    kind = kind_of(path)
    return kind.is_cuda if kind is not None else may_be_included(path)


def _is_header(path: str, directory: Skipped) -> bool:
    """Whether a file is a header, or a C++ file of the project that defines a kernel."""
    kind = kind_of(path)
    if kind is not None:
        return kind.is_header
    return is_own(path, own_place(directory.path)) and may_be_included(path)


def _is_input(path: str) -> bool:
    """Whether a walk would have included a file."""
    kind = kind_of(path)
    if kind is None or kind.is_header or not os.path.lexists(path):
        return False
    beside: frozenset[str] = frozenset()
    if kind.reads == "neighbours":
        try:
            beside = frozenset(name.lower() for name in os.listdir(os.path.dirname(path)))
        except OSError:
            beside = frozenset()
    return route_of(kind).is_walked(path, beside)
