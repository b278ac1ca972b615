"""Choose which compiler's error to show when both NVRTC and nvcc reject a file."""

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
    """The first error that a compiler reports with a file position."""

    file: str
    line: int
    what: str


def first_error(log: str | None) -> SourceError | None:
    """The first error in a compiler's log that has a position, or None."""
    found = _ERROR.search(log or "")
    if found is None:
        return None
    line = int(found["line"] or found["at"])
    return SourceError(os.path.normpath(found["file"]), line, found["what"].strip())


def is_users_own(by_nvrtc: CompileError, by_nvcc: CompileError, *, is_about_host: bool) -> bool:
    """Whether to show NVRTC's error rather than nvcc's, as the one about the user's code.

    Applications are built with nvcc, so its error is shown unless it is the same error, has no
    position in the user's text, or is about a missing header that NVRTC could read.

    Args:
        by_nvrtc, by_nvcc: the two errors.
        is_about_host: whether NVRTC's error may be about host code, which it does not support.
    """
    ours, theirs = first_error(by_nvrtc.log), first_error(by_nvcc.log)
    if ours is not None and ours == theirs:
        return True
    if theirs is None or os.path.basename(theirs.file) == INSTANTIATING:
        return not is_about_host
    # nvcc accepts the host function and goes on to the header that is missing.
    without_header = _NO_HEADER.search(theirs.what) is not None and not is_about_host
    return without_header and ours is not None and _NO_HEADER.search(ours.what) is None
