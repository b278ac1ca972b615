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
    if not _is_replaced_singly(case, made):
        return ()
    extent, name = made.written[0], made.path
    last = str(int(extent) - 1) if extent.isdigit() else f"{extent} - 1"
    counter = next(letter for letter in ("k", "m", "e") if letter != made.path)
    code = (
        f"#pragma unroll\nfor (int {counter} = 0; {counter} < {last}; ++{counter}) "
        f"{name}[{counter}] = {name}[{counter} + 1];"
    )
    text = (
        f"Where an element of {case.name} is replaced, move all by one in an unrolled loop, and "
        f"store the newest as `{name}[{last}]`, instead of moving an index: the one of k steps "
        f"before it is then `{name}[{last} - k]`. Unroll every other loop over it."
    )
    return (Advice(text, code, rewrite="shift"),)


def _is_replaced_singly(case: Case, made: Declaration) -> bool:
    """Whether the text has one statement that replaces an element, as a ring has.

    Loops that fill the array set each element by their own counter, and count as none.
    """
    declared = case.object.declared if case.object is not None else None
    if declared is None:
        return False
    rest = rest_of_block(case.sources, declared, made.name)
    counters = set(re.findall(r"\bfor\s*\([^;]*?(\w+)\s*=(?!=)", rest))
    stored = re.compile(
        rf"(?<![\w.>]){re.escape(made.path)}\s*\[(?P<index>[^\[\]]*)\]\s*"
        r"(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)"
    )
    indices = [one["index"].strip() for one in stored.finditer(rest)]
    return len([one for one in indices if one not in counters and not one.isdigit()]) <= 1
