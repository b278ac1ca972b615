"""A git revision against the working tree: which files are those of the revision.

git is asked for names alone, and never given a revision before it is known to be a commit.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmemscope.errors import ToolMissingError, UsageError
from lmemscope.tools import process

_GIT = ("git", "--no-optional-locks", "-c", "core.safecrlf=false", "-c", "diff.relative=false")
_INHERITED = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")
_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_MODULE = "160000"


@dataclass(frozen=True, slots=True)
class Revision:
    """What git says; every path absolute and, but for its last part, without symbolic links.

    Attributes:
        name: as the user typed it.
        commit: its hash.
        top: top directory of the working tree.
        known: files of the revision.
        changed: files that the working tree has otherwise or lacks, and submodules that differ.
        deleted: those that it lacks.
        links: those that are symbolic links.
        modules: submodules of the revision.
        tracked: files that git knows in them.
    """

    name: str
    commit: str
    top: str
    known: frozenset[str]
    changed: frozenset[str] = frozenset()
    deleted: frozenset[str] = frozenset()
    links: frozenset[str] = frozenset()
    modules: frozenset[str] = frozenset()
    tracked: frozenset[str] = frozenset()

    def why(self, path: str) -> str | None:
        """Why a file may have changed: None where it has not, an empty string where it has.

        In words where git cannot tell, which follow the file's name.
        """
        real = os.path.realpath(path)
        if not _is_below(real, self.top):
            return f"is outside of the repository {self.top}"
        if real in self.changed:
            return ""
        if real in self.known:
            return None
        for module in self.modules:
            if _is_below(real, module):
                return None if module not in self.changed and real in self.tracked else ""
        return ""


def read_revision(name: str, paths: Sequence[str]) -> Revision:
    """Compare the working tree that paths lie in with a revision.

    That is the tree around the current directory if it holds one of them, else around the first.

    Args:
        name: of the revision, as typed.
        paths: files and directories, as typed.

    Raises:
        UsageError: there is no git, no repository, or no such revision.
    """
    if not name or name.startswith("-") or "\0" in name:
        raise UsageError(
            "git",
            f"--changed: {name!r} is no revision",
            hint="name a branch, a tag or a commit, such as --changed HEAD",
        )
    try:
        top = _top(name, paths)
        return _compared(name, _commit(name, top), top)
    except ToolMissingError as error:
        raise UsageError(
            "git", f"--changed {name}: {error.message}", hint="install git, or leave --changed out"
        ) from error


def section_differs(revision: Revision, start: str, own: str) -> str | None:
    """The file by which the configuration may differ from the revision's, or None.

    Args:
        revision: to compare with.
        start: directory from which the configuration is looked for, upwards.
        own: name of the file that holds nothing else; beside it pyproject.toml is looked at.
    """
    directory = os.path.realpath(start)
    while _is_below(directory, revision.top) or directory == revision.top:
        for name in (own, "pyproject.toml"):
            path = os.path.join(directory, name)
            if revision.why(path) is None or not (path in revision.known or os.path.exists(path)):
                continue
            if _section(_text_at(revision, path), name == own) != _section(
                _text_now(path), name == own
            ):
                return os.path.relpath(path, revision.top)
        directory = os.path.dirname(directory)
    return None


def findings_differ(revision: Revision, path: str) -> frozenset[str] | None:
    """Inputs of which a baseline says something else than in the revision; None means of all.

    Args:
        revision: to compare with.
        path: of the baseline.
    """
    if revision.why(path) is None:
        return frozenset()
    try:
        before = json.loads(_text_at(revision, os.path.realpath(path)) or "")
        now = json.loads(_text_now(path) or "")
        found = [Counter(_line(entry) for entry in one.pop("findings")) for one in (before, now)]
        differ = (found[0] - found[1]) + (found[1] - found[0])
        inputs = frozenset(str(json.loads(line)["input"]) for line in differ)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return inputs if before == now else None


def _line(entry: object) -> str:
    return json.dumps(entry, sort_keys=True)


def _git() -> tuple[str, ...]:
    """git, which finds its repository by itself: a hook's variables hold in its directory alone."""
    if not any(name in os.environ for name in _INHERITED):
        return _GIT
    return ("env", *(word for name in _INHERITED for word in ("-u", name)), *_GIT)


