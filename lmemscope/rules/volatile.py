r"""A local variable is declared volatile.

What it is. ``volatile`` demands a memory access for every use, so the variable cannot be in a
register.

How to recognise it. PTX: ``ld.volatile.local``, ``st.volatile.local``.

What it costs. A store and a load for every use.

How to remove it. Drop ``volatile``: no other thread can access a local variable. If a template
deduces it, use ``std::remove_volatile_t``. ``c ? a : b`` is volatile if either operand is: choose
values, ``+b``. To keep a benchmark's result alive, store it to global memory under a condition that
the compiler cannot evaluate.

When to leave it. When the memory traffic is the purpose, as in micro-benchmarks.
"""

from __future__ import annotations

import re

from lmemscope.formats.statements import closed_at
from lmemscope.model import Advice, Severity
from lmemscope.rules.base import Case, Offer, Rule, certain
from lmemscope.rules.declared import declaration_of, rest_of_block
from lmemscope.rules.indexing import still_kept

_ASSEMBLY = re.compile(r"\b(?:asm|__asm__|__asm)\s*\(")


def severity(case: Case) -> Severity:
    """An error in a loop with different addresses across lanes; never less than a warning."""
    return "error" if case.loop_depth and case.is_divergent else "warning"


def message(case: Case) -> str:
    """Which variable, and that every use of it goes to memory."""
    if case.is_temporary:
        return (
            f"{case.described}, a temporary, is copied to or from a volatile object: each member "
            "is written to memory and read back"
        )
    if case.is_in_choice and _is_deduced(case):
        return (
            f"{case.described} is not volatile, but is read as volatile: `c ? a : b` is volatile "
            "if either operand is"
        )
    return f"{case.described} is volatile: every use is a memory access"


def advice(case: Case, offer: Offer) -> tuple[Advice, ...]:
    """To drop the word, or what has its effect without memory."""
    stays = still_kept(case.object.also if case.object is not None else ())
    made = declaration_of(case)
    if case.is_temporary:
        return (
            Advice(
                "Drop the `volatile` of the variable that is initialised or assigned on that line."
            ),
        )
    if case.is_in_choice:
        where = "Where" if _is_deduced(case) else "Drop `volatile`, and where"
        name = case.object.name if case.object is not None else None
        return (
            Advice(
                f"{where} `?:` selects between it and a volatile object, select its value: "
                f"`+{name}`.{stays}"
            ),
        )
    if _is_in_assembly(case):
        return (
            Advice(
                f"Use `asm volatile` for the assembly statements that use {case.name}, or merge "
                "them into one statement, and drop the variable's `volatile`. With neither, the "
                f"compiler may omit an instruction that only sets the carry flag.{stays}"
            ),
        )
    text = f"Drop `volatile`: no other thread can see {case.name}.{stays}"
    # Alone it removes nothing then.
    found = [Advice(text, rewrite=None if stays else "drop-volatile")]
    if made is not None and _is_deduced(case):
        found = [
            Advice(
                f"{case.name} is volatile through its type, from a template or typedef: remove it "
                "(`std::remove_volatile_t`, or instantiate with a non-volatile type), because no "
                f"other thread can see it.{stays}"
            )
        ]
    if made is not None and not made.extents and not _is_used(case):
        found.append(
            Advice(
                "If it is there to keep its value from being optimised away, as in a benchmark, "
                "use the value: store it to global memory under a condition that the compiler "
                "cannot evaluate. An empty assembly statement is not enough: ptxas removes "
                "unused values."
            )
        )
    return tuple(found)


def _is_used(case: Case) -> bool:
    """Whether a statement does more with its value than to set it anew, assembly aside."""
    found = case.object
    if found is None or found.name is None or found.declared is None:
        return False
    root = re.split(r"\.|->", found.name)[0]
    name = re.escape(root)
    named = re.compile(rf"(?<![\w.>]){name}(?!\w)")
    set_anew = re.compile(
        rf"\s*(?:\(void\)\s*)?(?:{name}\s*(?:$|(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)"
        rf"|(?:\+\+|--)\s*{name}\s*$)"
    )
    text = rest_of_block(case.sources, found.declared, root).partition(";")[2]
    return any(
        named.search(one) is not None and set_anew.match(one) is None
        for one in re.split(r"[;{}]", text)
        if re.search(r"\b_*asm\b", one) is None
    )


def _is_in_assembly(case: Case) -> bool:
    """Whether it is an operand of an assembly statement that is not volatile itself."""
    found = case.object
    if found is None or found.name is None or found.declared is None:
        return False
    root = re.split(r"\.|->", found.name)[0]
    text = rest_of_block(case.sources, found.declared, root)
    named = re.compile(rf"(?<![\w.>]){re.escape(root)}(?!\w)")
    return any(
        named.search(text[at.start() : closed_at(text, at.end() - 1) or len(text)]) is not None
        for at in _ASSEMBLY.finditer(text)
    )


def _is_deduced(case: Case) -> bool:
    """Whether the declaration does not say ``volatile`` itself."""
    declared = case.object.declared if case.object is not None else None
    text = case.sources.line(declared.file, declared.line) if declared is not None else ""
    return bool(text) and "volatile" not in text


RULE = Rule("LM303", "volatile", severity, certain, message, advice, __name__)
