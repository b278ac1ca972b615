"""Compile CUDA C++ that contains host code to PTX, with nvcc's device passes.

nvcc preprocesses with a host C++ compiler, so one must be installed, although no host code is
compiled.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lmemscope.errors import CompileError, ToolMissingError
from lmemscope.model import CompileOptions, Tool
from lmemscope.sources.encoding import encoded
from lmemscope.tools import process
from lmemscope.tools.toolchain import INSTALLED, Toolchain, missing_header_hint

INSTANTIATING = "instantiate.cu"
"""Name, in messages, of the generated file that forces instantiations."""

_NO_HOST_COMPILER = (
    "Failed to preprocess host compiler properties",
    "No such file or directory\nnvcc fatal",
    "Cannot find compiler",
)


@dataclass(frozen=True, slots=True)
class NvccResult:
    """The PTX for one architecture, and the nvcc that made it."""

    ptx: bytes
    tool: Tool


def options_for(
    arch: str, options: CompileOptions, toolchain: Toolchain = INSTALLED
) -> tuple[str, ...]:
    """nvcc's options for PTX for one architecture, without files."""
    flags = ["-ptx", "-lineinfo", f"-arch={arch}"]
    if options.maxrregcount is not None:
        # cicc gets it too: with few registers it generates different PTX.
        flags.append(f"-maxrregcount={options.maxrregcount}")
    flags += (*options.words(), *(f"-I{path}" for path in toolchain.header_dirs()))
    return (*flags, *options.nvcc_args)


def debug_options(options: Sequence[str]) -> tuple[str, ...]:
    """Convert the options of a compilation to those of its debug compilation."""
    dropped = ("-lineinfo", "-maxrregcount")
    return (*(option for option in options if not option.startswith(dropped)), "-G")


def compile_to_ptx(
    path: str,
    flags: Sequence[str],
    name_expressions: Sequence[str],
    toolchain: Toolchain = INSTALLED,
    meanwhile: process.Meanwhile | None = None,
) -> NvccResult:
    """Run nvcc's device passes on a file.

    Template instantiations are forced by a second file that includes the first and takes each
    kernel's address; the line tables still name the user's file.

    Raises:
        ToolMissingError: nvcc or its host compiler is missing.
        CompileError: nvcc rejected the program (``log`` has its output), or a name or option could
            not be passed to it.
    """
    _check_for_shell(path, flags)

    def beside() -> None:
        # Querying the tools' versions takes as long as assembling a small file.
        toolchain.tool("nvcc")
        with contextlib.suppress(ToolMissingError):
            toolchain.tool("ptxas")
        if meanwhile is not None:
            meanwhile()

    with tempfile.TemporaryDirectory(prefix="lmemscope-") as directory:
        source = path
        if name_expressions:
            source = os.path.join(directory, INSTANTIATING)
            Path(source).write_bytes(encoded(_instantiating(path, name_expressions)))
        ptx = _output(path, source, flags, directory, toolchain, beside)
    return NvccResult(ptx, toolchain.tool("nvcc"))


def compile_for_lto(path: str, arch: str, flags: Sequence[str], toolchain: Toolchain) -> bytes:
    """Compile a file to intermediate code for link-time optimisation, in a fat binary.

    Raises:
        ToolMissingError, CompileError: as `compile_to_ptx`.
    """
    _check_for_shell(path, flags)
    number = arch.removeprefix("sm_")
    left_out = ("-ptx", "-lineinfo", f"-arch={arch}")
    kept = [flag for flag in flags if flag not in left_out]
    kept += ["-fatbin", "-gencode", f"arch=compute_{number},code=lto_{number}"]
    with tempfile.TemporaryDirectory(prefix="lmemscope-") as directory:
        return _output(path, path, kept, directory, toolchain)


