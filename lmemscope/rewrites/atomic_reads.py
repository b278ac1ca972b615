"""Atomic functions that may leave the value as it is: who calls one in a loop may only read it."""

from __future__ import annotations

import re

from lmemscope.formats.statements import parts_of
from lmemscope.model.blanked import closed
from lmemscope.rewrites.meanings import Meanings

_ATOMIC = re.compile(
    rb"\b(?:(?P<own>atomic)|fetch_)(?P<what>(?i:add|sub|or|xor|max|min|and|inc|dec))(?:_(?:block|system))?"
    rb"\s*\("
)
_LONGEST = 2000
_CAST = re.compile(
    rb"\(\s*[A-Za-z_][\w\s]*\)\s*|static_cast\s*<[^<>]*>\s*"
    rb"|(?:(?:unsigned|signed|int|long|short|char|float|double|uint|u?int\d+_t|size_t)\b\s*)+(?=[({])"
)
_LITERAL = re.compile(rb"(?:[-+]\s*)?(?:0[xX][\da-fA-F']+|[\d'.]+)(?:[uUlLfF]|ll|LL)*")
_ZERO = re.compile(rb"(?:[-+]\s*)?0(?:[xX][0']+|[0'.]*)(?:[uUlLfF])*")
_ALL = re.compile(rb"-\s*1|0[xX][fF']{8,20}[uUlL]*")
_LAUNCHED = re.compile(rb"(?:blockDim|gridDim)\s*\.\s*[xyz]|warpSize|sizeof\b.*", re.DOTALL)
_CONST = re.compile(rb"\bconst(?:expr)?\b")
_NAME = re.compile(rb"[A-Za-z_]\w*")


def is_atomic_read(text: bytes, meanings: Meanings) -> bool:
    """Whether code has an atomic function that may change nothing.

    Args:
        text: the code.
        meanings: what names in it may be.
    """
    for found in _ATOMIC.finditer(text):
        end = closed(text, found.end(), b"()", found.end() + _LONGEST)
        given = list(parts_of(text[found.end() : end - 1].decode("latin-1")))
        at = 1 if found["own"] else 0
        if len(given) <= at:
            continue
        operand = given[at].encode("latin-1").strip()
        keeps_all = found["what"].lower() in (b"and", b"min")
        if not _changes(operand, meanings, keeps_all=keeps_all):
            return True
    return False


def _changes(operand: bytes, meanings: Meanings, *, keeps_all: bool) -> bool:
    """Whether an operand is known to change a value.

    Args:
        operand: as written.
        meanings: what names in it may be.
        keeps_all: whether it is all ones that change nothing; else nothing does.
    """
    bare = _bare(operand)
    if b"*" in bare and not keeps_all:
        return all(_changes(one, meanings, keeps_all=False) for one in bare.split(b"*"))
    if _LITERAL.fullmatch(bare) is not None:
        return (_ALL.fullmatch(bare) if keeps_all else _ZERO.fullmatch(bare)) is None
    if _LAUNCHED.fullmatch(bare) is not None:
        return True
    if _NAME.fullmatch(bare) is None:
        return False
    values = [body.strip() for _, body in meanings.macros(bare)] or _constant(bare, meanings)
    return bool(values) and all(
        bare not in _NAME.findall(one)
        and _LITERAL.fullmatch(_bare(one)) is not None
        and _changes(one, meanings, keeps_all=keeps_all)
        for one in values
    )


def _bare(operand: bytes) -> bytes:
    """An operand without casts and brackets around it."""
    while True:
        made = _CAST.sub(b"", operand, count=1) if _CAST.match(operand) else operand
        made = made.strip()
        if made[:1] in (b"(", b"{") and made[-1:] in (b")", b"}"):
            made = made[1:-1].strip()
        if made == operand:
            return made
        operand = made


def _constant(name: bytes, meanings: Meanings) -> list[bytes]:
    """The values of the constants of a name; nothing where one may be no constant."""
    given = re.compile(rb"\b%b\s*(?:=(?!=)\s*([^;,(){}]*)|\{([^{}]*)\})" % re.escape(name))
    values: list[bytes] = []
    for text in meanings.texts:
        for found in given.finditer(text):
            begin = max(text.rfind(bytes((one,)), 0, found.start()) for one in b";{}()") + 1
            if _CONST.search(text, begin, found.start()) is None:
                return []
            values.append((found[1] or found[2]).strip())
    return values
