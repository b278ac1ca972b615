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
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain

from msgspec import Struct

from lmemscope.discover.build_statements import (
    CODE,
    PLAIN,
    SOURCE,
    TARGET,
    Statement,
    is_of_no_target,
    is_of_one_target,
    matches_in,
    may_make,
    names_of_options,
    raw_statements,
    sources_in,
    statements,
    variables_of,
)
from lmemscope.discover.build_words import (
    CHANGING,
    SCRIPT,
    WORD,
    options_of,
    text_of,
    words_in,
)
from lmemscope.discover.revision import Revision
from lmemscope.files import text_beside

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
_MANIFEST = re.compile(
    r"vcpkg(?:-configuration)?\.json|conanfile\.(?:txt|py)|conan\.lock|package-lock\.cmake"
)
"""Names of files that say which packages a build fetches."""
_RESPONSE_FILE = ".rsp"
"""Of files that a command names; each revision's own are read."""
_READING = frozenset(("configure_file", "file", "execute_process", "add_custom_command"))
"""Commands whose arguments may be files that others are made of, C++ too."""
_DOCUMENT = re.compile(r".*\.(?:md|rst|png|jpe?g|svg|gif|pdf)|(?:LICEN[CS]E|README|CHANGELOG).*")
_NAME = re.compile(r"\w+")
_MACRO = re.compile(r"D[A-Za-z_]")
_OF_FLAGS = re.compile(r"flags|defin|option|build_?type", re.IGNORECASE)
"""Variables of CMake by which a script may give options, beside those of the build's own."""
_PART = re.compile(r"\w[\w.-]*")
"""A part of a path, of an address, or of a package's name and version."""
_TEMPLATE = ".in"
"""Ending of files that a build makes others of, with the values of its variables."""
_NUMBERED = re.compile(r"(?:sm_|compute_|lto_|(?:c|gnu)\+\+)(\d+[af]?)")
"""What a build file may name by its number alone."""
_GENERIC = frozenset("build src source include lib bin cmake cuda release debug private".split())
"""Words that name directories of any project."""


class BuildChange(Struct, frozen=True):
    """What the files of a build say now and did not, or do not any more.

    Attributes:
        files: that differ, relative to the top of the repository.
        words: that are new in them.
        added: statements with new words that may be options, those words alone.
        removed: the same of the revision's, without those of targets that are gone.
        sources: names of sources, without directories, that they name now and no build file did.
        inputs: files that differ and of which the build may make others: templates, generators,
            lists, and what sets variables of templates.
        says_how: whether one of the files says how the project is built; others may only call it.
        names: words of statements that differ, in small letters, by which directories and files of
            the build may be called: a package that is fetched, a file that is written.
    """

    files: tuple[str, ...]
    words: frozenset[str] = frozenset()
    added: tuple[Statement, ...] = ()
    removed: tuple[Statement, ...] = ()
    sources: frozenset[str] = frozenset()
    inputs: tuple[str, ...] = ()
    says_how: bool = True
    names: frozenset[str] = frozenset()

    def may_have_made(self, path: str) -> bool:
        """Whether a statement that differs names a file of the build, or a directory above it.

        Args:
            path: relative to the build.
        """
        parts = {part.lower() for part in path.split(os.sep)}
        # CMake calls directories of a package by its name: zlib-src, zlib-build.
        parts |= {part.rpartition("-")[0] for part in parts}
        return not self.names.isdisjoint(parts)

    def may_change(self, words: Iterable[str]) -> bool:
        """Whether a command has other options than it had, by what calls a build or is read by one.

        Args:
            words: of the command.
        """
        called = {(name,) for name in self.files}
        lost = any(one.head in called for one in self.removed)
        return lost or any(map(self.is_new, options_of(words)))

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
    if not bare or SOURCE.fullmatch(bare) or os.path.isabs(word):
        return frozenset()
    if word.startswith("-I"):
        parts = os.path.normpath(word[2:]).split(os.sep)
        # FetchContent puts zlib's sources into zlib-src, and that into zlib_SOURCE_DIR.
        fetched = (part.removesuffix("-src") for part in parts if part.endswith("-src"))
        return frozenset((parts[-1], *(f"{name}_SOURCE_DIR" for name in fetched)))
    found = {bare, *WORD.findall(bare)}
    if word.startswith("-D"):
        name = WORD.findall(word[2:])[:1]
        found = {bare, word[2:], *name, *(f"D{one}" for one in name)}
        found |= set(WORD.findall(word)[1:])
    numbers = (match[1] for match in map(_NUMBERED.fullmatch, found) if match is not None)
    return frozenset((*found, *numbers))


