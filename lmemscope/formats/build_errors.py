"""Find errors in build output: those of compilers and of build tools.

Only text in the position of an error message counts. A warning that mentions an error, a file or
kernel of that name, or a source line quoted below its message, does not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from lmemscope.formats.build_steps import SOURCES

_HINT = re.compile(r"rror|fatal|\*\*\*|FAILED|ERROR|: build stopped|not remade")
"""Cheap pre-filter; every failure contains one of these."""

_ERROR = r"(?:(?:fatal|catastrophic|internal|internal compiler|command-line|general) )*error"
_CODE = r"(?: *:| +[A-Z]+\d+ *:| +#\d+(?:-D)? *:)"
_FILE = r"(?P<file>(?:[A-Za-z]:)?[^:;|'\"`<>()]*?[^\s:;|'\"`<>()]\.\w+)"
_CI = re.compile(r"^(?:##\[error\]|Error: )")

_AT = re.compile(
    rf"^(?:{_FILE}(?:\(\d+(?:[,-]\d+)*\)|(?::\d+){{1,2}})|\"(?P<quoted>[^\"]+)\", line \d+)"
    rf"\s*: *{_ERROR}{_CODE}",
    re.IGNORECASE,
)
_COMPILED = re.compile(
    r"^\s*\d+ (?:\w+ )?errors? detected in the compilation of \"(?P<file>[^\"]+)\""
)
_MAKE = re.compile(
    r"^\S*(?:make|scons)(?:\.exe)?(?:\[\d+\])?: \*\*\* "
    r"(?:\[(?P<rule>[^\]]+)\] (?!.*\(ignored\))|No rule|Waiting|.*Stop\.)"
)
_MAKEFILE = re.compile(r"^\S+:\d+: \*\*\* .*Stop\.")
_NINJA = re.compile(r"^FAILED: (?:\[code=-?\d+\] )?(?P<target>\S+)")
_ALONE = re.compile(
    rf"^(?:{_ERROR} *:"
    # cc1plus, g++, clang++-18, ld, nvcc, ptxas and other programs that print their name
    rf"|(?!(?:warning|note|remark|info)\b)[\w./+\\-]*(?:\.exe)? *: +{_ERROR}{_CODE}"
    r"|(?:nvcc|ptxas|nvlink|cicc|cudafe\+\+|fatbinary|bin2c)(?:\.exe)? +(?:fatal|error) *:"
    r"|(?:\d+ warnings? and )?\d+ errors? generated"
    r"|CMake Error\b"
    r"|ninja: (?:build stopped|fatal)\b"
    r"|\S*make(?:\[\d+\])?: Target .* not remade because of errors"
    r"|\s*Build FAILED\."
    r"|ERROR: .*(?:[Ff]ail|did not complete successfully))"
)
_PTX = re.compile(r"^(?:ptxas|nvlink) (?P<file>[^;]+?), line \d+; *(?:fatal|error) *:")
_OBJECTS = (".o", ".obj", ".cubin", ".ptx", ".fatbin")
_LONGEST = 160


@dataclass(frozen=True, slots=True)
class BuildError:
    """A line that reports a failure.

    Attributes:
        text: the line, truncated if very long.
        file: the location of the error; possibly a header.
        compiled: the file whose compilation failed.
        target: what a build tool did not make.
    """

    text: str
    file: str | None = None
    compiled: str | None = None
    target: str | None = None


def error_in(line: str) -> BuildError | None:
    """The failure reported by a line, or None.

    Args:
        line: without colours and time stamps.
    """
    if _HINT.search(line) is None:
        return None
    line = _CI.sub("", line)
    text = line.strip()
    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    if found := _COMPILED.match(line):
        return BuildError(text, compiled=found["file"])
    if found := _AT.match(line.lstrip()):
        return BuildError(text, file=(found["file"] or found["quoted"]).strip())
    if found := _PTX.match(line):
        return BuildError(text, file=found["file"])
    if found := _NINJA.match(line):
        return BuildError(text, target=found["target"])
    if found := _MAKE.match(line):
        rule = found["rule"]  # newer versions print the makefile and line before the target
        return BuildError(text, target=rule.rpartition(": ")[2] if rule is not None else None)
    if _ALONE.match(line) or _MAKEFILE.match(line):
        return BuildError(text)
    return None


def first_of(errors: Sequence[BuildError]) -> BuildError:
    """The first that says what is wrong, not only that something is; `errors` is not empty."""
    return next((one for one in errors if one.file is not None), None) or next(
        (one for one in errors if one.target is None), errors[0]
    )


def failed_files(errors: Sequence[BuildError]) -> tuple[str, ...]:
    """What did not compile, as far as the log names it: sources, else headers, else targets."""
    located = [one.file for one in errors if one.file is not None]
    named = [one.compiled for one in errors if one.compiled is not None]
    named += [file for file in located if file.lower().endswith(SOURCES)]
    known = {_stem(file) for file in named}
    targets = [one.target for one in errors if one.target is not None]
    objects = [target for target in targets if target.lower().endswith(_OBJECTS)]
    named += [target for target in objects if _stem(target) not in known]
    return tuple(dict.fromkeys(named or located or targets))


def _stem(file: str) -> str:
    """A key that ``a/foo.cu`` and ``CMakeFiles/x.dir/a/foo.cu.o`` share."""
    return PurePosixPath(file.replace("\\", "/")).name.partition(".")[0]