def _output(
    path: str,
    source: str,
    flags: Sequence[str],
    directory: str,
    toolchain: Toolchain,
    meanwhile: process.Meanwhile | None = None,
) -> bytes:
    """nvcc's output for a source, made in a temporary directory; errors name the user's file."""
    target = Path(directory, "output.fatbin" if "-fatbin" in flags else "output.ptx")
    command = [toolchain.find("nvcc"), *flags, "-x", "cu", source, "-o", str(target)]
    done = process.run(command, meanwhile=meanwhile).without(directory)
    if done.returncode != 0 or not target.exists():
        raise _refusal(path, flags, done, toolchain)
    return target.read_bytes()


_SHELL_EXPANDS = re.compile(r"[`$\n\r]|\\(?!\")")
"""Characters that nvcc passes to a shell unprotected (measured with 13.0 and 13.5): it quotes
words, but expansions work in double quotes, and a backslash before a quote ends them."""
_LIST = re.compile(r"-D\w+=\d+(?:\\,\d+)+")
"""A macro definition for a list of numbers; nvcc removes the backslashes."""


def _check_for_shell(path: str, flags: Sequence[str]) -> None:
    """Reject what nvcc's shell would execute, such as a file named ``a$(id).cu``."""
    for word in (path, *flags):
        quoted = '"' in word and (word == path or word.startswith("-I"))
        if quoted or (_SHELL_EXPANDS.search(word) and not _LIST.fullmatch(word)):
            what = "the name" if word == path else "the option"
            raise CompileError(
                "compile",
                f"{what} {word!r} holds a character that nvcc hands to a shell, which would run it",
                hint="rename the file or directory, or define the macro in the source",
            )


def flag_asked_for(log: str) -> str | None:
    """The experimental flag that nvcc's messages suggest for the program, or None."""
    if "extended-lambda" in log:
        return "--extended-lambda"
    return "--expt-relaxed-constexpr" if "--expt-relaxed-constexpr" in log else None


def _instantiating(path: str, name_expressions: Sequence[str]) -> str:
    lines = [f'#include "{path}"', "namespace lmemscope_instantiations {"]
    lines += [
        f"inline const void *keep_{index}() {{ return (const void *)&{expression.lstrip('&')}; }}"
        for index, expression in enumerate(name_expressions)
    ]
    lines += ["}", "const void *lmemscope_instantiated[] = {"]
    lines += [
        f"  lmemscope_instantiations::keep_{index}()," for index in range(len(name_expressions))
    ]
    return "\n".join([*lines, "};", ""])


def _refusal(
    path: str, flags: Sequence[str], done: process.Completed, toolchain: Toolchain
) -> CompileError | ToolMissingError:
    log = done.output.strip()
    if any(sign in log for sign in _NO_HOST_COMPILER):
        return ToolMissingError(
            "toolchain",
            "nvcc cannot run without a host C++ compiler",
            hint="install one (Debian/Ubuntu: apt install g++; Fedora: dnf install gcc-c++), "
            "or name yours with --nvcc-arg=-ccbin=PATH",
            command=done.command_line,
            log=log,
        )
    first = next((line for line in log.splitlines() if "error" in line or "fatal" in line), log)
    hint = missing_header_hint(log, toolchain)
    quoted = next((flag for flag in flags if flag.startswith("-I") and "'" in flag), None)
    if quoted is not None and "No such file" in log:
        # It escapes the apostrophe between double quotes (measured with 13.0 and 13.5).
        hint = f"nvcc finds no header by {quoted}: rename the directory with the apostrophe"
    if "unsupported GNU version" in log:
        hint = "name an older host compiler with --nvcc-arg=-ccbin=PATH"
    elif "CCCL_DISABLE_CTK_COMPATIBILITY_CHECK" in log:
        hint = "the CUDA wheels have different versions; `lmemscope doctor` shows them"
    return CompileError(
        "compile",
        f"nvcc refused {os.path.basename(path)}: {first.strip()}",
        hint=hint,
        command=done.command_line,
        log=log,
    )
