"""Assemble PTX to a cubin and a report with standalone ptxas, for PTX inputs and for nvcc."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lmemscope.errors import CompileError
from lmemscope.model import CompileOptions, Tool
from lmemscope.tools import process
from lmemscope.tools.toolchain import INSTALLED, Toolchain, unresolved_hint, wheel_of

_VERSION_REFUSED = re.compile(r"Unsupported \.version ([\d.]+); current version is '([\d.]+)'")
_TARGET_REFUSED = re.compile(
    r"SM version specified by \.target is higher than default SM version"
    r"|PTX with \.target '\w+' cannot be compiled for architecture"
)


@dataclass(frozen=True, slots=True)
class PtxasResult:
    """The output of ptxas."""

    cubin: bytes
    log: str
    tool: Tool


def options_for(arch: str, options: CompileOptions) -> tuple[str, ...]:
    """The ptxas options for a compilation, without files."""
    flags = [f"-arch={arch}", "-v", "-lineinfo"]
    if options.maxrregcount is not None:
        flags.append(f"-maxrregcount={options.maxrregcount}")
    return (*flags, *options.ptxas_args)


def assemble(
    ptx: bytes,
    name: str,
    flags: Sequence[str],
    toolchain: Toolchain = INSTALLED,
    timeout: float | None = None,
    meanwhile: process.Meanwhile | None = None,
) -> PtxasResult:
    """Assemble PTX text.

    Args:
        ptx: the text whose line numbers are referred to later.
        name: the input's name, for messages only.
        flags: from `options_for`.
        toolchain: provides ptxas.
        timeout: time limit in seconds, or None.
        meanwhile: called while it runs.

    Raises:
        CompileError: ptxas rejected it; ``log`` is its output.
        StageTimeoutError: it took too long.
        ToolMissingError: ptxas is not installed.
    """
    ptxas = toolchain.tool("ptxas")
    assert ptxas.path is not None
    with tempfile.TemporaryDirectory(prefix="lmemscope-") as directory:
        source, target = Path(directory, "input.ptx"), Path(directory, "output.cubin")
        source.write_bytes(ptx)
        command_line = [ptxas.path, *flags, str(source), "-o", str(target)]
        done = process.run(command_line, timeout=timeout, meanwhile=meanwhile)
        log = done.output.replace(str(source), name)
        command = done.command_line.replace(str(source), name).replace(str(target), target.name)
        if done.returncode != 0 or not target.exists():
            raise _refusal(name, log, command, ptxas, toolchain)
        return PtxasResult(target.read_bytes(), log, ptxas)


def _refusal(name: str, log: str, command: str, ptxas: Tool, toolchain: Toolchain) -> CompileError:
    said = next((line for line in log.splitlines() if "fatal" in line or "error" in line), log)
    message, hint = f"ptxas refused {name}: {said.strip()}", None
    refused = _VERSION_REFUSED.search(log)
    if refused:
        message = (
            f"{name} is PTX ISA {refused.group(1)}, "
            f"and ptxas {ptxas.version} takes PTX ISA up to {refused.group(2)}"
        )
        wheel = wheel_of("ptxas", toolchain)
        hint = (
            "use the ptxas of the toolkit that wrote the file or a newer one: "
            f"pip install --upgrade {wheel}; or compile again with an older one"
        )
    elif _TARGET_REFUSED.search(log):
        hint = "pass as --arch what the file's .target names, or leave --arch out"
    else:
        hint = unresolved_hint(log)
    return CompileError("ptxas", message, hint=hint, command=command, log=log.strip())
