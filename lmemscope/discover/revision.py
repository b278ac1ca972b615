"""Compare the working tree with a git revision: which files are unchanged.

git is asked only for names and hashes (`lmemscope.tools.git`); files are compared here.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from lmemscope.config import file
from lmemscope.config.file import ConfigurationFile
from lmemscope.discover.checkouts import is_top
from lmemscope.errors import ToolMissingError, UsageError
from lmemscope.tools.git import LINK, MODULE, Entry, Repository

LARGEST_TEXT = 4 << 20
"""Larger files, in bytes, are not searched for words."""
_MOST_LINKS = 40
"""Maximum number of links followed in a path, as on Linux."""


class Revision(Struct, frozen=True):
    """The comparison with a revision. Paths are absolute.

    In paths, links are resolved except in the last component.

    Attributes:
        name: as the user typed it.
        commit: its hash.
        top: top directory of the working tree.
        known: files of the revision, including those in the submodule commits it records.
        changed: files that differ in the working tree or are missing there.
        deleted: files that are missing there, or replaced by a directory.
        links: files that are or were symbolic links.
        modules: submodules whose state in the revision is unknown.
    """

    name: str
    commit: str
    top: str
    known: frozenset[str]
    changed: frozenset[str] = frozenset()
    deleted: frozenset[str] = frozenset()
    links: frozenset[str] = frozenset()
    modules: frozenset[str] = frozenset()

    def why(self, path: str) -> str | None:
        """Why a file may have changed: None if it has not, an empty string if it certainly has.

        Where git cannot tell, it is text to follow the file's name.
        """
        real = os.path.realpath(path)
        if not _is_below(real, self.top):
            return f"is outside of the repository {self.top}"
        return None if real in self.known and not self.has_changed(path) else ""

    def has_changed(self, path: str) -> bool:
        """Whether a file, or a link in its path, is known to have changed.

        An untracked file has not, as far as git can tell.
        """
        ways = {os.path.abspath(path), os.path.realpath(path)}
        if not ways.isdisjoint(self.changed):
            return True
        return bool(self.links) and not self.links.isdisjoint(_links_on(os.path.abspath(path)))

    def may_have_come_or_gone(self, directory: str) -> bool:
        """Whether a directory may exist in only one of the two; git tracks no empty directories."""
        real = os.path.realpath(directory)
        if not _is_below(real, self.top):
            return False
        if os.path.isdir(directory):
            return not any(_is_below(path, real) for path in self.known)
        return any(_is_below(path, real) for path in self.deleted)

    def content(self, path: str) -> bytes | None:
        """A path's content in the revision, with links followed; None if there is no such file."""
        own = os.path.abspath(path)
        own = own if _is_below(own, self.top) else os.path.realpath(path)
        return Repository(self.top).text(self.commit, os.path.relpath(own, self.top))

    def contents(self, paths: Iterable[str]) -> dict[str, bytes]:
        """The content of absolute paths in the revision, in one query; omits those without text.

        Links and files above 4 MiB are not text, nor are objects missing from a partial clone.
        """
        repository = Repository(self.top)
        wanted = {os.path.relpath(path, self.top): path for path in paths}
        found = (
            entry
            for entry in (repository.entries(self.commit) if wanted else ())
            if entry.path in wanted and entry.mode not in (LINK, MODULE)
        )
        texts = [one for one in found if one.size is not None and one.size <= LARGEST_TEXT]
        return {wanted[entry.path]: data for entry, data in repository.contents(texts)}


def read_revision(name: str, paths: Sequence[str]) -> Revision:
    """Compare the working tree around the paths with a revision.

    That is the tree around the current directory if it contains one of the paths, else the one
    around the first path.

    Args:
        name: of the revision, as typed.
        paths: files and directories, as typed.

    Raises:
        UsageError: git, the repository or the revision does not exist.
    """
    if not name or name.startswith("-") or "\0" in name:
        raise UsageError(
            "git",
            f"--changed: {name!r} is no revision",
            hint="name a branch, a tag or a commit, such as --changed HEAD",
        )
    try:
        repository = repository_of(name, paths)
        return _compared(name, commit_of(name, repository), repository)
    except ToolMissingError as error:
        raise UsageError(
            "git", f"--changed {name}: {error.message}", hint="install git, or leave --changed out"
        ) from error


