"""Disassemble machine code with nvdisasm, preferably as JSON, which includes annotations."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from lmemscope.errors import CompileError, FormatError
from lmemscope.formats.sass import SassInstruction, parse_json, parse_text
from lmemscope.tools import process
from lmemscope.tools.toolchain import INSTALLED, Toolchain

_SYMBOL_LIST = 200


def disassemble(
    cubin: bytes, symbols: Sequence[int] | None = None, toolchain: Toolchain = INSTALLED
) -> dict[str, tuple[SassInstruction, ...]]:
    """Instructions by code section name, without the ``.text.`` prefix.

    Args:
        cubin: the ELF file.
        symbols: symbol indices of the functions to disassemble, or None for all.
        toolchain: provides nvdisasm.

    Raises:
        ToolMissingError: nvdisasm is not installed.
        CompileError: it rejects the cubin in both formats.
    """
    printed = _run(cubin, ["-json", "-annotate"], symbols, toolchain)
    if printed is not None:
        try:
            return parse_json(printed)
        except FormatError:
            # Measured: on some real cubins, JSON output fails without a message where text works.
            pass
    return parse_text(listing(cubin, symbols=symbols, toolchain=toolchain))


def listing(
    cubin: bytes,
    flags: Sequence[str] = (),
    symbols: Sequence[int] | None = None,
    toolchain: Toolchain = INSTALLED,
) -> str:
    """nvdisasm's text output, code only.

    Raises:
        ToolMissingError: nvdisasm is not installed.
        CompileError: it rejects the cubin.
    """
    text = _run(cubin, ["-c", *flags], symbols, toolchain)
    if text is None:
        raise CompileError(
            "nvdisasm",
            "nvdisasm cannot read this cubin",
            hint="`lmemscope doctor` shows whether its version fits the compiler's",
        )
    return text


def _run(
    cubin: bytes, flags: Sequence[str], symbols: Sequence[int] | None, toolchain: Toolchain
) -> str | None:
    nvdisasm = toolchain.find("nvdisasm")
    with tempfile.TemporaryDirectory(prefix="lmemscope-") as directory:
        path = Path(directory, "code.cubin")
        path.write_bytes(cubin)
        command = [nvdisasm, *flags]
        if symbols is not None and len(symbols) <= _SYMBOL_LIST:
            command += ["-fun", ",".join(str(symbol) for symbol in symbols)]
        done = process.run([*command, str(path)])
    return done.output if done.returncode == 0 else None