def build_change(revision: Revision) -> BuildChange | None:
    """What changed in the files that say how the project is built; None where none did."""
    paths = sorted(filter(_says_how, revision.changed))
    others = sorted(filter(_may_be_read, revision.changed))
    if not paths and not others:
        return None
    files = _BuildFiles(revision, paths)
    inputs = [path for path in others if files.name(path)]
    makers = [path for path in paths if files.feeds_templates(path)]
    given = _given(revision, others, frozenset(inputs), files)
    manifests = [path for path in others if _MANIFEST.fullmatch(os.path.basename(path))]
    if not (paths or given or manifests):
        return None
    known = frozenset(map(os.path.basename, revision.known))
    gone = map(os.path.basename, revision.deleted)
    # A source that is new may be one that is gone, under another name.
    targets = frozenset() if any(map(CODE.fullmatch, gone)) else files.new_targets(known)
    words: set[str] = set()
    added: list[Statement] = []
    removed: list[Statement] = []
    for path in paths:
        before, now = map(Counter, files.statements(path))
        had, has = _by_head(before - now), _by_head(now - before)
        left = frozenset(chain.from_iterable(one.words for one in now))
        for one in now - before:
            if one.head[-1] in targets and is_of_one_target(one):
                continue
            fresh = frozenset(has[one.head] - had[one.head])
            # A command's own name is no argument of it.
            words |= fresh.difference(one.head[:-1])
            added += _with(one, fresh)
        for one in before - now:
            if not is_of_no_target(one, left):
                removed += _with(one, frozenset(had[one.head] - has[one.head]))
        removed += _reordered(*files.statements(path))
    for path, (new, lost) in given.items():
        words |= new
        head = (os.path.relpath(path, revision.top),)
        # Options that are gone may have been exchanged for those that are new.
        added += [Statement(head, (*head, *sorted(new)), new)] if lost and new else []
        removed += [Statement(head, (*head, *sorted(lost)), lost)] if lost else []
    named = dict.fromkeys((*paths, *given, *manifests))
    return BuildChange(
        tuple(os.path.relpath(path, revision.top) for path in named),
        frozenset(words),
        tuple(added),
        tuple(removed),
        files.new_sources(revision.deleted),
        tuple(os.path.relpath(path, revision.top) for path in (*makers, *inputs)),
        bool(paths),
        files.names(manifests),
    )


def _may_be_read(path: str) -> bool:
    name = os.path.basename(path)
    return not (_says_how(path) or path.endswith(_RESPONSE_FILE) or _DOCUMENT.fullmatch(name))


def _says_how(path: str) -> bool:
    # Of files of options, each revision's own are read.
    return BUILD_FILE.fullmatch(os.path.basename(path)) is not None and not path.endswith(
        _RESPONSE_FILE
    )


