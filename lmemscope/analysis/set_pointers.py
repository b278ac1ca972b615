"""Where the source sets a pointer, behind its declaration, to a variable's address."""

from __future__ import annotations

import re

from lmemscope.analysis.scopes import Scopes
from lmemscope.model import SourceLocation, SourceText, Variable


def set_on(
    sources: SourceText, scopes: Scopes, pointer: Variable, variable: Variable
) -> SourceLocation | None:
    """The line that does, as ``p = (T *)&v`` or, of an array, ``p = v``; None where none does.

    Args:
        sources: the user's files.
        scopes: of the unit's variables.
        pointer: a variable of the same function.
        variable: whose address is looked for.
    """
    last = scopes.last(variable)
    if pointer.file != variable.file or last is None or not pointer.type.endswith("*"):
        return None
    address = "" if "[" in variable.type else r"&\s*"
    assigned = re.compile(
        rf"(?<![\w.>*])(?<!\*\s){re.escape(pointer.name)}\s*=(?!=)(?:[^;=,]*[\s(])?"
        rf"{address}{re.escape(variable.name)}\b(?!\s*[\[.(])"
    )
    for number in range(variable.line, last + 1):
        text = sources.line(variable.file, number)
        if pointer.name in text and assigned.search(text):
            return SourceLocation(variable.file, number)
    return None
