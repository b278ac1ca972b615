r"""A table of constants is built in local memory by every thread.

What it is. A local array of constants is never changed and is read with a dynamic index. The
compiler writes it to the stack on each call.

How to recognise it. PTX: stores of constants at constant offsets, then loads at a computed index,
and no other store.

What it costs. The stores on each call, and the loads.

How to remove it. Keep one copy for all threads. If all lanes read one element, use ``__constant__``
at namespace scope. If lanes read different elements, which ``__constant__`` serialises, use
``static const`` in the function: global memory through L1. Both need a constant initialiser; for a
computed table use a ``constexpr`` function. Or compute the element where it is read.

When to leave it. Only in rarely executed code.
"""

from __future__ import annotations

import re

from lmemscope.model import Advice, Severity
from lmemscope.rules.aliases import namesakes
from lmemscope.rules.base import Case, Rule, by_cost, certain
from lmemscope.rules.declared import declaration_of, rest_of_block
from lmemscope.rules.enclosing import function_head, says_host
from lmemscope.rules.indexing import index_clause

_LINES_LOOKED_AT = 128
_LINES_SHOWN = 16
"""Lines of a table that are shown with its new head."""
_TABLE = re.compile(
    r"(?:(?:const|constexpr|static|__device__)\s+)*(?P<rest>[\w:][^;={}]*=\s*\{[^;]*\};)",
    re.DOTALL,
)


_CONST = re.compile(r"const\b(?!.*[*&])")
"""The type of an array that nobody may change: elements that are no pointers, and const."""
_CHANGED = re.compile(r"\s*(?:[-+*/%&|^]=|(?:<<|>>)=|=(?!=)|\+\+|--|\.|->|\[)")
"""What behind an element changes it, or may: a member function, a component."""

_TAKEN = re.compile(r"(?:(?:^|[^\w\]\s&]|\breturn)\s*&|\+\+|--)\s*$")
"""What before an element takes its address, or changes it; not ``a & b``, ``a && b``. Behind a
parenthesis it may be a cast.
"""


def may_change(before: str, behind: str) -> bool:
    """Whether what stands before and behind an element changes it, or takes its address."""
    return _CHANGED.match(behind) is not None or _TAKEN.search(before) is not None


def severity(case: Case) -> Severity:
    """By loop and divergence, but never a note: one copy for all threads is always better."""
    found = by_cost(case)
    return "warning" if found == "note" else found


def message(case: Case) -> str:
    """Which table, and what its index is made of; of one without an index, that it is large."""
    evidence = case.object.evidence_facts if case.object is not None else ()
    large = next((e for e in evidence if e.kind == "constant-stores" and e.bytes is not None), None)
    if large is not None:
        return (
            f"{case.described} holds constants that every thread rewrites: more than the "
            f"{large.limit} bytes that a thread can hold in registers"
        )
    return (
        f"{case.described} holds constants that every thread rewrites, and is dynamically "
        f"indexed{index_clause(case)}"
    )


def advice(case: Case) -> tuple[Advice, ...]:
    """One copy for all threads; constant memory only where all lanes read one element."""
    return _one_table(case, "Make")


def _one_table(case: Case, lead: str) -> tuple[Advice, ...]:
    loads = [access for access in (*case.accesses, *case.generic) if not access.is_store]
    uniform = bool(loads) and all(access.uniformity == "uniform" for access in loads)
    made = declaration_of(case)
    written = _written(case) if made is not None and made.extents and not made.is_member else None
    if written is not None and "(" in written and made is not None and not made.is_arithmetic:
        # A constructor runs in each thread: `static` variables of device code cannot have one.
        written = None
    hosted = _is_hosts(case)
    constant = uniform and not hosted and (written is None or _is_literal(written))
    if _is_constexpr(case):
        return (_outside(case, lead),)
    if constant:
        text = (
            "in constant memory (`__constant__`, at namespace scope): all lanes read the "
            "same element."
        )
    elif hosted:
        text = (
            "`static const` where it is declared: its function is also compiled for the host, "
            "which cannot read `__constant__` memory."
        )
    elif uniform:
        text = (
            "`static const` where it is declared; `__constant__` at namespace scope is faster "
            "still."
        )
    else:
        text = (
            "`static const` where it is declared. Lanes may read different elements, which "
            "`__constant__` serialises."
        )
    text = f"{lead} {case.name} one table for all threads: {text}"
    if any(len(load.chain) > 1 for load in loads):
        text += " Functions that receive it must take it as `const`."
    if made is None or not (made.is_arithmetic or made.is_wide):
        text += (
            " Device code does not run the constructors of `static` variables: if its type has a "
            "constructor that is not `constexpr`, store plain numbers instead."
        )
    if written is None and not _has_numbers(case):
        values = (
            " Its initialisers must be constants (literals or a `constexpr` function), and "
            "nothing may write to it, including functions that receive it."
        )
        return (Advice(text + values, rewrite="static-table"),)
    code = None
    if written is not None and written.count("\n") < _LINES_SHOWN:
        code = f"{'__constant__' if constant else 'static const'} {written}"
    return (Advice(text, code, rewrite="static-table"),)


