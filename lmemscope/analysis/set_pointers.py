"""Where the source sets pointers, behind their declarations, to a variable's address."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lmemscope.analysis.scopes import Scopes
from lmemscope.model import SourceLocation, SourceText, Variable

_CHOOSES = re.compile(r"\b(?:if|else|case|for|while)\b")


def set_pointers(
    sources: SourceText, scopes: Scopes, variable: Variable
) -> Mapping[str, SourceLocation]:
    """The first line that sets each, by their names: ``p = (T *)&v`` or, of an array, ``p = v``.

    What declares a pointer with that value is not among them, nor what only looks like one: whether
    a name is a pointer's is for the caller to ask.

    Args:
        sources: the user's files.
        scopes: of the unit's variables.
        variable: whose address is looked for.
    """
    last = scopes.last(variable)
    if last is None:
        return {}
    address = "" if "[" in variable.type else r"&\s*"
    assigned = re.compile(
        rf"(?<![\w.>*])(?<!\*\s)(?P<pointer>[A-Za-z_]\w*)\s*=(?!=)(?:[^;=,]*[\s(])?"
        rf"{address}{re.escape(variable.name)}\b(?!\s*[\[.(])"
    )
    found: dict[str, SourceLocation] = {}
    for number in range(variable.line, last + 1):
        text = sources.line(variable.file, number)
        for one in assigned.finditer(text) if variable.name in text else ():
            found.setdefault(one["pointer"], SourceLocation(variable.file, number))
    return found


def is_set_on_some_paths(sources: SourceText, pointer: Variable, place: SourceLocation) -> bool:
    """Whether a pointer is set in a block, or under a condition, that its declaration is not in.

    Args:
        sources: the user's files.
        pointer: declared in the same file, before.
        place: the line that sets it.
    """
    lines = (sources.line(place.file, number) for number in range(pointer.line, place.line))
    text = "\n".join(line.partition("//")[0] for line in lines)
    last = sources.line(place.file, place.line)
    return text.count("{") > text.count("}") or _CHOOSES.search(last) is not None
