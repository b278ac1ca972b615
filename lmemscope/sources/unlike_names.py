"""Find names declared differently for nvcc and NVRTC, where a source can tell.

A name unknown to NVRTC is an error in most places, but not where a lookup may fail: in a call whose
arguments depend on a template's, after ``struct`` and the like, and in unevaluated operands. The
text is searched, not parsed: whatever may be such a place counts as one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lmemscope.sources.compiler_macros import DIFFERENT, SAME
from lmemscope.sources.host_names import (
    HOST_FAMILIES,
    HOST_NAMES,
    OTHER_INTEGERS,
    OTHER_OVERLOADS,
    OTHER_RESULTS,
    SAME_BUILTINS,
)
from lmemscope.sources.macro_use import WORD, MacroUse

_STD = re.compile(rb"(?<![\w$])(?<!cuda::)(?<!cuda/)std(?![\w$])")
"""The standard library's namespace, which NVRTC lacks; both compilers have libcu++'s."""
_MEMBER = re.compile(rb"(?:(?<!\.)\.|->)\s*+(?:template\s++)?[A-Za-z_$][\w$]*")
_NEXT = re.compile(rb"\s*([A-Za-z_$][\w$]*|\S)?")
_CLASS_KEY = rb"(?<![\w$])(?:struct|class|union|enum)(?![\w$])"
_AFTER_CLASS_KEY = re.compile(
    rb"(?<![<,])(?<![<,] )" + _CLASS_KEY + rb"((?:[^;{}<>=,()]|\([^(){};]{0,200}\)){1,300})"
)
_TYPE = re.compile(rb"(?<![\w$])(?:typedef(?![\w$])[^;]{0,400}?([\w$]+)\s*;|using\s+([\w$]+)\s*=)")
_BODY = re.compile(
    rb"(?m:^)[ \t]*(?:#|%:)[ \t]*define[ \t]+[\w$]++(?:\(([^()\n]{0,1000})\))?([^\n]*)"
)
_ASKS = re.compile(
    rb"(?<![\w$])(?:decltype(?!\s*\(\s*auto\s*\))|requires|concept|typeid|(?:__)?typeof(?:__)?"
    rb"|__decltype)(?![\w$])"
    rb"|(?<![\w$])(?:sizeof|alignof|__alignof__|_Alignof)\s*+(?:\(?[^();{}]{0,300}\()"
    rb"|(?m:^)[ \t]*(?:#|%:)[ \t]*define\b[^\n]*\b(?:sizeof|alignof)\b"
)
_OPERAND = re.compile(
    rb"(?<![\w$])(?:decltype|requires|typeid|(?:__)?typeof(?:__)?|sizeof|alignof)(?![\w$])"
    rb"([^;{}]{0,1000})"
)
_HEAD = re.compile(rb"(?<![\w$])template\s*<((?:[^;{}]|\{[^;{}]{0,200}\}){0,2000})")
_CALLED = re.compile(rb"(?<![\w$])([A-Za-z_$][\w$]*+)\s*\(")
_BUILTIN = re.compile(
    rb"__(?:builtin_|is_|has_|array_|reference_|remove_|add_|make_|underlying_type|type_pack)\w*"
)
_RESERVED = re.compile(rb"__|_[A-Z]")
_KEY_ALONE = re.compile(_CLASS_KEY + rb"\s*$")
_ATTRIBUTES = frozenset(b"__attribute__ __attribute __declspec __alignof__ __typeof__".split())
"""Words that may precede a name or query an operand, and that both know."""


@dataclass(frozen=True, slots=True)
class NameUse:
    """A text's use of names that are declared before it.

    Attributes:
        otherwise: a name that differs whatever else is read, or None.
        called: names from nvcc's headers that are called, follow a class key or are in a macro's
            body.
        mentioned: those used elsewhere, each with the following word or an empty one.
        overloaded: functions with different overloads.
        types: names declared as types.
        asks: whether it may depend on a lookup that fails.
        hands: whether a macro calls a parameter, or stands for a class key.
    """

    otherwise: str | None
    called: frozenset[bytes]
    mentioned: frozenset[tuple[bytes, bytes]]
    overloaded: frozenset[bytes]
    types: frozenset[bytes]
    asks: bool
    hands: bool


def name_use(text: bytes) -> NameUse:
    """Read the use of names in a text.

    Args:
        text: from `lmemscope.sources.macro_use.code`.
    """
    words = set(WORD.findall(text))
    bodies = [(found[1], found[2]) for found in _BODY.finditer(text)]
    hosts = {word for word in words if is_declared_otherwise(word)}
    called: set[bytes] = set()
    mentioned: set[tuple[bytes, bytes]] = set()
    for name, behind in _mentions(text, hosts) if hosts else ():
        if behind == b"(":
            called.add(name)
        else:
            mentioned.add((name, behind if WORD.match(behind) else b""))
    keyed, own = set[bytes](), set[bytes]()
    for found in _AFTER_CLASS_KEY.finditer(text):
        own.update(WORD.findall(found[1]) if text.startswith(b"{", found.end()) else ())
        keyed.update(WORD.findall(found[1]))
    called |= (keyed | _in_bodies(bodies)) & hosts
    return NameUse(
        _always_otherwise(text, words, keyed - own),
        frozenset(called),
        frozenset(mentioned),
        frozenset(words & OTHER_OVERLOADS),
        frozenset(name for found in _TYPE.finditer(text) for name in found.groups() if name),
        _ASKS.search(text) is not None,
        any(_hands(parameters, body) for parameters, body in bodies),
    )


def named_otherwise(uses: Sequence[NameUse], macros: Iterable[MacroUse]) -> str | None:
    """A name in a compilation's texts that NVRTC and nvcc may know differently, or None."""
    first = next((use.otherwise for use in uses if use.otherwise is not None), None)
    if first is not None:
        return first
    defined = {one.name for use in macros for one in use.definitions}
    types = frozenset().union(*(use.types for use in uses))
    hands = any(use.hands for use in uses)
    for use in uses:
        found = use.called - types
        found |= {name for name, behind in use.mentioned if behind in defined}
        if hands:
            found |= {name for name, _ in use.mentioned} - types
        for name in sorted(found - defined):
            return name.decode("utf-8", "replace")
    own = defined | types
    integers = {name for use in uses for name, _ in use.mentioned if OTHER_INTEGERS.fullmatch(name)}
    for name in sorted(integers - own):
        return name.decode("utf-8", "replace")
    overloaded = frozenset().union(*(use.overloaded for use in uses)) - defined
    if overloaded and any(use.asks for use in uses):
        return min(overloaded).decode("utf-8", "replace")
    return None


