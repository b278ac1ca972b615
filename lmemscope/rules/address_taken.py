r"""The address of a variable leaves the function.

What it is. A pointer to a local variable is passed to a function that is not inlined, stored in
memory, or given to inline assembly; or one pointer may refer to several variables. Registers have
no addresses. It is enough that early compiler passes need the address: for an assignment operator
that compares ``this`` with another address, or a pointer that only some paths set. ``cuda::atomic``
and ``cuda::atomic_ref`` have a path for local memory (``isspacep.local``), which does not run for
global or shared memory.

How to recognise it. PTX: ``cvta.local`` or the object's address stored to a parameter or to memory;
then generic ``ld``/``st``. In SASS these may be generic LD/ST: no LDL/STL although there is a
frame.

What it costs. Loads and stores around each use, generic ones slower than LDL.

How to remove it. It depends on where the address goes:

- a function: inline it (``__forceinline__``); if that is impossible (recursion, a call through a
  pointer, another source), pass and return by value
- a library function: the variable stays in memory during the call
- ``printf`` with ``%s``: print values, or compile the call out
- memory, such as an array of pointers to locals: store an index, or unroll the loop if its trip
  count is constant
- a choice, ``flag ? data[i] : zero`` or ``flag ? data.a : data.b``: choose between values; for
  ``flag ? &data : nullptr`` pass the address and the flag
- a comparison of addresses in an assignment operator: omit it if self-assignment changes nothing
- a pointer that is set after its declaration: initialise it
- a path for local variables that never runs: state the address space,
  ``__builtin_assume(__isGlobal(pointer))``
- inline assembly: pass values

Other reported causes must be removed as well.

When to leave it. Calls of large functions that are rarely executed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from msgspec.structs import replace

from lmemscope.formats.demangle import demangle
from lmemscope.model import (
    NULL,
    Advice,
    Confidence,
    Evidence,
    LocalObject,
    Severity,
)
from lmemscope.rules.asked_pointers import asked, is_behind_test, where_it_leads
from lmemscope.rules.base import Case, Rule, by_cost
from lmemscope.rules.chosen_pointers import chosen_advice
from lmemscope.rules.declared import bytes_of
from lmemscope.rules.indexing import REGISTER_FILE, still_kept
from lmemscope.rules.inlining import inlining, is_librarys, names_of

_TEXT = re.compile(r"(?:const\s+)?(?:signed\s+|unsigned\s+)?char\b")
_FREES = re.compile(r"free|_Zd[la]Pv\w*")
"""Functions that give memory back, by their mangled names: ``operator delete`` is one."""
_VALUES = "Or pass values instead of the pointer, and return the results"
_BY_VALUE = 32
"""Bytes up to which a function is advised to take an object by value: 12 words of arguments, all of
them together, go in registers, and 13 lie on the caller's stack (`-Xptxas -v`, sm_75, sm_90)."""


def severity(case: Case) -> Severity:
    """By loop and divergence, but no note: the address can be avoided in most kernels.

    What runs only for pointers into local memory is one: there are none in most programs.
    """
    if is_behind_test(case) and case.object is None:
        return "note"
    found = by_cost(case)
    return "warning" if found == "note" else found


def message(case: Case) -> str:
    """Which variable, and which function gets its address, as far as evidence tells."""
    hidden = ""
    if not case.accesses:
        hidden = "; it is accessed only by generic LD and ST, which LDL and STL counts exclude"
    kinds = case.shown
    if is_behind_test(case):
        return f"{asked(case)}{hidden}"
    if "holds-addresses" in kinds:
        return f"{case.described} holds addresses of local variables{hidden}"
    if "compared-address" in kinds:
        return (
            f"the address of {case.described} is needed: its assignment operator compares it "
            f"to detect self-assignment{hidden}"
        )
    if "address-compared" in kinds:
        where = " in a library function" if _is_compared_by_library(case) else ""
        return (
            f"the address of {case.described} is needed: it is compared with another "
            f"address{where}{hidden}"
        )
    given = _given_by_source(case)
    if given is not None:
        return (
            f"the address of {case.described} is needed: the source passes it to {given}, and "
            f"stores to it remain{hidden}"
        )
    pointer = _set_pointer(case)
    if pointer is not None:
        return (
            f"the address of {case.described} is needed: it is stored in `{pointer}`, a "
            f"pointer that is set only on some paths{hidden}"
        )
    if _may_be_null(case):
        return (
            f"the address of {case.described} is needed: a pointer to it is null on other paths"
            f"{hidden}"
        )
    if "chosen-address" in kinds:
        # What else it is of the kernel's own stands behind, as for every cause.
        other = "" if case.alternatives else " between it and other memory"
        return (
            f"the address of {case.described} is needed: a pointer is chosen at run time"
            f"{other}{hidden}"
        )
    if "chosen-place" in kinds:
        return (
            f"the address of {case.described} is needed: a pointer to one of its parts is chosen "
            f"at run time{hidden}"
        )
    if _is_printed(case):
        return f"the address of {case.described} is needed: it is an argument of printf{hidden}"
    if _is_returned(case):
        return f"the address of {case.described} is needed: its function returns it{hidden}"
    return f"the address of {case.described} is needed{_clause(case, _receiver(case))}{hidden}"


