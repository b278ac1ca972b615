"""Evidence for causes as data, so that rules can use it; sentences are made only for display."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

EvidenceKind = Literal[
    "spill-mark",
    "ptx-instruction",
    "no-local-access",
    "frame-place",
    "address-passed",
    "library-function",
    "library-table",
    "reduction-words",
    "shared-place",
    "holds-addresses",
    "held-address",
    "chosen-address",
    "chosen-place",
    "set-pointer",
    "compared-address",
    "address-compared",
    "local-test",
    "plain-declaration",
    "volatile-choice",
    "parameter-copy",
    "parameter-changed",
    "constant-stores",
    "object-size",
    "handed-to-child",
    "calls-itself",
    "called-again",
    "called-by-pointer",
    "called-directly",
    "not-called",
    "compiled-alone",
    "source-address",
    "reported-spill",
    "unmarked-spill",
    "calls-without-spill",
    "reported-frame",
    "reported-stores",
    "reported-loads",
    "linked-stack",
]
"""The kind of observation.

``spill-mark``: the cubin marks the instruction SpillRefill.
``ptx-instruction``: the PTX instruction it comes from, or that uses the object; for an argument on
the stack, the subject is the function that receives it.
``no-local-access``: its PTX line does not access local memory.
``frame-place``: its address lies in the object; its PTX line is a neighbour's.
``address-passed``: the object's address is passed to a function; without a subject, through a
pointer.
``library-function``, ``library-table``: NVIDIA's, recognised by symbol.
``reduction-words``: a PTX instruction stores a product with a word of 2/pi in it.
``shared-place``: the slow path of the library's sine and cosine uses the object's place at other
times.
``chosen-address``: a PTX instruction accesses it or other memory through a pointer selected at run
time; the subject is ``null`` if the alternative is a null pointer.
``chosen-place``: a PTX instruction accesses one of its constant offsets through a pointer selected
at run time.
``holds-addresses``: a PTX instruction stores the address of a local variable in it.
``held-address``: another local variable (the subject) holds its address.
``set-pointer``: the source assigns its address to a pointer (the subject) after the pointer's
declaration.
``compared-address``: the source's assignment operator compares its address with another.
``address-compared``: a PTX instruction compares its address; the subject is the library function
that contains the instruction.
``local-test``: on every path to a PTX instruction it has been tested that a pointer leads to local
memory; for an object, on every path to what needs its address.
``plain-declaration``: the variable at its place (the subject) is not declared volatile although the
accesses are: the object is a temporary.
``volatile-choice``: the source selects it (the subject) or another variable with ``?:``.
``parameter-copy``: the object is filled from a kernel parameter.
``parameter-changed``: a PTX instruction stores something else in such a copy.
``constant-stores``: only constants are stored in it; with ``bytes``, it is read at constant offsets
and is larger than the registers (``limit``).
``object-size``: its ``bytes`` exceed the registers (``limit``).
``handed-to-child``: a PTX instruction stores its address among the parameters of a launch.
``calls-itself``, ``called-again`` (by a function that it calls, directly or indirectly),
``called-by-pointer``, ``called-directly``: how a function is called.
``not-called``: it is linked because its address is taken, and no call through a pointer can reach
it.
``compiled-alone``: the function itself, compiled for other files to call.
``source-address``: the source passes its address to a function (the subject), which is inlined.
``reported-spill``: ``bytes`` of spill stores, as ptxas reports.
``unmarked-spill``: a function stores more ``bytes`` outside the program's objects than registers
hold (``limit``): marks are missing.
``calls-without-spill``: the kernel makes calls, and ptxas reports no spill.
``reported-frame``, ``reported-stores``, ``reported-loads``: ``bytes`` of a function, from the ptxas
report, if there is no code.
``linked-stack``: ``bytes`` of the deepest call path, as nvlink reports.
"""


class Evidence(Struct, frozen=True, omit_defaults=True):
    """One piece of evidence as data; a document omits fields that its kind does not use.

    Attributes:
        kind: what was observed.
        subject: the symbol concerned: a mangled function, a parameter, a library table.
        ptx_line: line in the PTX text.
        opcode: of the PTX instruction, with its modifiers.
        bytes: per thread; for spill stores, at instruction sites; for a pointer passed to a child,
            the offset in its parameters.
        limit: the number of bytes per thread that was exceeded.
        pc, sass: in findings, offset and opcode of the machine instruction concerned.
    """

    kind: EvidenceKind
    subject: str | None = None
    ptx_line: int | None = None
    opcode: str | None = None
    bytes: int | None = None
    limit: int | None = None
    pc: int | None = None
    sass: str | None = None


NULL = "null"
"""Subject of a selection between an object's address and a null pointer."""

