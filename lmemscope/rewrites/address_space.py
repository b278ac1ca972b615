"""Whether code may tell in which memory a variable lies: then it stays where it is."""

from __future__ import annotations

import re

from lmemscope.rewrites.base import DeclinedError, Target

_ASKING = re.compile(
    # What begins with a character, and not with a boundary, is found fast.
    rb"__(?<!\w__)(?:(?:nv_)?is(?:[A-Z]|\s*##)|cvta_(?:generic_to_local|local_to_generic)\b)"
    rb"|isspacep|is_(?<!\wis_)(?:address|object)_from\b|address_space(?<!\waddress_space)\b"
    rb"|cvta(?<!\wcvta)\b(?!(?:\.to)?\.(?:shared|global|const|param)\b)"
    rb"|(?:ld(?<!\wld)|st(?<!\wst)|prefetch(?<!\wprefetch))(?:\.\w+){0,6}?\.local\b"
    rb"|\"[^\"\n]*\.local\b"
)


def check_address_space(target: Target) -> None:
    """That nothing in sight tells pointers by the memory that they lead to.

    Raises:
        DeclinedError: something does, or takes a pointer for one into local memory.
    """
    if target.meanings.has(_ASKING, in_quotes=True):
        raise DeclinedError(
            "code asks which memory a pointer leads to, or takes it for local memory"
        )
