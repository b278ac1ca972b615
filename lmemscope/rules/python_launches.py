"""Launches in Python: whether they ask for shared memory beyond what a kernel declares.

Any call may be a launch, of a kernel that a variable holds. What hands on arguments that are not
written there may hand on bytes of shared memory, unless it is known to launch nothing.
"""

from __future__ import annotations

import builtins
import re

from lmemscope.formats.statements import parts_of

_ASKING = re.compile(
    r"\b(?:shared_mem\w*|shared_size|shared_bytes|sharedMem\w*|sh?mem_(?:size|bytes)|dynamic_smem"
    r"|cuLaunch\w*|LaunchConfig)\b|\bshared\s*=(?!=)"
)
"""Arguments of launches by CuPy, PyCUDA and CUDA's own bindings, and launches that have such."""
_NUMBA = re.compile(r"\[((?:[^\[\]()\n]|\([^()\n]*\)|\[[^\[\]\n]*\]){1,300})\]\s*\(")
"""What looks like ``kernel[grid, block, stream, bytes](``."""
_BY_NUMBA = re.compile(r"\bnumba\b")
_BRACKETED = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_WITH_BYTES = 4
_CALL = re.compile(
    r"(?P<head>\b(?:def|class)\s+)?(?<![\w.])(?P<callee>[A-Za-z_][\w.]*)\s*"
    r"\((?P<given>(?:[^()]|\((?:[^()]|\([^()]{0,200}\)){0,200}\)){1,400})\)"
)
_STARRED = re.compile(r"(?:^|,)\s*\*")
_DEFINED = re.compile(
    r"^[ \t]*(?:(?:async\s+)?def|class)\s+(\w+)|^[ \t]*import\s+(\w+)|\bas\s+(\w+)"
    r"|^[ \t]*from\s+[\w.]+\s+import\s+(\w+)",
    re.MULTILINE,
)
_LAUNCHING_NOTHING = frozenset(dir(builtins)) | {"super", "format", "join", "update", "extend"}


def asks_for_shared_memory(text: str) -> bool:
    """Whether a launch of a Python file's may ask for dynamic shared memory.

    Numba's fourth part of a launch is its bytes, and so is the fourth argument of CuPy's functions
    if it is no argument ``shared_mem``.
    """
    if _ASKING.search(text) is not None or any(map(_hands_on, _calls(text))):
        return True
    by_numba = _BY_NUMBA.search(text) is not None
    shapes = (_BRACKETED.sub("", one[1]).split(",") for one in _NUMBA.finditer(text))
    return any(
        (len(parts) == _WITH_BYTES and parts[-1].strip() != "0")
        or (by_numba and len(parts) == 1 and parts[0].strip().isidentifier())
        for parts in shapes
    )


def _calls(text: str) -> list[str]:
    """The arguments of calls that may be launches."""
    known = {name for one in _DEFINED.findall(text) for name in one if name} | _LAUNCHING_NOTHING
    return [
        one["given"]
        for one in _CALL.finditer(text)
        if one["head"] is None
        and one["callee"].partition(".")[0] not in known
        and one["callee"].rpartition(".")[2] not in known
    ]


def _hands_on(given: str) -> bool:
    """Whether arguments may hold bytes of shared memory that nothing names."""
    if _STARRED.search(_BRACKETED.sub("", given)) is not None:
        return True
    parts = [one.strip() for one in parts_of(given)]
    by_place = [one for one in parts if re.match(r"\w+\s*=(?!=)", one) is None]
    is_launch = len(by_place) >= _WITH_BYTES and all(one.startswith("(") for one in by_place[:2])
    return is_launch and by_place[_WITH_BYTES - 1] != "0"