def configuration_at(revision: Revision) -> ConfigurationFile:
    """The configuration in the revision, found from the working directory upwards.

    Raises:
        UsageError: it cannot be read.
    """

    def content(path: Path) -> bytes | None:
        own = str(path)
        if not _is_below(own, revision.top) or revision.why(own) is None:
            return file.on_disk(path)
        return revision.content(own) if own in revision.known else None

    return file.read(".", content)


def configuration_differs(revision: Revision) -> str | None:
    """The file through which the configuration may differ from the revision's, or None."""
    now = file.read()
    path = now.path or os.path.join(revision.top, file.OWN)
    with contextlib.suppress(UsageError):
        before = configuration_at(revision)
        if before == now:
            return None
        path = now.path or before.path or path
    return os.path.relpath(path, revision.top)


def findings_differ(revision: Revision, path: str) -> frozenset[str] | None:
    """Inputs whose entries in a baseline differ from the revision's; None means all."""
    if revision.why(path) is None:
        return frozenset()
    try:
        before = json.loads(_text_at(revision, path) or "")
        now = json.loads(_text_now(path) or "")
        found = [Counter(_line(entry) for entry in one.pop("findings")) for one in (before, now)]
        differ = (found[0] - found[1]) + (found[1] - found[0])
        inputs = frozenset(str(json.loads(line)["input"]) for line in differ)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return inputs if before == now else None


def _line(entry: object) -> str:
    return json.dumps(entry, sort_keys=True)


def repository_of(name: str, paths: Sequence[str], option: str = "--changed") -> Repository:
    """The repository around the current directory, or around the first path.

    Args:
        name: of the revision requested from it.
        paths: as typed.
        option: that names the revision.

    Raises:
        UsageError: there is none.
    """
    reals = [os.path.realpath(path) for path in paths if path != "-"]
    here, said = Repository.around(os.getcwd())
    if here is not None and (not reals or any(_is_in(real, here.top) for real in reals)):
        return here
    for real in reals[:1]:
        there, _ = Repository.around(real if os.path.isdir(real) else os.path.dirname(real))
        if there is not None:
            return there
    if here is not None:
        return here
    where = paths[0] if reals else "the current directory"
    raise UsageError(
        "git",
        f"{option} {name}: {where} is in no git repository with a working tree ({said})",
        hint=f"run it in one, or leave {option} out",
    )


def commit_of(name: str, repository: Repository, option: str = "--changed") -> str:
    """The commit hash of a revision.

    Args:
        name: as typed.
        repository: that has it.
        option: that names it.

    Raises:
        UsageError: the revision does not exist or is ambiguous.
    """
    found = repository.commit(name)
    if found is None:
        raise UsageError(
            "git",
            f"{option} {name}: the repository {repository.top} has no commit of that name",
            hint="check the name (one revision, not A..B), or fetch it: git fetch origin; a "
            "checkout of CI may have its newest commit only (fetch-depth: 0)",
        )
    refuse_namesakes(name, repository, option)
    return found


def refuse_namesakes(name: str, repository: Repository, option: str = "--git") -> None:
    """Check that a revision's name is unambiguous: git prefers a tag to a branch.

    Raises:
        UsageError: it is ambiguous.
    """
    several = repository.namesakes(name)
    if several:
        raise UsageError(
            "git",
            f"{option} {name}: {' and '.join(several)} are different commits",
            hint=f"write one of them whole, such as {several[0]}",
        )


