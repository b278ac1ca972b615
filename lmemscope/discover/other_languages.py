"""Files below a directory whose kernels are not read: notebooks, Triton, Warp, fat binaries, and
those that are CUDA C++ by half of their name (``k.cu.in``).

They are no inputs; that they are there is said, so that nobody takes them for looked at.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from lmemscope.files import read_input
from lmemscope.model import Gap, count, kind_of
from lmemscope.sources.python import may_hold_kernels

_OTHER_ENDINGS = {".ipynb": "a notebook", ".pyx": "Cython", ".pyw": "Python named .pyw"}
_BINARIES = {".fatbin": "a fat binary", ".ltoir": "code for link-time optimisation"}
_LANGUAGES = {"triton": "Triton", "warp": "Warp", "taichi": "Taichi", "tilelang": "TileLang"}
_IMPORT = re.compile(
    rf"(?:^|[;\"])[ \t]*(?:import|from)[ \t]+({'|'.join(_LANGUAGES)})\b".encode(), re.MULTILINE
)
_LIKE_CUDA = re.compile(r"\.cuh?(?:da|[^a-z]|$)", re.IGNORECASE)
_NAMED = 5


def language_of(path: str) -> str | None:
    """In what a file may hold kernels that are not read; None for most files."""
    ending = os.path.splitext(path)[1].lower()
    if ending in _BINARIES:
        return _BINARIES[ending]
    other = _OTHER_ENDINGS.get(ending)
    kind = kind_of(path)
    if kind is None and _LIKE_CUDA.search(os.path.basename(path)) is not None:
        return f"a name that ends in {ending!r}"
    if other is None and (kind is None or kind.reads != "imports"):
        return None
    try:
        data = read_input(path)
    except OSError:
        return other
    imported = _IMPORT.search(data)
    if imported is not None:
        return other or _LANGUAGES[imported[1].decode()]
    return other if other is not None and may_hold_kernels(data) else None


def left_out(found: Mapping[str, str]) -> Gap:
    """What to say of such files.

    Args:
        found: their languages by their names.
    """
    listed = ", ".join(f"{name} ({language})" for name, language in [*found.items()][:_NAMED])
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    files = count(len(found), "file")
    return Gap("walk", f"kernels that are not read, in {files}: {listed}{more}", "note")
