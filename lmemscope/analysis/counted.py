"""The index that the counter of a rolled loop makes, where other indices stand on the line too.

Compilers read an element once for several lines and name the line of one of them, on which another
element may be written.
"""

from __future__ import annotations

import re

from lmemscope.analysis.names import Names, ObjectName
from lmemscope.analysis.spelling import Spelling
from lmemscope.model import SourceLocation, SourceText

_COUNTER = re.compile(r"\bfor\s*\(\s*(?:[\w:]+\s+)*([A-Za-z_]\w*)\s*=(?!=)")
_WORD = re.compile(r"[A-Za-z_]\w*")


def counted(
    expression: str,
    loop: SourceLocation,
    named: ObjectName,
    names: Names,
    spelling: Spelling,
    sources: SourceText,
) -> str | None:
    """The index as written: another one than the line's, if that is made of other loops' counters.

    Args:
        expression: the index on the access's line.
        loop: the line of the loop whose counter the access is indexed by.
        named: the variable.
        names, spelling: of the unit.
        sources: the user's files.

    Returns:
        None where several indices have that counter.
    """
    heads = _COUNTER.findall(sources.line(loop.file, loop.line))
    words = set(_WORD.findall(expression))
    if len(heads) != 1 or not words or heads[0] in words:
        return expression
    variable, last = named.variable, names.scopes.last(named.variable)
    lines = range(variable.line, (last or 0) + 1)
    around = "\n".join(sources.line(variable.file, number) for number in lines)
    # What is no counter itself may well be computed from this one.
    if not words <= set(_COUNTER.findall(around)):
        return expression
    texts = {text for text in spelling.all_of(named) if heads[0] in _WORD.findall(text)}
    if not texts:
        return expression
    return texts.pop() if len(texts) == 1 else None
