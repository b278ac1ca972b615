"""Compare build files with a revision's, to find which compiler options are new.

Build databases are rarely in git, so the options of another revision are not recorded. Instead, the
statements of CMakeLists.txt, Makefiles and similar files are compared. Their additions and removals
show which words of today's commands the revision did not have, or that this cannot be determined.
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
"""Names of files that define the build."""
_MAY_CALL = re.compile(
    r".*\.(?:sh|bash|ps1|bat|cmd|toml|cfg|ini|ya?ml|json|lua|env|txt|in)|Dockerfile.*|Justfile"
    r"|conanfile\.py|tox\.ini"
)
"""Names of files that may start a build or be read by one; only options are taken from them."""
_MANIFEST = re.compile(
    r"vcpkg(?:-configuration)?\.json|conanfile\.(?:txt|py)|conan\.lock|package-lock\.cmake"
)
"""Names of files that list the packages a build fetches."""
_RESPONSE_FILE = ".rsp"
"""Option files named by commands; each revision's own copy is read."""
_READING = frozenset(("configure_file", "file", "execute_process", "add_custom_command"))
"""Commands whose arguments may be files from which others are generated, including C++."""
_DOCUMENT = re.compile(r".*\.(?:md|rst|png|jpe?g|svg|gif|pdf)|(?:LICEN[CS]E|README|CHANGELOG).*")
_NAME = re.compile(r"\w+")
_MACRO = re.compile(r"D[A-Za-z_]")
_OF_FLAGS = re.compile(r"flags|defin|option|build_?type", re.IGNORECASE)
"""CMake variables through which a script may pass options, besides the build's own."""
_PART = re.compile(r"\w[\w.-]*")
"""A component of a path, of an address, or of a package's name and version."""
_TEMPLATE = ".in"
"""Ending of template files, which a build expands with the values of its variables."""
_NUMBERED = re.compile(r"(?:sm_|compute_|lto_|(?:c|gnu)\+\+)(\d+[af]?)")
"""Words that a build file may write as just the number."""
_GENERIC = frozenset("build src source include lib bin cmake cuda release debug private".split())
"""Words that name directories in any project."""


