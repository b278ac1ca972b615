"""How the files that say how a project is built differ from a revision's: which options are new.

A build database is seldom in git, so that what another revision was compiled with is not on
record. The statements of CMakeLists.txt, Makefiles and their like are: what they add and take away
tells which words of today's commands the revision did not have, or that this cannot be told.
Nothing is run or evaluated.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from itertools import chain

from msgspec import Struct

from lmemscope.discover.revision import Revision
from lmemscope.files import text_beside
from lmemscope.sources.encoding import decoded, readable

BUILD_FILE = re.compile(
    r"CMakeLists\.txt|CMake(?:User)?Presets\.json|.*\.cmake(?:\.in)?|(?:GNU)?[Mm]akefile(?:\..*)?"
    r"|.*\.(?:mk|mak|ninja|bzl|rsp|pro)|meson\.(?:build|options)|meson_options\.txt|configure(?:\.ac)?"
    r"|BUILD(?:\.bazel)?|WORKSPACE(?:\.bazel)?|MODULE\.bazel|SCons(?:truct|cript)|xmake\.lua|setup\.py"
)
"""Names of files that say how a project is built."""

_MAY_CALL = re.compile(
    r".*\.(?:sh|bash|ps1|bat|cmd|toml|cfg|ini|ya?ml|json|lua|env|txt|in)|Dockerfile.*|Justfile"
    r"|conanfile\.py|tox\.ini"
)
"""Names of files that may call a build or be read by one: of them only options are told."""
_RESPONSE_FILE = ".rsp"
"""Of files that a command names; each revision's own are read."""
_OF_OPTIONS = re.compile(
    r"defin|option|flag|propert|feature|standard|architect|build_?type|configuration|toolchain"
    r"|include|copts|nvcc|cuda|_args|preset|\bif\b|else|config",
    re.IGNORECASE,
)
"""Commands, variables and keywords whose arguments may become options of a compiler."""
_PLAIN = re.compile(r"(?:add_(?:library|executable|test|subdirectory)|install|message|project)\b")
"""Commands that name what is built, and give it no options but by words that begin with a dash."""
_FOR_TARGETS = ("target_", "set_target_")
"""Beginnings of commands whose first argument is a target."""
_SOURCE = re.compile(r".*\.(?:cu|cuh|c|cc|cpp|cxx|h|hh|hpp|hxx|inl|py|md|txt|rst|json)", re.ASCII)
_WORD = re.compile(r"[^\s\"'`,;:()\[\]{}<>$=]+")
_NUMBERED = re.compile(r"(?:sm_|compute_|lto_|(?:c|gnu)\+\+)(\d+[af]?)")
"""What a build file may name by its number alone."""
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*")
_OPEN, _CLOSE = "([{", ")]}"


class Statement(Struct, frozen=True):
    """A statement of a build file.

    Attributes:
        head: its first word, a command with its first argument.
        words: all of them, without the dashes in front.
        of_options: those that may be options by where they stand, or by a dash.
    """

    head: tuple[str, ...]
    words: tuple[str, ...]
    of_options: frozenset[str]


class BuildChange(Struct, frozen=True):
    """What the files of a build say now and did not, or do not any more.

    Attributes:
        files: that differ, relative to the top of the repository.
        words: that are new in them.
        added: statements with new words that may be options, those words alone.
        removed: the same of the revision's, without those of targets that are gone.
        says_how: whether one of the files says how the project is built; others may only call it.
    """

    files: tuple[str, ...]
    words: frozenset[str] = frozenset()
    added: tuple[Statement, ...] = ()
    removed: tuple[Statement, ...] = ()
    says_how: bool = True

    def is_new(self, word: str) -> bool:
        """Whether a word of a command is there for a new word of a build file."""
        return bool(self.words & _parts(word))

    def unexplained(self, new: Collection[str]) -> tuple[Statement, ...]:
        """Statements that may have changed options, and whose effect on commands is not known.

        Args:
            new: words of today's commands that are new.
        """
        effects = frozenset(chain.from_iterable(map(_parts, new)))
        explained = {one.head for one in self.added if one.of_options & effects}
        return tuple(one for one in (*self.added, *self.removed) if one.head not in explained)


def _parts(word: str) -> frozenset[str]:
    """What a build file may say for a word of a command."""
    bare = word.lstrip("-")
    if not bare or _SOURCE.fullmatch(bare) or os.path.isabs(word):
        return frozenset()
    if word.startswith("-I"):
        return frozenset({os.path.basename(os.path.normpath(word[2:]))})
    parts = {bare, *_WORD.findall(bare)}
    if word.startswith("-D"):
        name = _WORD.findall(word[2:])[:1]
        parts = {bare, word[2:], *name, *(f"D{one}" for one in name)}
        parts |= set(_WORD.findall(word)[1:])
    numbers = (match[1] for match in map(_NUMBERED.fullmatch, parts) if match is not None)
    return frozenset((*parts, *numbers))


