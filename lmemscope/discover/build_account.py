"""Report to the gate how build databases affect the inputs of a command.

It names the options and architectures taken from databases, and any unused database that compiles
an input differently. If the build compiles a source only as part of another one that is not an
input, the source is not checked as built: that is missing evidence.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lmemscope.discover.architectures import is_arch_list
from lmemscope.discover.including import naming
from lmemscope.discover.locate import shown_path
from lmemscope.errors import InputError
from lmemscope.model import CompileOptions, Gap, count, kind_of

if TYPE_CHECKING:
    from lmemscope.discover.locate import Search
    from lmemscope.discover.walk import Found

STAGE = "build"
"""Stage of this module's gaps."""

_Way = tuple[CompileOptions, tuple[str, ...]]


def account(inputs: Sequence[Found], used: Sequence[str], search: Search) -> Iterator[Gap]:
    """Account for the build databases.

    Args:
        inputs: of one command.
        used: absolute paths of the databases from which inputs take their options.
        search: the command's search for databases.
    """
    ways: dict[str, set[_Way]] = defaultdict(set)
    for found in inputs:
        kind = kind_of(found.path)
        if kind is None or (kind.is_cuda and not kind.is_header):
            ways[found.path].add((found.options or CompileOptions(), found.archs))
    built = {(found.options, found.archs) for found in inputs if found.options is not None}
    if used:
        said = _decided((options, archs) for options, archs in built if options is not None)
        names = ", ".join(map(shown_path, used))
        yield Gap(STAGE, f"{names}: the build {said}", "note")
    yield from _left_out(ways, used, search)
    bare = [found.path for found in inputs if found.options is None and found.path in ways]
    for path in dict.fromkeys(bare):
        one = next(naming(path, search, apart_from=ways), None)
        if one is not None:
            whole, database = shown_path(one.entry.path), shown_path(one.database)
            reason = (
                f"the build compiles it as part of {whole}, which is not among the inputs; "
                f"name the build: {os.path.dirname(database) or database}"
            )
            yield Gap("plan", reason, "evidence", shown_path(path))


def _left_out(ways: dict[str, set[_Way]], used: Sequence[str], search: Search) -> Iterator[Gap]:
    """One statement for each unused database that compiles inputs differently."""
    from lmemscope.discover.build_database import read_database

    speaking: dict[str, dict[str, str]] = defaultdict(dict)
    for path in ways:
        for database in search.above(path):
            for spelled in () if database in used else search.spellings(database, path):
                speaking[database][spelled] = path
    for database, spellings in speaking.items():
        try:
            entries = read_database(database, spellings.__contains__).entries
        except InputError:
            continue  # The search has recorded why.
        others: dict[str, set[_Way]] = defaultdict(set)
        for entry in entries:
            others[spellings[entry.path]].add((entry.flags.options, entry.flags.archs))
        differing = [path for path, there in others.items() if there != ways[path]]
        if not differing:
            continue
        said = _decided(way for path in differing for way in others[path] - ways[path])
        yield Gap(
            STAGE,
            f"{shown_path(database)} is not used, and compiles {count(len(differing), 'input')} "
            f"otherwise, such as {shown_path(differing[0])}: it {said}",
            "note",
        )


def _given(options: CompileOptions) -> Iterator[str]:
    """Options for nvcc and ptxas as the build states them, without derived ones."""
    for word in options.nvcc_args:
        if not is_arch_list(word):
            yield word.removeprefix("-Xcompiler=") if word.startswith("-Xcompiler=-O") else word
    separate = "-rdc=true" in options.nvcc_args
    yield from (word for word in options.ptxas_args if word != "-c" or not separate)


def _decided(ways: Iterable[_Way]) -> str:
    """A description of what the options and architectures determine."""
    defines: dict[str, None] = {}
    directories: dict[str, None] = {}
    others: dict[str, None] = {}
    targets: dict[str, None] = {}
    for options, archs in sorted(set(ways), key=str):
        defines |= dict.fromkeys(options.defines)
        directories |= dict.fromkeys(map(shown_path, options.include_dirs))
        rest = replace(options, defines=(), include_dirs=())
        others |= dict.fromkeys((*rest.words(), *_given(options)))
        if options.maxrregcount is not None:
            others[f"--maxrregcount={options.maxrregcount}"] = None
        targets |= dict.fromkeys(archs)
    said = (
        ("defines", defines),
        ("asks for", targets),
        ("gives", others),
        ("looks for headers in", directories),
    )
    clauses = [f"{verb} {', '.join(words)}" for verb, words in said if words]
    return "; ".join(clauses) or "gives no options"
