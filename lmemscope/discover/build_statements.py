"""Parse the statements of build files, and determine which of them may give options."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from itertools import chain

from msgspec import Struct

from lmemscope.discover.build_words import OF_OPTIONS, WORD

PLAIN = re.compile(r"(?:add_(?:library|executable|test|subdirectory)|install|message|project)\b")
"""Commands that name what is built; only their words with a leading dash are options."""
TARGET = re.compile(r"add_(?:library|executable)\s*\(\s*(\w+)[^$]*")
"""A statement that defines a target without using variables."""
_NO_OPTIONS = frozenset(("add_test", "install", "message"))
"""Commands whose words never reach a compiler, even with a leading dash."""
_OWN_MODULES = frozenset(
    "CheckLanguage CMakeDependentOption CMakePackageConfigHelpers CPack CTest ExternalProject "
    "FeatureSummary FetchContent GNUInstallDirs GoogleTest".split()
)
"""CMake's own modules that give no options."""
_FOR_TARGETS = ("target_", "set_target_")
"""Prefixes of commands whose first argument is a target."""
_FOR_OPTIONS = ("add_compile_", "add_definitions", "include_directories", "link_", "add_link_")
"""Prefixes of commands that only give options to what is built."""
_BEGIN = frozenset(("if", "ifeq", "ifneq", "ifdef", "ifndef"))
_CONDITIONS = _BEGIN | {"elseif", "else"}
_OPERATORS = frozenset(
    "NOT AND OR TARGET DEFINED EXISTS MATCHES EQUAL STREQUAL LESS GREATER ON OFF TRUE FALSE".split()
)
"""Words in conditions that are not variables."""
_SETTING = frozenset(("set", "option", "list", "string"))
"""Commands whose first or second argument is a variable."""
CODE = re.compile(r".*\.(?:cu|cuh|c|cc|cpp|cxx|h|hh|hpp|hxx|inl)", re.ASCII)
SOURCE = re.compile(rf"{CODE.pattern}|.*\.(?:py|md|txt|rst|json)", re.ASCII)
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*")
_OPEN, _CLOSE = "([{", ")]}"


class Statement(Struct, frozen=True):
    """A statement in a build file.

    Attributes:
        head: its first word; for a command, with the first argument.
        words: all of its words, without leading dashes.
        of_options: those that may be options, by position or by a leading dash.
    """

    head: tuple[str, ...]
    words: tuple[str, ...]
    of_options: frozenset[str]


def variables_of(statement: Statement) -> tuple[str, ...]:
    """The words that may be variables set by a statement."""
    head = statement.head
    is_call = len(head) > 1
    return statement.words[1:3] if is_call and head[0] in _SETTING else () if is_call else head


def matches_in(pattern: re.Pattern[str], texts: Iterable[str]) -> Iterator[re.Match[str]]:
    """The statements in build files that match a pattern completely."""
    every = (one.strip() for text in texts for one in raw_statements(text))
    return (match for match in map(pattern.fullmatch, every) if match is not None)


def is_of_one_target(statement: Statement) -> bool:
    """Whether a statement concerns only one target, and nothing that links with it."""
    command, *rest = statement.words
    if command.startswith("set_target_") and rest[1:2] != ["PROPERTIES"]:
        return False
    reaches = any(word.startswith(("PUBLIC", "INTERFACE")) for word in rest)
    return command.startswith(_FOR_TARGETS) and not reaches


def may_make(statement: Statement) -> bool:
    """Whether a statement may fetch or write files; not so for conditions and option statements."""
    command = statement.head[0]
    return (
        PLAIN.match(command) is None
        and command not in _CONDITIONS
        and not command.startswith((*_FOR_TARGETS, *_FOR_OPTIONS))
    )


def sources_in(texts: Iterable[str]) -> frozenset[str]:
    """Names of the sources in build files, without directories."""
    words = chain.from_iterable(map(WORD.findall, chain.from_iterable(map(raw_statements, texts))))
    return frozenset(os.path.basename(word) for word in words if CODE.fullmatch(word))


def names_of_options(texts: Iterable[str]) -> frozenset[str]:
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
            elif PLAIN.match(command) is None:
                variables.append(one)
    size = -1
    while size != len(found):
        size = len(found)
        for one in variables:
            if one.head[-1] in found:
                found.update(one.words)
    return frozenset(found)


def is_of_no_target(statement: Statement, left: frozenset[str]) -> bool:
    """Whether a statement concerns a target that is gone."""
    command, *named = statement.head
    return command.startswith(_FOR_TARGETS) and left.isdisjoint(named)


def statements(text: str, variables: Collection[str] = ()) -> tuple[Statement, ...]:
    """The statements in a build file, except those with only source names.

    Args:
        text: of the file.
        variables: on which options depend.
    """
    found = []
    for statement in raw_statements(text):
        words = [word for word in WORD.findall(statement) if not SOURCE.fullmatch(word)]
        if not words:
            continue
        is_call = statement.lstrip().startswith(f"{words[0]}(")
        first = " ".join(words[:2])
        named = words[min(is_call, len(words) - 1)]
        if words[0] in _CONDITIONS:
            of_options = not frozenset(words[1:]).isdisjoint(variables)
        elif words[0] == "option" or (words[0] == "include" and named in _OWN_MODULES):
            of_options = named in variables
        else:
            of_options = PLAIN.match(first) is None and (
                OF_OPTIONS.search(first) is not None or named in variables
            )
        # The target of a command is not an option.
        begin = 2 if first.startswith(_FOR_TARGETS) else 1
        options = (
            word.lstrip("-")
            for place, word in enumerate(words)
            if words[0] not in _NO_OPTIONS
            and (word.startswith("-") or (of_options and place >= begin))
        )
        bare = tuple(word.lstrip("-") for word in words)
        found.append(Statement(bare[: 2 if is_call else 1], bare, frozenset(options)))
    return tuple(found)


def raw_statements(text: str) -> Iterator[str]:
    """Statements without comments, each on one line: joins brackets and continued lines."""
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
