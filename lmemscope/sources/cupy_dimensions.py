"""Infer the dimensions of raw arrays in CuPy expressions from how they are indexed.

CuPy gives a raw array the dimensions of the argument. If no call is known, the expressions tell:
``a[{y, x}]``, ``a[at]`` with an index array ``at``, and ``a.shape()[2]``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lmemscope.sources.tokens import lexemes

_OPENING = frozenset("([{")
_CLOSING = frozenset(")]}")


def dimensions_of(expressions: Iterable[str], arrays: Iterable[str]) -> dict[str, int]:
    """Dimensions of the arrays that the expressions use with more than one.

    Args:
        expressions: CUDA C++.
        arrays: names.
    """
    words = [text for one in expressions for _, text in lexemes(one)]
    names, found = frozenset(arrays), dict[str, int]()
    lengths = dict(_index_arrays(words))
    for number, word in enumerate(words):
        if word in names and not _is_member(words, number):
            told = _told(words, number + 1, lengths)
            if told > found.get(word, 1):
                found[word] = told
    return found


def _told(words: Sequence[str], start: int, lengths: dict[str, int]) -> int:
    """The dimensions needed by the text after an array's name; 1 if it tells nothing."""
    match words[start : start + 6]:
        case ["[", "{", *_]:
            return _count(words, start + 1)
        case ["[", at, "]", *_]:
            return lengths.get(at, 1)
        case [".", ("shape" | "strides"), "(", ")", "[", extent] if extent.isdecimal():
            return int(extent) + 1
    return 1


def _index_arrays(words: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Arrays declared with a length or an initialiser, and the length."""
    for number in range(1, len(words) - 4):
        name, bracket = words[number], words[number + 1]
        if bracket != "[" or not name.isidentifier() or not words[number - 1].isidentifier():
            continue
        if words[number + 2].isdecimal() and words[number + 3] == "]":
            yield name, int(words[number + 2])
        elif words[number + 2] == "]":
            brace = number + 3 + (words[number + 3] == "=")
            if words[brace] == "{":
                yield name, _count(words, brace)


def _count(words: Sequence[str], start: int) -> int:
    """Number of elements between a brace and its end."""
    depth, commas = 0, 0
    for number in range(start, len(words)):
        depth += words[number] in _OPENING
        depth -= words[number] in _CLOSING
        if not depth:
            return commas + (words[number - 1] not in ",{")
        commas += depth == 1 and words[number] == ","
    return 1


def _is_member(words: Sequence[str], number: int) -> bool:
    return number > 0 and words[number - 1] in (".", "->", "::")
