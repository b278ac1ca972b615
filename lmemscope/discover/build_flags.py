"""Translate a build's compiler command line into `CompileOptions`.

`lmemscope.discover.option_tables` decides about each word. This module splits the line as nvcc and
clang do, and assembles the result.
"""

from __future__ import annotations

import functools
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from lmemscope.discover import option_tables as tables
from lmemscope.discover.architectures import arch_list, archs_in, virtual_option
from lmemscope.formats.numbers import decimal
from lmemscope.formats.shell_words import shell_words
from lmemscope.model import CompileOptions
from lmemscope.sources.host_options import DROPPED, PASSED, PASSED_ALIKE
from lmemscope.sources.includes import SYSTEM_DIRS, holds_toolkit
from lmemscope.sources.response_files import Words
from lmemscope.sources.tool_words import SCALAR, ptxas_words

_NAME_END = re.compile(r"[=(\s]")
_PATH = re.compile(r'[^\x00-\x1f"`$\\]*')
_MACRO = re.compile(r'(?:[^\x00-\x1f`$\\]|\\")*')
"""Characters that are safe to pass to nvcc. It runs its host compiler through a shell, which would
execute a ``$(…)`` in a macro value or a quote in a directory name."""


CUDA_LANGUAGES = ("cu", "cuda")
"""Values of ``-x`` that select CUDA C++."""


@dataclass(slots=True)
class BuildFlags:
    """The content of a command line.

    Attributes:
        options: the compilation, with absolute paths.
        archs: the real architectures requested, in order, without duplicates; may be empty.
        inputs: absolute paths of the files named on the line.
        language: the value of ``-x``, or None; of several, one that may contain kernels.
        output: the value of ``-o`` as written, or an empty string.
        refused: options ignored because they could run a program, load a library or write a file.
        trusted: the subset of these that is accepted from a trusted build.
        unknown: options whose effect is not modelled.
        stray: words, as written, that are neither options nor files for a compiler.
        linked: options for link-time optimisation of device code, which affects no single file.
        responses: absolute paths of the option files that were read.
        may_define: ignored words that may affect macro definitions.
        unsaid: options ignored without being reported, which may change a compiler's built-in
            macros.
        quoted: directories searched only for headers in quotation marks.
        after: directories searched after the system's.
        names_cuda: whether ``-cuda`` is given: nvc++'s name for the language, a phase of nvcc's.
        is_relative: whether a file or header directory is not named by its absolute path; compilers
            then use other file names than those used here.
    """

    options: CompileOptions
    archs: tuple[str, ...]
    inputs: tuple[str, ...]
    language: str | None
    output: str
    refused: tuple[str, ...]
    trusted: tuple[str, ...]
    unknown: tuple[str, ...]
    stray: tuple[str, ...]
    linked: tuple[str, ...]
    responses: tuple[str, ...] = ()
    may_define: tuple[str, ...] = ()
    unsaid: tuple[str, ...] = ()
    quoted: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    names_cuda: bool = False
    is_relative: bool = False


@dataclass(slots=True)
class _Reading:
    """A partly read command line: includes in order of appearance, files not yet looked up.

    Attributes:
        macros: by name, the definition in effect; None if the name is undefined.
    """

    directory: str
    trust: bool
    places: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    forced: list[str] = field(default_factory=list)
    macros: dict[str, str | None] = field(default_factory=dict)
    nvrtc: list[str] = field(default_factory=list)
    nvcc: list[str] = field(default_factory=list)
    ptxas: list[str] = field(default_factory=list)
    host: list[str] = field(default_factory=list)
    for_ptxas: list[str] = field(default_factory=list)
    std: str | None = None
    host_std: str | None = None
    registers: int | None = None
    fast: bool = False
    separate: bool = False
    language: str | None = None
    names_cuda: bool = False
    is_relative: bool = False
    output: str = ""
    arch: str | None = None
    codes: list[str] = field(default_factory=list)
    virtual: dict[tuple[str, str], None] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    refused: dict[str, bool] = field(default_factory=dict)
    unknown: dict[str, None] = field(default_factory=dict)
    unsaid: dict[str, None] = field(default_factory=dict)
    stray: dict[str, None] = field(default_factory=dict)
    linked: dict[str, None] = field(default_factory=dict)

    def absolute(self, path: str) -> str:
        absolute = os.path.normpath(os.path.join(self.directory, path))
        self.is_relative |= absolute != path.rstrip(os.sep)
        return absolute

    def add_input(self, word: str) -> None:
        self.inputs.append(self.absolute(word))
        if not tables.INPUT.fullmatch(word):
            self.stray[word] = None


