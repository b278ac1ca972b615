"""Read launches from the text of a source that no compiler accepted."""

from __future__ import annotations

from lmemscope import files
from lmemscope.errors import LmemscopeError
from lmemscope.model import Launch, kind_of
from lmemscope.sources.cuda import read_cuda_source
from lmemscope.sources.encoding import decoded, readable


def launches_of(path: str, name: str) -> tuple[Launch, ...]:
    """Device-side launches in a CUDA C++ source; empty if it cannot be read either.

    Args:
        path: of the file.
        name: for display.
    """
    kind = kind_of(path)
    if kind is None or not kind.is_cuda:
        return ()
    try:
        text = readable(decoded(files.read_beside(path)).text)
    except (OSError, LmemscopeError):
        return ()
    return tuple(one.alone(name) for one in read_cuda_source(text).device_launches)