def advice(case: Case) -> tuple[Advice, ...]:
    """By who gets the address; what else keeps the object in memory is said with the first."""
    found = _by_receiver(case)
    also = case.object.also if case.object is not None else ()
    if not also or not found or found[0].is_none:
        return found
    return (replace(found[0], text=found[0].text + still_kept(also)), *found[1:])


def _is_compared_by_library(case: Case) -> bool:
    """Whether it is a library's function that compares the address."""
    every = _evidence_of(case)
    return any(one.kind == "address-compared" and one.subject is not None for one in every)


def _is_too_large(found: LocalObject) -> bool:
    """Whether registers could not hold it even if nobody had its address."""
    is_indexed = "dynamic-index" in found.also and found.size > REGISTER_FILE
    return is_indexed or "large-array" in found.also


def _by_receiver(case: Case) -> tuple[Advice, ...]:
    """By who gets the address: what is called through a pointer cannot be inlined, others can."""
    receiver = _receiver(case)
    kinds = case.shown
    if is_behind_test(case):
        return where_it_leads(case)
    if case.object is not None and _is_too_large(case.object):
        return (
            Advice(
                "It is too large for registers, even if its address is not taken: process it "
                "in pieces that fit, or distribute it across the threads of a warp.",
                is_none=True,
            ),
        )
    if "holds-addresses" in kinds:
        return (Advice("Store indices or the values themselves instead of pointers to locals."),)
    if "compared-address" in kinds:
        return (
            Advice(
                "Assign without the comparison, if copying members onto themselves is "
                "harmless: the compiler then needs no address."
            ),
        )
    if "address-compared" in kinds and _is_compared_by_library(case):
        return (
            Advice(
                "Replace the call of the library function with a loop: the function compares "
                "addresses, as a copy between possibly overlapping regions does (`memmove`)."
            ),
        )
    if "address-compared" in kinds:
        return (
            Advice(
                "Remove the address comparison, or compare an identifier or index of the "
                "objects instead."
            ),
        )
    given = _given_by_source(case)
    if given is not None:
        return (
            Advice(
                f"Pass {given} the value of {case.name} instead of its address; if a run-time "
                "number of bytes is copied (`memcpy`), assign the value there instead."
            ),
        )
    pointer = _set_pointer(case)
    if pointer is not None:
        return (Advice(f"Set `{pointer}` only at its declaration, or use {case.name} directly."),)
    if _may_be_null(case):
        return (
            Advice(
                f"Always pass the address of {case.name}, or a reference, together with the "
                "condition: no pointer then has to be selected."
            ),
        )
    chosen = chosen_advice(case)
    if chosen:
        return chosen
    if receiver is None and _is_printed(case):
        kind = (case.object.type if case.object is not None else None) or ""
        instead = (
            f"of a string in memory: `%d` for a number, `%c` for each character of {case.name}"
            if _TEXT.match(kind)
            else f"of the address of {case.name}"
        )
        return (
            Advice(f"Leave it if little is printed, or print values instead {instead}."),
            Advice("Or exclude each call that prints it from release builds."),
        )
    if receiver is None and _is_returned(case):
        return (
            Advice(
                "Return values instead of an address, or let the caller provide the storage: "
                "a function's frame is gone once it returns, so the address then refers to "
                "data of other calls."
            ),
        )
    holder = _rolled_holder(case)
    if receiver is None and holder is not None:
        return (
            Advice(
                f"Unroll the loop over {holder} (`#pragma unroll`), which holds its address: with "
                "constant indices no pointer is kept in memory."
            ),
        )
    if receiver is None:
        return (
            Advice(
                f"Keep each address of {case.name} inside the function: store an index or a "
                "value instead of a pointer to it, and pass no pointer to a non-inlined "
                "function."
            ),
        )
    if receiver.symbol is None:
        return (
            Advice(
                "Replace the function pointer or virtual call with a template parameter, or "
                "a switch over functions defined in this source or its headers, so that the "
                "callee can be inlined."
            ),
            *_by_value(case, receiver),
        )
    if is_librarys(case.facts, receiver.symbol):
        kept = _kept_by_librarys(case)
        return (kept,) if kept is not None else ()
    kept = _kept_by_librarys(case)
    own = tuple(one for one in _passed_to(case) if not is_librarys(case.facts, one))
    return (
        *((kept,) if kept is not None else ()),
        *inlining(case, own, hands_on=True),
        *_by_value(case, receiver),
    )


def _kept_by_librarys(case: Case) -> Advice | None:
    """That the object stays while functions get its address that nobody can inline."""
    callees = [one for one in _passed_to(case) if is_librarys(case.facts, one)]
    if not callees:
        return None
    if all(_FREES.fullmatch(one) for one in callees):
        return Advice(
            f"Remove the call of {names_of(callees)}: memory in the stack frame must not be "
            "freed, and the compiler cannot keep it in registers while it is."
        )
    verb, takes = ("is", "takes") if len(callees) == 1 else ("are", "take")
    return Advice(
        f"It cannot be in registers while {names_of(callees)} {verb} called, which {takes} an "
        f"address and {verb} part of CUDA or another library: leave it as it is, or avoid the "
        f"call{'' if len(callees) == 1 else 's'}."
    )


