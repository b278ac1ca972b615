"""Objects that are temporaries: what calls get where the source makes a value in the call.

``support(-X)`` hands the address of an object that has no name, and ``X`` on its line says nothing
of it. A reference parameter that is bound to the temporary, and handed on, is its only name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lmemscope.analysis.mentions import Mentions, argument_lists
from lmemscope.analysis.ptx.graph import Call
from lmemscope.analysis.ptx.objects import StackObject
from lmemscope.formats.ptx_body import Instruction
from lmemscope.formats.statements import is_computed, is_made
from lmemscope.model import InlineFrame, Variable

_CALLED = re.compile(r"([A-Za-z_]\w*)\s*$")
"""What a call in parentheses names in front of them."""
_MADE = re.compile(r"\s*(?:[\w:]*::)?(\w+)\s*[({<]")
"""The name of the type that a value is made of."""


def passed_temporaries(
    found: StackObject, instructions: Sequence[Instruction], mentions: Mentions
) -> list[Variable] | None:
    """What stands for an object behind references, where each call that gets it makes it.

    Args:
        found: the object.
        instructions: of the function whose depot it is in.
        mentions: what lines say.

    Returns:
        None where it may be a variable: that is so unless the text of every call shows the
        opposite.
    """
    if not found.passed_to or found.stored_at:
        return None
    result: list[Variable] = []
    for call, position in found.passed_to:
        chain = mentions.chain(instructions[call.index])
        kind, arguments = _arguments(mentions, chain, call, position) if chain else (None, [])
        bound = _references(mentions, chain, 0, kind, arguments)
        if bound is None:
            return None
        result += [one for one in bound if one not in result]
    return result


def _arguments(
    mentions: Mentions, chain: Sequence[InlineFrame], call: Call, position: int
) -> tuple[str | None, list[str]]:
    """What may stand in a call's place, and the type of what that is bound to.

    Of a member function the first argument is the object.
    """
    count = len(call.arguments)
    for number, at in ((count, position), (count - 1, position - 1)):
        found = [] if at < 0 else list(_calls(mentions, chain[0], call.callee, number))
        if found:
            parameters = mentions.explicit(call.callee or "")
            one = parameters[at] if len(parameters) == number else None
            referent = one.referent if one is not None else None
            return referent.type if referent is not None else None, [of[at] for of in found]
    return None, []


def _references(
    mentions: Mentions,
    chain: Sequence[InlineFrame],
    at: int,
    kind: str | None,
    arguments: Sequence[str],
) -> list[Variable] | None:
    """The references through which an argument is handed that is made further out."""
    if not arguments:
        return None
    if all(_is_value(argument, kind) for argument in arguments):
        return []
    function = chain[at].function
    names = {argument.strip() for argument in arguments}
    if function is None or len(names) > 1 or at + 1 == len(chain):
        return None
    parameters = mentions.explicit(function)
    for number, one in enumerate(parameters):
        if one.name in names and one.referent is not None:
            outer = [
                of[number] for of in _calls(mentions, chain[at + 1], function, len(parameters))
            ]
            further = _references(mentions, chain, at + 1, one.referent.type, outer)
            return None if further is None else [one.referent, *further]
    return None


def _is_value(argument: str, kind: str | None) -> bool:
    """Whether an argument makes a value: of a call, only a constructor's is sure to be one."""
    if is_computed(argument) or (is_made(argument) and argument.lstrip().startswith("{")):
        return True
    name = _MADE.match(argument)
    if kind is None or name is None or not is_made(argument):
        return False
    return name[1] == kind.partition("<")[0].split()[-1].rpartition("::")[2]


def _calls(
    mentions: Mentions, frame: InlineFrame, callee: str | None, count: int
) -> Iterator[list[str]]:
    """The arguments of calls of a function that begin on a line; of any, where it is not known."""
    statement = mentions.statement(frame)
    line = statement.partition("\n")[0]
    for start, arguments in argument_lists(statement, count):
        called = _CALLED.search(statement[:start])
        is_meant = callee is None or (
            called is not None and (callee == called[1] or f"{len(called[1])}{called[1]}" in callee)
        )
        if is_meant and start <= len(line):
            yield arguments