def read_flags(arguments: Sequence[str], directory: str, *, trust: bool = False) -> BuildFlags:
    """Translate a command line without its program name.

    Args:
        arguments: words, as split by a shell.
        directory: absolute path that relative paths start from.
        trust: also accept words that could run a program or load a library.

    Raises:
        InputError: a response file cannot be read.
    """
    reading = _Reading(directory, trust)
    words = Words(arguments, directory)
    for word in words:
        if word.startswith("@") and len(word) > 1:
            words.insert(word[1:])
        elif word == "--":
            for rest in words:
                reading.add_input(rest)
        elif word.startswith("-") and word != "-":
            _option(reading, word, words)
        else:
            reading.add_input(word)
    _read_host_words(reading)
    _read_ptxas_words(reading)
    responses = tuple(dict.fromkeys(words.files))
    quoted = dict.fromkeys(reading.places["quote"])
    elsewhere = {one for kind in ("include", "system", "after") for one in reading.places[kind]}
    return replace(
        _finished(reading),
        responses=responses,
        unsaid=tuple(reading.unsaid),
        quoted=tuple(path for path in quoted if path not in elsewhere),
        after=tuple(dict.fromkeys(reading.places["after"])),
        names_cuda=reading.names_cuda,
        is_relative=reading.is_relative,
    )


def _option(reading: _Reading, word: str, words: Words) -> None:
    name, equals, value = word.lstrip("-").partition("=")
    reading.names_cuda |= name == "cuda"
    if name in tables.FLAGS:
        _flag(reading, "unknown" if equals else tables.FLAGS[name], name, word)
    elif name in tables.VALUED:
        if not equals:
            value = next(words, "")
            if name == "Werror" and value.startswith("-"):
                words.put_back(value)  # a host compiler option without a value
        _value(reading, tables.VALUED[name], name, value, words)
    elif not word.startswith("--") and len(word) > 2 and word[1] in tables.JOINED:
        _value(reading, tables.VALUED[word[1]], word[1], word[2:], words)
    elif word.startswith("-isystem"):
        _value(reading, "system", "isystem", word.removeprefix("-isystem"), words)
    elif not word.startswith("--"):
        # CMake sets -forward-unknown-to-host-compiler, which passes such words to the host
        # compiler.
        reading.host.append(word)
        if word in tables.HOST_VALUED:
            reading.host.append(next(words, ""))
    else:
        reading.unknown[word] = None


def _flag(reading: _Reading, kind: str, name: str, word: str) -> None:
    if kind == "fast":
        reading.fast = True
    elif kind == "separate":
        reading.separate = True
    elif kind == "linked":
        reading.linked[word] = None
    elif kind == "refused":
        reading.refused[word] = False
    elif kind == "unknown":
        reading.unknown[word] = None
    elif kind in ("nvcc", "both"):
        reading.nvcc.append(word)
        if kind == "both":
            long = tables.LONG.get(name, name)
            reading.nvrtc.append(f"-{long}" if len(long) == 1 else f"--{long}")


