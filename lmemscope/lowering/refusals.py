"""Which of two compilers' errors to show where both refuse a file."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from lmemscope.errors import CompileError
from lmemscope.tools.nvcc import INSTANTIATING

_ERROR = re.compile(
    r"^(?P<file>[^\s(][^(\n]*?)(?:\((?P<line>\d+)\)|:(?P<at>\d+)(?::\d+)?)\s*: "
    r"(?:catastrophic |fatal )?error(?: #[\w-]+)?: (?P<what>.*)$",
    re.MULTILINE,
)
_NO_HEADER = re.compile(r"No such file or directory|open source file")


@dataclass(frozen=True, slots=True)
class SourceError:
    """The first error that a compiler reports at a place in a file."""

    file: str
    line: int
    what: str


def first_error(log: str | None) -> SourceError | None:
    """The first error in a compiler's log that has a place, or None."""
    found = _ERROR.search(log or "")
    if found is None:
        return None
    line = int(found["line"] or found["at"])
    return SourceError(os.path.normpath(found["file"]), line, found["what"].strip())


def is_users_own(by_nvrtc: CompileError, by_nvcc: CompileError, *, is_about_host: bool) -> bool:
    """Whether NVRTC's error, rather than nvcc's, says what is wrong with the user's text.

    nvcc is what applications are built by, so its error is shown, unless it is the same one, it has
    no place in the user's text, or nvcc stopped for want of a header that NVRTC has read.

    Args:
        by_nvrtc, by_nvcc: the two errors.
        is_about_host: whether NVRTC's error may be about host code, which it does not take.
    """
    ours, theirs = first_error(by_nvrtc.log), first_error(by_nvcc.log)
    if ours is not None and ours == theirs:
        return True
    if theirs is None or os.path.basename(theirs.file) == INSTANTIATING:
        return not is_about_host
    # A host function is no error to nvcc: it went on, to the header that the user lacks.
    without_header = _NO_HEADER.search(theirs.what) is not None and not is_about_host
    return without_header and ours is not None and _NO_HEADER.search(ours.what) is None
