"""Arrays of which each thread uses the element of its own number, as if they were shared."""

from __future__ import annotations

import re

from lmemscope.model import Advice
from lmemscope.rules.aliases import namesakes
from lmemscope.rules.base import Case
from lmemscope.rules.declared import declaration_of, rest_of_block
from lmemscope.rules.enclosing import body_lines

_SET = (
    r"(?<![\w.>]){name}\s*(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)"
    r"|(?:\+\+|--|(?<!&)&)\s*{name}\b|[\w>]\s+{name}\s*[({{]"
)
"""What gives a name a value, or its address to whoever may."""


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
    if written != "threadIdx.x" and not _is_thread(case, written):
        return ()
    kind = f"`{made.element}`"
    return (
        Advice(
            f"Replace {case.name} with a single variable of {kind}: each thread has its own "
            f"array, and uses only the element `{made.name}[{written}]`. If threads are meant to "
            "see each other's elements, declare it `__shared__`: one array per block."
        ),
    )


def _is_thread(case: Case, name: str) -> bool:
    """Whether a name of the kernel's is ``threadIdx.x``, and nothing else at any time."""
    found, place = case.object, case.facts.location
    if found is None or found.function != case.facts.name or place is None:
        return False
    body = "\n".join(text for _, text in body_lines(case.sources, place))
    made = re.findall(rf"\b{re.escape(name)}\s*=\s*threadIdx\s*\.\s*x\s*[;,]", body)
    return len(made) == 1 == len(re.findall(_SET.format(name=re.escape(name)), body))