def build_change(revision: Revision) -> BuildChange | None:
    """What changed in the files that say how the project is built; None where none did."""
    paths = sorted(
        path
        for path in revision.changed
        if BUILD_FILE.fullmatch(os.path.basename(path)) and not path.endswith(_RESPONSE_FILE)
    )
    others = _dashed(revision)
    if not paths and not others:
        return None
    words: set[str] = set()
    added: list[Statement] = []
    removed: list[Statement] = []
    were = revision.contents(paths)
    for path in paths:
        before, now = (
            Counter(statements(_text(data))) for data in (were.get(path), text_beside(path))
        )
        had, has = _by_head(before - now), _by_head(now - before)
        left = frozenset(chain.from_iterable(one.words for one in now))
        for one in now - before:
            new = frozenset(has[one.head] - had[one.head])
            words |= new
            added += _with(one, new)
        for one in before - now:
            if not _of_no_target(one, left):
                removed += _with(one, frozenset(had[one.head] - has[one.head]))
    words |= frozenset(chain.from_iterable(others.values()))
    names = tuple(os.path.relpath(path, revision.top) for path in (*paths, *others))
    return BuildChange(names, frozenset(words), tuple(added), tuple(removed), bool(paths))


def _dashed(revision: Revision) -> dict[str, frozenset[str]]:
    """New words with a dash in other files that may hand options to a build: scripts, settings."""
    paths = [path for path in sorted(revision.changed) if _may_call(os.path.basename(path))]
    were = revision.contents(paths)
    found = {path: _options_in(text_beside(path)) - _options_in(were.get(path)) for path in paths}
    return {path: words for path, words in found.items() if words}


def _may_call(name: str) -> bool:
    return _MAY_CALL.fullmatch(name) is not None and BUILD_FILE.fullmatch(name) is None


def _options_in(data: bytes | None) -> frozenset[str]:
    words = _WORD.findall(_text(data))
    return frozenset(word.lstrip("-") for word in words if word.startswith("-")) - {""}


def _by_head(found: Counter[Statement]) -> defaultdict[tuple[str, ...], Counter[str]]:
    """How often each word stands in the statements of one head."""
    words: defaultdict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for one, times in found.items():
        for word in one.words:
            words[one.head][word] += times
    return words


def _with(statement: Statement, words: frozenset[str]) -> Iterator[Statement]:
    """A statement with those of the words alone that stand where options do, if there are any."""
    if statement.of_options & words:
        yield Statement(statement.head, statement.words, statement.of_options & words)


def _of_no_target(statement: Statement, left: frozenset[str]) -> bool:
    """Whether a statement is about a target that is gone."""
    command, *named = statement.head
    return command.startswith(_FOR_TARGETS) and left.isdisjoint(named)


def statements(text: str) -> tuple[Statement, ...]:
    """The statements of a build file that have words other than names of sources."""
    found = []
    for statement in _statements(text):
        words = [word for word in _WORD.findall(statement) if not _SOURCE.fullmatch(word)]
        if not words:
            continue
        is_call = statement.lstrip().startswith(f"{words[0]}(")
        first = " ".join(words[:2])
        of_options = _PLAIN.match(first) is None and _OF_OPTIONS.search(first) is not None
        # What a command is for is no option of it.
        begin = 2 if first.startswith(_FOR_TARGETS) else 1
        options = (
            word.lstrip("-")
            for place, word in enumerate(words)
            if word.startswith("-") or (of_options and place >= begin)
        )
        bare = tuple(word.lstrip("-") for word in words)
        found.append(Statement(bare[: 2 if is_call else 1], bare, frozenset(options)))
    return tuple(found)


def _statements(text: str) -> Iterator[str]:
    """Lines without comments; what brackets or a backslash at the end of a line join is one."""
    held: list[str] = []
    depth = 0
    for line in text.split("\n"):
        code = _COMMENT.sub("", line).rstrip()
        depth += _balance(code)
        goes_on = code.endswith("\\")
        held.append(code.rstrip("\\"))
        if depth <= 0 and not goes_on:
            depth = 0
            yield " ".join(held)
            held = []
    yield " ".join(held)


def _balance(code: str) -> int:
    return sum(code.count(one) for one in _OPEN) - sum(code.count(one) for one in _CLOSE)


def _text(data: bytes | None) -> str:
    return "" if data is None else readable(decoded(data).text)
