r"""A kernel parameter passed by value is copied to local memory.

What it is. Parameters are in constant memory. If one is indexed at run time, modified, or has its
address taken, the compiler first copies it to each thread's stack frame.

How to recognise it. PTX: ``ld.param`` and ``st.local`` of the same words at the same distances, at
the kernel's beginning.

What it costs. The copy by every thread, then the indexed accesses.

How to remove it. If the kernel only reads it, declare the parameter ``const __grid_constant__``
(sm_70 and newer): it is read in place. If the kernel modifies it, copy only the modified part to a
variable. Or index it with constants, or pass a pointer.

When to leave it. Small structures in long kernels.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lmemscope.formats.demangle import plain_name
from lmemscope.formats.words import last_word
from lmemscope.model import Advice, Severity, count
from lmemscope.rules.base import Case, Rule, by_cost, certain
from lmemscope.rules.indexing import index_clause
from lmemscope.rules.inlining import names_of

_LONGEST = 2000
"""Characters of a function's parameters."""


_OVERLOADS = (
    " If there is a separate `const` overload, it is called instead: check that it does the same."
)


def severity(case: Case) -> Severity:
    """By loop and divergence, but never a note: every thread makes the copy."""
    found = by_cost(case)
    return "warning" if found == "note" else found


def message(case: Case) -> str:
    """Which parameter, and what its index is made of."""
    clause = index_clause(case)
    indexed = f": it is dynamically indexed{clause}" if clause else ""
    if not clause and "chosen-address" in case.shown:
        indexed = ": a pointer to it is chosen at run time"
    elif not clause:
        indexed = _passed(case)
    owner = _owner(case)
    if owner is not None and owner.function is None:
        return f"{case.described}, a copy of a parameter, is on each thread's stack{indexed}"
    of = f" of {owner.function}" if owner is not None else ""
    if case.object is not None and case.object.name is None:
        size = count(case.object.size, "byte")
        return f"up to {size} of a parameter{of} are copied to each thread's stack{indexed}"
    return f"the parameter {case.described}{of} is copied to each thread's stack{indexed}"


def _is_array(case: Case) -> bool:
    """Whether the object is one array, and no structure with more."""
    return (
        case.object is not None
        and re.fullmatch(r"[^\[\]]*(?:\[\d+\])+", case.object.type or "") is not None
    )


def _is_changed_itself(case: Case) -> bool:
    """Whether the store that changes the copy is one of the object's, and not of another member."""
    found = case.object.evidence_facts if case.object is not None else ()
    lines = {one.ptx_line for one in found if one.kind == "parameter-changed"}
    return any(one.is_store and one.ptx_line in lines for one in (*case.accesses, *case.generic))


def _passed(case: Case) -> str:
    """Which functions get its address, for nothing else keeps it in memory."""
    found = case.object.evidence_facts if case.object is not None else ()
    symbols = [one.subject for one in found if one.kind == "address-passed" and one.subject]
    if not symbols:
        return ""
    are = "is" if len(symbols) == 1 else "are"
    return f": its address is passed to {names_of(symbols)}, which {are} not inlined"


def advice(case: Case) -> tuple[Advice, ...]:
    """Reading it in place; where it is changed, a copy of the changing part alone."""
    name = case.object.name if case.object is not None else None
    plain = name.partition(".")[0].partition("->")[0] if name is not None else None
    shown = f"`{plain}`" if plain is not None else "the parameter"
    owner = _owner(case)
    if owner is not None and "parameter-changed" not in case.shown:
        how = "Read the kernel's parameter directly"
        if owner.function is not None:
            how = (
                f"Let {owner.function} take {shown} by `const` reference, and do the same in "
                "every function that passes it on or copies it"
            )
        return (
            Advice(
                f"{how}, and declare the kernel parameters it comes from `const "
                "__grid_constant__` (sm_70 and newer), so that they are read in place. Member "
                f"functions called on them must be `const`.{_OVERLOADS}"
            ),
            *_by_values(case),
        )
    if "parameter-changed" in case.shown:
        is_indexed = case.index is not None
        if is_indexed and _is_array(case) and _is_changed_itself(case):
            return (
                Advice(
                    f"The kernel modifies {case.name}, so every thread needs a copy: assign it "
                    "to a local array, and keep that in shared memory or index it with constants."
                ),
            )
        unless = " An array that is modified and indexed at run time stays in local memory."
        return (
            Advice(
                f"The kernel modifies {shown}, so it cannot be read in place: copy only the "
                "modified members into local variables, and leave the parameter unchanged."
                f"{unless if is_indexed else ''}"
            ),
            Advice("Or pass a pointer to device memory, with a copy for each thread."),
        )
    return (
        Advice(
            f"Read {shown} in place: declare it `const __grid_constant__` (sm_70 and newer) in "
            "every declaration of the kernel where it is not yet; functions that take it by "
            "reference or pointer must take it as `const`, and member functions called on it must "
            f"be `const`.{_OVERLOADS} Functions that take it by value make their own copy: let "
            "them take a `const` reference.",
            rewrite="grid-constant",
        ),
        *_by_values(case),
        Advice("Or pass a pointer to device memory, and pass on that pointer or a reference."),
    )


def _by_values(case: Case) -> tuple[Advice, ...]:
    """To choose between what a pointer would lead to: reading a member needs no copy."""
    if "chosen-address" not in case.shown:
        return ()
    return (
        Advice(
            "Or select between values instead of pointers or references to them: a function that "
            "returns a reference to one of several objects can return a copy."
        ),
    )


@dataclass(frozen=True, slots=True)
class _Owner:
    """Whose variable a copy is, if it is not the kernel's parameter.

    Attributes:
        function: whose parameter it is; None of a variable that is none.
    """

    function: str | None


def _owner(case: Case) -> _Owner | None:
    """Whose copy it is; None of the kernel's own parameter, and of what is not known."""
    found, place = case.object, case.facts.location
    if found is None or found.name is None or found.declared is None or place is None:
        return None
    name = re.escape(found.name.partition(".")[0].partition("->")[0])
    kernel = plain_name(case.facts.demangled)
    code = case.sources.code(found.declared.file)
    begin = sum(map(len, code.splitlines(keepends=True)[: found.declared.line - 1]))
    line = code[begin:].partition("\n")[0]
    said = re.search(rf"(?<![\w.>]){name}(?!\w)", line)
    if said is None:
        return None
    opened = _open_before(code, begin + said.start())
    if opened is None:
        return _Owner(None)
    function = last_word(code, opened)
    if not function or function[0].isdigit() or function == kernel:
        return None
    return _Owner(function)


def _open_before(code: str, at: int) -> int | None:
    """The parenthesis that is open at a place; None where a statement or a block begins before."""
    depth = 0
    for index in range(at - 1, max(0, at - _LONGEST), -1):
        char = code[index]
        if char in ";{}":
            return None
        depth += (char == ")") - (char == "(")
        if depth < 0:
            return index
    return None


RULE = Rule("LM302", "param-copy", severity, certain, message, advice, __name__)
