"""Detect PTX whose only local memory is the argument buffer of ``printf``.

The compiler creates the buffer in the frame, and it holds no variable, so no debug compilation is
needed.
"""

from __future__ import annotations

import re

_DECLARED = re.compile(rb"\.local \.align \d+ \.b8\s+__local_depot\d+\[\d+\]\Z")
_REGISTER = re.compile(rb"%[\w$]+")
_MOVED = re.compile(rb"\bmov\.[bu]64\s+(%[\w$]+), __local_depot\d+\Z")
_CONVERTED = re.compile(rb"\bcvta\.local\.u64\s+(%[\w$]+), (%[\w$]+)\Z")
_ADDED = re.compile(rb"\badd\.[su]64\s+(%[\w$]+), (%[\w$]+), \d+\Z")
_STORED = re.compile(rb"\bst\.local\.[\w.]+\s+\[(%[\w$]+)(?:\+\d+)?\], ([^\[\];]*)\Z")
_GIVEN = re.compile(rb"\bst\.param\.b64\s+\[[\w$]+(?:\+\d+)?\], (%[\w$]+)\Z")
_CALLED = re.compile(rb"(?m:^)[ \t]*(?:@!?%\w+[ \t]+)?call\b")
_PRINTS = re.compile(rb"\bvprintf\b")
_LOCAL = re.compile(rb"\.local\b|\b__local_depot")


def only_prints(ptx: bytes) -> bool:
    """Whether everything in local memory is only written, and passed to ``vprintf``.

    Args:
        ptx: as written by nvcc's and NVRTC's code generator; False for other texts.
    """
    if b"ld.local" in ptx or b"vprintf" not in ptx:
        return False
    functions = (part for part in ptx.split(b"\n}") if b".local" in part)
    return all(map(_only_prints, functions))


def _only_prints(function: bytes) -> bool:
    local, generic = set[bytes](), set[bytes]()
    is_handed = False
    for statement in function.split(b";"):
        if (found := _MOVED.search(statement)) is not None:
            local.add(found[1])
        elif (found := _CONVERTED.search(statement)) is not None and found[2] in local:
            generic.add(found[1])
        elif (found := _ADDED.search(statement)) is not None and found[2] in local | generic:
            (local if found[2] in local else generic).add(found[1])
        elif (found := _STORED.search(statement)) is not None and found[1] in local:
            if not (local | generic).isdisjoint(_REGISTER.findall(found[2])):
                return False
        elif (found := _GIVEN.search(statement)) is not None and found[1] in generic:
            is_handed = True
        elif _CALLED.search(statement) is not None:
            if is_handed and _PRINTS.search(statement) is None:
                return False
            is_handed = False
        elif _names_local(statement) or not (local | generic).isdisjoint(
            _REGISTER.findall(statement)
        ):
            return False
    return not is_handed


def _names_local(statement: bytes) -> bool:
    return _LOCAL.search(statement) is not None and _DECLARED.search(statement) is None