SENTENCES: dict[EvidenceKind, Callable[[Evidence], str]] = {
    "spill-mark": lambda e: "marked SpillRefill",
    "ptx-instruction": lambda e: f"PTX line {e.ptx_line}: {e.opcode}",
    "no-local-access": lambda e: f"generated by ptxas: PTX line {e.ptx_line} has no local access",
    "frame-place": lambda e: "its address is within the object",
    "address-passed": lambda e: f"its address is passed to {e.subject or 'a function pointer'}",
    "library-function": lambda e: f"part of the library function {e.subject}",
    "library-table": lambda e: f"filled from {e.subject}, the library's table of 2/pi",
    "reduction-words": lambda e: (
        f"PTX line {e.ptx_line}: {e.opcode} stores a product with the bits of 2/pi, as the "
        "library's range reduction does"
    ),
    "holds-addresses": lambda e: (
        f"PTX line {e.ptx_line}: {e.opcode} stores the address of a local variable in it"
    ),
    "held-address": lambda e: f"{e.subject} holds its address",
    "chosen-address": lambda e: (
        (
            f"PTX line {e.ptx_line}: {e.opcode} accesses it through a pointer that is null on "
            "other paths"
        )
        if e.subject == NULL
        else f"PTX line {e.ptx_line}: {e.opcode} accesses it or other memory through a "
        "pointer selected at run time"
    ),
    "chosen-place": lambda e: (
        f"PTX line {e.ptx_line}: {e.opcode} accesses one of its parts through a pointer "
        "selected at run time"
    ),
    "shared-place": lambda e: (
        "the slow path of sine and cosine shares this stack slot, and keeps its own bytes in it"
    ),
    "set-pointer": lambda e: f"the pointer {e.subject} is set to its address on some paths",
    "compared-address": lambda e: "its assignment operator compares addresses",
    "address-compared": lambda e: f"PTX line {e.ptx_line}: {e.opcode} compares its address",
    "local-test": lambda e: (
        f"PTX line {e.ptx_line}: {e.opcode} tests before it whether a pointer is to local memory"
    ),
    "plain-declaration": lambda e: (
        f"{e.subject}, the variable that matches its stack slot, is not declared volatile"
    ),
    "volatile-choice": lambda e: (
        f"the source selects between {e.subject} and another variable with ?:"
    ),
    "parameter-copy": lambda e: f"filled from {e.subject}",
    "parameter-changed": lambda e: f"PTX line {e.ptx_line}: {e.opcode} modifies the copy",
    "constant-stores": lambda e: (
        "only constants are stored in it, then it is read by index"
        if e.bytes is None
        else f"only constants are stored in its {e.bytes} bytes; a thread has at most {e.limit} in "
        "registers"
    ),
    "object-size": lambda e: f"{e.bytes} bytes; a thread has at most {e.limit} in registers",
    "handed-to-child": lambda e: (
        f"PTX line {e.ptx_line} stores its address at byte {e.bytes} of the parameters of "
        f"{e.subject}"
    ),
    "calls-itself": lambda e: f"{e.subject} calls itself",
    "called-again": lambda e: f"{e.subject} is called again before it returns",
    "called-by-pointer": lambda e: f"the address of {e.subject} is stored for indirect calls",
    "called-directly": lambda e: f"{e.subject} is called and saves its caller's registers",
    "not-called": lambda e: (
        f"{e.subject} is linked because its address is taken, but no call in the kernel matches it"
    ),
    "compiled-alone": lambda e: f"{e.subject} is compiled for calls from other files",
    "source-address": lambda e: f"the source passes its address to {e.subject}, which is inlined",
    "reported-spill": lambda e: f"ptxas: {e.bytes} bytes of spill stores",
    "unmarked-spill": lambda e: (
        f"its function stores {e.bytes} bytes that belong to no variable; saved caller "
        f"registers account for at most {e.limit}"
    ),
    "calls-without-spill": lambda e: "the kernel makes calls and ptxas reports no spill",
    "reported-frame": lambda e: f"ptxas: {e.subject}: stack frame {e.bytes} B",
    "reported-stores": lambda e: f"ptxas: {e.subject}: spill stores {e.bytes} B",
    "reported-loads": lambda e: f"ptxas: {e.subject}: spill loads {e.bytes} B",
    "linked-stack": lambda e: f"nvlink: {e.subject}: stack {e.bytes} B",
}
if SENTENCES.keys() != set(get_args(EvidenceKind)):
    odd = sorted(SENTENCES.keys() ^ set(get_args(EvidenceKind)))
    raise TypeError(f"each kind of evidence has one sentence; these have not: {', '.join(odd)}")


def evidence_text(evidence: Evidence, spelled: Callable[[str], str] = str) -> str:
    """A piece of evidence as a sentence for people; nothing is decided from the text.

    Args:
        evidence: what was observed.
        spelled: how to display a symbol.
    """
    if evidence.subject is not None:
        evidence = replace(evidence, subject=spelled(evidence.subject))
    text = SENTENCES[evidence.kind](evidence)
    return text if evidence.pc is None else f"{evidence.sass} at 0x{evidence.pc:x}: {text}"