class BuildChange(Struct, frozen=True):
    """The difference between a revision's build files and today's.

    Attributes:
        files: changed files, relative to the top of the repository.
        words: words that are new in them.
        added: statements with new words that may be options, reduced to these words.
        removed: the same for removed words, except in statements about targets that are gone.
        sources: names of sources, without directories, that are mentioned now but were in no build
            file before.
        inputs: changed files from which the build may generate others: templates, generators,
            lists, and files that set variables of templates.
        says_how: whether one of the files defines the build; the others may only start it.
        names: words of changed statements, in lower case, that may name directories and files of
            the build, such as a fetched package or a generated file.
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
        """Whether a changed statement names a file of the build, or a directory above it.

        Args:
            path: relative to the build directory.
        """
        parts = {part.lower() for part in path.split(os.sep)}
        # CMake names a package's directories after the package: zlib-src, zlib-build.
        parts |= {part.rpartition("-")[0] for part in parts}
        return not self.names.isdisjoint(parts)

    def may_change(self, words: Iterable[str]) -> bool:
        """Whether files that start a build or are read by it may have changed a command's options.

        Args:
            words: of the command.
        """
        called = {(name,) for name in self.files}
        lost = any(one.head in called for one in self.removed)
        return lost or any(map(self.is_new, options_of(words)))

    def is_new(self, word: str) -> bool:
        """Whether a new word in a build file may explain a word of a command."""
        return bool(self.words & _parts(word))

    def unexplained(self, new: Collection[str]) -> tuple[Statement, ...]:
        """Changed statements that may affect options in a way that is not known.

        Args:
            new: the new words in today's commands.
        """
        effects = frozenset(chain.from_iterable(map(_parts, new)))
        explained = {one.head for one in self.added if one.of_options & effects}
        return tuple(one for one in (*self.added, *self.removed) if one.head not in explained)


def _parts(word: str) -> frozenset[str]:
    """The words by which a build file may refer to a word of a command."""
    bare = word.lstrip("-")
    if not bare or SOURCE.fullmatch(bare) or os.path.isabs(word):
        return frozenset()
    if word.startswith("-I"):
        parts = os.path.normpath(word[2:]).split(os.sep)
        # FetchContent downloads zlib to zlib-src and stores that path in zlib_SOURCE_DIR.
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
    """The changes to the files that define the build; None if there are none."""
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
    # A new source may be a deleted one under another name.
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
            # A command's own name is not one of its arguments.
            words |= fresh.difference(one.head[:-1])
            added += _with(one, fresh)
        for one in before - now:
            if not is_of_no_target(one, left):
                removed += _with(one, frozenset(had[one.head] - has[one.head]))
        removed += _reordered(*files.statements(path))
    for path, (new, lost) in given.items():
        words |= new
        head = (os.path.relpath(path, revision.top),)
        # New options may replace the removed ones.
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
    # For option files, each revision's own copy is read.
    return BUILD_FILE.fullmatch(os.path.basename(path)) is not None and not path.endswith(
        _RESPONSE_FILE
    )


class _BuildFiles:
    """The files that define the build, now and in a revision.

    Args:
        revision: a git revision.
        changed: the files that differ.
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
        """Whether a word with a leading dash, in a file that may start a build, is an option."""
        name = word.partition("=")[0]
        if name in CHANGING or _MACRO.match(name) is None:
            return name in CHANGING
        variable = name[1:]
        if variable in self._of_options or _OF_FLAGS.search(variable) is not None:
            return True
        # If it is not a variable of the build, it is a macro.
        return not variable.startswith("CMAKE_") and variable not in self._words

    def feeds_templates(self, path: str) -> bool:
        """Whether a changed file sets a template's variable to another value."""
        before, now = map(Counter, self.statements(path))
        differ = chain(before - now, now - before)
        set_ = (one.head[-1] for one in differ if PLAIN.match(one.head[0]) is None)
        return not self._of_templates.isdisjoint(set_)

    def statements(self, path: str) -> tuple[tuple[Statement, ...], tuple[Statement, ...]]:
        """The statements of a changed file: the revision's, and today's."""
        before, now = self._changed[path]
        return statements(before, self._of_options), statements(now, self._of_options)

    def name(self, path: str) -> bool:
        """Whether a build file names a file other than to compile or install it.

        Matched by the end of the path: which directories variables stand for is unknown.
        """
        return any(name in self._named for name in _ends(path))

    def is_option_of(self, path: str, word: str, *, is_list: bool) -> bool:
        """Whether a word in a file that the build reads or runs may become an option.

        Args:
            path: of the file.
            word: without leading dashes.
            is_list: whether the file is a list of words; otherwise, options begin with a dash.
        """
        with_it = chain.from_iterable(self._named.get(name, ()) for name in _ends(path))
        if self._of_options.isdisjoint(with_it):
            return False
        is_name = is_list and word.isidentifier() and SOURCE.fullmatch(word) is None
        return is_name or word.partition("=")[0] in CHANGING or _MACRO.match(word) is not None

    def new_targets(self, known: Collection[str]) -> frozenset[str]:
        """New targets made only of new sources: options given to them affect nothing older.

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
        # Further sources may be added elsewhere.
        every = chain.from_iterable(map(raw_statements, (*self._now(), *self._same)))
        adding = (WORD.findall(one) for one in every if "target_sources" in one)
        return frozenset(found).difference(*adding)

    def names(self, manifests: Iterable[str]) -> frozenset[str]:
        """Words that may name what the build fetches or generates, where that may have changed.

        They come from changed statements, from others that use a variable set in one, and from
        changed package lists. Statements that only give options or name what is built are ignored.
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
        """Names of sources that build files mention now but did not mention before.

        If there are any, names of deleted files are included: a new source may be one of them,
        renamed.
        """
        had = sources_in(chain(self._same, (before for before, _ in self._changed.values())))
        new = sources_in(self._now()) - had
        return new | (frozenset(map(os.path.basename, gone)) - had) if new else new


def _ends(path: str) -> Iterator[str]:
    """The names by which a file may be mentioned: suffixes of its path, longest first."""
    parts = path.split(os.sep)
    return ("/".join(parts[place:]) for place in range(1, len(parts)))


def _files_named(text: str) -> Iterator[tuple[str, list[str]]]:
    """Files named in statements that read, run or copy them, with the statements' words.

    In statements that name sources, only the sources.
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
    """New words and removed options in each changed file that a build reads or that starts one.

    In a file that only may start a build, only words with a dash count.
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
    """How often each word occurs in the statements with one head."""
    words: defaultdict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for one, times in found.items():
        for word in one.words:
            words[one.head][word] += times
    return words


def _reordered(before: Sequence[Statement], now: Sequence[Statement]) -> Iterator[Statement]:
    """Statements with the same options in another order, by head: the last option may win."""
    had, has = _options_by_head(before), _options_by_head(now)
    for head in had.keys() & has.keys():
        if had[head] != has[head] and Counter(had[head]) == Counter(has[head]):
            yield Statement(head, (*head, *had[head]), frozenset(had[head]))


def _options_by_head(found: Iterable[Statement]) -> defaultdict[tuple[str, ...], list[str]]:
    """The words that may be options in the statements with each head, in order."""
    words: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for one in found:
        words[one.head] += (word for word in one.words if word in one.of_options)
    return words


def _with(statement: Statement, words: frozenset[str]) -> Iterator[Statement]:
    """A statement reduced to those of the given words that are in option position, if any."""
    if statement.of_options & words:
        yield Statement(statement.head, statement.words, statement.of_options & words)