def is_declared_otherwise(name: bytes) -> bool:
    """Whether nvcc's headers declare a name, and NVRTC does not or with different results."""
    return (
        name in HOST_NAMES
        or name in OTHER_RESULTS
        or HOST_FAMILIES.match(name) is not None
        or OTHER_INTEGERS.fullmatch(name) is not None
    )


def _mentions(text: bytes, names: set[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Names, and what follows each; members are left out."""
    for found in WORD.finditer(_MEMBER.sub(b" ", text)):
        if found[0] in names:
            behind = _NEXT.match(found.string, found.end())
            yield found[0], (behind and behind[1]) or b""


def _in_bodies(bodies: Iterable[tuple[bytes | None, bytes]]) -> set[bytes]:
    return {word for _, body in bodies for word in WORD.findall(_MEMBER.sub(b" ", body))}


def _hands(parameters: bytes | None, body: bytes) -> bool:
    """Whether a macro calls a parameter, or leaves a class key before what follows."""
    given = set(WORD.findall(parameters or b""))
    return bool(given & set(_CALLED.findall(body))) or _KEY_ALONE.search(body) is not None


def _always_otherwise(text: bytes, words: set[bytes], keyed: set[bytes]) -> str | None:
    """A name that differs wherever it occurs, or that is used where a lookup may fail."""
    if _STD.search(text) is not None:
        return "std"
    found = {word for word in words if _BUILTIN.fullmatch(word)} - SAME_BUILTINS
    found |= {word for word in keyed if _RESERVED.match(word)} - _ATTRIBUTES
    heads = [head[1] for head in _HEAD.finditer(text)]
    tried = {word for head in heads for word in _CALLED.findall(head)}
    found |= tried & OTHER_OVERLOADS
    for operand in (*heads, *(one[1] for one in _OPERAND.finditer(text))):
        called = {word for word in _CALLED.findall(operand) if _RESERVED.match(word)}
        found |= called - _ATTRIBUTES - SAME_BUILTINS
    found -= SAME | DIFFERENT
    return min(found).decode("utf-8", "replace") if found else None