def _value(reading: _Reading, kind: str, name: str, value: str, words: Words) -> None:
    if kind == "response":
        for response in reversed(value.split(",")):
            words.insert(response)
    elif kind in ("quote", "include", "system", "after", "forced", "define", "undefine", "std"):
        _preprocessor(reading, kind, f"-{name}", value)
    elif kind == "ptxas":
        reading.for_ptxas += _split(value)
    elif kind == "for-nvcc":
        words.put_back(f"--{value}")  # TensorFlow's wrapper of GCC and nvcc does the same
    elif kind == "optimize":
        reading.host.append(f"-O{value}")
    elif kind == "elsewhere":
        reading.unsaid[f"--{name}={value}"] = None
    elif kind == "host-words":
        reading.host += _split(value)
    elif kind == "registers":
        reading.registers = decimal(value) or None
        if decimal(value) is None:
            reading.unknown[f"-{name}={value}"] = None
    elif kind in ("gencode", "arch", "code"):
        _architecture(reading, kind, name, value)
    elif kind == "rdc" and value in ("true", "false"):
        reading.separate = value == "true"
    elif kind == "language":
        # Which files a later -x applies to depends on the compiler.
        reading.language = reading.language if reading.language in CUDA_LANGUAGES else value
    elif kind == "output":
        reading.output = value
    elif kind == "host":
        _host_compiler(reading, name, value)
    elif kind == "guarded" and reading.trust and _PATH.fullmatch(value):
        reading.nvcc.append(f"--{name}={value}")
    elif kind in ("guarded", "refused"):
        trusted = kind == "guarded" and _PATH.fullmatch(value) is not None
        reading.refused[f"-{name}={value}"] = trusted
    elif kind in ("nvcc", "both"):
        _scalar(reading, kind, name, value)
    elif kind != "dropped":
        reading.unknown[f"-{name}={value}"] = None


def _architecture(reading: _Reading, kind: str, name: str, value: str) -> None:
    code = value
    virtual: list[str] = []
    if kind == "gencode":
        virtual = archs_in(value.partition("arch=")[2].partition(",")[0])
        code = value.partition("code=")[2] or value.partition("arch=")[2].partition(",")[0]
    found = archs_in(code)
    reading.virtual |= dict.fromkeys((own, one) for own in virtual for one in found)
    if not found:
        reading.unknown[f"-{name}={value}"] = None
    elif kind == "arch" and name not in ("cuda-gpu-arch", "offload-arch"):
        reading.arch = value
    else:
        reading.codes += found


def _scalar(reading: _Reading, kind: str, name: str, value: str) -> None:
    if not SCALAR.fullmatch(value):
        reading.refused[f"-{name}={value}"] = False
        return
    long = tables.LONG.get(name, name)
    reading.nvcc.append(f"--{long}={value}")
    if kind == "both":
        reading.nvrtc.append(f"--{long}={value}")


def _host_compiler(reading: _Reading, name: str, value: str) -> None:
    trusted = _PATH.fullmatch(value) is not None
    if not reading.trust or not trusted:
        reading.refused[f"-{name}={value}"] = trusted
    elif os.sep in value:
        reading.nvcc.append(f"-ccbin={reading.absolute(value)}")
    else:
        # A bare name is a file in the build directory if it exists there, else a program on PATH.
        path = reading.absolute(value)
        reading.nvcc.append(f"-ccbin={path if os.path.exists(path) else value}")


def _preprocessor(reading: _Reading, kind: str, name: str, value: str) -> None:
    """A preprocessor option, which nvcc and its host compiler share."""
    allowed = {"define": _MACRO, "undefine": SCALAR, "std": SCALAR}.get(kind, _PATH)
    if not allowed.fullmatch(value):
        reading.refused[f"{name}={value}"] = False
    elif kind == "define":
        reading.macros[_NAME_END.split(value, maxsplit=1)[0]] = value
    elif kind == "undefine":
        reading.macros[value] = None
    elif kind == "std":
        reading.std = value.replace("gnu++", "c++")
        if reading.std != value:
            reading.host_std = value  # clang's; nvcc lacks this dialect, its host compiler has it
    elif kind == "forced":
        reading.forced += value.split(",")
        reading.is_relative |= not all(map(os.path.isabs, value.split(",")))
    else:
        path = reading.absolute(value)
        # nvcc accepts lists of directories, but a comma may also be part of a name.
        listed = [value] if os.path.isdir(path) else value.split(",")
        reading.places[kind] += [reading.absolute(part) for part in listed]


