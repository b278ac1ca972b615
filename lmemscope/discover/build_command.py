"""Split a build's command into variables, launchers, the compiler and its arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lmemscope.discover.build_doubts import program_name
from lmemscope.errors import InputError
from lmemscope.formats.shell_words import shell_words


def split_command(command: str) -> list[str]:
    """The words of a command as a POSIX shell splits them; fast for commands without quotes."""
    quotes = any(mark in command for mark in "'\"\\")
    try:
        return shell_words(command) if quotes else command.split()
    except ValueError as error:
        raise InputError("plan", f"command cannot be split into words: {error}") from error


@dataclass(frozen=True, slots=True)
class Command:
    """A command split into its parts; ``ccache``, ``env`` and others may precede the compiler.

    Attributes:
        program: the compiler, or an empty string.
        arguments: of the compiler, including those set by nvcc's own variables in front of it.
        before: words in front that change its effect in ways that are not modelled.
        launchers: names of the programs that start it.
    """

    program: str
    arguments: list[str]
    before: tuple[str, ...]
    launchers: tuple[str, ...] = ()


def taken_apart(words: Sequence[str]) -> Command:
    """Split a command into the compiler and its arguments.

    Raises:
        InputError: the value of one of nvcc's variables cannot be split into words.
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
            # CMake's launcher: its own options come first, and the command after "--".
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
"""Variables that affect neither the choice of compiler nor its output."""
_LAUNCHERS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("ccache", "sccache", "distcc", "icecc", "buildcache", "fccache", "time"), ()),
    "env": ("-u", "--unset", "-C", "--chdir"),
    "nice": ("-n", "--adjustment"),
    "cmake": (),
}
"""Programs that start a compiler, with their options that take a value."""
