"""Read and write nvcc's options that name architectures."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lmemscope.sources.includes import ARCH_LIST

_VIRTUAL = "-arch=compute_"
_SEPARATE_WORD = re.compile(r"(?:sm|compute|lto)_(\d{1,4}[af]?)(?!\d)")


def archs_in(value: str) -> list[str]:
    """Real architectures in ``[sm_80,compute_80]``; PTX for ``compute_80`` counts as its code."""
    found = dict.fromkeys(f"sm_{number}" for number in _SEPARATE_WORD.findall(value))
    if not found and value in ("native", "all", "all-major"):
        return ["all-major" if value == "all" else value]
    return list(found)


def arch_list(archs: Iterable[str]) -> tuple[str, ...]:
    """The option that makes nvcc define ``__CUDA_ARCH_LIST__`` with several architectures.

    Args:
        archs: all architectures compiled at once; a single one needs no option.
    """
    numbers = sorted({_number(arch) * 10 for arch in archs})
    listed = "\\,".join(map(str, numbers))
    return (f"-D{ARCH_LIST}={listed}",) if len(numbers) > 1 else ()


def virtual_option(virtual: str) -> str:
    """The option that makes nvcc compile for the virtual architecture of ``sm_80``."""
    return f"{_VIRTUAL}{virtual.removeprefix('sm_')}"


def usable(words: Iterable[str], arch: str) -> tuple[str, ...]:
    """nvcc's options without a virtual architecture that no code for a real one is made from."""
    return tuple(
        word for word in words if not word.startswith(_VIRTUAL) or _number(word) <= _number(arch)
    )


def _number(arch: str) -> int:
    """The number in an architecture's name."""
    return int(re.sub(r"\D", "", arch))


def is_arch_list(word: str) -> bool:
    """Whether an option was made by `arch_list`."""
    return word.startswith(f"-D{ARCH_LIST}=")