def _has_numbers(case: Case) -> bool:
    """Whether its declaration, among other statements of a line, gives it numbers for values."""
    declared, made = case.object.declared if case.object is not None else None, declaration_of(case)
    if declared is None or made is None or made.is_member or not made.extents:
        return False
    lines = range(declared.line, declared.line + _LINES_LOOKED_AT)
    text = "\n".join(case.sources.line(declared.file, number) for number in lines)
    given = rf"(?<![\w.>]){re.escape(made.name)}\s*(?:\[[^\[\]]*\]\s*)+(=\s*\{{[^;]*?\}})\s*[;,]"
    found = re.search(given, text)
    return found is not None and _is_literal(found[1])


def _is_constexpr(case: Case) -> bool:
    """Whether the table's function is constexpr: before C++23 it can have no static variable."""
    declared = case.object.declared if case.object is not None else None
    head = function_head(case.sources, declared) if declared is not None else None
    return head is not None and "constexpr" in re.findall(r"\w+", head.text.partition("(")[0])


def _outside(case: Case, lead: str) -> Advice:
    """One table outside of a function that cannot have a static one."""
    return Advice(
        f"{lead} {case.name} one table for all threads, at namespace scope (`__device__ const`): "
        "its function is `constexpr`, which allows a `static` variable only from C++23.",
        rewrite="static-table",
    )


def _is_hosts(case: Case) -> bool:
    """Whether the table's function is compiled for the host, too."""
    declared = case.object.declared if case.object is not None else None
    return declared is not None and says_host(case.sources, declared)


def unchanged_table(case: Case, lead: str = "Make") -> tuple[Advice, ...]:
    """One copy for all threads of an array that its text shows to be a table.

    It is declared with numbers, and is const, or its function only reads elements of it: each
    mention has an index, and nothing is assigned there.

    Args:
        case: of the array.
        lead: what the advice begins with.
    """
    found, made = case.object, declaration_of(case)
    if found is None or found.declared is None or made is None or made.is_member:
        return ()
    written = _written(case) if made.extents and found.confidence == "certain" else None
    if written is None or not _is_literal(written) or case.generic or namesakes(case):
        return ()
    if _CONST.match(found.type or "") is not None:
        return _one_table(case, lead)  # Whoever gets its address only reads it.
    rest = rest_of_block(case.sources, found.declared, made.name)
    behind = rest.partition(";")[2]
    indexed = rf"\s*(?:\[[^\[\]]*\]\s*){{{len(made.extents)}}}"
    for use in re.finditer(rf"(?<![\w.>]){re.escape(made.name)}(?!\w)", behind):
        element = re.match(indexed, behind[use.end() :])
        if element is None:
            return ()
        if may_change(behind[: use.start()], behind[use.end() + element.end() :]):
            return ()
    return _one_table(case, lead)


def _written(case: Case) -> str | None:
    """The table's declaration with its values, without its qualifiers; None where it has none."""
    declared = case.object.declared if case.object is not None else None
    if declared is None:
        return None
    lines: list[str] = []
    for number in range(declared.line, declared.line + _LINES_LOOKED_AT):
        lines.append(case.sources.line(declared.file, number).rstrip())
        text = "\n".join(lines).strip()
        if text.endswith("};") and text.count("{") == text.count("}"):
            found = _TABLE.fullmatch(text)
            return found["rest"] if found is not None else None
        if ";" in lines[-1]:
            return None
    return None


def _is_literal(written: str) -> bool:
    """Whether the values are numbers, which need no name that is known in the function alone."""
    return re.search(r"(?<![\w.])[A-Za-z_]", written.partition("=")[2]) is None


RULE = Rule("LM204", "const-table", severity, certain, message, advice, __name__)
