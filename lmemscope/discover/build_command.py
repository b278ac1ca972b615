"""A build's command taken apart: variables and launchers in front, the compiler, its arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lmemscope.discover.build_doubts import program_name
from lmemscope.errors import InputError
from lmemscope.formats.shell_words import shell_words


def split_command(command: str) -> list[str]:
    """The words of a command as a POSIX shell splits them; most commands quote nothing."""
    quotes = any(mark in command for mark in "'\"\\")
    try:
        return shell_words(command) if quotes else command.split()
    except ValueError as error:
        raise InputError("plan", f"command cannot be split into words: {error}") from error


@dataclass(frozen=True, slots=True)
class Command:
    """A command taken apart, which ``ccache``, ``env`` and others may precede.

    Attributes:
        program: the compiler, or an empty string.
        arguments: of the compiler; nvcc's own variables that are set in front count, as for nvcc.
        before: words in front that change what it does, in ways that are not followed.
        launchers: programs that start it, by name.
    """

    program: str
    arguments: list[str]
    before: tuple[str, ...]
    launchers: tuple[str, ...] = ()


def taken_apart(words: Sequence[str]) -> Command:
    """The compiler of a command and its arguments.

    Raises:
        InputError: the value of a variable of nvcc's cannot be split into words.
    """
    position, first, last = 0, [], []
    before: list[str] = []
    launchers: list[str] = []
    valued: tuple[str, ...] = ()
    while position < len(words):
        word = words[position]
        name, equals, value = word.partition("=")
        if _ASSIGNMENT.match(word):
            if name == "NVCC_PREPEND_FLAGS":
                first += split_command(value)
            elif name == "NVCC_APPEND_FLAGS":
                last += split_command(value)
            elif name == "NVCC_CCBIN":
                first[:0] = ["-ccbin", value]
            elif _OF_NO_EFFECT.fullmatch(name) is None:
                before.append(word)
        elif launchers and word == "__run_co_compile":
            # CMake's own: its options, such as a launcher, and behind "--" the command.
            launchers.append(word)
            position = words.index("--") if "--" in words else len(words)
        elif launchers and word.startswith("-"):
            if word in valued:
                position += 1
            if name == "--split-string" or word.startswith("-S"):
                before.append(word)
            elif name in ("-C", "--chdir"):
                before.append(word if equals else " ".join(words[position - 1 : position + 1]))
        elif program_name(word) in _LAUNCHERS:
            launchers.append(program_name(word))
            valued = _LAUNCHERS[program_name(word)]
        else:
            break
        position += 1
    program = words[position] if position < len(words) else ""
    arguments = [*first, *words[position + 1 :], *last]
    return Command(program, arguments, tuple(before), tuple(launchers))


_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_OF_NO_EFFECT = re.compile(
    r"CCACHE_(?:BASEDIR|CPP2|DEPEND|DIR|DIRECT|DISABLE|FILECLONE|HARDLINK|HASHDIR|LOGFILE|MAXSIZE"
    r"|NO\w+|READONLY|RECACHE|SLOPPINESS|STATS|TEMPDIR|UMASK)|SCCACHE_\w+|DISTCC_HOSTS"
    r"|CLICOLOR\w*|GCC_COLORS|TERM|LANG|LANGUAGE|LC_\w+|TZ|USER|TMPDIR|TEMP|TMP|MAKEFLAGS"
    r"|MAKELEVEL|VERBOSE|LD_LIBRARY_PATH|NVCC_VERBOSE|CUDA_VISIBLE_DEVICES|OMP_NUM_THREADS"
)
"""Variables that change neither which compiler runs nor what it does."""
_LAUNCHERS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("ccache", "sccache", "distcc", "icecc", "buildcache", "fccache", "time"), ()),
    "env": ("-u", "--unset", "-C", "--chdir"),
    "nice": ("-n", "--adjustment"),
    "cmake": (),
}
"""Programs that start a compiler, with their options that take a value."""