def _by_value(case: Case, receiver: _Receiver) -> tuple[Advice, ...]:
    """To pass values, unless the object is, or may be, the one whose own function is called.

    Nor is it said of what is too large for it: then each way has a copy on the stack.
    """
    if case.object is not None and case.object.size > _BY_VALUE:
        return ()
    kind = (case.object.type if case.object is not None else None) or ""
    element = kind.partition("[")[0].rstrip()
    # Numbers, vectors of CUDA's and pointers have no functions of their own.
    if bytes_of(element) is None and not element.endswith("*"):
        callee = None if receiver.symbol is None else demangle(receiver.symbol).partition("(")[0]
        if callee is None or "::" in callee:
            return ()
        return (
            Advice(
                "If it is passed or returned by value, its address is taken because the "
                "class has a user-provided copy constructor, move constructor or destructor: "
                "make those `= default`. If a pointer or reference is passed, pass such a "
                "class by value instead, and return the results (a member array that the "
                "callee indexes dynamically stays in memory)."
            ),
        )
    if "[" in kind:
        return (
            Advice(
                f"{_VALUES}, in a structure, if the callee indexes it only by constants; "
                "otherwise its own copy is in local memory."
            ),
        )
    return (Advice(f"{_VALUES}."),)


def _may_be_null(case: Case) -> bool:
    """Whether all that its address is chosen against is null."""
    chosen = [one.subject for one in _evidence_of(case) if one.kind == "chosen-address"]
    return bool(chosen) and all(subject == NULL for subject in chosen) and not case.alternatives


def _set_pointer(case: Case) -> str | None:
    """The pointer that the source sets to the address, behind its declaration."""
    for evidence in _evidence_of(case):
        if evidence.kind == "set-pointer":
            return evidence.subject
    return None


def confidence(case: Case) -> Confidence:
    """What only the source shows is likely: PTX has no trace of it."""
    return "likely" if case.shown & {"set-pointer", "compared-address"} else "certain"


def _is_printed(case: Case) -> bool:
    """Whether the address is stored among the arguments of ``printf``, as for ``%s``."""
    evidence = case.object.evidence_facts if case.object is not None else ()
    stored = {one.ptx_line for one in evidence if one.kind == "ptx-instruction"}
    return any(
        access.cause == "printf-args" and access.ptx_line in stored
        for access in case.facts.counted
        if access.ptx_line is not None
    )


def _is_returned(case: Case) -> bool:
    """Whether the function returns the address, and gives it to no other that is called."""
    stored = [one for one in _evidence_of(case) if one.kind == "ptx-instruction" and one.opcode]
    return any(str(one.opcode).startswith("st.param") for one in stored)


def _rolled_holder(case: Case) -> str | None:
    """What holds the address, if a rolled loop alone keeps that in memory; None otherwise."""
    own = case.object
    held = [one.subject for one in own.evidence_facts if one.kind == "held-address"] if own else []
    holders = [
        one
        for one in case.facts.objects
        if own is not None and one.function == own.function and one.name in held
    ]
    if len(holders) != 1 or holders[0].cause != "rolled-loop" or holders[0].also:
        return None
    index = holders[0].index
    sources = index.all_sources if index is not None else ()
    if any(one.kind != "loop-counter" or one.constant_trip is False for one in sources):
        return None
    return f"`{holders[0].name}`"


@dataclass(frozen=True, slots=True)
class _Receiver:
    """Who gets the address: a function's mangled name, or None where it is called by pointer."""

    symbol: str | None


def _receiver(case: Case) -> _Receiver | None:
    """The first function that gets the address; None where it goes elsewhere."""
    for evidence in _evidence_of(case):
        if evidence.kind == "address-passed":
            return _Receiver(evidence.subject)
    return None


def _evidence_of(case: Case) -> tuple[Evidence, ...]:
    return case.object.evidence_facts if case.object is not None else ()


def _given_by_source(case: Case) -> str | None:
    """The function that the source gives the address to, where nothing else shows it."""
    found = _evidence_of(case)
    return next((one.subject for one in found if one.kind == "source-address"), None)


def _passed_to(case: Case) -> tuple[str, ...]:
    """All functions that are called by name and get the address."""
    passed = (one.subject for one in _evidence_of(case) if one.kind == "address-passed")
    return tuple(dict.fromkeys(one for one in passed if one is not None))


def _clause(case: Case, receiver: _Receiver | None) -> str:
    if receiver is None:
        return ""
    if receiver.symbol is None:
        return ": it is passed to a function called through a pointer"
    passed = _passed_to(case)
    are = "is" if len(passed) == 1 else "are"
    return f": it is passed to {names_of(passed)}, which {are} not inlined"


RULE = Rule("LM301", "address-taken", severity, confidence, message, advice, __name__)
