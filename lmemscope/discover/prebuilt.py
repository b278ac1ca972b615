"""Find device code that a walk does not read: in objects, archives, libraries and byte arrays.

Ordinary build products are in a build directory or ignored by git, and are of no concern. What git
tracks, or would add, may be linked into the program instead of a source.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping

from lmemscope.discover.cpp_files import is_cpp_name
from lmemscope.discover.device_bytes import FATBIN, holds_image
from lmemscope.discover.locate import is_build_name, own_place
from lmemscope.discover.skipped import known_to_git, top_of
from lmemscope.files import read_input
from lmemscope.model import is_linkable, kind_of

_SIGNS = (b".nv_fatbin", b".nv.info", FATBIN)
"""Names of device code sections, and the start of a fat binary."""
_FORM = "device code in an object or a library"
_AS_BYTES = "device code as bytes"


def prebuilt(path: str) -> str | None:
    """A description of the device code in an object, archive, library or source, or None."""
    if not is_linkable(path) or _is_of_build(path):
        return as_bytes(path)
    try:
        data = read_input(path)
    except OSError:
        return _FORM
    return _FORM if any(sign in data for sign in _SIGNS) else None


def is_cuda_source(path: str) -> bool:
    """Whether a file is CUDA C++ by its name."""
    kind = kind_of(path)
    return kind is not None and kind.is_cuda


def as_bytes(path: str) -> str | None:
    """A description of device code embedded as bytes in a C++ or CUDA source, or None."""
    if not is_cpp_name(path) and not is_cuda_source(path):
        return None
    try:
        return _AS_BYTES if holds_image(path) else None
    except OSError:
        return None  # Compiling will report it.


def without_build_products(found: Mapping[str, str], read: Collection[str]) -> dict[str, str]:
    """Unread files, by name with their content, without objects that a build makes.

    Args:
        found: for display.
        read: absolute paths of what is read, for example because a directory has no sources.
    """
    by_top: dict[str, list[str]] = {}
    taken = frozenset(read)
    for name, form in found.items():
        if form == _FORM:
            by_top.setdefault(top_of(name), []).append(name)
    own = {name for top, names in by_top.items() for name in _of_project(top, names)}
    return {
        name: form
        for name, form in found.items()
        if form != _FORM or (name in own and os.path.abspath(name) not in taken)
    }


def _of_project(top: str, names: list[str]) -> list[str]:
    known = known_to_git(top, [own_place(name) for name in names])
    return names if known is None else [name for name in names if own_place(name) in known]


def _is_of_build(path: str) -> bool:
    return any(map(is_build_name, os.path.dirname(path).split(os.sep)))
