"""Kernels in headers that nothing compiles: a directory stands for sources, not for headers.

What a header defines is compiled with the sources that include it. One that no source includes,
directly or through another header, is not compiled by anybody, and its kernels are not looked at;
that has to be said, or a gate would pass what it did not see.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from lmemscope.model import Gap

_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)
_KERNEL = re.compile(rb"\b__global__\b")
_NAMED = 3


def unseen(headers: Sequence[str], sources: Iterable[str]) -> tuple[Gap, ...]:
    """A gap for the headers with kernels that no source includes; none where there is no such.

    Headers are told apart by file name alone: of two that share one, both count as included.

    Args:
        headers: as shown to the user.
        sources: of the same command, as paths.
    """
    texts = {header: _read(header) for header in headers}
    included = {name for source in sources for name in _names(_read(source))}
    included |= {name for text in texts.values() for name in _names(text)}
    lonely = [
        header
        for header, text in texts.items()
        if _KERNEL.search(text) and os.path.basename(header) not in included
    ]
    if not lonely:
        return ()
    more = f" and {len(lonely) - _NAMED} more" if len(lonely) > _NAMED else ""
    named = ", ".join(lonely[:_NAMED]) + more
    reason = (
        f"{named}: kernels in headers that no source here includes are not compiled; name the "
        f"headers too (… {lonely[0]}), with --instantiate for templates that nobody launches"
    )
    return (Gap("instantiate", reason, "uninstantiated"),)


def _names(text: bytes) -> set[str]:
    return {
        os.path.basename(match.decode("utf-8", "surrogateescape"))
        for match in _INCLUDE.findall(text)
    }


def _read(path: str) -> bytes:
    """A file's bytes; one that cannot be read includes nothing and says so when it is compiled."""
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""
