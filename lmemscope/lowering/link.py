"""Link a program: compile or unpack its inputs, then run nvlink or nvJitLink."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from lmemscope import files
from lmemscope.errors import InputError, LmemscopeError
from lmemscope.formats.cubin import architecture
from lmemscope.formats.depths import DEPTH, parse_depth, split_depths
from lmemscope.formats.elf import ElfFile
from lmemscope.lowering.binary import images
from lmemscope.lowering.lower import lower
from lmemscope.lowering.store import Slot, slot_by
from lmemscope.model import Artifacts, LinkInput, LinkRequest, Tool, Unit, kind_of_binary
from lmemscope.routes import kind_of_unit, linked_unit
from lmemscope.tools import nvcc, nvjitlink, nvlink
from lmemscope.tools.toolchain import Toolchain

_STAGE = "linked"
_EXECUTABLE = 2
"""ET_EXEC: a fully linked cubin, which is not part of another program."""


class InputCode(Struct, frozen=True):
    """Device code of an input before linking.

    Attributes:
        input: its name in reports.
        cubins: those for the link's architecture if there are any, else all.
        is_whole: compiled in whole-program mode, so that it exports no definitions.
        is_other: has code only for other architectures; nvlink assembles its PTX, whose registers
            are not known.
    """

    input: str
    cubins: tuple[bytes, ...]
    is_whole: bool = False
    is_other: bool = False


class LinkedArtifacts(Struct, frozen=True):
    """The output of the tools for a link.

    Attributes:
        inputs: in link order.
        code: device code of each input that could be read.
        image: None if nvlink wrote none.
        log: nvlink's log.
        command: nvlink's command, quoted for a shell.
        tools: the tools used.
        arch: the architecture linked for; the inputs' own if none was requested.
        depths: recursion depths stated in comments of the sources.
        odd: such comments that cannot be parsed: the place and the text.
        unread: why device code of an input is unknown, by the input's name.
    """

    inputs: tuple[LinkInput, ...]
    code: tuple[InputCode, ...]
    image: bytes | None
    log: str
    command: str
    tools: tuple[Tool, ...]
    arch: str
    depths: tuple[tuple[str, int], ...] = ()
    odd: tuple[tuple[str, str], ...] = ()
    unread: tuple[tuple[str, str], ...] = ()


class _Kept(Struct, frozen=True):
    """A stored link: nvlink's log, beside the image."""

    log: str
    command: str


def link(request: LinkRequest) -> LinkedArtifacts:
    """Compile, unpack and link a program's inputs.

    Raises:
        LmemscopeError: an input cannot be read or compiled, or nvlink is missing. Errors of nvlink
            itself are in the log.
    """
    toolchain = Toolchain(request.toolkit)
    lowered = [_lowered(unit, request.cache) for unit in request.units]
    objects = [
        nvlink.LinkObject(unit.name, artifacts.cubin)
        for unit, artifacts in zip(request.units, lowered, strict=True)
    ]
    code = [_code_of(one.unit.name, (one.cubin,)) for one in lowered]
    tools = {tool for one in lowered for tool in one.tools}
    unread: list[tuple[str, str]] = []
    if not request.arch and code:
        request = replace(request, arch=_arch_of(code[0].cubins))
    for name, path in request.binaries:
        objects.append(nvlink.LinkObject(name, path=path))
        inside, why = _cubins_in(name, path)
        fitting = tuple(one for one in inside if _arch_of((one,)) == request.arch)
        is_other = bool(request.arch) and not fitting
        code.append(replace(_code_of(name, fitting or inside), is_other=is_other))
        if why is not None:
            unread.append((name, why))
        if not request.arch:
            request = replace(request, arch=_arch_of(inside))
    if not request.arch:
        raise InputError("link", f"{request.name}: no input says its architecture", hint="--arch")
    made, tool = _image(request, objects, toolchain)
    stated = [_stated(one) for one in lowered]
    return LinkedArtifacts(
        inputs=_inputs(request),
        code=tuple(code),
        image=made[1],
        log=made[0].log,
        command=made[0].command,
        tools=tuple(sorted({*tools, tool}, key=lambda one: one.name)),
        arch=request.arch,
        depths=tuple(depth for found, _ in stated for depth in found),
        odd=tuple(one for _, odd in stated for one in odd),
        unread=tuple(unread),
    )


def _lowered(unit: Unit, cache: str | None) -> Artifacts:
    """Artefacts of one input of a program; a compiler's error is reported for that input."""
    try:
        return lower(linked_unit(unit), cache)
    except LmemscopeError as error:
        raise InputError("link", f"no program without {unit.name}: {error.message}") from error