def _compared(name: str, commit: str, repository: Repository) -> Revision:
    """The comparison with a commit, including submodules as they are checked out."""
    top = repository.top
    entries = repository.entries(commit)
    indexed = repository.indexed()
    known = {os.path.join(top, one.path) for one in entries if one.mode != MODULE}
    differing = list(_differing(repository, entries, indexed))
    changed = {os.path.join(top, one.path) for one in differing}
    were_links = {os.path.join(top, one.path) for one in differing if one.mode == LINK}
    found = Revision(
        name,
        commit,
        top,
        known=frozenset(known),
        changed=frozenset(changed),
        deleted=frozenset(path for path in changed if not _is_file(path)),
        links=frozenset(path for path in changed if path in were_links or os.path.islink(path)),
    )
    for entry in entries:
        if entry.mode == MODULE:
            found = _with_module(found, entry, is_indexed=entry.path in indexed)
    # New files that are staged; git does not track unstaged ones.
    staged = {os.path.join(top, path) for path in indexed}
    modules = {os.path.join(top, one.path) for one in entries if one.mode == MODULE}
    new = {path for path in staged - known - modules if os.path.lexists(path)}
    return replace(
        found,
        changed=found.changed | new,
        links=found.links | {path for path in new if os.path.islink(path)},
    )


def _with_module(found: Revision, entry: Entry, *, is_indexed: bool) -> Revision:
    """The comparison extended by a submodule, against the commit that the revision records."""
    path = os.path.join(found.top, entry.path)
    there = submodule(path)
    commit = there.commit(entry.object) if there is not None else None
    if there is not None and commit is not None:
        inner = _compared(found.name, commit, there)
        return replace(
            found,
            known=found.known | inner.known,
            changed=found.changed | inner.changed,
            deleted=found.deleted | inner.deleted,
            links=found.links | inner.links,
            modules=found.modules | inner.modules,
        )
    # A submodule that is not checked out now is assumed not to have been before.
    if there is None and is_indexed and (not os.path.lexists(path) or _is_empty(path)):
        return found
    return replace(found, modules=found.modules | {path})


def _is_file(path: str) -> bool:
    return os.path.isfile(path) or os.path.islink(path)


def _is_empty(path: str) -> bool:
    try:
        return not os.path.islink(path) and not os.listdir(path)
    except OSError:
        return False


def _differing(
    repository: Repository, entries: Sequence[Entry], indexed: Mapping[str, bool]
) -> Iterator[Entry]:
    for entry in entries:
        if entry.mode == MODULE or not repository.is_changed(entry):
            continue
        # A sparse checkout omits files on purpose.
        if indexed.get(entry.path) and not os.path.lexists(
            os.path.join(repository.top, entry.path)
        ):
            continue
        yield entry


def submodule(path: str) -> Repository | None:
    """The repository of a submodule at an absolute path, or None if it is not checked out."""
    if not is_top(path):
        return None
    found, _ = Repository.around(path)
    return found if found is not None and found.top == os.path.realpath(path) else None


def _text_at(revision: Revision, path: str) -> str | None:
    """A file's text in the revision, or None if it has none."""
    found = revision.content(path)
    return None if found is None else found.decode("utf-8", "replace")


def _text_now(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None


def _links_on(path: str) -> Iterator[str]:
    """The symbolic links that an absolute path passes through, each by its own path."""
    left = [path]
    for _ in range(_MOST_LINKS):
        if not left:
            return
        at = os.sep
        names = left.pop().split(os.sep)
        for place, name in enumerate(names):
            own = os.path.normpath(os.path.join(at, name))
            if os.path.islink(own):
                yield own
                target = os.path.join(at, os.readlink(own), *names[place + 1 :])
                left.append(os.path.normpath(target))
                break
            at = own


def _is_in(path: str, directory: str) -> bool:
    return path == directory or _is_below(path, directory)


def _is_below(path: str, directory: str) -> bool:
    return path.startswith(os.path.join(directory, ""))
