"""What shows a cause: data, so that rules decide on it; its sentence is made when it is shown."""

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
"""What kind of thing was seen.

``spill-mark``: the cubin marks the instruction SpillRefill.
``ptx-instruction``: the PTX instruction that it comes from, or that uses the object; of an argument
on the stack, the subject is the function whose argument it is.
``no-local-access``: its PTX line is no access of local memory.
``frame-place``: its address lies in the object; its own PTX line is a neighbour's.
``address-passed``: the object's address goes to a function; no subject: through a pointer.
``library-function``, ``library-table``: of NVIDIA's, by symbol.
``reduction-words``: a PTX instruction stores a product with a piece of 2/pi in it.
``shared-place``: the library's slow path of sine and cosine has the object's place at other times.
``chosen-address``: a PTX instruction accesses it or other memory, by a pointer chosen at run time;
the subject is ``null`` where the pointer is to nothing else.
``chosen-place``: a PTX instruction accesses one of its constant places, by a pointer that is chosen
at run time.
``holds-addresses``: a PTX instruction stores the address of a local variable in it.
``held-address``: another local variable (the subject) holds its address.
``set-pointer``: the source sets a pointer (the subject) to its address, behind its declaration.
``compared-address``: the source's assignment operator compares its address with another's.
``address-compared``: a PTX instruction compares its address; the subject is the library's function
that it is in.
``local-test``: a PTX instruction has found, on every way there, that a pointer leads into local
memory; of an object, on every way to what needs its address.
``plain-declaration``: the variable that fits its place (the subject) is not declared volatile,
although the accesses are: the object is a temporary.
``volatile-choice``: the source chooses between it (the subject) and another variable by ``?:``.
``parameter-copy``: the object is filled from a kernel parameter.
``parameter-changed``: a PTX instruction stores something else in such a copy.
``constant-stores``: only constants are stored in it; with ``bytes``, it is read at constant places,
and has more of them than registers hold (``limit``).
``object-size``: it has more ``bytes`` than registers hold (``limit``).
``handed-to-child``: a PTX instruction stores its address among the parameters of a launch.
``calls-itself``, ``called-again`` (by a function that it calls, or that calls one that does),
``called-by-pointer``, ``called-directly``: how a function is called.
``not-called``: it is linked for its address, and no call through a pointer can be one of it.
``compiled-alone``: the function itself, which is compiled for other files to call.
``source-address``: the source hands its address to a function (the subject), which is inlined.
``reported-spill``: ``bytes`` of spill stores, as ptxas reports.
``unmarked-spill``: a function stores more ``bytes`` than registers hold (``limit``) and that are in
no object of the program's: marks are missing.
``calls-without-spill``: the kernel makes calls, and ptxas reports no spill.
``reported-frame``, ``reported-stores``, ``reported-loads``: ``bytes`` of a function, by ptxas's
report, where there is no code.
``linked-stack``: ``bytes`` of the deepest call path, as nvlink reports.
"""


class Evidence(Struct, frozen=True, omit_defaults=True):
    """One piece of evidence as data; documents leave out what does not belong to its kind.

    Attributes:
        kind: what was seen.
        subject: the symbol it is about: a mangled function, a parameter, a table of the library.
        ptx_line: line in the PTX text.
        opcode: of the PTX instruction, with its modifiers.
        bytes: per thread; of spill stores, at instruction sites; of a pointer that is handed to a
            child, from the start of the parameters.
        limit: bytes per thread that were exceeded.
        pc, sass: in findings: offset and opcode of the machine instruction that it speaks of.
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
"""The subject of a choice between an object's address and none."""

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
    """The sentence that shows a piece of evidence to a person; nothing is decided from it.

    Args:
        evidence: what was seen.
        spelled: what a symbol is called in a sentence.
    """
    if evidence.subject is not None:
        evidence = replace(evidence, subject=spelled(evidence.subject))
    text = SENTENCES[evidence.kind](evidence)
    return text if evidence.pc is None else f"{evidence.sass} at 0x{evidence.pc:x}: {text}"
