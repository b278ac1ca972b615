"""Whether a number or a pointer may be what calls get, by the types that their callees take.

A mangled name spells the parameters. What a member function is called for is an object of its
class, and a reference to a number is bound to a number: a variable of another kind on the call's
line is handed over by its value, and the object beside it is a temporary.
"""

from __future__ import annotations

import re

from lmemscope.analysis.layout import is_pointer, number_kind, without_dimensions
from lmemscope.analysis.ptx.graph import Call
from lmemscope.analysis.ptx.objects import StackObject
from lmemscope.formats.demangle import demangle
from lmemscope.formats.statements import parts_of
from lmemscope.model import Variable

_QUALIFIERS = re.compile(r"\b(?:const|volatile|__restrict__)\b")
_HALVES = ("__half", "half")
_BYTES = frozenset({"void", "char", "signed char", "unsigned char", "std::byte"})
"""What a pointer to any object is often handed over as."""
_OBJECT = "class"
"""What stands before the parameters: the object of a member function, and before that the place of
a result that is no plain value."""
_BEHIND = re.compile(r"(?: const| volatile| ?&|(?<!\]) \[clone [^\[\]]*\])$")
"""What may stand behind the parameters of a function's name; one of these at a time."""


def may_be_taken(variable: Variable, found: StackObject) -> bool:
    """Whether a variable may be an object that calls get; True where nothing tells.

    Classes are not judged: another class may be a base of theirs, and a member be what is handed
    over. Of an array, an element may be, or several as a vector.
    """
    element = without_dimensions(variable.type)
    held, is_element = is_pointer(element), element != variable.type
    if variable.members or not _is_number(_plain(element)):
        return True
    taken = [one for call, position in found.passed_to if (one := type_taken(call, position))]
    return not taken or any(
        one in _BYTES or (is_pointer(one) == held if _is_number(one) else is_element)
        for one in taken
    )


def _is_number(kind: str) -> bool:
    """Whether a type is a number's or a pointer's."""
    return number_kind(kind) is not None or kind in _HALVES


def _plain(kind: str) -> str:
    return " ".join(_QUALIFIERS.sub(" ", kind).split())


def type_taken(call: Call, position: int) -> str | None:
    """The type that a call's callee takes the address of; None where its name does not tell."""
    spelled = demangle(call.callee) if call.callee is not None else ""
    while (cut := _BEHIND.sub("", spelled)) != spelled:
        spelled = cut
    opened = _opening(spelled)
    if opened is None:
        return None
    inside = spelled[opened + 1 : -1]
    parameters = [_plain(one) for one in parts_of(inside, angles=True)] if inside.strip() else []
    hidden = len(call.arguments) - len(parameters)
    if not 0 <= hidden <= 2 or position >= len(call.arguments):
        return None
    if not all(len(one) == 1 and one[0].may_be_address for one in call.passed[:hidden]):
        return None  # The compiler passes an object's members, and not its address.
    if position < hidden:
        return _OBJECT
    one = parameters[position - hidden].replace(" *", "*").replace(" &", "&")
    if not one.endswith(("*", "&")) or "(" in one:
        return None
    return one.rstrip("&") if one.endswith("&") else one[:-1]


def _opening(spelled: str) -> int | None:
    """Where the parentheses begin that a name ends with."""
    depth = 0
    for index in range(len(spelled) - 1, -1, -1):
        depth += (spelled[index] == ")") - (spelled[index] == "(")
        if depth == 0:
            return index if spelled.endswith(")") else None
    return None
