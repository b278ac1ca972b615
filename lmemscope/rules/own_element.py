"""Arrays of which each thread uses the element of its own number, as if they were shared."""

from __future__ import annotations

import re

from lmemscope.model import Advice
from lmemscope.rules.aliases import namesakes
from lmemscope.rules.base import Case
from lmemscope.rules.declared import declaration_of, rest_of_block

_ASSIGNED = (
    r"(?<![\w.>]){name}\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)|(?:\+\+|--)\s*{name}\b|\b{name}\s*(?:\+\+|--)"
)


def own_element(case: Case) -> tuple[Advice, ...]:
    """One variable in place of an array whose only index is the thread's own number.

    The text shows it: each mention of the array has that index, and nothing sets it anew.
    """
    index, found, made = case.index, case.object, declaration_of(case)
    if index is None or index.expression is None or found is None or made is None:
        return ()
    sources = {(one.kind, one.name) for one in index.all_sources}
    if sources != {("thread-id", "threadIdx.x")} or case.generic or namesakes(case):
        return ()
    if found.declared is None or found.confidence != "certain" or len(made.extents) != 1:
        return ()
    rest = rest_of_block(case.sources, found.declared, made.name)
    mentioned = re.compile(rf"(?<![\w.>]){re.escape(made.name)}(?!\w)\s*(?P<index>\[[^\[\]]*\])?")
    used = {(one["index"] or "").strip("[] \t") for one in mentioned.finditer(rest)}
    written = index.expression.strip("[] \t")
    if used != {written} or not re.fullmatch(r"\w+|threadIdx\.x", written):
        return ()
    # Its declaration gives it its value; another one would be another element.
    if len(re.findall(_ASSIGNED.format(name=re.escape(written)), rest)) > 1:
        return ()
    kind = f"`{made.element}`" if made.element is not None else "its type"
    return (
        Advice(
            f"Declare one variable of {kind} in place of {case.name}: each thread uses no element "
            f"but `{made.name}[{written}]`, of a copy of its own. If threads are meant to see each "
            "other's, it lacks `__shared__`: then it is one array for the block."
        ),
    )
