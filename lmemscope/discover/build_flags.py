"""A compiler's command line, as a build system wrote it, in terms of `CompileOptions`.

Three groups: what changes device code is translated, what cannot is dropped, and what is in
neither table is reported, because either could be true of it. Spellings are nvcc's (CUDA Compiler
Driver NVCC, "NVCC Command Options") and those of clang's CUDA mode ("Compiling CUDA with clang").
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lmemscope.errors import InputError
from lmemscope.model import CompileOptions

_VALUE = {
    **dict.fromkeys(("I", "include-path"), "include"),
    **dict.fromkeys(("isystem", "system-include", "iquote", "idirafter"), "include"),
    **dict.fromkeys(("D", "define-macro"), "define"),
    **dict.fromkeys(("U", "undefine-macro"), "undefine"),
    **dict.fromkeys(("include", "pre-include"), "forced"),
    "std": "std",
    **dict.fromkeys(("Xptxas", "ptxas-options", "Xcuda-ptxas"), "ptxas"),
    "maxrregcount": "registers",
    **dict.fromkeys(("gencode", "generate-code"), "gencode"),
    **dict.fromkeys(("arch", "gpu-architecture", "cuda-gpu-arch", "offload-arch"), "arch"),
    **dict.fromkeys(("code", "gpu-code"), "code"),
    **dict.fromkeys(("rdc", "relocatable-device-code"), "rdc"),
    **dict.fromkeys(("ccbin", "compiler-bindir"), "host"),
    **dict.fromkeys(("options-file", "optf"), "response"),
    **dict.fromkeys(("ftz", "prec-div", "prec-sqrt", "fmad"), "both"),
    **dict.fromkeys(("Xcompiler", "compiler-options", "default-stream"), "nvcc"),
    **dict.fromkeys(("x", "language"), "language"),
}
"""Options that take a value, joined by ``=``, by nothing for one letter, or as the next word."""

_FLAG = {
    **dict.fromkeys(("use_fast_math", "ffast-math"), "fast"),
    **dict.fromkeys(("dc", "dw", "device-c", "device-w", "fgpu-rdc"), "separate"),
    **dict.fromkeys(("expt-relaxed-constexpr", "expt-extended-lambda", "extended-lambda"), "nvcc"),
    **dict.fromkeys(("G", "device-debug", "restrict", "extra-device-vectorization"), "both"),
}

_DROPPED_VALUE = frozenset(
    "o output-file MF MT MQ dependency-output l library L library-path Xlinker linker-options "
    "Xarchive Xnvlink nvlink-options Xfatbin Xcudafe diag-suppress diag-error diag-warn "
    "cudart cudadevrt threads t objdir-as-tempdir keep-dir output-directory odir Werror target "
    "target-directory march mtune mcpu machine sysroot isysroot arch-list split-compile "
    "host-linker-script ldir cuda-path cuda-include-ptx no-cuda-include-ptx jump-table-density "
    "std-host fdebug-prefix-map ffile-prefix-map fmacro-prefix-map".split()
)
_DROPPED = frozenset(
    "c compile dlink link g debug pg lineinfo generate-line-info v verbose dryrun keep "
    "clean-targets "
    "M MD MMD MM MP MG generate-dependencies generate-dependencies-with-compile "
    "generate-nonsystem-dependencies ptx cubin fatbin save-temps w disable-warnings res-usage "
    "resource-usage shared static pthread forward-unknown-to-host-compiler "
    "forward-unknown-to-host-linker forward-unknown-opts display-error-number "
    "no-display-error-number "
    "source-in-ptx allow-unsupported-compiler nodlink cuda-device-only cuda-host-only "
    "no-compress compress-all expt-cuda-no-device-lambda-warning m64 m32 pipe ansi pedantic "
    "no-align-double no-host-device-initializer-list no-host-device-move-forward "
    "Wno-deprecated-gpu-targets Wreorder Wall Wextra qpp dlto gen-opt-lto "
    "nocudalib nocudainc prec-all run help version".split()
)
_HOST_FLAG = re.compile(r"[WfmlLo]|O\w*$|g\d?$|Xclang|no-")
_SEPARATE_WORD = re.compile(r"(?:sm|compute|lto)_(\d+[af]?)")


@dataclass(slots=True)
class BuildFlags:
    """What a command line says.

    Attributes:
        options: the compilation, with absolute paths.
        archs: real architectures asked for, in order, without duplicates; maybe none.
        inputs: files named on the line, absolute.
        language: of ``-x``, or None.
        unknown: options that are in no table.
    """

    options: CompileOptions
    archs: tuple[str, ...]
    inputs: tuple[str, ...]
    language: str | None
    unknown: tuple[str, ...]


@dataclass(slots=True)
class _Reading:
    directory: str
    includes: list[str] = field(default_factory=list)
    defines: list[str] = field(default_factory=list)
    nvrtc: list[str] = field(default_factory=list)
    nvcc: list[str] = field(default_factory=list)
    ptxas: list[str] = field(default_factory=list)
    std: str | None = None
    registers: int | None = None
    fast: bool = False
    separate: bool = False
    language: str | None = None
    arch: str | None = None
    codes: list[str] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    unknown: dict[str, None] = field(default_factory=dict)

    def absolute(self, path: str) -> str:
        return os.path.normpath(os.path.join(self.directory, path))


def read_flags(arguments: Sequence[str], directory: str) -> BuildFlags:
    """Translate a command line, its program name left out.

    Args:
        arguments: words, as after a shell.
        directory: where relative paths start, absolute.

    Raises:
        InputError: a response file cannot be read.
    """
    reading = _Reading(directory)
    words = _expanded(iter(arguments), directory)
    for word in words:
        if not word.startswith("-") or word == "-":
            reading.inputs.append(reading.absolute(word))
            continue
        _option(reading, word, words)
    return _finished(reading)


def _option(reading: _Reading, word: str, words: Iterator[str]) -> None:
    name, equals, value = word.lstrip("-").partition("=")
    if name in _FLAG and not equals:
        _flag(reading, _FLAG[name], word)
        return
    if name in _VALUE:
        _value(reading, _VALUE[name], name, value if equals else next(words, ""), words)
        return
    letter = word[1:2]
    if letter in "IDUx" and not word.startswith("--") and len(word) > 2:
        _value(reading, _VALUE[letter], letter, word[2:], words)
    elif word.startswith("-isystem"):
        _value(reading, "include", "isystem", word.removeprefix("-isystem"), words)
    elif name in _DROPPED_VALUE:
        if not equals:
            next(words, "")
    elif name in _DROPPED or (not word.startswith("--") and _HOST_FLAG.match(name)):
        return
    else:
        reading.unknown[word] = None


def _flag(reading: _Reading, kind: str, word: str) -> None:
    if kind == "fast":
        reading.fast = True
    elif kind == "separate":
        reading.separate = True
    else:
        reading.nvcc.append(word)
        if kind == "both":
            reading.nvrtc.append(word if word.startswith("--") or len(word) == 2 else f"-{word}")


def _value(reading: _Reading, kind: str, name: str, value: str, words: Iterator[str]) -> None:
    if kind == "include":
        reading.includes.append(reading.absolute(value))
    elif kind == "define":
        reading.defines.append(value)
    elif kind == "undefine":
        reading.nvrtc.append(f"-U{value}")
        reading.nvcc.append(f"-U{value}")
    elif kind == "forced":
        reading.nvrtc.append(f"--pre-include={reading.absolute(value)}")
        reading.nvcc.append(f"-include={reading.absolute(value)}")
    elif kind == "std":
        reading.std = value.replace("gnu++", "c++")
    elif kind == "ptxas":
        reading.ptxas += [part for part in value.split(",") if part not in ("-v", "--verbose")]
    elif kind == "registers":
        reading.registers = int(value) if value.isdigit() else None
    elif kind == "gencode":
        code = value.partition("code=")[2] or value.partition("arch=")[2].partition(",")[0]
        reading.codes += _archs(code)
    elif kind == "arch":
        reading.arch = value
        if name in ("cuda-gpu-arch", "offload-arch"):
            reading.codes += _archs(value)
    elif kind == "code":
        reading.codes += _archs(value)
    elif kind == "rdc":
        reading.separate = value == "true"
    elif kind == "host":
        reading.nvcc.append(f"-ccbin={value}")
    elif kind == "response":
        for response in value.split(","):
            nested = iter(_response(reading.absolute(response)))
            for word in nested:
                if word.startswith("-"):
                    _option(reading, word, nested)
                else:
                    reading.inputs.append(reading.absolute(word))
    elif kind == "language":
        reading.language = value
    else:
        reading.nvcc.append(f"--{name}={value}" if len(name) > 1 else f"-{name}={value}")
        if kind == "both":
            reading.nvrtc.append(f"--{name}={value}")


def _archs(value: str) -> list[str]:
    """Real architectures of ``[sm_80,compute_80]``; PTX of ``compute_80`` counts as its code."""
    found = dict.fromkeys(f"sm_{number}" for number in _SEPARATE_WORD.findall(value))
    if not found and value in ("native", "all", "all-major"):
        return ["all-major" if value == "all" else value]
    return list(found)


def _finished(reading: _Reading) -> BuildFlags:
    if not reading.codes and reading.arch is not None:
        reading.codes = _archs(reading.arch)
    if reading.separate:
        reading.nvrtc.append("--relocatable-device-code=true")
        reading.nvcc.append("-rdc=true")
        reading.ptxas.append("-c")
    options = CompileOptions(
        include_dirs=tuple(dict.fromkeys(reading.includes)),
        defines=tuple(dict.fromkeys(reading.defines)),
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
        tuple(reading.unknown),
    )


def _expanded(words: Iterator[str], directory: str) -> Iterator[str]:
    """The words, with those of ``@file`` in its place."""
    for word in words:
        if word.startswith("@"):
            path = os.path.join(directory, word[1:])
            yield from _expanded(iter(_response(path)), directory)
        else:
            yield word


def _response(path: str) -> list[str]:
    try:
        return shlex.split(Path(path).read_text(encoding="utf-8"), comments=False)
    except (OSError, ValueError) as error:
        raise InputError(
            "plan",
            f"the response file {path} cannot be read: {error}",
            hint="build the project once; build systems write these files when they configure",
        ) from error
