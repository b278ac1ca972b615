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
    r"|include|copts|nvcc|cuda|_args|preset|config",
    re.IGNORECASE,
)
"""Commands, variables and keywords whose arguments may become options of a compiler."""
_PLAIN = re.compile(r"(?:add_(?:library|executable|test|subdirectory)|install|message|project)\b")
"""Commands that name what is built, and give it no options but by words that begin with a dash."""
_FOR_TARGETS = ("target_", "set_target_")
"""Beginnings of commands whose first argument is a target."""
_BEGIN = frozenset(("if", "ifeq", "ifneq", "ifdef", "ifndef"))
_CONDITIONS = _BEGIN | {"elseif", "else"}
_OPERATORS = frozenset(
    "NOT AND OR TARGET DEFINED EXISTS MATCHES EQUAL STREQUAL LESS GREATER ON OFF TRUE FALSE".split()
)
"""Words of conditions that name no variable."""
_READING = frozenset(("configure_file", "file", "execute_process", "add_custom_command"))
"""Commands whose arguments may be files that others are made of, C++ too."""
_CODE = re.compile(r".*\.(?:cu|cuh|c|cc|cpp|cxx|h|hh|hpp|hxx|inl)", re.ASCII)
_DOCUMENT = re.compile(r".*\.(?:md|rst|png|jpe?g|svg|gif|pdf)|(?:LICEN[CS]E|README|CHANGELOG).*")
_SOURCE = re.compile(rf"{_CODE.pattern}|.*\.(?:py|md|txt|rst|json)", re.ASCII)
_WORD = re.compile(r"[^\s\"'`,;:()\[\]{}<>$=]+")
_NAME = re.compile(r"\w+")
_TEMPLATE = ".in"
"""Ending of files that a build makes others of, with the values of its variables."""
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
        sources: names of sources, without directories, that they name now and no build file did.
        inputs: files that differ and of which the build may make others: templates, generators,
            lists, and what sets variables of templates.
        says_how: whether one of the files says how the project is built; others may only call it.
    """

    files: tuple[str, ...]
    words: frozenset[str] = frozenset()
    added: tuple[Statement, ...] = ()
    removed: tuple[Statement, ...] = ()
    sources: frozenset[str] = frozenset()
    inputs: tuple[str, ...] = ()
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
    paths = sorted(filter(_says_how, revision.changed))
    others = sorted(filter(_may_be_read, revision.changed))
    if not paths and not others:
        return None
    files = _BuildFiles(revision, paths)
    inputs = [path for path in others if files.name(path)]
    makers = [path for path in paths if files.feeds_templates(path)]
    given = _new_words(revision, others, frozenset(inputs))
    if not paths and not given:
        return None
    words: set[str] = set()
    added: list[Statement] = []
    removed: list[Statement] = []
    for path in paths:
        before, now = map(Counter, files.statements(path))
        had, has = _by_head(before - now), _by_head(now - before)
        left = frozenset(chain.from_iterable(one.words for one in now))
        for one in now - before:
            fresh = frozenset(has[one.head] - had[one.head])
            words |= fresh
            added += _with(one, fresh)
        for one in before - now:
            if not _of_no_target(one, left):
                removed += _with(one, frozenset(had[one.head] - has[one.head]))
    words |= frozenset(chain.from_iterable(given.values()))
    named = [os.path.relpath(path, revision.top) for path in (*paths, *given)]
    return BuildChange(
        tuple(named),
        frozenset(words),
        tuple(added),
        tuple(removed),
        files.new_sources(revision.deleted),
        tuple(os.path.relpath(path, revision.top) for path in (*makers, *inputs)),
        bool(paths),
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
            path: (_text(were.get(path)), _text(text_beside(path))) for path in changed
        }
        same = [path for path in sorted(revision.known - revision.changed) if _says_how(path)]
        self._same = [_text(text_beside(path)) for path in same]
        texts = [*chain.from_iterable(self._changed.values()), *self._same]
        self._of_options = _names_of_options(texts)
        self._named = frozenset(chain.from_iterable(map(_files_named, texts)))
        templates = [path for path in revision.known | revision.changed if self._is_template(path)]
        words = (_NAME.findall(_text(text_beside(path))) for path in templates)
        self._of_templates = frozenset(chain.from_iterable(words))

    def _is_template(self, path: str) -> bool:
        return path.endswith(_TEMPLATE) and self.name(path)

    def feeds_templates(self, path: str) -> bool:
        """Whether a file that differs sets a variable of a template otherwise."""
        before, now = map(Counter, self.statements(path))
        differ = chain(before - now, now - before)
        set_ = (one.head[-1] for one in differ if _PLAIN.match(one.head[0]) is None)
        return not self._of_templates.isdisjoint(set_)

    def statements(self, path: str) -> tuple[tuple[Statement, ...], tuple[Statement, ...]]:
        """The statements of a file that differs: the revision's, and those of today."""
        before, now = self._changed[path]
        return statements(before, self._of_options), statements(now, self._of_options)

    def name(self, path: str) -> bool:
        """Whether one of them names a file, but to compile or to install it.

        By the end of its path: which directories variables stand for is not known.
        """
        parts = path.split(os.sep)
        return any("/".join(parts[place:]) in self._named for place in range(1, len(parts)))

    def new_sources(self, gone: Iterable[str]) -> frozenset[str]:
        """Names of sources that they name now, and none of them named.

        With any, also those of files that are gone: what is named now may be one of them.
        """
        had = _sources(chain(self._same, (before for before, _ in self._changed.values())))
        new = _sources(now for _, now in self._changed.values()) - had
        return new | (frozenset(map(os.path.basename, gone)) - had) if new else new


