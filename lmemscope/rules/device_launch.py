r"""A kernel launches a kernel, which must not receive a pointer to local or shared memory.

What it is. ``kernel<<<…>>>`` inside a kernel stores its arguments in a buffer of the device
runtime. That uses no local memory, except 16 bytes of stack after linking. A pointer to a local
variable or to shared memory among the arguments is an error: the child is another grid and reads
something else at that address.

How to recognise it. PTX: calls of ``__cudaCDP2GetParameterBufferV2`` and
``__cudaCDP2LaunchDeviceV2``. Error: an address of ``__local_depot`` or of shared memory reaches a
store into that buffer, through registers, a structure on the stack, or a call. NVVM warns of some,
but not through a call, and not of shared memory.

What it costs. Microseconds, and memory that the driver reserves for pending launches
(docs/reservation.md). With the error, the child's reads are undefined.

How to remove it. Launch from the host, or let the parent's threads do the child's work. For the
error: pass global memory, or values.

When to leave it. Wherever a device-side launch is right; never with the error.
"""

from __future__ import annotations

from collections.abc import Iterator

from lmemscope.formats.demangle import short_name
from lmemscope.model import (
    Advice,
    Evidence,
    Finding,
    HandedPointer,
    KernelFacts,
    Launch,
    Severity,
    SourceText,
    count,
)
from lmemscope.rules.base import Case, Rule, certain, fingerprint


def severity(case: Case) -> Severity:
    """A note always: a few stores are nothing beside the launch itself."""
    return "note"


def message(case: Case) -> str:
    """How much of the frame the launch takes."""
    size = case.share.frame_bytes
    if not size:
        return "it launches kernels from the device, which uses no local memory before linking"
    return f"{size} bytes of the frame are for device-side launches"


def advice(case: Case) -> tuple[Advice, ...]:
    """To leave it, with the one mistake to avoid: the child cannot read the parent's stack."""
    return (Advice("No change needed. Never pass the address of a local variable to the child."),)


def handed(facts: KernelFacts, sources: SourceText) -> Iterator[Finding]:
    """The errors: each pointer to the parent's own memory among the arguments of a launch.

    Args:
        facts: of the parent.
        sources: the user's files.
    """
    for launch in facts.launches:
        for pointer in launch.handed:
            places = (pointer.declared,) if pointer.declared is not None else ()
            child = launch.child or "a kernel that is chosen at run time"
            yield Finding(
                rule=RULE.id,
                name=RULE.cause,
                severity="error",
                confidence="certain",
                cause=RULE.cause,
                object=pointer.object,
                type=pointer.type,
                bytes=pointer.size or 0,
                location=launch.location or facts.location,
                related=tuple(place for place in places if place != launch.location),
                index=None,
                message=_handed_message(launch, pointer),
                advice=(_GLOBAL, _VALUES) if pointer.space == "local" else (_GLOBAL,),
                evidence=(),
                evidence_facts=(
                    Evidence("handed-to-child", child, pointer.ptx_line, bytes=pointer.offset),
                ),
                fingerprint=fingerprint(RULE.id, facts, pointer.object, sources, launch.location),
            )


_GLOBAL = Advice(
    "Pass a pointer to global memory: allocated by the host, with a slice for each launching "
    "thread, or by device-side malloc."
)
_VALUES = Advice("Or pass the values themselves: an argument can be a structure of up to 4 KB.")


def _handed_message(launch: Launch, pointer: HandedPointer) -> str:
    named = f" `{short_name(launch.demangled)}`" if launch.demangled is not None else ""
    child = f"the child{named}"
    if pointer.space == "shared":
        what, whose = "a pointer to shared memory", "which belongs to the parent's block"
    else:
        size = f", {count(pointer.size, 'byte')}" if pointer.size else ""
        kind = f" ({pointer.type}{size})" if pointer.type else ""
        variable = f"`{pointer.object}`{kind}" if pointer.object else "a local variable"
        what, whose = f"the address of {variable}", "which belongs to the parent's thread"
    through = f", through {' and '.join(pointer.through)}" if pointer.through else ""
    return f"{child} receives {what}{through}, {whose}: accessing it is undefined behaviour"


RULE = Rule("LM405", "device-launch", severity, certain, message, advice, __name__)
