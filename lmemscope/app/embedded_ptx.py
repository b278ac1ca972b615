"""Artefacts for kernels in a binary, with the PTX that the same file embeds for them, if any."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from lmemscope.errors import (
    CompileError,
    FormatError,
    LmemscopeError,
    StageTimeoutError,
    ToolMissingError,
)
from lmemscope.formats.cubin import Cubin
from lmemscope.formats.tool_note import ptxas_arguments
from lmemscope.lowering.binary import EmbeddedPtx, Image
from lmemscope.lowering.embedded_ptx import assembled, nearest, retargeted
from lmemscope.model import Artifacts, Gap, Unit, Wanted
from lmemscope.sources.tool_words import ptxas_words

_MACHINE_CODE = Gap(
    "ptx", "only machine code is available: causes are limited to what it shows", "note"
)
_NAMED_ALONE = Gap(
    "ptx",
    "causes are limited to what machine code shows; those of kernels that are named (--kernel) "
    "come from its PTX",
    "note",
)
_LONGEST = 60.0
"""Time limit in seconds for ptxas to assemble one cubin's PTX. It took at most 20 s for 230 kernels
of seven packages, on a busy machine."""


def artifacts_of(
    unit: Unit,
    image: Image,
    cubin: Cubin,
    names: Sequence[str],
    wanted: Wanted,
    *,
    assembles: bool,
) -> Iterator[tuple[Artifacts, Sequence[str]]]:
    """The artefacts of some kernels of a cubin, each with the names of the kernels it covers.

    Args:
        unit: the binary, with the cubin's architecture.
        image: the cubin as stored in the file.
        cubin: the parsed cubin.
        names: mangled kernel names.
        wanted: what is requested; PTX is assembled only if causes are.
        assembles: whether there is time to assemble PTX.
    """
    plain = Artifacts(unit, "binary", (), None, None, bytes(image.data), ())
    if cubin.ptx is not None or not wanted.causes:
        yield plain, names
        return
    plain = replace(plain, gaps=(_MACHINE_CODE,))
    if not assembles:
        yield replace(plain, gaps=(_NAMED_ALONE,)) if image.ptx else plain, names
        return
    try:
        ptx = nearest(image, unit.arch, names)
        if ptx is not None:
            made = [name for name in names if name in ptx.parts.names]
            yield _with_ptx(plain, ptx, cubin, made, wanted.cache), made
            names = [name for name in names if name not in made]
    except (CompileError, FormatError, StageTimeoutError, ToolMissingError) as error:
        plain = without_ptx(plain, error)
    if names:
        yield plain, names


def _with_ptx(
    plain: Artifacts,
    ptx: EmbeddedPtx,
    cubin: Cubin,
    names: Sequence[str],
    cache_directory: str | None,
) -> Artifacts:
    text = ptx.parts.cut(names)
    given = ptxas_arguments(cubin.elf)
    arguments = ptxas_words(ptx.entry.options.split() if given is None else given).kept
    own = retargeted(text, plain.unit.arch)
    made = assembled(plain.unit, own, arguments, cache_directory, _LONGEST)
    return replace(
        plain,
        ptx=text,
        ptxas_log=made.log,
        tools=(made.tool,),
        gaps=(),
        assembled=made.cubin,
    )


def without_ptx(artifacts: Artifacts, error: LmemscopeError) -> Artifacts:
    """The artefacts of the machine code alone, and why the embedded PTX cannot be used."""
    reason = f"the PTX beside the machine code is not used: {error.message}"
    gaps = (_MACHINE_CODE, Gap("ptx", reason, "note"))
    return replace(artifacts, ptx=None, ptxas_log=None, assembled=None, tools=(), gaps=gaps)


def compiled(unit: Unit, ptx: EmbeddedPtx, cache_directory: str | None) -> Artifacts:
    """The artefacts of PTX without machine code, assembled for the unit's architecture.

    Raises:
        LmemscopeError: the PTX is damaged, or ptxas is missing or rejects it.
    """
    arguments = ptxas_words(ptx.entry.options.split()).kept
    made = assembled(unit, ptx.text, arguments, cache_directory)
    return Artifacts(unit, "binary", arguments, ptx.text, made.log, made.cubin, (made.tool,))
