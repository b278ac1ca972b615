"""What a shell offers at the cursor: kernels, architectures, rules; and files for all the rest.

A key press waits for this, so nothing is compiled: kernels are those that the text of a source, or
a saved report, names. What cannot be read offers nothing.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    split_arg_string,
)

from lmemscope.discover.tree import walk
from lmemscope.errors import LmemscopeError

LARGEST_TEXT = 4 << 20
"""Bytes of a source that is read for its kernels."""

LARGEST_REPORT = 64 << 20
"""Bytes of a saved report that is read for its kernels."""

PATIENCE = 0.5
"""Seconds after which no further file of a directory is read."""

_PLAIN = re.compile(r"\w+(?:::\w+)*")
_ENTRY = re.compile(rb"\.entry\s+([\w$]+)")


def rules(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """Causes, and numbers where one has been begun."""
    from lmemscope.rules import RULES

    typed = incomplete.lower()
    return [
        CompletionItem(name, help=rule.title)
        for rule in RULES
        for name in (rule.cause, rule.id)
        if name.lower().startswith(typed) and (typed.startswith("l") or name == rule.cause)
    ]


def archs(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """Architectures; those with a suffix once their number is there."""
    from lmemscope.discover.plan import arch_words

    return [
        word
        for word in arch_words()
        if word.startswith(incomplete)
        and (word[-1] not in "af" or not word.startswith("sm_") or incomplete >= word[:-1])
    ]


def kernels(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """Kernels of the inputs that are on the line already."""
    # An option that still lacks its value ends click's parsing: arguments are left over then.
    inputs: list[str] = list(context.args)
    for argument in context.command.params:
        if isinstance(argument, click.Argument):
            given = context.params.get(argument.name or "") or ()
            inputs += (given,) if isinstance(given, str) else given
    names = (name for path in inputs for name in kernels_in(path.partition("::")[0]))
    return _beginning(names, incomplete)


def target(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """``PATH::KERNEL``: a file, and behind a whole one's name its kernels."""
    path, separator, kernel = incomplete.partition("::")
    if not separator and not os.path.isfile(path):
        return [CompletionItem(incomplete, type="file")]
    found = [f"{path}::{name}" for name in _beginning(kernels_in(path), kernel)]
    return found or [CompletionItem(incomplete, type="file")]


def kernels_in(path: str) -> tuple[str, ...]:
    """Qualified names of the kernels of a file or a directory, without template arguments.

    None where it cannot be read, or is of no kind that has names.
    """
    found: dict[str, None] = {}
    end = time.monotonic() + PATIENCE
    for file in _files(path):
        if found and time.monotonic() > end:
            break
        try:
            found.update(dict.fromkeys(_named(file)))
        except (OSError, ValueError, RecursionError, LmemscopeError):
            continue
    return tuple(found)


def _files(path: str) -> Iterator[str]:
    if os.path.isfile(path):
        yield path
    for directory, _, names in walk(path):
        yield from (os.path.join(directory, name) for name in names if name.endswith(".cu"))


def _named(path: str) -> Iterable[str]:
    ending = os.path.splitext(path)[1].lower()
    read = _READERS.get(ending)
    most = LARGEST_REPORT if ending == ".json" else LARGEST_TEXT
    if read is None or os.path.getsize(path) > most:
        return ()
    return read(path)


def _of_cuda(path: str) -> Iterable[str]:
    from lmemscope.sources.encoding import decoded, readable

    return _of_text(readable(decoded(_bytes(path)).text))


def _of_text(text: str) -> Iterable[str]:
    from lmemscope.sources.cuda import read_cuda_source

    return [kernel.name for kernel in read_cuda_source(text).kernels]


def _of_python(path: str) -> Iterable[str]:
    from lmemscope.sources.python import read_programs

    for program in read_programs(path, path):
        text = getattr(program, "source", None)
        yield from (_of_text(text) if text else ()) or (program.name,)


def _of_ptx(path: str) -> Iterable[str]:
    from lmemscope.formats.demangle import demangle

    return _short(demangle(name.decode()) for name in _ENTRY.findall(_bytes(path)))


def _of_cubin(path: str) -> Iterable[str]:
    from lmemscope.formats.demangle import demangle
    from lmemscope.formats.elf import ElfFile

    names = [section.name for section in ElfFile(_bytes(path)).sections]
    return _short(demangle(name[6:]) for name in names if name.startswith(".text."))


def _of_report(path: str) -> Iterable[str]:
    from lmemscope.formats.codec import decode

    units = decode(_bytes(path), _Report).units
    return _short(kernel.demangled for unit in units for kernel in unit.kernels)


_READERS: dict[str, Callable[[str], Iterable[str]]] = {
    ".cu": _of_cuda,
    ".cuh": _of_cuda,
    ".py": _of_python,
    ".ptx": _of_ptx,
    ".cubin": _of_cubin,
    ".json": _of_report,
}


@dataclass(frozen=True, slots=True)
class _Kernel:
    demangled: str


@dataclass(frozen=True, slots=True)
class _Unit:
    kernels: tuple[_Kernel, ...]


@dataclass(frozen=True, slots=True)
class _Report:
    """Of a saved report what has the names, for the rest of it takes long to read."""

    units: tuple[_Unit, ...]


def _bytes(path: str) -> bytes:
    with open(path, "rb") as stream:
        return stream.read()


def _short(demangled: Iterable[str]) -> Iterable[str]:
    from lmemscope.formats.demangle import short_name

    return [short_name(name).partition("<")[0] for name in demangled]


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    """Names that a shell needs not quote; with their namespaces once one has been typed."""
    if "::" not in incomplete:
        names = (name.rpartition("::")[2] for name in names)
    fitting = (name for name in names if name.startswith(incomplete) and _PLAIN.fullmatch(name))
    return sorted(dict.fromkeys(fitting))


class _Files(ShellComplete):
    """Offers files where nothing else is known: most arguments are paths."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[Any]]:
        found = super().get_completions(args, incomplete)
        return found or [CompletionItem(incomplete, type="file")]


class Bash(_Files, BashComplete):
    """Bash, which takes ``:`` and ``=`` for the ends of words.

    It is asked for the whole line, therefore, and told what stands behind the last of them.
    """

    source_template = BashComplete.source_template.replace(
        'COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD',
        'COMP_LINE="${COMP_LINE:0:$COMP_POINT}" COMP_WORD="$2"',
    ).replace("_complete $1)", "_complete $1 2>/dev/null)")
    _before = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the one at the cursor, and that one."""
        line = os.environ.get("COMP_LINE")
        if line is None:
            return super().get_completion_args()
        words = split_arg_string(line)
        incomplete = "" if line[-1:].isspace() or len(words) < 2 else words.pop()
        self._before = incomplete.removesuffix(os.environ.get("COMP_WORD", ""))
        return words[1:], incomplete

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """As Bash puts it in the place of its own idea of the word."""
        return f"{item.type},{item.value.removeprefix(self._before)}"


class Zsh(_Files, ZshComplete):
    """Zsh."""


class Fish(_Files, FishComplete):
    """Fish."""


def register() -> None:
    """Let click use the shells of this module."""
    for shell in (Bash, Zsh, Fish):
        add_completion_class(shell)
