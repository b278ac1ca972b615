"""Read a git repository without running anything that the repository names.

Its configuration and attributes may name programs: hooks, filters, file system monitors, diff and
merge drivers, pagers, helpers, transports. A checkout, an archive or a comparison with the working
tree runs filters, reading the index may call a monitor, and a missing object is fetched. So git is
asked only for objects, by commands that need none of that, and the working tree is read here.
(gitattributes(5); githooks(5); git(1), "GIT_NO_LAZY_FETCH".)
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lmemscope.environment import for_tools
from lmemscope.errors import UsageError
from lmemscope.tools import process

_GIT = (
    "git",
    "--no-pager",
    "--no-optional-locks",
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "protocol.allow=never"),
)
_ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_FORBIDDEN = frozenset(("", os.curdir, os.pardir, ".git"))
_LISTING = 1 << 28
_AT_ONCE = 1 << 26
_HEADER = 200
_BATCH = 3
"""Number of words in the ``git cat-file --batch`` header: name, kind and size."""
_OPERATORS = re.compile(r"[~^:]|@\{")
_REFERENCE = re.compile(r"[\w.+/@#%=,-]+")
"""Names without characters that `git for-each-ref` treats as a pattern."""

LINK, MODULE = 0o120000, 0o160000
"""Modes of symbolic links and submodule commits."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file in a revision.

    Attributes:
        path: relative to the top, as the file system spells it, without ``..``.
        mode: git's mode of a file, link or submodule.
        object: name of its content, or of a submodule's commit.
        size: of its content in bytes; None if it is not in the repository.
    """

    path: str
    mode: int
    object: str
    size: int | None


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository with a working tree.

    Attributes:
        top: absolute path of the working tree, with links resolved.
    """

    top: str

    @classmethod
    def around(cls, directory: str) -> tuple[Repository | None, str]:
        """The repository around a directory, or None and git's message.

        Raises:
            ToolMissingError: git is not installed.
        """
        if not os.path.isdir(directory):
            return None, f"{directory} does not exist"
        done = _asked(["rev-parse", "--show-toplevel"], directory)
        top = os.fsdecode(done.output.removesuffix(b"\n"))
        if done.returncode != 0 or not os.path.isdir(top):
            return None, next(iter(done.errors.splitlines()), "git names no working tree")
        return cls(os.path.realpath(top)), ""

    def commit(self, name: str) -> str | None:
        """The hash of a named commit, or None."""
        if not name or name.startswith("-") or "\0" in name:
            return None
        done = _asked(["rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"], self.top)
        found = done.output.decode("ascii", "replace").strip()
        return found if done.returncode == 0 and _COMMIT.fullmatch(found) else None

    def merge_base(self, first: str, second: str) -> str | None:
        """The hash of two commits' best common ancestor, or None if none is known."""
        commits = [self.commit(name) for name in (first, second)]
        if None in commits:
            return None
        done = _asked(["merge-base", *filter(None, commits)], self.top)
        found = done.output.decode("ascii", "replace").strip()
        return found if done.returncode == 0 and _COMMIT.fullmatch(found) else None

    def entries(self, commit: str) -> tuple[Entry, ...]:
        """The files in a commit.

        Raises:
            UsageError: the repository is damaged, or has an implausible number of files.
        """
        listed = self._listed(["ls-tree", "-r", "-l", "-z", "--full-tree", commit])
        return tuple(_entry(record) for record in listed.split(b"\0") if record)

    def indexed(self) -> dict[str, bool]:
        """The paths in git's index, and whether each is excluded from the working tree.

        Raises:
            UsageError: as `entries`.
        """
        listed = self._listed(["ls-files", "-t", "-z", "--full-name", ":/"])
        records = (os.fsdecode(record) for record in listed.split(b"\0") if record)
        return {record[2:]: record.startswith("S") for record in records}

    def own_files(self, directories: Sequence[str]) -> dict[str, bool]:
        """The project's files at or below the directories, and whether git tracks each.

        Untracked files are included if git would add them (they are not ignored). A submodule or
        other repository is a single entry.

        Args:
            directories: relative to the top.

        Raises:
            UsageError: as `entries`.
        """
        limits = [":/" if one == os.curdir else f":(top,literal){one}" for one in directories]
        kinds = ("--cached", "--others", "--exclude-standard")
        listed = self._listed(["ls-files", "-t", "-z", "--full-name", *kinds, "--", *limits])
        records = (os.fsdecode(record) for record in listed.split(b"\0") if record)
        return {record[2:].rstrip("/"): not record.startswith("?") for record in records}

    def ignored(self) -> tuple[str, ...]:
        """Files that git ignores; a directory with only ignored files ends in a slash.

        Raises:
            UsageError: as `entries`.
        """
        kinds = ("--others", "--ignored", "--exclude-standard", "--directory")
        listed = self._listed(["ls-files", "-z", "--full-name", *kinds, "--", ":/"])
        return tuple(os.fsdecode(record) for record in listed.split(b"\0") if record)

    def contents(self, entries: Sequence[Entry]) -> Iterator[tuple[Entry, bytes]]:
        """The stored contents of files and links, unaffected by filters.

        Raises:
            UsageError: one is missing, or the repository is damaged.
        """
        together: list[Entry] = []
        bytes_ = 0
        for entry in entries:
            bytes_ += entry.size or 0
            if together and bytes_ > _AT_ONCE:
                yield from self._contents(together)
                together, bytes_ = [], entry.size or 0
            together.append(entry)
        if together:
            yield from self._contents(together)

    def text(self, commit: str, path: str) -> bytes | None:
        """The content of a file in a commit, with links followed; None if there is none.

        Args:
            commit: its hash.
            path: relative to the top.
        """
        if "\n" in path:
            return None
        asked = os.fsencode(f"{commit}:{path}\n")
        done = _asked(["cat-file", "--batch", "--follow-symlinks"], self.top, asked)
        header, _, content = done.output.partition(b"\n")
        words = header.split()
        # For a link that leads nowhere or out of the repository, this word differs.
        is_file = done.returncode == 0 and len(words) == _BATCH and words[1] == b"blob"
        return content[: int(words[2])] if is_file else None

    def namesakes(self, name: str) -> tuple[str, ...]:
        """The references that a name may refer to if they are different commits; else empty.

        git prefers a tag to a branch, and a branch to a remote's (gitrevisions(7)).
        """
        own = _OPERATORS.split(name, maxsplit=1)[0]
        if _REFERENCE.fullmatch(own) is None:
            return ()
        wanted = [f"refs/{kind}{own}" for kind in ("tags/", "heads/", "remotes/")]
        shown = "%(refname) %(objectname) %(*objectname)"
        done = _asked(["for-each-ref", f"--format={shown}", *wanted], self.top)
        lines = [line.split() for line in os.fsdecode(done.output).splitlines()]
        found = {name: objects[-1] for name, *objects in lines if name in wanted}
        return tuple(sorted(found)) if len({*found.values()}) > 1 else ()

    def is_changed(self, entry: Entry) -> bool:
        """Whether a file is changed or missing in the working tree.

        Line ends are ignored, since git may convert them. A file changed by another filter counts
        as changed.
        """
        path = os.path.join(self.top, entry.path)
        try:
            found = os.lstat(path)
            if entry.mode == LINK or stat.S_ISLNK(found.st_mode):
                same = entry.mode == LINK and stat.S_ISLNK(found.st_mode)
                return not same or _name(os.fsencode(os.readlink(path)), entry) != entry.object
            if not stat.S_ISREG(found.st_mode) or found.st_size < (entry.size or 0):
                return True
            if entry.size is not None and found.st_size > 2 * entry.size:
                return True
            with open(path, "rb") as stream:
                content = stream.read()
        except OSError:
            return True
        return all(
            _name(one, entry) != entry.object for one in (content, content.replace(b"\r\n", b"\n"))
        )

    def _contents(self, entries: Sequence[Entry]) -> Iterator[tuple[Entry, bytes]]:
        asked = "".join(f"{entry.object}\n" for entry in entries).encode()
        most = sum((entry.size or 0) + _HEADER for entry in entries)
        done = _asked(["cat-file", "--batch"], self.top, asked, most)
        position = 0
        for entry in entries:
            end = done.output.find(b"\n", position)
            header = done.output[position : max(end, position)].split()
            if end < 0 or header[:2] != [entry.object.encode(), b"blob"]:
                raise UsageError(
                    "git",
                    f"{self.top} does not hold the content of {entry.path} in that revision",
                    hint="a partial clone fetches it with: git checkout of that revision, or "
                    "git fetch --refetch",
                )
            start = end + 1
            position = start + int(header[2]) + 1
            yield entry, done.output[start : position - 1]

    def _listed(self, arguments: Sequence[str]) -> bytes:
        done = _asked(arguments, self.top)
        if done.returncode != 0:
            raise UsageError(
                "git",
                f"git {arguments[0]} fails in {self.top}: {done.errors.strip()}",
                hint="mend the repository, or leave git out of it",
            )
        return done.output


def _asked(
    arguments: Sequence[str], directory: str, given: bytes = b"", most: int = _LISTING
) -> process.Captured:
    environment = for_tools() | {
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_GRAFT_FILE": os.devnull,  # local to this repository, like replacements
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
    }
    for name in _ELSEWHERE:  # a hook's variables apply only to its own directory
        environment.pop(name, None)
    return process.capture([*_GIT, *arguments], environment, cwd=directory, given=given, most=most)


def _entry(record: bytes) -> Entry:
    """Parse a line of ``git ls-tree -l``: mode, type, object, size, tab, path."""
    about, _, name = record.partition(b"\t")
    mode, _, found, size = about.split()
    path = os.fsdecode(name)
    # git never writes such a name, but another program may have.
    if not _FORBIDDEN.isdisjoint(path.lower().split("/")):
        raise UsageError("git", f"the revision holds a file that it calls {path!r}")
    return Entry(path, int(mode, 8), found.decode(), int(size) if size.isdigit() else None)


def _name(content: bytes, entry: Entry) -> str:
    """git's object name for a content, by the repository's hash function."""
    kind = hashlib.sha1 if len(entry.object) == 40 else hashlib.sha256
    return kind(b"blob %d\0" % len(content) + content).hexdigest()