def _split(value: str) -> list[str]:
    """The words in an option's value: nvcc splits at commas, and the shell at blanks."""
    try:
        parts = shell_words(value)
    except ValueError:
        parts = value.split()
    kept = [part for part in parts if not part.startswith(("-Wl,", "-Wa,"))]
    return [word for part in kept for word in part.split(",") if word]


def _read_host_words(reading: _Reading) -> None:
    # The host compiler receives these words before nvcc's own.
    own, reading.places = reading.places, defaultdict(list)
    own_macros, reading.macros = reading.macros, {}
    words = iter(reading.host)
    for word in words:
        _host_word(reading, word, words)
    for kind, directories in own.items():
        reading.places[kind] += directories
    reading.macros.update(own_macros)
    if reading.host_std not in (None, reading.std):
        reading.nvcc.append(f"-Xcompiler=-std={reading.host_std}")


def _host_word(reading: _Reading, word: str, words: Iterator[str]) -> None:
    kind, value = _host_value(word, words)
    if word.startswith("-Wp,"):
        parts = iter(word.split(",")[1:])
        for part in parts:
            if part in ("-MD", "-MMD"):
                next(parts, "")  # the preprocessor option that names a file
            else:
                _host_word(reading, part, parts)
    elif kind == "again":
        _host_word(reading, value, words)
    elif kind == "refused":
        _refused_host_word(reading, (word, value))
    elif kind == "elsewhere":
        reading.unsaid[f"{word} {value}"] = None
    elif kind is not None:
        if kind != "dropped":
            _preprocessor(reading, kind, word.removesuffix(value).removesuffix("="), value)
    elif word.startswith("-std=") and SCALAR.fullmatch(word.removeprefix("-std=")):
        reading.host_std = word.removeprefix("-std=")
    elif tables.HOST_REFUSED.match(word):
        _refused_host_word(reading, (word,))
    elif PASSED_ALIKE.fullmatch(word) or PASSED.fullmatch(word):
        reading.nvcc.append(f"-Xcompiler={word}")
        if word == "-fopenmp":
            reading.nvrtc.append("-D_OPENMP")
    elif DROPPED.fullmatch(word):
        return
    elif tables.HOST_NAMED.match(word) or not tables.HOST_UNSAID.match(word):
        reading.unknown[word if word.startswith("-") else f"-Xcompiler {word}"] = None
    else:
        reading.unsaid[word] = None


def _host_value(word: str, words: Iterator[str]) -> tuple[str | None, str]:
    """The kind of an option that takes a value, and the value; None if it takes none."""
    if word in tables.HOST_VALUED:
        return tables.HOST_VALUED[word], next(words, "")
    for name in tables.HOST_JOINED:
        if word.startswith(name):
            return tables.HOST_VALUED[name], word.removeprefix(name).removeprefix("=")
    return None, ""


def _refused_host_word(reading: _Reading, words: Sequence[str]) -> None:
    trusted = all(_PATH.fullmatch(word) for word in words)
    if reading.trust and trusted:
        reading.nvcc += [f"-Xcompiler={word}" for word in words]
    else:
        reading.refused[" ".join(["-Xcompiler", *words])] = trusted


def _read_ptxas_words(reading: _Reading) -> None:
    read = ptxas_words(reading.for_ptxas)
    reading.ptxas += read.kept
    reading.refused.update(dict.fromkeys((f"-Xptxas {word}" for word in read.refused), False))
    reading.unknown.update(dict.fromkeys(f"-Xptxas {word}" for word in read.unknown))


