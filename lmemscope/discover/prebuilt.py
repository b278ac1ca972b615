"""Find device code that a walk does not read: in binaries, packages, byte arrays and other texts.

Ordinary build products are in a build directory or ignored by git, and are of no concern. What git
tracks, or would add, may be linked into the program instead of a source.
"""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Collection, Mapping

from lmemscope.discover.cpp_files import is_cpp_name
from lmemscope.discover.device_bytes import FATBIN, holds_image
from lmemscope.discover.locate import is_build_name, own_place
from lmemscope.discover.skipped import known_to_git, top_of
from lmemscope.files import read_input
from lmemscope.model import is_linkable, kind_of
from lmemscope.model.inputs import PACKAGE
from lmemscope.routes import binary_kind
from lmemscope.sources.python_words import may_hold_kernels

_SIGNS = (b".nv_fatbin", b".nv.info", FATBIN)
"""Names of device code sections, and the start of a fat binary."""
_FORM = "device code in an object or a library"
_PACKED = "packed, and not unpacked here"
_AS_TEXT = "a kernel under another ending"
_MADE = frozenset((_FORM, _PACKED, _AS_TEXT))
"""Forms of files that a build may make."""
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
_DEVICE = re.compile(r"\.(?:so(?:\.\d+)*|a|o|obj|lib|cubin|fatbin|ptx|cuh?)\Z", re.IGNORECASE)
"""How names of files that may contain device code end."""
_GLOBAL = re.compile(rb"\b__global__\b")
_HEAD = 4000
_PTX = re.compile(rb"(?m:^)[ \t]*\.version[ \t]+\d")
_LARGEST_TEXT = 256 << 10
_PROSE = frozenset(
    "adoc cmake csv diff htm html json log md org patch rst sarif svg tex toml txt xml yaml "
    "yml".split()
)
"""Endings of texts that may quote kernels."""
_AS_BYTES = "device code as bytes"


def prebuilt(path: str) -> str | None:
    """A description of the device code in a file that is not read, or None."""
    if kind_of(path) is not None or is_cpp_name(path) or _is_of_build(path):
        return as_bytes(path)
    kind = binary_kind(path)
    if kind is PACKAGE or path.lower().endswith(_COMPRESSED):
        return _PACKED if _packs_device_code(path) else None
    try:
        if kind is None and not is_linkable(path):
            return _AS_TEXT if _is_kernel_text(path) else None
        data = read_input(path)
    except OSError:
        return _FORM if is_linkable(path) else None
    return _FORM if any(sign in data for sign in _SIGNS) else None


def _packs_device_code(path: str) -> bool:
    """Whether a package or a compressed file may contain device code, by its members' names."""
    name, packing = os.path.splitext(path)
    if packing.lower() in _COMPRESSED:
        return _DEVICE.search(name) is not None
    try:
        with zipfile.ZipFile(path) as package:
            return any(_DEVICE.search(member) for member in package.namelist())
    except (zipfile.BadZipFile, OSError, ValueError):
        return False


def _is_kernel_text(path: str) -> bool:
    """Whether a small text file, other than prose, defines a kernel in CUDA C++, PTX or Python."""
    ending = os.path.splitext(path)[1].lower()
    if ending[1:] in _PROSE or os.path.getsize(path) > _LARGEST_TEXT:
        return False
    data = read_input(path)
    if b"\0" in data:
        return False
    is_script = not ending and data.startswith(b"#!") and b"python" in data.partition(b"\n")[0]
    is_ptx = b".entry" in data and _PTX.search(data) is not None
    return is_ptx or _defines_kernel(data) or (is_script and may_hold_kernels(data))


def _defines_kernel(data: bytes) -> bool:
    """Whether ``__global__ void`` precedes a body."""
    places = (found.start() for found in _GLOBAL.finditer(data))
    heads = (data[at : at + _HEAD].partition(b"{") for at in places)
    return any(brace and b"void" in head and b";" not in head for head, brace, _ in heads)


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
        if form in _MADE:
            by_top.setdefault(top_of(name), []).append(name)
    own = {name for top, names in by_top.items() for name in _of_project(top, names)}
    return {
        name: form
        for name, form in found.items()
        if form not in _MADE or (name in own and os.path.abspath(name) not in taken)
    }


def _of_project(top: str, names: list[str]) -> list[str]:
    known = known_to_git(top, [own_place(name) for name in names])
    return names if known is None else [name for name in names if own_place(name) in known]


def _is_of_build(path: str) -> bool:
    return any(map(is_build_name, os.path.dirname(path).split(os.sep)))
