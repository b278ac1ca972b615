"""How a text uses an array as a whole, or the address of an element: what a new layout asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from lmemscope.formats.statements import closed_at
from lmemscope.rules.base import Case
from lmemscope.rules.declared import Declaration, rest_of_block, statement_from

Use = Literal["pointer", "range", "copy"]
_RANGE = re.compile(r"\bfor\s*\([^;()]*(?<!:):\s*$")
_ADDRESS = re.compile(r"(?:^|[(,=?:;{}!]|\breturn)\s*&[\s(]*$")
"""The operator that takes an address, not one that combines bits or conditions."""
_OF_ELEMENT = re.compile(r"\b(?:atomic\w+|__ld\w+|__st\w+)\s*\(\s*(?:\([^()]*\)\s*)?&\s*$")
"""What takes the address of one element, wherever the others are."""
_COPY = re.compile(r"\bmem(?:set|cpy|move)\s*\([^();{}]*$")
_OPENS = re.compile(r"\s*(?=\[)")
_LOOKED_BACK = 200
"""Characters before a use that say what it is."""


def whole_uses(case: Case, made: Declaration) -> set[Use]:
    """How the array, a row or a part of it is used as a whole; of no array as nothing.

    What the function that declares it does with it counts, and what calls around the accesses say;
    of a member also what the functions of its structure do, which know it by its plain name.
    """
    if not made.extents:
        return set()
    calls = {frame.location for access in case.accesses for frame in access.chain[1:]}
    texts = [(statement_from(case.sources, place), made.path) for place in calls]
    declared = case.object.declared if case.object is not None else None
    if declared is not None:
        root = re.split(r"\.|->", made.path)[0]
        block = rest_of_block(case.sources, declared, root)
        texts.append((block, made.path))
        # Who gets the structure knows the member, too.
        handed = rf"[(,]\s*&?\s*{re.escape(root)}\s*[,)]"
        if made.is_member and re.search(handed, block) is not None:
            return {"pointer", *(use for text, path in texts for use in _uses(text, made, path))}
    if made.is_member:
        files = {place.file for place in (declared, case.location) if place is not None}
        texts += [(case.sources.code(file), made.name) for file in files]
    return {use for text, path in texts for use in _uses(text, made, path)}


def _uses(text: str, made: Declaration, path: str) -> Iterator[Use]:
    """How a text has the array, as it calls it, with fewer subscripts than dimensions."""
    for found in re.finditer(rf"(?<!sizeof\()(?<![\w.>]){re.escape(path)}(?!\w)", text):
        subscripts, at = 0, found.end()
        while (opened := _OPENS.match(text, at)) is not None:
            closed = closed_at(text, opened.end())
            if closed is None:
                break
            subscripts, at = subscripts + 1, closed
        before = text[max(0, found.start() - _LOOKED_BACK) : found.start()]
        if subscripts < len(made.extents) and _RANGE.search(before):
            yield "range"
        elif _COPY.search(before):
            yield "copy"
        elif subscripts == len(made.extents) and _OF_ELEMENT.search(before):
            continue
        elif subscripts < len(made.extents) or _ADDRESS.search(before):
            yield "pointer"
