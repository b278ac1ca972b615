"""Whether code may tell in which memory a variable lies: then it stays where it is."""

from __future__ import annotations

import re

from lmemscope.rewrites.base import DeclinedError, Target

_ASKING = re.compile(
    rb"\b__(?:nv_)?is(?:[A-Z]|\s*##)|isspacep|\bis_(?:address|object)_from\b|\baddress_space\b"
    rb"|\b__cvta_(?:generic_to_local|local_to_generic)\b"
    rb"|\bcvta\b(?!(?:\.to)?\.(?:shared|global|const|param)\b)"
    rb"|\b(?:ld|st|prefetch)(?:\.\w+){0,6}?\.local\b|\"[^\"\n]*\.local\b"
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