class _BuildFiles:
    """The files that say how a project is built, as they are and as they were in a revision.

    Args:
        revision: of git.
        changed: those of them that differ.
    """

    def __init__(self, revision: Revision, changed: Sequence[str]) -> None:
        were = revision.contents(changed)
        self._changed = {
            path: (text_of(were.get(path)), text_of(text_beside(path))) for path in changed
        }
        same = [path for path in sorted(revision.known - revision.changed) if _says_how(path)]
        self._same = [text_of(text_beside(path)) for path in same]
        texts = [*chain.from_iterable(self._changed.values()), *self._same]
        self._of_options = names_of_options(texts)
        self._words = frozenset(chain.from_iterable(map(_NAME.findall, texts)))
        self._named: defaultdict[str, set[str]] = defaultdict(set)
        for name, beside in chain.from_iterable(map(_files_named, texts)):
            self._named[name].update(beside)
        templates = [path for path in revision.known | revision.changed if self._is_template(path)]
        words = (_NAME.findall(text_of(text_beside(path))) for path in templates)
        self._of_templates = frozenset(chain.from_iterable(words))

    def _is_template(self, path: str) -> bool:
        return path.endswith(_TEMPLATE) and self.name(path)

    def is_option(self, word: str) -> bool:
        """Whether a word that began with a dash in a file which may call a build is an option."""
        name = word.partition("=")[0]
        if name in CHANGING or _MACRO.match(name) is None:
            return name in CHANGING
        variable = name[1:]
        if variable in self._of_options or _OF_FLAGS.search(variable) is not None:
            return True
        # What is no variable of the build is a macro.
        return not variable.startswith("CMAKE_") and variable not in self._words

    def feeds_templates(self, path: str) -> bool:
        """Whether a file that differs sets a variable of a template otherwise."""
        before, now = map(Counter, self.statements(path))
        differ = chain(before - now, now - before)
        set_ = (one.head[-1] for one in differ if PLAIN.match(one.head[0]) is None)
        return not self._of_templates.isdisjoint(set_)

    def statements(self, path: str) -> tuple[tuple[Statement, ...], tuple[Statement, ...]]:
        """The statements of a file that differs: the revision's, and those of today."""
        before, now = self._changed[path]
        return statements(before, self._of_options), statements(now, self._of_options)

    def name(self, path: str) -> bool:
        """Whether one of them names a file, but to compile or to install it.

        By the end of its path: which directories variables stand for is not known.
        """
        return any(name in self._named for name in _ends(path))

    def is_option_of(self, path: str, word: str, *, is_list: bool) -> bool:
        """Whether a word of a file that one of them reads or runs may become an option.

        Args:
            path: of the file.
            word: without dashes in front.
            is_list: whether the file is a list of words; else options begin with a dash.
        """
        with_it = chain.from_iterable(self._named.get(name, ()) for name in _ends(path))
        if self._of_options.isdisjoint(with_it):
            return False
        is_name = is_list and word.isidentifier() and SOURCE.fullmatch(word) is None
        return is_name or word.partition("=")[0] in CHANGING or _MACRO.match(word) is not None

    def new_targets(self, known: Collection[str]) -> frozenset[str]:
        """Targets that are new, and made of sources that are: of no other is what they are given.

        Args:
            known: names of the revision's files, without directories.
        """
        texts = [*self._same, *(before for before, _ in self._changed.values())]
        had = {match[1] for match in matches_in(TARGET, texts)}
        found = set()
        for match in matches_in(TARGET, self._now()):
            names = {os.path.basename(word) for word in WORD.findall(match[0])}
            sources = frozenset(filter(CODE.fullmatch, names))
            if sources and sources.isdisjoint(known) and match[1] not in had:
                found.add(match[1])
        # Others may be added elsewhere.
        every = chain.from_iterable(map(raw_statements, (*self._now(), *self._same)))
        adding = (WORD.findall(one) for one in every if "target_sources" in one)
        return frozenset(found).difference(*adding)

    def names(self, manifests: Iterable[str]) -> frozenset[str]:
        """Words by which what the build fetches or writes may be called, where that may differ.

        Those of statements that differ, of others that use a variable which one sets, and of
        lists of packages that differ; not of what only gives options or names what is built.
        """
        differ: list[Statement] = []
        for path in self._changed:
            before, now = map(Counter, self.statements(path))
            differ += chain(before - now, now - before)
        set_ = frozenset(chain.from_iterable(map(variables_of, differ)))
        every = chain.from_iterable(
            statements(text, self._of_options) for text in (*self._now(), *self._same)
        )
        using = (one for one in every if not set_.isdisjoint(one.words[len(one.head) :]))
        makes = (one for one in (*differ, *using) if may_make(one))
        texts = [" ".join(one.words[1:]) for one in makes]
        texts += [text_of(text_beside(path)) for path in manifests]
        found = (word.lower() for text in texts for word in _PART.findall(text))
        return frozenset(word for word in found if len(word) > 1) - _GENERIC

    def _now(self) -> Iterator[str]:
        return (now for _, now in self._changed.values())

    def new_sources(self, gone: Iterable[str]) -> frozenset[str]:
        """Names of sources that they name now, and none of them named.

        With any, also those of files that are gone: what is named now may be one of them.
        """
        had = sources_in(chain(self._same, (before for before, _ in self._changed.values())))
        new = sources_in(self._now()) - had
        return new | (frozenset(map(os.path.basename, gone)) - had) if new else new


