"""Read the user's headers that a source includes, for kernels and comments.

Kernels and ``// lmemscope:`` comments may be in a header; they count wherever it is included.
Headers of the toolkit and the system are not read.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from lmemscope.files import UnreadableFileError, cached_while_unchanged, read_beside
from lmemscope.model import CompileOptions, CudaSource, HeaderSource
from lmemscope.sources.comment_targets import with_doubts
from lmemscope.sources.cuda import read_cuda_source
from lmemscope.sources.encoding import decoded, readable
from lmemscope.sources.includes import Closure, closure
from lmemscope.sources.macro_use import code
from lmemscope.sources.own_name import NameUse, decided_by_name, in_pieces, name_use
from lmemscope.sources.unlike import asked_of_nvcc
from lmemscope.sources.unlike_macros import pasted_name

_SIGNS = (b"__global__", b"lmemscope", b".entry")
"""Every relevant header contains one of these; most contain none."""


def with_headers(source: CudaSource, path: str, options: CompileOptions) -> CudaSource:
    """A source with those of its headers that define kernels or contain our comments, in order.

    Also records what in them nvcc may treat differently from NVRTC.

    Args:
        source: read from its own text.
        path: its absolute path.
        options: its compile options.

    Raises:
        UnreadableFileError: an include names a pipe, a socket or a device.
    """
    try:
        read = closure(path, options)
        asked = asked_of_nvcc(read, options)
    except UnreadableFileError:
        raise
    except OSError:
        return source
    found = (_header(header) for header in read.files[1:])
    headers = tuple(header for header in found if header is not None)
    source = replace(source, headers=headers, asked=asked)
    return with_doubts(source, path, read.files, options, read.computed)


def name_that_decides(path: str, options: CompileOptions) -> str | None:
    """What in a source or its headers may depend on a file's name (`own_name`), or None.

    Args:
        path: absolute path of the source.
        options: its compile options.
    """
    try:
        return _decides(closure(path, options))
    except OSError:
        return None  # Compiling will fail on it too, with a message.


@functools.lru_cache(maxsize=16)
def _decides(read: Closure) -> str | None:
    """As above, for what a compilation reads: units for other architectures read the same."""
    uses = [use for file in read.files if (use := _name_use(file)) is not None]
    pieces, asks = in_pieces(uses), any(use.asks for use in uses)
    if not pieces and not asks:
        return None
    codes = [*_codes(read.files)]
    name = pasted_name(read.uses, codes, pieces)
    if name is not None:
        return name.decode()
    return decided_by_name(codes) if asks else None


def _name_use(path: str) -> NameUse | None:
    try:
        return _read_name_use(path)
    except OSError:
        return None


@cached_while_unchanged(16384)
def _read_name_use(path: str) -> NameUse:
    return name_use(read_beside(path))


def _codes(paths: Iterable[str]) -> Iterator[bytes]:
    for path in paths:
        with contextlib.suppress(OSError):
            yield _read_code(path)


@cached_while_unchanged(1024)
def _read_code(path: str) -> bytes:
    return code(read_beside(path))


def _header(path: str) -> HeaderSource | None:
    try:
        return _read(path)
    except OSError:
        return None


@cached_while_unchanged(4096)
def _read(path: str) -> HeaderSource | None:
    """The facts read from a header."""
    data = read_beside(path)
    lowered = data.lower()
    if not any(sign in lowered for sign in _SIGNS):
        return None
    source = read_cuda_source(readable(decoded(data).text))
    if not source.kernels and not source.directives and not source.strings:
        return None
    return HeaderSource(path, source)
