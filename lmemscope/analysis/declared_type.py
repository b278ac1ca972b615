"""What a variable or a member is called, where it is declared, and its type as spelled there.

Debug information has no namespaces, and writes ``std::byte`` as the scalar that it is. The text in
front of the declared name has both.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lmemscope.analysis.layout import Part, is_volatile
from lmemscope.analysis.mentions import has_no_name, is_closure
from lmemscope.model import Member, SourceLocation, SourceText, Variable

_WORD = re.compile(r"(?<![\w:])[A-Za-z_]\w*(?![\w:])")
_QUALIFIED = re.compile(r"(?<![\w:>])(?:::)?[A-Za-z_]\w*(?:::[A-Za-z_]\w*)+")
_PARENTHESES = re.compile(r"\([^()]*\)")
_BEFORE = re.compile(r"\A.*[;{}(]", re.DOTALL)
_SCALAR = re.compile(
    r"(?:(?:const|volatile) )*(?P<name>bool|float|double|"
    r"(?:(?:un)?signed )?(?:char|short|int|long long|long))(?:\[\d+\])*"
)
_SPECIFIERS = re.compile(
    r"\s*(?:(?:const|volatile|static|constexpr|register)\b\s*)*"
    r"(?P<name>(?:::)?[A-Za-z_]\w*(?:::[A-Za-z_]\w*)+)\s*(?:[A-Za-z_].*)?",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Declared:
    """A variable, or a member of one, as its declaration has it.

    Attributes:
        name: what a user writes: ``s.a.b``; members of what has no name stand for themselves.
        type: as spelled there.
        place: of the variable; of the member where that is what declares the name.
    """

    name: str
    type: str
    place: SourceLocation


def is_plain(variable: Variable, sources: SourceText) -> bool:
    """Whether a number, a pointer, or an array of them is for sure not volatile.

    Debug information leaves the qualifier out where ``decltype`` gives the type.
    """
    return is_volatile(variable.type) is False and (
        "decltype" not in sources.line(variable.file, variable.line)
    )


def declared(variable: Variable, part: Part, sources: SourceText) -> Declared:
    """How a part of a variable is declared.

    Members of an anonymous union are names of the scope around it, and what a lambda has captured
    is known by its own name inside: their declarations are the members'.
    """
    path = part.path.lstrip(".").split(".") if part.path else []
    unnamed = has_no_name(variable)
    if unnamed and not path:
        path = [member.name for member in variable.members[:1]]
    chain = _members_at(variable, path)
    name, place = f"{variable.name}{part.path}", SourceLocation(variable.file, variable.line)
    if path and (unnamed or is_closure(variable)):
        name = ".".join(path)
        # The front end's other variables without a name are of types that have members elsewhere.
        if chain and chain[0].line and variable.type.endswith(")"):
            place = SourceLocation(chain[0].file, chain[0].line)
    named = chain[-1] if part.path and chain else variable
    text = sources.line(named.file, named.line) if named.line else ""
    return Declared(name, declared_type(part.type, named.name, text), place)


def _members_at(variable: Variable, path: Sequence[str]) -> list[Member]:
    """The members that a path leads through."""
    found: list[Member] = []
    members = variable.members
    for name in path:
        member = next((one for one in members if one.name == name), None)
        if member is None:
            break
        found.append(member)
        members = member.members
    return found


def declared_type(kind: str, name: str, text: str) -> str:
    """A type with the namespaces that a declaration names it with.

    Args:
        kind: as the debug information spells it.
        name: of the variable or member.
        text: of the line that declares it, without comments.
    """
    if "::" not in text:
        return kind
    declarator = re.search(rf"(?<![\w.:]){re.escape(name)}\s*(?=[\[=;,{{(:)]|$)", text)
    if declarator is None:
        return kind
    written = _BEFORE.sub("", _PARENTHESES.sub("", text[: declarator.start()]))
    scalar = _SCALAR.fullmatch(kind)
    if scalar is None:
        full = {found.rpartition("::")[2]: found for found in _QUALIFIED.findall(written)}
        return _WORD.sub(lambda found: full.get(found[0], found[0]), kind) if full else kind
    # A scalar that a namespace qualifies: no macro, and no parameter of a template.
    specifiers = _SPECIFIERS.fullmatch(written)
    if specifiers is None:
        return kind
    start, end = scalar.span("name")
    return kind[:start] + specifiers["name"] + kind[end:]
