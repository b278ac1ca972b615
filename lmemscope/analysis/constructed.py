"""Members of a class that its constructor sets to what it is given: ``Keep keep(keys, 16)``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from lmemscope.analysis.layout import is_pointer, is_reference
from lmemscope.formats.statements import Path, Statement, closed_at, parts_of
from lmemscope.model import SourceText, Variable

_LONGEST = 64
"""Lines of a constructor, and of a declaration with its arguments, at most."""


def members_given(
    sources: SourceText, variable: Variable, constructors: Sequence[Sequence[Variable]]
) -> Iterator[tuple[Path, Path]]:
    """Pointers of a structure, each with the name that its declaration sets it to.

    Without a constructor the arguments in braces are those of the members, in their order.

    Args:
        sources: the user's files.
        variable: the structure.
        constructors: the parameters of each constructor of its type that is compiled.
    """
    opened, arguments = _arguments(sources, variable)
    if not arguments:
        return
    pointers = {one.name for one in variable.members if is_pointer(one.type)}
    named = [Statement(one, [0], variable.line).whole for one in arguments]
    if constructors:
        fitting = [one for one in constructors if len(one) == len(arguments)]
        maps = [_members_of(sources, one) for one in fitting]
        if len(maps) != 1:
            return
        pairs = [(maps[0].get(one.name), at) for at, one in enumerate(fitting[0])]
    elif opened == "{":
        pairs = [(one.name, at) for at, one in enumerate(variable.members[: len(arguments)])]
    else:
        return
    for member, at in pairs:
        if member in pointers and member is not None and len(named[at]) == 1:
            yield (variable.name, member), named[at][0]


def _arguments(sources: SourceText, variable: Variable) -> tuple[str, Sequence[str]]:
    """The bracket that opens the arguments of a declaration, and these; none of another one."""
    text = declaration(sources, variable)
    name = re.search(rf"\b{re.escape(variable.name)}\b\s*(?:=\s*(?:[\w:]+(?:<[^;]*>)?\s*)?)?", text)
    at = name.end() if name is not None else len(text)
    opened = text[at : at + 1]
    closed = closed_at(text, at) if opened and opened in "({" else None
    return (opened, tuple(parts_of(text[at + 1 : closed - 1]))) if closed is not None else ("", ())


def _members_of(sources: SourceText, parameters: Sequence[Variable]) -> Mapping[str, str]:
    """The members that a constructor sets, by the parameters that it sets them to."""
    text = declaration(sources, parameters[0], "}") if parameters else ""
    found: dict[str, str] = {}
    for one in parameters:
        if not (is_pointer(one.type) or is_reference(one.type)):
            continue
        name = re.escape(one.name)
        set_to = re.search(
            rf"(?:[:,]\s*(?P<listed>\w+)\s*[({{]\s*{name}\s*[)}}]"
            rf"|(?:this\s*->\s*|(?<![\w.>*\]]))(?P<assigned>\w+)\s*=\s*{name}\s*[;,])",
            text,
        )
        if set_to is not None:
            found[one.name] = set_to["listed"] or set_to["assigned"]
    return found


def declaration(sources: SourceText, first: Variable, end: str = ";") -> str:
    """What stands from a declaration's line on, up to an end that no braces are open at: lines."""
    text = ""
    for number in range(first.line, first.line + _LONGEST):
        text += sources.code_line(first.file, number) + "\n"
        if end in text and text.count("{") <= text.count("}"):
            break
    return text