def _sources(texts: Iterable[str]) -> frozenset[str]:
    words = chain.from_iterable(map(_WORD.findall, chain.from_iterable(map(_statements, texts))))
    return frozenset(os.path.basename(word) for word in words if _CODE.fullmatch(word))


def _files_named(text: str) -> Iterator[str]:
    """Names of files in statements that read, run or copy them; of sources, in no others."""
    for statement in _statements(text):
        words = _WORD.findall(statement)
        if not words or _PLAIN.match(words[0]) is not None:
            continue
        reads = words[0] in _READING
        names = (os.path.normpath(word).rpartition("../")[2].lstrip("/") for word in words[1:])
        yield from (name for name in names if reads or not _CODE.fullmatch(name))


def _names_of_options(texts: Iterable[str]) -> frozenset[str]:
    """Names of variables that options, or conditions around options, depend on."""
    found: set[str] = set()
    variables: list[Statement] = []
    for text in texts:
        around: list[set[str]] = []
        for one in statements(text):
            command = one.head[0]
            if command in _CONDITIONS:
                if command in _BEGIN or not around:
                    around.append(set())
                around[-1].update(set(one.words[1:]) - _OPERATORS)
            elif command == "endif":
                del around[-1:]
            elif one.of_options:
                found.update(one.of_options, *around)
            elif _PLAIN.match(command) is None:
                variables.append(one)
    size = -1
    while size != len(found):
        size = len(found)
        for one in variables:
            if one.head[-1] in found:
                found.update(one.words)
    return frozenset(found)


def _new_words(
    revision: Revision, others: Iterable[str], inputs: Collection[str]
) -> dict[str, frozenset[str]]:
    """Words that are new in files which call a build: those with a dash; or which one reads."""
    called = (path for path in others if _MAY_CALL.fullmatch(os.path.basename(path)))
    paths = sorted({*called, *inputs})
    were = revision.contents(paths)
    found = {}
    for path in paths:
        every = path in inputs
        new = _words_in(text_beside(path), every) - _words_in(were.get(path), every)
        if new or every:
            found[path] = new
    return found


def _words_in(data: bytes | None, every: bool) -> frozenset[str]:
    """The words of a text, without the dashes in front; those that have one, or all."""
    words = _WORD.findall(_text(data))
    return frozenset(w.lstrip("-") for w in words if every or w.startswith("-")) - {""}


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


def statements(text: str, variables: Collection[str] = ()) -> tuple[Statement, ...]:
    """The statements of a build file that have words other than names of sources.

    Args:
        text: of the file.
        variables: on which options depend.
    """
    found = []
    for statement in _statements(text):
        words = [word for word in _WORD.findall(statement) if not _SOURCE.fullmatch(word)]
        if not words:
            continue
        is_call = statement.lstrip().startswith(f"{words[0]}(")
        first = " ".join(words[:2])
        named = words[min(is_call, len(words) - 1)]
        if words[0] in _CONDITIONS:
            of_options = not frozenset(words[1:]).isdisjoint(variables)
        else:
            of_options = _PLAIN.match(first) is None and (
                _OF_OPTIONS.search(first) is not None or named in variables
            )
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