def _finished(reading: _Reading) -> BuildFlags:
    reading.nvcc += arch_list(arch for arch, _ in reading.virtual if arch.startswith("sm_"))
    if not reading.codes and reading.arch is not None:
        reading.codes = archs_in(reading.arch)
    elif reading.arch is not None and not reading.virtual:
        own = archs_in(reading.arch)
        reading.virtual |= dict.fromkeys((virtual, one) for virtual in own for one in reading.codes)
    _add_virtual(reading)
    if reading.separate:
        reading.nvrtc.append("--relocatable-device-code=true")
        reading.nvcc.append("-rdc=true")
        reading.ptxas.append("-c")
    undefined = [f"-U{name}" for name, value in reading.macros.items() if value is None]
    reading.nvrtc += undefined
    reading.nvcc += undefined
    searched = _searched(reading)
    _add_forced(reading, tuple(searched))
    own = [path for path in searched if not holds_toolkit(path)]
    # The build's toolkit may differ from ours. Its directories come after ours, so that only
    # headers that ours lacks, such as those of cuBLAS, are taken from them.
    for path in searched:
        if holds_toolkit(path):
            reading.nvrtc.append(f"-I{path}")
            reading.nvcc.append(f"-isystem={path}")
    options = CompileOptions(
        include_dirs=tuple(own),
        defines=tuple(one for one in reading.macros.values() if one is not None),
        std=reading.std,
        maxrregcount=reading.registers,
        use_fast_math=reading.fast,
        nvrtc_args=tuple(dict.fromkeys(reading.nvrtc)),
        nvcc_args=tuple(dict.fromkeys(reading.nvcc)),
        ptxas_args=tuple(dict.fromkeys(reading.ptxas)),
    )
    return BuildFlags(
        options,
        tuple(dict.fromkeys(reading.codes)),
        tuple(reading.inputs),
        reading.language,
        reading.output,
        tuple(reading.refused),
        tuple(word for word, trusted in reading.refused.items() if trusted),
        tuple(reading.unknown),
        tuple(reading.stray),
        tuple(reading.linked),
    )


def _add_virtual(reading: _Reading) -> None:
    """Name the virtual architecture that code for later ones is made from, if it is one."""
    unlike = [pair for pair in reading.virtual if len({*pair}) > 1]
    if unlike and len({virtual for virtual, _ in reading.virtual}) == 1:
        reading.nvcc.append(virtual_option(unlike[0][0]))
    else:
        named = (f"{virtual.replace('sm_', 'compute_')} for {one}" for virtual, one in unlike)
        reading.unknown |= dict.fromkeys(named)


def _searched(reading: _Reading) -> dict[str, None]:
    """Directories in GCC's header search order, whatever their order on the line.

    A directory given with ``-I`` that is also given with ``-isystem``, or is a system directory,
    counts only as such.
    """
    real = functools.cache(os.path.realpath)
    places = reading.places
    system = {real(path) for path in places["system"]}
    standard = {real(path) for path in SYSTEM_DIRS}
    includes = [path for path in places["include"] if real(path) not in system]
    own = [path for path in includes if real(path) not in standard]
    last = [path for path in includes if real(path) in standard]
    return dict.fromkeys([*places["quote"], *own, *places["system"], *places["after"], *last])


def _add_forced(reading: _Reading, searched: Sequence[str]) -> None:
    """Headers of ``-include``: found in the build directory, else on the include path."""
    for name in reading.forced:
        candidates = [os.path.join(directory, name) for directory in searched]
        path = reading.absolute(name)
        if not os.path.isfile(path):
            path = next((found for found in candidates if os.path.isfile(found)), path)
        reading.nvrtc.append(f"--pre-include={path}")
        reading.nvcc.append(f"-include={path}")
