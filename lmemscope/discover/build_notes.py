"""Notes about a project's build: it is not configured, or it uses another version of CUDA.

Both are determined from text; nothing in a build is run.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lmemscope.discover.build_database import Compiler
from lmemscope.discover.checkouts import upwards
from lmemscope.discover.locate import Search, is_below, shown_path
from lmemscope.files import open_regular
from lmemscope.model import CompileOptions, Gap, Tool, UnitReport, kind_of, listed
from lmemscope.sources.includes import closure
from lmemscope.sources.toolkit_versions import Version, asked_of_version
from lmemscope.tools.toolchain import header_not_found

if TYPE_CHECKING:
    from lmemscope.discover.walk import Found

_CMAKE = "cmake -B build -DCMAKE_EXPORT_COMPILE_COMMANDS=ON"
_CONFIGURE = (
    ("CMakeLists.txt", _CMAKE),
    ("meson.build", "meson setup build"),
    ("Makefile", "bear -- make"),
    ("makefile", "bear -- make"),
    ("GNUmakefile", "bear -- make"),
)
"""Files of build systems, each with the command that writes a database."""

_TOOLS = ("nvrtc", "nvcc", "ptxas")
_CUDA_VERSION = re.compile(rb"^#[ \t]*define[ \t]+CUDA_VERSION[ \t]+(\d{4,6})\b", re.MULTILINE)
_CMAKE_VERSION = re.compile(
    rb'^set\(CMAKE_CUDA_COMPILER_VERSION "(\d{1,9})\.(\d{1,9})', re.MULTILINE
)
_CMAKE_ROOT = re.compile(rb'^set\(CMAKE_CUDA_COMPILER_TOOLKIT_ROOT "([^"]+)"', re.MULTILINE)
_LARGEST = 1 << 20


def configure_command(directory: str) -> tuple[str, str] | None:
    """Root of the project around a directory and the command that writes its database, or None.

    The root is the outermost directory in the repository with a build system's file.
    """
    found = None
    for above in upwards(directory):
        for name, command in _CONFIGURE:
            if os.path.isfile(os.path.join(above, name)):
                found = above, command
                break
    return found


def unconfigured(missing: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """A sentence for each project whose sources lack headers that its build would provide.

    Args:
        missing: absolute path of each source compiled without build options, and the header that
            was not found.
    """
    search = Search()
    projects: dict[str, dict[str, None]] = {}
    for path, header in missing:
        project = configure_command(os.path.dirname(path))
        if project is not None:
            projects.setdefault(_what_to_do(path, project, search), {})[header] = None
    return tuple(
        f"headers were not found ({listed(list(headers))}), and {what}"
        for what, headers in projects.items()
    )


def _what_to_do(path: str, project: tuple[str, str], search: Search) -> str:
    """What a source's project build lacks, and how to create it."""
    own = (one for one in search.above(path) if is_below(one, project[0]) and search.sources(one))
    database = next(own, None)
    if database is None:
        return f"no build says where they are; {written_by(*project)}"
    name = shown_path(database)
    if search.spellings(database, path):
        return f"{name}, which says where they are, is left aside"
    return (
        f"{name} does not compile {shown_path(path)}: add it to the build and configure again, "
        "or name the directories with -I"
    )


def written_by(root: str, command: str) -> str:
    """The result of `configure_command`, as advice."""
    shown = os.path.relpath(root)
    place = "" if shown == os.curdir else f" (in {shown})"
    return f"write a build database with: {command}{place}"


def other_toolkits(compilers: Iterable[Compiler], tools: Iterable[Tool]) -> tuple[str, ...]:
    """A sentence for each CUDA version that a build uses and no tool here has."""
    used = _versions_of(tools)
    if not used:
        return ()
    said: dict[tuple[int, int], str] = {}
    for compiler in compilers:
        if os.path.basename(compiler.path).removesuffix(".exe") != "nvcc":
            continue
        version, root = _toolkit_of(compiler)
        if version is None or version in used or version in said:
            continue
        there = root if root is not None and os.path.isdir(root) else "DIR"
        said[version] = (
            f"the build's nvcc is of CUDA {_spelled(version)}, and what analyses it is of CUDA "
            f"{', '.join(dict.fromkeys(map(_spelled, used)))}; --toolkit {there} takes the build's"
        )
    return tuple(said.values())


def asked_of_toolkits(inputs: Iterable[Found], tools: Iterable[Tool]) -> Iterator[Gap]:
    """Gaps for sources that depend on the toolkit version, if the build's may differ from ours.

    The build's toolkit is that of its nvcc; without a build database, that of ``CUDA_HOME``.

    Args:
        inputs: with the data from their builds.
        tools: that analysed them.
    """
    used = _versions_of(tools)
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    around = _toolkit_around(os.path.join(home, "bin", "nvcc")) if home else (None, None)
    known: dict[Compiler, tuple[Version | None, str | None]] = {}
    for found in inputs:
        compiler = found.entry.compiler if found.entry is not None else None
        if compiler is None:
            kind = kind_of(found.path)
            if around[0] is None or kind is None or not kind.is_cuda:
                continue
            there, root = around
        else:
            if compiler not in known:
                known[compiler] = _toolkit_of(compiler)
            there, root = known[compiler]
        for here in used:
            gap = _asked(found, here, there, root) if here != there else None
            if gap is not None:
                yield gap
                break


