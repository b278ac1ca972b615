"""From an input to artefacts: PTX, the report of ptxas, and a cubin.

Each input enters at its own stage and leaves at the same point. What an input cannot give is a
`Gap` with a reason, never an empty value that looks like an answer.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from lmemscope.errors import CompileError, InputError, LmemscopeError, ToolMissingError
from lmemscope.lowering import store
from lmemscope.lowering.store import Slot
from lmemscope.model import Artifacts, CompileOptions, CudaSource, Gap, Unit, base_name
from lmemscope.sources.cuda import read_cuda_source
from lmemscope.tools import nvcc, nvrtc, ptxas, toolchain

T = TypeVar("T")
CUDA_ENDINGS = (".cu", ".cuh")
_SEPARATE = "requires separate compilation mode"
_NO_HEADER = re.compile(r'open source file "([^"]+)"')
_ELF_MAGIC = b"\x7fELF"
_HOST_SIGNS = ("open source file", "host function", "host variable", '"alloca" is undefined')


def lower(unit: Unit, cache_directory: str | None = None) -> Artifacts:
    """Take a unit to its artefacts.

    Args:
        unit: what to compile.
        cache_directory: where outputs of earlier runs are kept, or None to always compile.

    Raises:
        LmemscopeError: the input cannot be read, or a tool is missing or refuses it.
    """
    toolchain.use(unit.toolkit)
    try:
        return _by_ending(unit, cache_directory)
    except LmemscopeError as error:
        # Compilers are given the absolute path; people know the file by what they typed.
        if error.log is not None:
            error.log = error.log.replace(unit.path, unit.input)
        raise


def _by_ending(unit: Unit, cache_directory: str | None) -> Artifacts:
    ending = os.path.splitext(unit.path)[1].lower()
    if ending == ".cubin":
        return _lower_cubin(unit)
    if ending == ".py":
        from lmemscope.lowering import python

        return python.lower_python(unit)
    is_ptx = ending == ".ptx"
    text = read_text(unit, "PTX" if is_ptx else "CUDA C++ source")
    source = None if is_ptx else read_cuda_source(text)
    slot = store.slot_for(cache_directory, unit)
    known = _load(slot, unit, source)
    if known is not None:
        return known
    if source is None:
        artifacts = _lower_ptx(unit, text)
    else:
        artifacts = _lower_cuda(unit, text, source, cache_directory)
    return _stored(slot, artifacts)


def _load(slot: Slot | None, unit: Unit, source: CudaSource | None) -> Artifacts | None:
    """The artefacts of an earlier run on the same bytes."""
    found = slot.load("outputs", store.Outputs, blobs=2) if slot is not None else None
    if slot is None or found is None:
        return None
    record, (ptx, cubin), tools = found
    return Artifacts(
        unit=unit,
        frontend=record.frontend,
        options=record.options,
        ptx=ptx,
        ptxas_log=record.log,
        cubin=cubin,
        tools=tools,
        gaps=record.gaps,
        source=source,
        instantiated=record.instantiated,
        key=slot.key,
        cached=True,
    )


def _stored(slot: Slot | None, artifacts: Artifacts) -> Artifacts:
    if slot is None or artifacts.ptx is None:
        return artifacts
    record = store.Outputs(
        frontend=artifacts.frontend,
        options=artifacts.options,
        instantiated=artifacts.instantiated,
        log=artifacts.ptxas_log,
        gaps=artifacts.gaps,
    )
    slot.store("outputs", record, [artifacts.ptx, artifacts.cubin], artifacts.tools)
    return replace(artifacts, key=slot.key)


def _lower_cuda(
    unit: Unit, text: str, source: CudaSource, cache_directory: str | None
) -> Artifacts:
    try:
        return _by_route(unit, text, source, cache_directory)
    except CompileError as refusal:
        if _SEPARATE not in (refusal.log or ""):
            raise
        relocatable = replace(unit, options=_relocatable(unit.options))
        reason = "compiled as relocatable code (-rdc=true), because it launches from the device"
        artifacts = _by_route(relocatable, text, source, cache_directory)
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


def _by_route(unit: Unit, text: str, source: CudaSource, cache_directory: str | None) -> Artifacts:
    if unit.frontend == "nvcc":
        return _by_nvcc(unit, source)
    if unit.frontend == "auto" and store.remembered_route(cache_directory, unit) is not None:
        # What NVRTC could not open is still included: it would only be refused again. Should
        # nvcc refuse too, the ordinary way decides which message is shown.
        with contextlib.suppress(LmemscopeError):
            return _by_nvcc(unit, source)
    try:
        return _by_nvrtc(unit, text, source)
    except nvrtc.NameExpressionError:
        raise
    except ToolMissingError as missing:
        if unit.frontend == "nvrtc" or unit.toolkit is None:
            raise
        # An installation may come without NVRTC; nvcc of the same one is the next best thing.
        return _without_nvrtc(unit, source, missing)
    except CompileError as refusal:
        if unit.frontend == "nvrtc" or not _wants_host_compiler(refusal, source):
            raise
        artifacts = _after_nvrtc(unit, source, refusal)
        header = _NO_HEADER.search(refusal.log or "")
        if header is not None:
            store.remember_route(cache_directory, unit, header.group(1))
        return artifacts


def _without_nvrtc(unit: Unit, source: CudaSource, missing: ToolMissingError) -> Artifacts:
    try:
        artifacts = _by_nvcc(unit, source)
    except ToolMissingError:
        raise missing from None
    return replace(
        artifacts, gaps=(*artifacts.gaps, Gap("toolchain", f"{missing.message}; nvcc was used"))
    )


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
    launched = tuple(name for name in _launched(unit, source) if name not in asked)
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
        options=(*flags, *instantiations((*asked, *launched))),
        ptx=result.ptx,
        ptxas_log=result.log,
        cubin=result.cubin,
        tools=(nvrtc.library(),),
        gaps=gaps,
        source=source,
        instantiated=(*asked, *launched),
    )


def instantiations(names: Iterable[str]) -> tuple[str, ...]:
    """Name expressions as an author would ask for them, for the list of options."""
    return tuple(f"--instantiate={name}" for name in names)


def _launched(unit: Unit, source: CudaSource) -> tuple[str, ...]:
    """Instances that the file launches, and those of its templates that other inputs launch."""
    templates = {base_name(kernel.name): kernel.name for kernel in source.template_kernels}
    elsewhere = (
        templates[base_name(name)] + name[name.index("<") :]
        for name in unit.launched
        if base_name(name) in templates
    )
    return tuple(dict.fromkeys((*source.launches, *elsewhere)))


def _by_nvcc(unit: Unit, source: CudaSource) -> Artifacts:
    artifacts, flags = granting_flags(unit, lambda granted: _by_plain_nvcc(granted, source))
    said = (Gap("compile", f"compiled with {flag}, which the file needs") for flag in flags)
    return replace(artifacts, unit=unit, gaps=(*artifacts.gaps, *said))


def granting_flags(unit: Unit, compile_: Callable[[Unit], T]) -> tuple[T, tuple[str, ...]]:
    """Run nvcc, once more with each experimental flag that a refusal asks for."""
    granted: list[str] = []
    while True:
        more = (*unit.options.nvcc_args, *granted)
        try:
            with_flags = replace(unit, options=replace(unit.options, nvcc_args=more))
            return compile_(with_flags), tuple(granted)
        except CompileError as refusal:
            flag = nvcc.flag_asked_for(refusal.log or "")
            if flag is None or flag in more:
                raise
            granted.append(flag)


def _by_plain_nvcc(unit: Unit, source: CudaSource) -> Artifacts:
    flags = nvcc.options_for(unit.arch, unit.options, os.path.dirname(unit.path))
    asked = _requested_instantiations(unit, source)
    if unit.launched and not source.has_host_code:
        asked = tuple(dict.fromkeys((*asked, *_launched(unit, source))))
    compiled = nvcc.compile_to_ptx(unit.path, flags, asked)
    ptxas_flags = ptxas.options_for(unit.arch, unit.options)
    assembled = ptxas.assemble(compiled.ptx, unit.input, ptxas_flags)
    return Artifacts(
        unit=unit,
        frontend="nvcc",
        options=(*flags, *ptxas_flags, *instantiations(asked)),
        ptx=compiled.ptx,
        ptxas_log=assembled.log,
        cubin=assembled.cubin,
        tools=(compiled.tool, assembled.tool),
        source=source,
        instantiated=asked,
    )


def _lower_ptx(unit: Unit, text: str) -> Artifacts:
    data = text.encode()
    flags = ptxas.options_for(unit.arch, unit.options)
    result = ptxas.assemble(data, unit.input, flags)
    return Artifacts(unit, "ptx", flags, data, result.log, result.cubin, (result.tool,))


def _lower_cubin(unit: Unit) -> Artifacts:
    data = _read_bytes(unit)
    if not data.startswith(_ELF_MAGIC):
        raise InputError(
            "read",
            f"{unit.input} is not a cubin: it does not begin with the ELF magic",
            hint="extract one with: cuobjdump -xelf all FILE",
        )
    reason = "a cubin carries no report; spill figures of ptxas are not known"
    from lmemscope.formats.cubin import Cubin
    from lmemscope.lowering import triton_cache

    found = triton_cache.beside(unit.path)
    return Artifacts(
        unit,
        "binary",
        found.options if found is not None else (),
        found.ptx if found is not None and not Cubin(data).ptx else None,
        None,
        data,
        (),
        (Gap("ptxas", reason),),
    )


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


def read_text(unit: Unit, kind: str) -> str:
    """Text of a unit's file.

    Raises:
        InputError: it cannot be read, or is no text in UTF-8.
    """
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
