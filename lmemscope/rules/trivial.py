"""Whether an element can be declared in shared memory, where no constructor runs."""

from __future__ import annotations

import re

from lmemscope.formats.statements import closed_at
from lmemscope.model import SourceText
from lmemscope.rules.base import Case
from lmemscope.rules.declared import Declaration, bytes_of

_VECTOR = re.compile(
    r"u?(?:char|short|int|long|longlong)[1-4]|(?:float|double)[1-4]|(?:nv_|__nv_)?bfloat162?"
    r"|(?:__)?half2?"
)
_TYPE_NAME = re.compile(r"\b(?:struct|class|union|enum)\b")
_BRACED = re.compile(r"[\w>\]]\s*(?:\[[^\[\]]*\]\s*)?\{[^{};]*\}\s*[;,]")
"""The end of a member with braces for its value; a nested type's body has a semicolon inside."""
_DEPTH = 3
"""How many structures inside each other are looked at."""


def is_trivial(case: Case, made: Declaration) -> bool | None:
    """Whether the type of an element has no constructor that does something.

    None where its definition is not found.
    """
    kind = case.object.type or "" if case.object is not None else ""
    kind = kind.partition("[")[0].strip()
    if made.is_arithmetic or made.is_wide:
        return True
    declared = case.object.declared if case.object is not None else None
    if declared is None:
        return True if _VECTOR.fullmatch(kind) else None
    files = (declared.file, *case.sources.quoted(declared.file, searched=True))
    return _is_plain(kind, case.sources, files, _DEPTH)


def _is_plain(kind: str, sources: SourceText, files: tuple[str, ...], depth: int) -> bool | None:
    """As of `is_trivial`, of a type by its name."""
    if _VECTOR.fullmatch(kind) or bytes_of(kind) is not None or kind.endswith("*"):
        return True
    name = re.escape(kind.partition("<")[0].rpartition("::")[2].strip())
    if not name or not depth:
        return None
    head = re.compile(
        rf"\b(?:struct|class|union)\b[^;{{}}()]{{0,200}}?(?:\([^()]*\)\s*)?\b{name}\s*\{{"
    )
    for file in files:
        body = _body(sources.code(file), head, name)
        if body is not None:
            return _of_body(body, name, sources, files, depth)
    return None


def _of_body(
    body: str, name: str, sources: SourceText, files: tuple[str, ...], depth: int
) -> bool | None:
    """What the members of a structure say: constructors, values of their own, their types."""
    if re.search(rf"(?<![\w~]){name}\s*\((?![^()]*\)\s*=\s*default)", body):
        return False
    for braced in _BRACED.finditer(body):
        begins = max(body.rfind(end, 0, braced.start()) for end in ";{}") + 1
        if _TYPE_NAME.search(body, begins, braced.end()) is None:
            return False  # A member that begins with a value.
    plain = re.sub(r"\{[^{}]*\}|=\s*(?:default|delete)|\([^()]*\)", "", body)
    plain = re.sub(r"\bstatic\b[^;]*;|\boperator\s*[^\s;]+", "", plain)
    if re.search(r"\w\s*(?:\[[^\[\]]*\]\s*)?=(?!=)", plain):
        return False
    if re.search(r"\bvirtual\b|::|<", plain):
        return None
    members = re.findall(r"(?:^|[;:}])\s*(?:const\s+)?([A-Za-z_]\w*)\s+\w+\s*[;,\[]", plain)
    known = [
        _is_plain(one, sources, files, depth - 1)
        for one in dict.fromkeys(members)
        if bytes_of(one) is None and one not in ("struct", "union", "class", "enum", "unsigned")
    ]
    # What is not found is mostly another name for a number.
    return False not in known


def _body(text: str, head: re.Pattern[str], name: str) -> str | None:
    """What stands in the braces of a structure, also of ``typedef struct {…} name``."""
    found = head.search(text)
    if found is not None:
        return text[found.end() : closed_at(text, found.end() - 1)]
    named = re.search(
        rf"\btypedef\s+(?:struct|union)\b[^{{}};]{{0,200}}\{{(?P<body>[^{{}}]*)\}}\s*{name}\s*[;,]",
        text,
    )
    return named["body"] if named is not None else None