def _asked(found: Found, here: Version, there: Version | None, root: str | None) -> Gap | None:
    options = found.options or CompileOptions()
    try:
        files = closure(found.path, options).files
    except OSError:
        return None  # Compiling will fail on it too, with a message.
    asked = asked_of_version(files, options.defines, here, there)
    if asked is None:
        return None
    where = f"line {asked.line} of {os.path.basename(asked.file)}" if asked.file else "an option"
    theirs = f"CUDA {_spelled(there)}" if there is not None else "not known"
    whose = f"its build's toolkit is {theirs}, and CUDA {_spelled(here)} analyses it"
    named = root if there is not None and root is not None and os.path.isdir(root) else "DIR"
    return Gap(
        "plan",
        f"it asks for {asked.name} ({where}); {whose}: --toolkit {named} takes the build's",
        "evidence",
        found.file,
    )


def _versions_of(tools: Iterable[Tool]) -> list[Version]:
    """The versions of the toolkits that the tools belong to, each once."""
    named = (one.version for one in tools if one.name in _TOOLS and one.version)
    return list(dict.fromkeys(map(_major_minor, named)))


def _toolkit_of(compiler: Compiler) -> tuple[Version | None, str | None]:
    """Version and root of an nvcc's toolkit, from its location or from CMake's records."""
    if os.path.basename(compiler.path).removesuffix(".exe") != "nvcc":
        return None, None
    version, root = _toolkit_around(_program(compiler.path))
    return (version, root) if version is not None else _toolkit_of_cmake(compiler.database)


def with_own_toolkit(report: UnitReport, compilers: Iterable[Compiler]) -> UnitReport:
    """The report; if a header was not found that a build's toolkit has, with a hint."""
    failure = report.failure
    header = header_not_found(failure.log or "") if failure is not None else None
    root = _toolkit_with(header, compilers) if header is not None else None
    if failure is None or root is None:
        return report
    hint = f"the build's toolkit has {header}: --toolkit {root}"
    return replace(report, failure=replace(failure, hint=hint))


def _toolkit_with(header: str, compilers: Iterable[Compiler]) -> str | None:
    """Root of a build's toolkit that contains a header, or None."""
    for compiler in compilers:
        _, root = _toolkit_around(_program(compiler.path))
        if root is None:
            _, root = _toolkit_of_cmake(compiler.database)
        for below in ("include", "targets/*/include") if root is not None else ():
            pattern = os.path.join(glob.escape(root or ""), below, glob.escape(header))
            if any(map(os.path.isfile, glob.glob(pattern))):
                return root
    return None


def _program(path: str) -> str | None:
    """The location of a compiler, with links and the search path resolved."""
    found = path if os.path.isabs(path) else shutil.which(path)
    return None if found is None else os.path.realpath(found)


def _toolkit_around(nvcc: str | None) -> tuple[Version | None, str | None]:
    """Major and minor version of an nvcc's toolkit, from its ``cuda.h``, and the toolkit's root."""
    if nvcc is None:
        return None, None
    root = os.path.dirname(os.path.dirname(nvcc))
    for pattern in ("include/cuda.h", "targets/*/include/cuda.h"):
        for header in sorted(glob.glob(os.path.join(glob.escape(root), pattern))):
            match = _CUDA_VERSION.search(_beginning(header))
            if match is not None:
                number = int(match.group(1))  # 1000 * major + 10 * minor
                return (number // 1000, number % 1000 // 10), root
    return None, None


def _toolkit_of_cmake(database: str) -> tuple[Version | None, str | None]:
    """The toolkit version and root that CMake found when it configured a database's build."""
    files = os.path.join(glob.escape(os.path.dirname(database)), "CMakeFiles")
    for path in sorted(glob.glob(os.path.join(files, "*", "CMakeCUDACompiler.cmake"))):
        text = _beginning(path)
        match, root = _CMAKE_VERSION.search(text), _CMAKE_ROOT.search(text)
        if match is not None:
            where = None if root is None else os.fsdecode(root.group(1))
            return (int(match.group(1)), int(match.group(2))), where
    return None, None


def _beginning(path: str) -> bytes:
    try:
        if not os.path.isfile(path):
            return b""
        with open_regular(path) as stream:
            return stream.read(_LARGEST)
    except OSError:
        return b""


def _major_minor(version: str) -> tuple[int, int]:
    numbers = [int(number) for number in re.findall(r"\d{1,9}", version)]
    return (numbers[0], numbers[1] if len(numbers) > 1 else 0) if numbers else (0, 0)


def _spelled(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"
