"""Find what compiler arguments name that a compilation reads, in any spelling.

Argument files are followed, including those they name in turn.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lmemscope.errors import InputError
from lmemscope.files import refuse_odd
from lmemscope.formats.shell_words import shell_words
from lmemscope.model import CompileOptions
from lmemscope.sources.response_files import Words

ENVIRONMENT_DIRECTORIES = ("CPATH", "CPLUS_INCLUDE_PATH", "C_INCLUDE_PATH")
"""Environment variables with header directories of the host compiler."""
ENVIRONMENT_ARGUMENTS = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")
"""Environment variables with nvcc arguments: before and after those of its command."""
_RESPONSE = re.compile(r"@(.+)|--?(?:options-file|optf)=(.+)", re.DOTALL)
_RESPONSE_NEXT = ("-optf", "--options-file", "-options-file")
_DEFINE = re.compile(r"-D|--?define-macro=")
_HANDED = re.compile(r"(?:-Xcompiler|--compiler-options)(?:=(.+))?", re.DOTALL)
_NO_EXCEPTIONS = re.compile(r"--?no(?:-exceptions|eh)")
_FORCED = ("-include", "--include", "--pre-include", "-pre-include", "-imacros", "--imacros")
_FORCED_JOINED = re.compile(r"(?:--?(?:pre-)?include|--?imacros)=(.+)", re.DOTALL)
_LEAD = re.compile(r"^(?:-I|-isystem|-iquote|-idirafter|-imacros|-include|@)(?=.)")


@dataclass(slots=True)
class Named:
    """What a set of arguments names.

    Attributes:
        directories: absolute paths of header search directories and others.
        forced: names of headers that are read before the source.
        files: absolute paths of other files, including argument files.
        defines: from ``-D``.
        host: words for the host compiler.
        is_whole: whether all argument files could be read.
    """

    directories: list[str] = field(default_factory=list)
    forced: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    defines: list[str] = field(default_factory=list)
    host: list[str] = field(default_factory=list)
    is_whole: bool = True

    def definitions(self) -> tuple[bytes, ...]:
        """``NAME``, ``NAME=BODY`` and the like, as passed to the compilers."""
        # nvcc passes it to a shell, which removes the backslashes.
        return tuple(os.fsencode(one).replace(b'\\"', b'"') for one in self.defines)


def named(options: CompileOptions) -> Named:
    """What the arguments passed through to the compilers, and those in the environment, name.

    Raises:
        UnreadableFileError: a header to be read first is a pipe, a socket or a device.
    """
    found = Named(defines=list(options.defines))
    for arguments in (options.nvrtc_args, options.nvcc_args, _from_environment()):
        _read(found, arguments)
    for variable in ENVIRONMENT_DIRECTORIES:
        value = os.environ.get(variable, "")
        found.directories += [part for part in value.split(os.pathsep) if part]
    return found


def environment_arguments() -> str | None:
    """The environment variable that gives arguments to nvcc alone, or None."""
    return next((name for name in ENVIRONMENT_ARGUMENTS if os.environ.get(name, "").strip()), None)


def _from_environment() -> Iterator[str]:
    for name in ENVIRONMENT_ARGUMENTS:
        yield from words_of(os.environ.get(name))


def words_of(arguments: str | None) -> Sequence[str]:
    """The words in a variable with nvcc arguments; split at spaces if a quotation is not closed."""
    if arguments is None:
        return ()
    try:
        return shell_words(arguments)
    except ValueError:
        return arguments.split()


def _read(found: Named, arguments: Sequence[str] | Iterator[str]) -> None:
    words = Words(arguments, os.getcwd())
    try:
        for word in words:
            response = _RESPONSE.fullmatch(word)
            if response is not None or word in _RESPONSE_NEXT:
                names = (response[1] or response[2]) if response else next(words, "")
                for name in reversed(names.split(",")):
                    found.files.append(os.path.abspath(name))
                    words.insert(name)
            else:
                _word(found, word, words)
    except InputError:
        found.is_whole = False


def _word(found: Named, word: str, words: Words) -> None:
    if (handed := _HANDED.fullmatch(word)) is not None:
        # Host compiler words, which nvcc accepts as lists.
        parts = (handed[1] or next(words, "")).split(",")
        found.host += parts
        for part in reversed(parts):
            words.put_back(part)
    elif _NO_EXCEPTIONS.fullmatch(word):
        found.host.append("-fno-exceptions")
    elif word in ("-D", "--define-macro"):
        found.defines.append(next(words, ""))
    elif (joined := _DEFINE.match(word)) is not None:
        found.defines.append(word[joined.end() :])
    elif word in _FORCED or (forced := _FORCED_JOINED.fullmatch(word)) is not None:
        names = next(words, "") if word in _FORCED else forced[1]  # type: ignore[index]
        for name in [names] if os.path.exists(names) else names.split(","):
            refuse_odd(name)
            found.forced.append(name)
    else:
        for value in _values(word):
            if os.path.isdir(value):
                found.directories.append(os.path.abspath(value))
            elif os.path.isfile(value):
                found.files.append(os.path.abspath(value))


def _values(argument: str) -> Iterator[str]:
    yield _LEAD.sub("", argument)
    for value in re.split(r"[=,]", argument):
        yield _LEAD.sub("", value)
