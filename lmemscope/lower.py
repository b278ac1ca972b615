"""From an input to artefacts: PTX, the report of ptxas, and a cubin.

Each input enters at its own stage and leaves at the same point. What an input cannot give is a
`Gap` with a reason, never an empty value that looks like an answer.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from lmemscope.errors import CompileError, InputError, LmemscopeError, ToolMissingError
from lmemscope.inputs import nvcc, nvrtc, ptxas
from lmemscope.inputs.cuda_source import CudaSource, base_name, read_cuda_source
from lmemscope.model import CompileOptions, Frontend, Gap, Tool, Unit

CUDA_ENDINGS = (".cu", ".cuh")
_SEPARATE = "requires separate compilation mode"
_ELF_MAGIC = b"\x7fELF"
_HOST_SIGNS = ("open source file", "host function", "host variable", '"alloca" is undefined')


@dataclass(frozen=True, slots=True)
class Artifacts:
    """What the toolchain made of a unit.

    Attributes:
        unit: what was asked for.
        frontend: the route taken.
        options: the compiler options of that route.
        ptx: PTX text, as its line numbers are used, or None (see ``gaps``).
        ptxas_log: the compiler's log that holds ptxas's report, or None (see ``gaps``).
        cubin: machine code for ``unit.arch``.
        tools: what was used.
        gaps: what is missing and why.
        source: what the CUDA source says about itself, or None for other inputs.
    """

    unit: Unit
    frontend: Frontend
    options: tuple[str, ...]
    ptx: bytes | None
    ptxas_log: str | None
    cubin: bytes
    tools: tuple[Tool, ...]
    gaps: tuple[Gap, ...] = ()
    source: CudaSource | None = None


def lower(unit: Unit) -> Artifacts:
    """Take a unit to its artefacts.

    Raises:
        LmemscopeError: the input cannot be read, or a tool is missing or refuses it.
    """
    try:
        return _by_ending(unit)
    except LmemscopeError as error:
        # Compilers are given the absolute path; people know the file by what they typed.
        if error.log is not None:
            error.log = error.log.replace(unit.path, unit.input)
        raise


def _by_ending(unit: Unit) -> Artifacts:
    ending = os.path.splitext(unit.path)[1].lower()
    if ending == ".ptx":
        return _lower_ptx(unit)
    if ending == ".cubin":
        return _lower_cubin(unit)
    return _lower_cuda(unit)


def _lower_cuda(unit: Unit) -> Artifacts:
    text = _read_text(unit, "CUDA C++ source")
    source = read_cuda_source(text)
    try:
        return _by_route(unit, text, source)
    except CompileError as refusal:
        if _SEPARATE not in (refusal.log or ""):
            raise
        relocatable = replace(unit, options=_relocatable(unit.options))
        reason = "compiled as relocatable code (-rdc=true), because it launches from the device"
        artifacts = _by_route(relocatable, text, source)
        return replace(
            artifacts,
            unit=unit,
            gaps=(
                *artifacts.gaps,
                Gap("link", f"{reason}; what the linker adds to its stack is not known"),
            ),
        )


def _relocatable(options: CompileOptions) -> CompileOptions:
    return replace(
        options,
        nvrtc_args=(*options.nvrtc_args, "--relocatable-device-code=true"),
        nvcc_args=(*options.nvcc_args, "-rdc=true"),
        ptxas_args=(*options.ptxas_args, "-c"),
    )


def _by_route(unit: Unit, text: str, source: CudaSource) -> Artifacts:
    if unit.frontend == "nvcc":
        return _by_nvcc(unit, source)
    try:
        return _by_nvrtc(unit, text, source)
    except nvrtc.NameExpressionError:
        raise
    except CompileError as refusal:
        if unit.frontend == "nvrtc" or not _wants_host_compiler(refusal, source):
            raise
        return _after_nvrtc(unit, source, refusal)


def debug_ptx(artifacts: Artifacts) -> str | None:
    """PTX of a debug compilation of the same program, for its variable names.

    None where there is no source to compile.

    Raises:
        LmemscopeError: the debug compilation was refused.
    """
    unit, source = artifacts.unit, artifacts.source
    if source is None:
        return None
    names = [
        option.removeprefix("--instantiate=")
        for option in artifacts.options
        if option.startswith("--instantiate=")
    ]
    options = [o for o in artifacts.options if not o.startswith("--instantiate=")]
    if artifacts.frontend == "nvrtc":
        text = _read_text(unit, "CUDA C++ source")
        flags = nvrtc.debug_options(options)
        return nvrtc.compile_to_ptx(text, unit.path, flags, names).decode("utf-8", "replace")
    flags = nvcc.debug_options(
        nvcc.options_for(unit.arch, unit.options, os.path.dirname(unit.path))
    )
    return nvcc.compile_to_ptx(unit.path, flags, names).ptx.decode("utf-8", "replace")


def _after_nvrtc(unit: Unit, source: CudaSource, refusal: CompileError) -> Artifacts:
    """Try nvcc where NVRTC stopped; the error shown is that of the route that got further."""
    try:
        return _by_nvcc(unit, source)
    except ToolMissingError as missing:
        raise CompileError(
            "compile",
            f"{unit.input} needs nvcc, and {missing.message} ({refusal.message})",
            hint=missing.hint,
            command=refusal.command,
            log=refusal.log,
        ) from missing
    except CompileError as error:
        if error.hint is None:
            error.hint = f"nvcc got further than NVRTC, where {refusal.message}"
        raise


def _by_nvrtc(unit: Unit, text: str, source: CudaSource) -> Artifacts:
    flags = nvrtc.options_for(unit.arch, unit.options, os.path.dirname(unit.path))
    asked = _requested_instantiations(unit, source)
    launched = tuple(name for name in source.launches if name not in asked)
    gaps: tuple[Gap, ...] = ()
    try:
        result = nvrtc.compile_program(text, unit.path, flags, (*asked, *launched))
    except nvrtc.NameExpressionError:
        if not launched:
            raise
        # What we read out of the file's launches is a guess; the user's own requests are not.
        result = nvrtc.compile_program(text, unit.path, flags, asked)
        gaps = (Gap("instantiate", f"could not instantiate {', '.join(launched)} as launched"),)
    return Artifacts(
        unit=unit,
        frontend="nvrtc",
        options=(*flags, *(f"--instantiate={name}" for name in (*asked, *launched))),
        ptx=result.ptx,
        ptxas_log=result.log,
        cubin=result.cubin,
        tools=(nvrtc.library(),),
        gaps=gaps,
        source=source,
    )


def _by_nvcc(unit: Unit, source: CudaSource) -> Artifacts:
    flags = nvcc.options_for(unit.arch, unit.options, os.path.dirname(unit.path))
    asked = _requested_instantiations(unit, source)
    compiled = nvcc.compile_to_ptx(unit.path, flags, asked)
    ptxas_flags = ptxas.options_for(unit.arch, unit.options)
    assembled = ptxas.assemble(compiled.ptx, unit.input, ptxas_flags)
    return Artifacts(
        unit=unit,
        frontend="nvcc",
        options=(*flags, *ptxas_flags, *(f"--instantiate={name}" for name in asked)),
        ptx=compiled.ptx,
        ptxas_log=assembled.log,
        cubin=assembled.cubin,
        tools=(compiled.tool, assembled.tool),
        source=source,
    )


def _lower_ptx(unit: Unit) -> Artifacts:
    text = _read_text(unit, "PTX").encode()
    flags = ptxas.options_for(unit.arch, unit.options)
    result = ptxas.assemble(text, unit.input, flags)
    return Artifacts(unit, "ptx", flags, text, result.log, result.cubin, (result.tool,))


def _lower_cubin(unit: Unit) -> Artifacts:
    data = _read_bytes(unit)
    if not data.startswith(_ELF_MAGIC):
        raise InputError(
            "read",
            f"{unit.input} is not a cubin: it does not begin with the ELF magic",
            hint="extract one with: cuobjdump -xelf all FILE",
        )
    reason = "a cubin carries no report; spill figures of ptxas are not known"
    return Artifacts(unit, "binary", (), None, None, data, (), (Gap("ptxas", reason),))


def _requested_instantiations(unit: Unit, source: CudaSource) -> tuple[str, ...]:
    """Name expressions from flags and directives; other files' flags are left out."""
    defined = {base_name(kernel.name) for kernel in source.kernels}
    flagged = tuple(
        name
        for name in unit.options.instantiate
        if base_name(name) in defined or (source.includes and not defined)
    )
    return tuple(dict.fromkeys((*flagged, *source.instantiations)))


def _wants_host_compiler(refusal: LmemscopeError, source: CudaSource) -> bool:
    """Whether NVRTC's refusal may be about host code: then nvcc decides."""
    return source.has_host_code or any(sign in (refusal.log or "") for sign in _HOST_SIGNS)


def _read_bytes(unit: Unit) -> bytes:
    try:
        return Path(unit.path).read_bytes()
    except FileNotFoundError as error:
        raise InputError("read", f"{unit.input} does not exist", hint="check the path") from error
    except OSError as error:
        raise InputError("read", f"{unit.input} cannot be read: {error.strerror}") from error


def _read_text(unit: Unit, kind: str) -> str:
    data = _read_bytes(unit)
    if b"\0" in data:
        raise InputError(
            "read",
            f"{unit.input} is binary, not {kind} (NUL byte at offset {data.index(0)})",
            hint="cubins are read when their name ends in .cubin",
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            "read",
            f"{unit.input} is not UTF-8: byte 0x{data[error.start]:02x} in line {line}",
            hint="convert it, for example: iconv -f LATIN1 -t UTF-8",
        ) from error
