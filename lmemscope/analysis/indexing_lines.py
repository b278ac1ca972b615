"""The line inside a user's header that indexes an object which the kernel's file only hands on."""

from __future__ import annotations

import re
from functools import partial
from itertools import pairwise

from lmemscope.analysis.lines import Chain
from lmemscope.formats.demangle import demangle, short_name
from lmemscope.formats.statements import statement_at
from lmemscope.model import InlineFrame, SourceLocation, SourceText, is_foreign, is_library

_ACCESSOR = re.compile(r"operator\s*(?:\[|\()")


def indexing_line(
    chain: Chain, caller: SourceLocation, sources: SourceText, *, is_store: bool
) -> SourceLocation | None:
    """The innermost line of the user's that has an index computed at run time; None where none has.

    Of an operator that is written as a subscript, its caller has the index.

    Args:
        chain: of an access, innermost frame first.
        caller: the line of the chain that a reader would be sent to without it: only what that
            calls is looked at.
        sources: the user's files.
        is_store: direction of the access.
    """
    is_called_there = False
    for frame in chain:
        place = frame.location
        if _is_accessor(frame):
            is_called_there |= place == caller
            continue
        if is_called_there:
            return place
        if place == caller:
            return None
        if place.line <= 0 or not is_changed_with(place, caller):
            continue
        statement = statement_at(partial(sources.line, place.file), place.line)
        for one in statement.subscripts:
            moves = one.writes if is_store else one.reads
            if one.line == place.line and moves and not one.is_constant:
                return place
    return None


def call_of_accessor(chain: Chain, place: SourceLocation) -> SourceLocation | None:
    """The line that calls an operator which is written as a subscript; None of what is none.

    Args:
        chain: of an access, innermost frame first.
        place: one of its lines.
    """
    for frame, caller in pairwise(chain):
        if frame.location == place and _is_accessor(frame):
            return caller.location
    return None


def _is_accessor(frame: InlineFrame) -> bool:
    return frame.function is not None and bool(
        _ACCESSOR.search(short_name(demangle(frame.function)))
    )


def is_changed_with(inside: SourceLocation, caller: SourceLocation) -> bool:
    """Whether who may change the calling line may change the one inside: no library's.

    Copies of other projects are theirs whose own kernels call them.
    """
    if is_library(inside.file):
        return is_library(caller.file)
    return not is_foreign(inside.file) or is_foreign(caller.file)
