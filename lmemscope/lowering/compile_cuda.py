"""Compile CUDA C++ files: with NVRTC first, with nvcc if the file contains host code.

The fallback never hides the user's own compile error. If both compilers reject the file, the
message is nvcc's, which accepts more files, and the hint says where NVRTC stopped.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from msgspec.structs import replace

from lmemscope.errors import CompileError, InputError, LmemscopeError, ToolMissingError
from lmemscope.files import UnreadableFileError
from lmemscope.formats.demangle import demangle
from lmemscope.formats.kernel_names import is_instance
from lmemscope.formats.ptx_cut import PtxParts
from lmemscope.lowering import refusals, toolkit_names
from lmemscope.lowering.kept import kept
from lmemscope.lowering.reading import encoding_gaps, read_text
from lmemscope.lowering.relocatable import launching_gap
from lmemscope.lowering.store import slot_for
from lmemscope.model import (
    Artifacts,
    CudaSource,
    Gap,
    Unit,
    base_name,
)
from lmemscope.routes import Along
from lmemscope.sources.cuda import DEVICE_CODE_IN_STRING, read_cuda_source
from lmemscope.sources.encoding import readable
from lmemscope.sources.headers import name_that_decides, with_headers
from lmemscope.sources.host_headers import refused_for
from lmemscope.sources.includes import ARCH_LIST, closure, names_arch_list
from lmemscope.tools import nvcc, nvrtc, ptxas
from lmemscope.tools.toolchain import Toolchain

T = TypeVar("T")
_ENTRY = re.compile(r"^[ \t]*(?:\.\w+[ \t]+)*?\.entry[ \t]+([\w$]+)", re.MULTILINE)
_SEPARATE = "requires separate compilation mode"
_HOST_SIGNS = ("open source file", "host function", "host variable", '"alloca" is undefined')


def compile_file(unit: Unit, cache_directory: str | None, along: Along | None = None) -> Artifacts:
    """Compile a CUDA C++ file with NVRTC, or with nvcc if it contains host code.

    Raises:
        LmemscopeError: it cannot be read, or a compiler is missing or rejects it.
    """
    text, source = read_source(unit)
    artifacts = kept(
        unit,
        slot_for(cache_directory, unit),
        source,
        lambda: _lower_cuda(unit, text, source, cache_directory, along),
    )
    return replace(artifacts, gaps=(*artifacts.gaps, *gaps_of(unit, text, source, artifacts)))


def read_source(unit: Unit) -> tuple[str, CudaSource]:
    """A unit's text, and its parsed source with headers.

    Raises:
        InputError: it cannot be read, or includes a file that must not be passed to a compiler.
    """
    text = read_text(unit, "CUDA C++ source")
    source = read_cuda_source(readable(text))
    try:
        source = with_headers(source, unit.path, unit.options)
    except UnreadableFileError as error:
        raise InputError(
            "read",
            f"{unit.input} includes {error.filename}: {error.strerror}",
            hint="no compiler is given that: reading it may never end",
        ) from error
    return text, source


def gaps_of(unit: Unit, text: str, source: CudaSource, artifacts: Artifacts) -> tuple[Gap, ...]:
    """Gaps that apply to a unit whichever compiler takes it."""
    return (
        *encoding_gaps(unit, text),
        *_name_gaps(unit, artifacts),
        *_list_gaps(unit),
        *_string_gaps(unit, source),
        *_enclosed_gaps(unit, source, artifacts),
    )


def _name_gaps(unit: Unit, artifacts: Artifacts) -> tuple[Gap, ...]:
    """A gap if the build compiles the file under another name, which may change the code."""
    # To instantiate templates, nvcc compiles a generated file that includes this one.
    if unit.is_named_as_built and not artifacts.instantiated:
        return ()
    name = name_that_decides(unit.path, unit.options)
    if name is None:
        return ()
    reason = f"{name} may decide what {unit.input} is compiled to, and its build names it"
    return (Gap("compile", f"{reason}: that name is not known here", "evidence"),)


def _list_gaps(unit: Unit) -> tuple[Gap, ...]:
    """A gap if the build lists architectures that are unknown here, which may change the code."""
    if not unit.one_of_archs or not names_arch_list(closure(unit.path, unit.options).files):
        return ()
    reason = f"{unit.input} asks for {ARCH_LIST}, and which architectures its build lists there"
    return (Gap("compile", f"{reason} is not known", "evidence"),)


def _string_gaps(unit: Unit, source: CudaSource) -> Iterator[Gap]:
    """Gaps for device code in string literals, which the program compiles at run time."""
    named = ((os.path.basename(one.path), one.source) for one in source.headers)
    for file, text in ((unit.input, source), *named):
        if text.strings:
            reason = f"{file}:{text.strings[0]} {DEVICE_CODE_IN_STRING}"
            yield Gap("instantiate", reason, "uninstantiated")


def _enclosed_gaps(unit: Unit, source: CudaSource, artifacts: Artifacts) -> Iterator[Gap]:
    """Gaps for kernels in the arguments of a macro that emits no code for them, as in a string."""
    enclosed = {k.name for k in source.kernels if k.enclosed}
    if not enclosed:
        return
    missing = [name for name in lacking(source, _entries(artifacts)) if name in enclosed]
    if missing:
        reason = f"{unit.input}: {missing[0]} stands in a macro's arguments and is not compiled"
        yield Gap("instantiate", reason, "uninstantiated")


def _lower_cuda(
    unit: Unit,
    text: str,
    source: CudaSource,
    cache_directory: str | None,
    along: Along | None,
) -> Artifacts:
    try:
        return _by_route(unit, text, source, cache_directory, along)
    except CompileError as refusal:
        if _SEPARATE not in (refusal.log or ""):
            raise
        relocatable = replace(unit, options=unit.options.as_relocatable())
        artifacts = _by_route(relocatable, text, source, cache_directory, along)
        gap = launching_gap("compiled as relocatable code (-rdc=true)")
        return replace(artifacts, unit=unit, gaps=(*artifacts.gaps, gap))


def _by_route(
    unit: Unit,
    text: str,
    source: CudaSource,
    cache_directory: str | None,
    along: Along | None,
) -> Artifacts:
    if unit.frontend == "nvcc":
        return compile_by_nvcc(unit, source, along)
    if unit.frontend == "nvrtc":
        return _by_nvrtc(unit, text, source, along)
    refused: LmemscopeError | None = None
    # NVRTC is sure to reject a file that includes a missing header.
    headers = Toolchain(unit.toolkit).header_dirs()
    is_refused = refused_for(source, unit.path, unit.options, headers) is not None
    if source.asked is None and not is_refused:
        asked = toolkit_names.named(unit, headers, cache_directory)
        asked = asked or toolkit_names.of_other_version(unit, Toolchain(unit.toolkit))
        source = replace(source, asked=asked)
    if source.asked is not None or is_refused:
        # NVRTC would reject the file, or compile it differently from the application.
        try:
            return compile_by_nvcc(unit, source, along)
        except (ToolMissingError, CompileError) as error:
            refused = error
    try:
        artifacts = _by_nvrtc(unit, text, source, along)
    except ToolMissingError as missing:
        if unit.toolkit is None:
            raise
        # An installation may lack NVRTC; nvcc from the same toolkit is used instead.
        return _without_nvrtc(unit, source, missing)
    except CompileError as refusal:
        return _after_nvrtc(unit, source, refusal, refused)
    return _of_application(unit, text, source, artifacts, refused)


def _of_application(
    unit: Unit,
    text: str,
    source: CudaSource,
    artifacts: Artifacts,
    refused: LmemscopeError | None,
) -> Artifacts:
    """Compile with nvcc a file of which NVRTC compiled only some kernels.

    A kernel guarded by a macro that the host compiler or its headers define belongs to the
    application.

    Args:
        refused: nvcc's error if it has already been tried, else None.
    """
    missing = lacking(source, _entries(artifacts))
    if missing and refused is None:
        try:
            return compile_by_nvcc(unit, source)
        except (ToolMissingError, CompileError) as refusal:
            refused = refusal
    if refused is None or (not missing and source.asked is None):
        return artifacts
    why = f"it compiles no {missing[0]}" if missing else f"it asks for {source.asked}"
    reason = f"compiled by NVRTC, and {why}: nvcc may make other code, but {refused.message}"
    # Names built by macros cannot be compared here: such a kernel may well be present.
    names = {base_name(name) for name in missing}
    is_missing = any(re.search(rf"#\s*define\s+{name}\b", text) is None for name in names)
    is_evidence = is_missing or source.asked is not None
    gap = Gap("compile", reason, "evidence" if is_evidence else "note")
    return replace(artifacts, gaps=(*artifacts.gaps, gap))


def _entries(artifacts: Artifacts) -> list[str]:
    """The mangled names of the kernels in the PTX."""
    return _ENTRY.findall((artifacts.ptx or b"").decode("utf-8", "replace"))


def lacking(source: CudaSource, kernels: Iterable[str]) -> list[str]:
    """Kernels that the text defines but that were not compiled; templates are ignored.

    Args:
        source: with its headers.
        kernels: mangled names of the compiled kernels.
    """
    made = [demangle(name) for name in kernels]
    every = (*source.kernels, *(k for header in source.headers for k in header.source.kernels))
    whole = (k.name for k in every if not k.is_template and not k.is_declaration)
    return [n for n in dict.fromkeys(whole) if not any(is_instance(one, n) for one in made)]


def _without_nvrtc(unit: Unit, source: CudaSource, missing: ToolMissingError) -> Artifacts:
    try:
        artifacts = compile_by_nvcc(unit, source)
    except ToolMissingError:
        raise missing from None
    return replace(
        artifacts, gaps=(*artifacts.gaps, Gap("toolchain", f"{missing.message}; nvcc was used"))
    )


def _after_nvrtc(
    unit: Unit, source: CudaSource, refusal: CompileError, known: LmemscopeError | None
) -> Artifacts:
    """Compile with nvcc a file that NVRTC rejected; if both reject it, raise one combined error.

    Args:
        known: nvcc's error if it was tried first, else None.
    """
    try:
        if known is not None:
            raise known
        return compile_by_nvcc(unit, source)
    except ToolMissingError as missing:
        if not _is_about_host(refusal, source):
            if refusal.hint is None:
                refusal.hint = f"nvcc may take it, and {missing.message}"
            raise refusal from missing
        raise CompileError(
            "compile",
            f"{unit.input} needs nvcc, and {missing.message} ({refusal.message})",
            hint=missing.hint,
            command=refusal.command,
            log=refusal.log,
        ) from missing
    except CompileError as error:
        about_host = _is_about_host(refusal, source)
        if refusals.is_users_own(refusal, error, is_about_host=about_host):
            raise refusal from error
        if error.hint is None:
            error.hint = f"NVRTC refused it too: {refusal.message}"
        raise


def _by_nvrtc(unit: Unit, text: str, source: CudaSource, along: Along | None) -> Artifacts:
    toolchain = Toolchain(unit.toolkit)
    flags = nvrtc.options_for(unit.arch, unit.options, toolchain)
    asked = _requested_instantiations(unit, source)
    wished = _wished(source, asked)
    launched = tuple(n for n in _launched(unit, source) if n not in asked and n not in wished)
    gaps: tuple[Gap, ...] = ()
    try:
        names = (*asked, *wished, *launched)
        meanwhile = None if along is None else along.meanwhile
        result = nvrtc.compile_program(text, unit.path, flags, names, toolchain, meanwhile)
    except nvrtc.NameExpressionError:
        if not launched and not wished:
            raise
        # Instances inferred from launches are a guess, and a header's may not compile here. What
        # the user asked for is neither.
        names = asked
        result = nvrtc.compile_program(text, unit.path, flags, asked, toolchain)
        gaps = _not_instantiated(launched, "as launched") if launched else ()
        gaps += _unfulfilled(source, wished)
    return Artifacts(
        unit=unit,
        frontend="nvrtc",
        options=(*flags, *instantiations(names)),
        ptx=result.ptx,
        ptxas_log=result.log,
        cubin=result.cubin,
        tools=(nvrtc.library(toolchain),),
        gaps=gaps,
        source=source,
        instantiated=names,
    )


def _wished(source: CudaSource, asked: Sequence[str]) -> tuple[str, ...]:
    """Instances requested by comments in headers; they apply to every unit that includes these."""
    names = dict.fromkeys(name for name, _, _ in source.asked_in_headers)
    return tuple(name for name in names if name not in asked)


def _unfulfilled(source: CudaSource, wished: Sequence[str]) -> tuple[Gap, ...]:
    """Gaps for requested instances that could not be compiled, with the place of the request."""
    return tuple(
        gap
        for name, path, line in source.asked_in_headers
        if name in wished
        for gap in _not_instantiated((name,), f"as {os.path.basename(path)}:{line} asks")
    )


def _not_instantiated(names: Sequence[str], why: str) -> tuple[Gap, ...]:
    reason = f"could not instantiate {', '.join(names)} {why}"
    return (Gap("instantiate", reason, "uninstantiated"),)


def instantiations(names: Iterable[str]) -> tuple[str, ...]:
    """Name expressions as the user would write them with `--instantiate`, to list as options."""
    return tuple(f"--instantiate={name}" for name in names)


def _launched(unit: Unit, source: CudaSource) -> tuple[str, ...]:
    """Instances that the file launches, and instances of its templates that other inputs launch."""
    templates = {base_name(kernel.name): kernel.name for kernel in source.template_kernels}
    elsewhere = (
        templates[base_name(name)] + name[name.index("<") :]
        for name in unit.launched
        if base_name(name) in templates
    )
    return tuple(dict.fromkeys((*source.launches, *elsewhere)))


def compile_by_nvcc(
    unit: Unit,
    source: CudaSource,
    along: Along | None = None,
    kernels: Collection[str] | None = None,
) -> Artifacts:
    """Compile a file to PTX with nvcc, and assemble the PTX with ptxas.

    Args:
        unit: to compile.
        source: the parsed source.
        along: what to do while a compiler runs.
        kernels: mangled names of the kernels to assemble, or None for all; if empty, there is no
            machine code.

    Raises:
        LmemscopeError: a compiler is missing or rejects the unit.
    """
    artifacts, flags = granting_flags(
        unit, lambda granted: _by_plain_nvcc(granted, source, along, kernels)
    )
    said = (Gap("compile", f"compiled with {flag}, which the file needs") for flag in flags)
    return replace(artifacts, unit=unit, gaps=(*artifacts.gaps, *said))


def granting_flags(unit: Unit, compile_: Callable[[Unit], T]) -> tuple[T, tuple[str, ...]]:
    """Run nvcc; on an error that asks for an experimental flag, add the flag and run it again."""
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


def _by_plain_nvcc(
    unit: Unit, source: CudaSource, along: Along | None, kernels: Collection[str] | None
) -> Artifacts:
    asked_for = Toolchain(unit.toolkit)
    toolchain = asked_for.of_nvcc()
    gaps: tuple[Gap, ...] = ()
    if toolchain != asked_for:
        said = f"compiled by nvcc of {toolchain.directory}, with its own ptxas and headers"
        gaps = (Gap("toolchain", f"{said}, not with those that NVRTC goes with"),)
    flags = nvcc.options_for(unit.arch, unit.options, toolchain)
    asked = _requested_instantiations(unit, source)
    if unit.launched and not source.has_host_code:
        asked = tuple(dict.fromkeys((*asked, *_launched(unit, source))))
    wished = _wished(source, asked)

    def compile_(names: tuple[str, ...]) -> nvcc.NvccResult:
        meanwhile = None if along is None else along.meanwhile
        return nvcc.compile_to_ptx(unit.path, flags, names, toolchain, meanwhile)

    try:
        compiled = compile_((*asked, *wished))
    except CompileError:
        if not wished:
            raise
        compiled = compile_(asked)
        wished, gaps = (), (*gaps, *_unfulfilled(source, wished))
    asked = (*asked, *wished)
    ptxas_flags = ptxas.options_for(unit.arch, unit.options)
    artifacts = Artifacts(
        unit=unit,
        frontend="nvcc",
        options=(*flags, *ptxas_flags, *instantiations(asked)),
        ptx=compiled.ptx,
        ptxas_log=None,
        cubin=b"",
        tools=(compiled.tool,),
        gaps=gaps,
        source=source,
        instantiated=asked,
    )
    begin = None if along is None else partial(along.begin, artifacts)
    if kernels is not None and not kernels:
        if begin is not None:
            begin()
        return replace(artifacts, tools=(compiled.tool, toolchain.tool("ptxas")))
    text = compiled.ptx if kernels is None else PtxParts(compiled.ptx).cut(kernels)
    assembled = ptxas.assemble(text, unit.input, ptxas_flags, toolchain, meanwhile=begin)
    return replace(
        artifacts,
        ptxas_log=assembled.log,
        cubin=assembled.cubin,
        tools=(compiled.tool, assembled.tool),
    )


def _requested_instantiations(unit: Unit, source: CudaSource) -> tuple[str, ...]:
    """Name expressions from flags and comments, without the flags meant for other files."""
    defined = {base_name(kernel.name) for kernel in source.kernels}
    flagged = tuple(
        name
        for name in unit.options.instantiate
        if base_name(name) in defined or (source.includes and not defined)
    )
    return tuple(dict.fromkeys((*flagged, *source.instantiations)))


def _is_about_host(refusal: LmemscopeError, source: CudaSource) -> bool:
    """Whether NVRTC's error is, or probably is, about host code."""
    return source.has_host_code or any(sign in (refusal.log or "") for sign in _HOST_SIGNS)
