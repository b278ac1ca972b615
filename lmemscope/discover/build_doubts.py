"""Reasons why a build may compile a source differently: another compiler, or other options.

Nothing in the build is run. The value of a compiler's built-in macro is known only if the build's
compiler is nvcc with the host compiler that is installed here, and gets the same options.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from lmemscope.discover import option_tables as tables
from lmemscope.discover.build_flags import CUDA_LANGUAGES, BuildFlags
from lmemscope.model import CompileOptions
from lmemscope.sources.host_options import PASSED_ALIKE
from lmemscope.sources.includes import closure
from lmemscope.sources.unlike import asked_of_nvcc
from lmemscope.sources.unlike_macros import PASTED, asked_of_compiler

_CUDA_COMPILER = re.compile(r"(?:[\w.+]+-)*(?:nvcc|clang|nvc\+\+)[\w.+-]*")
_WRAPPER_OF_NVCC = "crosstool_wrapper_driver_is_not_gcc"
"""TensorFlow's Bazel wrapper: it passes anything with ``-x cuda`` to nvcc."""
_SYSTEM_COMPILER = re.compile(
    rf"(?:{re.escape(platform.machine())}-(?:[\w.+]+-)*)?(?:c\+\+|cc|g\+\+|gcc)(?:-[\d.]+)?"
)
_HOST_COMPILER = re.compile(r"-(?:ccbin|compiler-bindir)=")
_HANDED = "-Xcompiler="
_OWN_MACROS_ALONE = re.compile(
    r"-[mO]\S*|-nostdinc(?:\+\+)?|-f(?:no-)?(?:gpu|cuda|hip|device|tile)-\S*"
    r"|(?:-isysroot|-Xptxas|-Xcompiler -(?:B|fuse-ld=|-?ld-path)).*"
)
"""Ignored words that affect only the compiler's built-in macros or system headers."""
_ABOUT_DEVICE_CODE = frozenset(
    "unknown guarded refused registers gencode arch code rdc host both nvcc elsewhere".split()
)
"""Kinds of nvcc options that do not affect macros or headers, even if a value is not understood."""
_SHELL = re.compile(r"[$`]|(?:^|[\s,=])@|-charset=|^-?-S|(?:^|[\s,=])-{1,2}(?:D|U|include|imacros)")


def doubts(path: str, program: str, flags: BuildFlags) -> Iterator[str]:
    """Reasons as clauses that name neither the build nor the source."""
    compiler = program_name(program)
    if not _is_compiler(compiler, flags.language):
        named = program or "an empty command"
        yield f"how {named} compiles it is not known, for {named} is no compiler of CUDA"
    for word in flags.may_define:
        yield f"what {word} means for it is not known"
    yield from _about_directories(path, flags)
    is_nvcc = "nvcc" in compiler or compiler == _WRAPPER_OF_NVCC
    refused = others_than_ours(flags)
    left = (*(() if is_nvcc else (program,)), *refused, *flags.unknown, *flags.unsaid)
    if not left:
        return
    is_gcc = all(names_gcc(word) for word in flags.refused if _HOST_COMPILER.match(word))
    asked = _asked(path, flags.options, is_nvcc, is_gcc)
    if asked is not None:
        yield f"it asks for {asked}, and what {left[0]} makes of that is not known"


def others_than_ours(flags: BuildFlags) -> tuple[str, ...]:
    """Refused options, except one that selects the same host compiler as is used here."""
    return tuple(
        word
        for word in flags.refused
        if not _HOST_COMPILER.match(word) or not _is_ours(word.partition("=")[2])
    )


def names_gcc(word: str) -> bool:
    """Whether an option selects GCC as nvcc's host compiler, judging by the program's name."""
    host = word.partition("=")[2]
    is_named = _SYSTEM_COMPILER.fullmatch(program_name(host)) is not None
    return is_named and _HOST_COMPILER.match(word) is not None


def _about_directories(path: str, flags: BuildFlags) -> Iterator[str]:
    """Header search orders that are passed neither to NVRTC nor to nvcc here."""
    if not (flags.quoted or flags.after):
        return
    try:
        read = closure(path, flags.options)
    except OSError:
        return
    searched = flags.options.include_dirs
    others = [one for one in searched if one not in flags.quoted]
    for header in sorted(read.angled):
        if _first(header, searched) != _first(header, others):
            yield f"which <{header}> it means is not known, for -iquote names a directory of it"
    for directory in flags.after:
        if any(file.startswith(os.path.join(directory, "")) for file in read.files):
            yield f"whether it reads {directory} is not known, for -idirafter names it"


def _first(header: str, directories: Iterable[str]) -> str | None:
    paths = (os.path.join(directory, header) for directory in directories)
    return next(filter(os.path.isfile, paths), None)


def may_define(words: Iterable[str], stray: Iterable[str]) -> tuple[str, ...]:
    """Words that may affect macro definitions, how text is read, or which headers are found.

    Args:
        words: ignored options; an unlisted one may do anything.
        stray: words that are not options.
    """
    unknown = (word for word in words if not _is_of_device_code(word))
    return tuple(dict.fromkeys((*unknown, *filter(_SHELL.search, stray))))


def _is_of_device_code(word: str) -> bool:
    name = word.lstrip("-").partition("=")[0]
    kind = tables.VALUED.get(name) or tables.FLAGS.get(name)
    return kind in _ABOUT_DEVICE_CODE or _OWN_MACROS_ALONE.fullmatch(word) is not None


def program_name(word: str) -> str:
    """A program's name, without its directory."""
    return os.path.basename(word).removesuffix(".exe")


def without_host_words(options: CompileOptions) -> tuple[CompileOptions, tuple[str, ...]]:
    """The options without those that affect only a host compiler's built-in macros, and those."""
    given = options.nvcc_args
    words = tuple(word for word in given if PASSED_ALIKE.fullmatch(word.removeprefix(_HANDED)))
    return replace(options, nvcc_args=tuple(w for w in given if w not in words)), words


def asks_host_compiler(path: str, options: CompileOptions) -> bool:
    """Whether a source depends on what a host compiler's options may change."""
    return _asked(path, options, is_nvcc=True, is_gcc=True) is not None


def _asked(path: str, options: CompileOptions, is_nvcc: bool, is_gcc: bool) -> str | None:
    try:
        read = closure(path, options)
        if asked_of_nvcc(read, options) == PASTED:
            return PASTED
    except OSError:
        return None  # Compiling will fail on it too, with a message.
    return asked_of_compiler(read.uses, is_nvcc, is_gcc)


def _is_compiler(name: str, language: str | None) -> bool:
    if _CUDA_COMPILER.fullmatch(name) or (name == _WRAPPER_OF_NVCC and language in CUDA_LANGUAGES):
        return True
    # Clang under the system compiler's name: GCC has no such language.
    return language in CUDA_LANGUAGES and _SYSTEM_COMPILER.fullmatch(name) is not None


def _is_ours(host: str) -> bool:
    """Whether a host compiler is the one that nvcc uses here; files are compared, not run."""
    path = os.path.join(host, "gcc") if os.path.isdir(host) else host
    found, ours = shutil.which(path), shutil.which("gcc")
    if found is None or ours is None:
        return False
    return os.path.realpath(found).replace("g++", "gcc") == os.path.realpath(ours)
