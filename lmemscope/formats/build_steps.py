"""Recognise lines of build output that start a step: commands, and progress messages.

A build tool prints a line when it starts a step, or (ninja) when one has ended and its output
follows. Only the lines are interpreted here; `build_log` interprets their order.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from lmemscope.formats.shell_words import shell_words

_COUNTED = re.compile(r"^\[\d+/\d+\]\s+")
_PERCENT = re.compile(r"^\[\s*\d+%\]\s*")
_CMAKE_OBJECT = re.compile(r"\bBuilding (\w+) object (.+)")
_CMAKE_PLACE = re.compile(r"^(?P<above>.*?)CMakeFiles/[^/]+\.dir/(?P<file>.+?)(?:\.o|\.obj)?$")
_SAID = re.compile(
    r"^\W*(?:compil\w*|build\w*|nvcc|cuda|cu)\b[^:;|]*?[\s'\"](?P<file>[^\s'\"]+\.cu)(?=[\s'\",.)]|$)",
    re.IGNORECASE,
)
_FILE_ALONE = re.compile(r"^\S+\.cu$")
_COMPILER = re.compile(
    r"(?:^|[\s/\\\"'])(?P<name>nvcc|ptxas|cicc|cudafe\+\+)(?:\.exe)?[\"']?(?=\s)"
)
_DIRECTORY = re.compile(r"^\s*cd\s+(?P<path>\"[^\"]+\"|\S+)\s*&&")
_ARCH = re.compile(r"\bsm_\d+[af]?\b")
_RELOCATABLE = re.compile(
    r"(?:^|\s)(?:-dc|--device-c|-r?dc=true|--relocatable-device-code[= ]true)\b"
)
_DRIVE = re.compile(r"\b[A-Za-z]:\\")
_TEMPORARY = "tmpxft_"
_LONGEST = 1 << 14
_VALUED = frozenset(
    "-o --output-file -odir --output-directory -MF -MT -MQ --dependency-output -include -I "
    "-isystem --orig_src_path_name -D -U -L -l -x -ccbin --compiler-bindir -Xcompiler -Xptxas "
    "-Xlinker -Xnvlink -arch -code -gencode -std --options-file -optf -t --threads".split()
)
_NO_COMPILATION = frozenset(
    "-E --preprocess -M -MM --generate-dependencies --generate-nonsystem-dependencies --dryrun "
    "-dryrun --help --version".split()
)
SOURCES = (".cu", ".cpp", ".cc", ".cxx", ".c", ".ptx")
"""Endings of the files that build commands compile, in lower case."""


@dataclass(frozen=True, slots=True)
class Step:
    """A build step that starts, or whose output follows.

    Attributes:
        language: ``CUDA``, another of CMake's languages, or None if it compiles nothing.
        source: the only file it compiles, or None.
        archs: named in its command; may be empty.
        relocatable: whether its command requests relocatable device code.
        counted: whether ``[3/40]`` precedes it: ninja prints such a step with its complete output.
    """

    language: str | None
    source: str | None = None
    archs: tuple[str, ...] = ()
    relocatable: bool = False
    counted: bool = False


def step_in(line: str) -> Step | None:
    """The step that a line announces, or None.

    Args:
        line: without colours and time stamps.
    """
    counted = _COUNTED.match(line)
    percent = _PERCENT.match(line) if counted is None else None
    prefix = counted or percent
    text = line[prefix.end() :] if prefix is not None else line
    found = _cmake(text) or _command(text) or _said(text)
    if found is None:
        return Step(None, counted=counted is not None) if prefix is not None else None
    if counted is None:
        return found
    return replace(found, counted=True)


def _cmake(text: str) -> Step | None:
    """``Building CUDA object a/CMakeFiles/x.dir/b/foo.cu.o`` compiles ``a/b/foo.cu``."""
    match = _CMAKE_OBJECT.search(text.rstrip())
    if match is None:
        return None
    language, target = match.groups()
    place = _CMAKE_PLACE.match(target)
    if language != "CUDA" or place is None:
        return Step(language)
    # CMake writes `__` for `..` in object names.
    inner = "/".join(".." if part == "__" else part for part in place["file"].split("/"))
    return Step(language, _joined(place["above"], inner))


def _command(text: str) -> Step | None:
    """A compiler command as printed by make, ``ninja -v``, ``nvcc -v`` or a shell with ``set -x``.

    ``nvcc -v`` prints the commands that it runs, not its own.
    """
    match = _COMPILER.search(text)
    if match is None or not _runs(text, match):
        return None
    if _TEMPORARY in text and match["name"] == "ptxas":
        return None
    words = _words(text[match.end() :])
    sources = _compiled(words)
    archs = tuple(dict.fromkeys(_ARCH.findall(text)))
    if not sources or not _NO_COMPILATION.isdisjoint(words):
        return None if match["name"] in ("cicc", "cudafe++") else Step(None)
    directory = _DIRECTORY.match(text)
    above = directory["path"].strip('"') if directory is not None else ""
    source = _joined(above, sources[0]) if len(sources) == 1 else None
    return Step("CUDA", source, archs, _RELOCATABLE.search(text) is not None)


def _runs(text: str, match: re.Match[str]) -> bool:
    """Whether the compiler's name is in the position of a command, not in a sentence about it."""
    rest = text[match.end() :]
    return " -" in f" {rest}" or any(f"{ending}" in rest for ending in (".cu", ".ptx"))


def _words(text: str) -> list[str]:
    if len(text) > _LONGEST:
        # shlex takes quadratic time for long words.
        return text.replace('"', "").replace("'", "").split()
    try:
        if _DRIVE.search(text):
            return [word.strip('"') for word in shlex.split(text, posix=False)]
        return shell_words(text)
    except ValueError:
        return text.split()


def _compiled(words: list[str]) -> list[str]:
    """Files that a command compiles for the device; empty for a link."""
    found: list[str] = []
    as_cuda = any(
        word in ("-xcu", "--x=cu") or (word == "-x" and after == "cu")
        for word, after in zip(words, [*words[1:], ""], strict=True)
    )
    valued = False
    for word in words:
        if word in ("&&", "||", ";", "|", ">", "2>&1"):
            break
        if valued or word.startswith(("-", "#")):
            valued = not valued and word in _VALUED
            continue
        ending = PurePosixPath(word.replace("\\", "/")).suffix
        is_device = ending in (".cu", ".ptx") or (as_cuda and ending in SOURCES)
        if is_device and _TEMPORARY not in word:
            found.append(word)
    return list(dict.fromkeys(found))


def _said(text: str) -> Step | None:
    """``Compiling foo.cu``, or only a file name, as nvcc prints it on Windows."""
    if _FILE_ALONE.match(text.strip()):
        return Step("CUDA", text.strip())
    match = _SAID.match(text)
    if match is None or "error" in text or "warning" in text:
        return None
    return Step("CUDA", match["file"])


def _joined(above: str, file: str) -> str:
    """A path below another, without ``.`` and ``a/..``; absolute paths are unchanged."""
    parts: list[str] = []
    path = PurePosixPath(above) / file if above else PurePosixPath(file)
    for part in path.parts:
        if part == ".." and parts and parts[-1] not in ("..", "/"):
            parts.pop()
        else:
            parts.append(part)
    return str(PurePosixPath(*parts))


def is_same_file(one: str | None, other: str | None) -> bool:
    """Whether two spellings may be the same file: messages shorten a command's path."""
    if one is None or other is None:
        return False
    shorter, longer = sorted((PurePosixPath(one).parts, PurePosixPath(other).parts), key=len)
    return longer[len(longer) - len(shorter) :] == shorter
