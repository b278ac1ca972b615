"""Advice on rings: the elements move instead of the index."""

from __future__ import annotations

import re

from lmemscope.model import Advice
from lmemscope.rules.base import Case
from lmemscope.rules.declared import Declaration, rest_of_block

_RING = re.compile(r"\(?\s*\w+(?:\s*[+-]\s*\w+)*\s*\)?\s*[%&]\s*[\w() +-]+")
"""An index that advances by one and begins anew at the end: ``(head + i) % size``."""


def is_ring(expression: str) -> bool:
    """Whether an index goes round an array."""
    return _RING.fullmatch(expression) is not None


def shifted(case: Case, made: Declaration) -> tuple[Advice, ...]:
    """A ring without an index: the elements move, and the newest is the last.

    Nothing where the text replaces elements in several statements.
    """
    singly = _is_replaced_singly(case, made)
    if singly is False:
        return ()
    extent, name = made.written[0], made.path
    last = str(int(extent) - 1) if extent.isdigit() else f"{extent} - 1"
    counter = next(letter for letter in ("k", "m", "e") if letter != made.path)
    code = (
        f"#pragma unroll\nfor (int {counter} = 0; {counter} < {last}; ++{counter}) "
        f"{name}[{counter}] = {name}[{counter} + 1];"
    )
    lead = f"Where an element of {case.name} is replaced"
    if singly is None:
        lead = f"If one element of {case.name} is replaced at a time, as in a ring"
    text = (
        f"{lead}, shift all elements by one in an unrolled loop and store the newest in "
        f"`{name}[{last}]`, instead of advancing an index. The element from k steps ago is then "
        f"`{name}[{last} - k]`. Unroll every other loop over it."
    )
    return (Advice(text, code, rewrite="shift"),)


def _is_replaced_singly(case: Case, made: Declaration) -> bool | None:
    """Whether one statement replaces an element and all indices go round; None: not in sight.

    Loops that fill the array set each element by their own counter, and count as none.
    """
    declared = case.object.declared if case.object is not None else None
    if declared is None:
        return None
    rest = rest_of_block(case.sources, declared, made.name)
    counters = set(re.findall(r"\bfor\s*\([^;]*?(\w+)\s*=(?!=)", rest))
    used = re.compile(
        rf"(?<![\w.>]){re.escape(made.path)}\s*\[(?P<index>[^\[\]]*)\]\s*"
        r"(?P<stored>(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)?"
    )
    stores = 0
    for one in used.finditer(rest):
        index = one["index"].strip()
        if index in counters or index.isdigit():
            continue
        if one["stored"] not in (None, "=") or not (is_ring(index) or re.fullmatch(r"\w+", index)):
            return False  # What is changed, or chosen in another way, is no ring's.
        stores += one["stored"] is not None
    return None if not stores else stores == 1
