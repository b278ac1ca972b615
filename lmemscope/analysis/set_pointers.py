"""Where the source sets pointers, behind their declarations or in them, to where a variable is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from lmemscope.analysis.layout import is_pointer, is_reference
from lmemscope.analysis.scopes import Scopes
from lmemscope.model import SourceLocation, SourceText, Variable

_CASTS = r"(?:\([^()]*\)\s*|\w+_cast<[^<>]*>\s*\(\s*)*"
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
    lines = (sources.code_line(place.file, number) for number in range(pointer.line, place.line))
    text = "\n".join(lines)
    last = sources.line(place.file, place.line)
    return text.count("{") > text.count("}") or _CHOOSES.search(last) is not None


def pointers_made_of(
    sources: SourceText, parameter: Variable, variables: Sequence[Variable]
) -> list[str]:
    """Pointers that a function declares to lead where one of its parameters does, or one of these.

    That stands first behind ``=``, casts and parentheses; what is added to it, or chosen, is none.

    Args:
        sources: the user's files.
        parameter: of the function.
        variables: of the function.
    """
    if not (is_pointer(parameter.type) or is_reference(parameter.type)):
        return []
    pointers = [one for one in variables if not one.is_parameter and is_pointer(one.type)]
    found: list[str] = []
    names = [parameter.name]
    while names:
        name = re.escape(names.pop())
        made = re.compile(rf"=\s*{_CASTS}[(\s]*&?\s*{name}\b(?![^;,]*\?)")
        new = [
            other.name
            for other in pointers
            if other.name not in found and made.search(sources.line(other.file, other.line))
        ]
        found += new
        names += new
    return found