def optimised(request: LinkRequest) -> tuple[bytes, Tool]:
    """The image of the same program with link-time optimisation.

    nvcc compiles sources to intermediate code; other inputs are used as they are.

    Raises:
        LmemscopeError: nvJitLink or nvcc is missing or fails.
    """
    toolchain = Toolchain(request.toolkit)
    objects: list[tuple[str, bytes]] = []
    for unit in request.units:
        own = linked_unit(unit)
        if kind_of_unit(unit).is_cuda:
            flags = nvcc.options_for(own.arch, own.options, toolchain)
            made = nvcc.compile_for_lto(own.path, own.arch, flags, toolchain)
        else:
            made = lower(own, request.cache).cubin
        objects.append((unit.name, made))
    objects += [(name, files.read_input(path)) for name, path in request.binaries]
    runtime = nvlink.device_runtime(toolchain)
    if runtime is not None:
        objects.append((os.path.basename(runtime), files.read_input(runtime)))
    result = nvjitlink.link(objects, request.arch, toolchain)
    return result.image, result.tool


def _image(
    request: LinkRequest, objects: Sequence[nvlink.LinkObject], toolchain: Toolchain
) -> tuple[tuple[_Kept, bytes | None], Tool]:
    """nvlink's log and image, from the store or new."""
    tool = toolchain.tool("nvlink")
    slot = _slot(request, objects, tool)
    known = slot.load(_STAGE, _Kept, blobs=1) if slot is not None else None
    if known is not None:
        return (known[0], known[1][0]), tool
    made = nvlink.link(objects, request.arch, toolchain, request.time_limit)
    kept = _Kept(made.log, made.command)
    if slot is not None and made.image is not None:
        slot.store(_STAGE, kept, [made.image], [made.tool])
    return (kept, made.image), tool


def _slot(request: LinkRequest, objects: Iterable[nvlink.LinkObject], tool: Tool) -> Slot | None:
    if request.cache is None:
        return None
    digests = []
    for one in objects:
        content = one.content if one.content is not None else _bytes_of(one.name, one.path)
        digests.append((one.name, one.path, hashlib.sha256(content).hexdigest()))
    return slot_by(request.cache, request.arch, request.toolkit, tool, digests)


def _bytes_of(name: str, path: str) -> bytes:
    try:
        return files.read_input(path)
    except OSError as error:
        raise InputError("read", f"{name} cannot be read: {error}") from error


def _inputs(request: LinkRequest) -> tuple[LinkInput, ...]:
    found = [LinkInput(unit.name, kind_of_unit(unit).part or "source") for unit in request.units]
    for name, path in request.binaries:
        kind = kind_of_binary(path)
        found.append(LinkInput(name, (kind.part if kind is not None else None) or "object"))
    return tuple(found)


def _cubins_in(name: str, path: str) -> tuple[tuple[bytes, ...], str | None]:
    """The cubins of an object or archive, and why some of them cannot be read."""
    found: list[bytes] = []
    why: str | None = None
    for image in images(Unit(name, path, "binary", "")):
        if image.problem is not None:
            why = why or image.problem.message
        elif image.entry is not None and image.entry.kind == "cubin":
            found.append(bytes(image.data))
    return tuple(found), why


def _code_of(name: str, cubins: tuple[bytes, ...]) -> InputCode:
    whole = any(int.from_bytes(cubin[16:18], "little") == _EXECUTABLE for cubin in cubins)
    return InputCode(name, cubins, whole)


def _arch_of(cubins: Sequence[bytes]) -> str:
    """The architecture of the first cubin; empty if there is none."""
    return architecture(ElfFile(cubins[0])) if cubins else ""


def _stated(
    artifacts: Artifacts,
) -> tuple[list[tuple[str, int]], list[tuple[str, str]]]:
    """Recursion depths stated in comments of a source and its headers, and unparsable ones."""
    found: list[tuple[str, int]] = []
    odd: list[tuple[str, str]] = []
    source = artifacts.source
    if source is None:
        return found, odd
    read = [(artifacts.unit.input, source)]
    read += [(os.path.basename(header.path), header.source) for header in source.headers]
    for file, one in read:
        for directive in one.directives:
            for word in split_depths(directive.argument) if directive.word == DEPTH else ():
                depth = parse_depth(word)
                if depth is not None:
                    found.append(depth)
                else:
                    odd.append((f"{file}:{directive.line}", word))
    return found, odd
