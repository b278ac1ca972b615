"""What the text of a ``memcpy`` says of the member that it begins in."""

from __future__ import annotations

import re

from lmemscope.formats.argument_lists import argument_lists
from lmemscope.formats.statements import Statement

_COPIES = re.compile(r"mem(?:cpy|move|set)\w*\s*$")
_ARGUMENTS = 3
"""A copy's, and a filling's: the destination, the source or the value, the length."""


def begins_in(text: str, member: str, *, is_store: bool, is_plain: bool) -> bool:
    """Whether a copy in a text begins in a member: ``memcpy(s.data + n, from, length)``.

    Args:
        text: of a statement.
        member: its plain name.
        is_store: whether the copy's destination is asked for; else its source.
        is_plain: whether the name alone, as a member function writes it, is the member's.
    """
    for opened, arguments in argument_lists(text, _ARGUMENTS):
        if _COPIES.search(text[:opened]) is None:
            continue
        paths = Statement(arguments[0 if is_store else 1], [0], 0).paths
        members = (one for one in paths if len(one) > 1 or (is_plain and one == (member,)))
        if member in next(members, ()):
            return True
    return False