def _ends(path: str) -> Iterator[str]:
    """What a file may be named by: the ends of its path, the longest first."""
    parts = path.split(os.sep)
    return ("/".join(parts[place:]) for place in range(1, len(parts)))


def _files_named(text: str) -> Iterator[tuple[str, list[str]]]:
    """Names of files in statements that read, run or copy them, with the statements' words.

    Of sources, in no others.
    """
    for statement in raw_statements(text):
        words = WORD.findall(statement)
        if not words or PLAIN.match(words[0]) is not None:
            continue
        reads = words[0] in _READING
        names = (os.path.normpath(word).rpartition("../")[2].lstrip("/") for word in words[1:])
        yield from ((name, words[1:]) for name in names if reads or not CODE.fullmatch(name))


def _given(
    revision: Revision, others: Iterable[str], inputs: Collection[str], files: _BuildFiles
) -> dict[str, tuple[frozenset[str], frozenset[str]]]:
    """Words that are new, and options that are gone, by the file: one that a build reads or calls.

    Of what only may call a build, words with a dash alone.
    """
    called = (path for path in others if _MAY_CALL.fullmatch(os.path.basename(path)))
    paths = sorted({*called, *inputs})
    were = revision.contents(paths)
    found = {}
    for path in paths:
        every = path in inputs
        before, now = words_in(were.get(path), every), words_in(text_beside(path), every)
        new = now - before
        is_list = SCRIPT.fullmatch(path) is None and not path.endswith(_TEMPLATE)
        lost = frozenset(
            word
            for word in before - now
            if (files.is_option_of(path, word, is_list=is_list) if every else files.is_option(word))
        )
        if new or lost or every:
            found[path] = (new, lost)
    return found


def _by_head(found: Counter[Statement]) -> defaultdict[tuple[str, ...], Counter[str]]:
    """How often each word stands in the statements of one head."""
    words: defaultdict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for one, times in found.items():
        for word in one.words:
            words[one.head][word] += times
    return words


def _reordered(before: Sequence[Statement], now: Sequence[Statement]) -> Iterator[Statement]:
    """The options of each head that are the same ones in another order: the last may win."""
    had, has = _options_by_head(before), _options_by_head(now)
    for head in had.keys() & has.keys():
        if had[head] != has[head] and Counter(had[head]) == Counter(has[head]):
            yield Statement(head, (*head, *had[head]), frozenset(had[head]))


def _options_by_head(found: Iterable[Statement]) -> defaultdict[tuple[str, ...], list[str]]:
    """The words that may be options in the statements of each head, in their order."""
    words: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for one in found:
        words[one.head] += (word for word in one.words if word in one.of_options)
    return words


def _with(statement: Statement, words: frozenset[str]) -> Iterator[Statement]:
    """A statement with those of the words alone that stand where options do, if there are any."""
    if statement.of_options & words:
        yield Statement(statement.head, statement.words, statement.of_options & words)