def _top(name: str, paths: Sequence[str]) -> str:
    """Top directory of the working tree."""
    reals = [os.path.realpath(path) for path in paths if path != "-"]
    here, said = _top_of(None)
    if here is not None and (not reals or any(_is_below(p, here) or p == here for p in reals)):
        return here
    for real in reals[:1]:
        there, _ = _top_of(real if os.path.isdir(real) else os.path.dirname(real))
        if there is not None:
            return there
    if here is not None:
        return here
    where = paths[0] if reals else "the current directory"
    raise UsageError(
        "git",
        f"--changed {name}: {where} is in no git repository with a working tree ({said})",
        hint="run it in one, or leave --changed out",
    )


def _top_of(directory: str | None) -> tuple[str | None, str]:
    """Top of the working tree around a directory, or None and what git said."""
    if directory is not None and not os.path.isdir(directory):
        return None, f"{directory} does not exist"
    cwd = None if directory is None else Path(directory)
    done = process.run([*_git(), "rev-parse", "--show-toplevel"], cwd=cwd)
    lines = done.output.splitlines() or [""]
    if done.returncode != 0 or not os.path.isdir(lines[-1]):
        return None, lines[0]
    return os.path.realpath(lines[-1]), ""


def _commit(name: str, top: str) -> str:
    command = [*_git(), "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"]
    done = process.run(command, cwd=Path(top))
    lines = done.output.split() or [""]
    if done.returncode != 0 or _COMMIT.fullmatch(lines[-1]) is None:
        raise UsageError(
            "git",
            f"--changed {name}: the repository {top} has no commit of that name",
            hint="check the name (one revision, not A..B), or fetch it: git fetch origin; a "
            "checkout of CI may have its newest commit only (fetch-depth: 0)",
        )
    return lines[-1]


def _compared(name: str, commit: str, top: str) -> Revision:
    files: set[str] = set()
    modules: set[str] = set()
    for record in _records(["ls-tree", "-r", "-z", "--full-tree", commit], top):
        mode, _, path = record.partition("\t")
        target = modules if mode.startswith(_MODULE) else files
        target.add(os.path.join(top, path))
    changed = frozenset(os.path.join(top, path) for path in _differing(commit, top))
    tracked: frozenset[str] = frozenset()
    if modules:
        listed = _records(["ls-files", "-z", "--recurse-submodules"], top)
        tracked = frozenset(os.path.join(top, path) for path in listed)
    return Revision(
        name,
        commit,
        top,
        known=frozenset(files),
        changed=changed,
        deleted=frozenset(path for path in changed if not os.path.lexists(path)),
        links=frozenset(path for path in changed if os.path.islink(path)),
        modules=frozenset(modules),
        tracked=tracked,
    )


def _records(arguments: Sequence[str], top: str) -> Iterator[str]:
    """What git lists. A name spoilt by a warning, or no UTF-8, is one that it does not list."""
    done = process.run([*_git(), *arguments], cwd=Path(top))
    _succeeded(done)
    return (record for record in done.output.split("\0") if record)


def _differing(commit: str, top: str) -> list[str]:
    """Paths that differ, through a file: a name that a warning spoils would be overlooked."""
    with tempfile.TemporaryDirectory(prefix="lmemscope-") as directory:
        listed = os.path.join(directory, "names")
        how = ("--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=none")
        _succeeded(
            process.run([*_git(), "diff", *how, f"--output={listed}", commit, "--"], cwd=Path(top))
        )
        return [os.fsdecode(name) for name in Path(listed).read_bytes().split(b"\0") if name]


def _succeeded(done: process.Completed) -> None:
    if done.returncode != 0:
        raise UsageError(
            "git",
            f"{done.command_line} failed: {done.output.strip()}",
            hint="mend the repository, or leave --changed out",
        )


def _text_at(revision: Revision, path: str) -> str | None:
    """A file's text in the revision, or None where it has none."""
    name = os.path.relpath(path, revision.top)
    done = process.run([*_git(), "show", f"{revision.commit}:{name}"], cwd=Path(revision.top))
    return done.output if done.returncode == 0 else None


def _text_now(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None


def _section(text: str | None, whole: bool) -> dict[str, Any] | None:
    """What a configuration file says to this program; None where it says nothing."""
    if text is None:
        return None
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError):
        # It differs from everything that can be read.
        return {"": text}
    if whole:
        return document
    tools = document.get("tool")
    found = tools.get("lmemscope") if isinstance(tools, dict) else None
    return found if isinstance(found, dict) else None


def _is_below(path: str, directory: str) -> bool:
    return path.startswith(os.path.join(directory, ""))
