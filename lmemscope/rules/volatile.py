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

from lmemscope.model import Advice, Severity
from lmemscope.rules.base import Case, Rule, certain
from lmemscope.rules.indexing import still_kept


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


def advice(case: Case) -> tuple[Advice, ...]:
    """To drop the word, or what has its effect without memory."""
    stays = still_kept(case.object.also if case.object is not None else ())
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
    return (
        Advice(
            "Drop `volatile` from the declaration, or from the template argument or typedef that "
            f"it comes from: no other thread can see {case.name}. No overload, template or trait "
            "may depend on the qualifier. Assembly statements that use it must then be "
            f"`asm volatile`, or be merged into one.{stays}",
            # Alone it removes nothing where more keeps it in memory.
            rewrite=None if stays else "drop-volatile",
        ),
    )


def _is_deduced(case: Case) -> bool:
    """Whether the declaration does not say ``volatile`` itself."""
    declared = case.object.declared if case.object is not None else None
    text = case.sources.line(declared.file, declared.line) if declared is not None else ""
    return bool(text) and "volatile" not in text


RULE = Rule("LM303", "volatile", severity, certain, message, advice, __name__)
