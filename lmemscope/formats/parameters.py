"""Normalise parameter types in sources and demangled names, so that they can be compared."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_WORD = re.compile(r"[^\W\d]\w*|\d+|.", re.DOTALL)
_OPENING, _CLOSING = frozenset("([{<"), frozenset(")]}>")
_QUALIFIERS = frozenset("const volatile __restrict__ __restrict restrict register".split())
_LONGEST = 10_000
"""Maximum length of a parameter list, in characters."""

_ARITHMETIC = frozenset("bool char short int long float double unsigned signed".split())


def type_of(words: Sequence[str]) -> str | None:
    """A parameter's type, without details that rarely distinguish overloads; None if not built in.

    Args:
        words: of the declaration or demangled type; a name may follow the type.
    """
    base: list[str] = []
    rest = ""
    named = False
    for word in words:
        if word in _QUALIFIERS:
            continue
        if word in _ARITHMETIC and not rest and not named:
            base.append(word)
        elif word in ("*", "&") and base and not named:
            rest += word
        elif word.isidentifier() and base and not named:
            named = True
        else:
            return None
    return f"{_arithmetic(base)}{rest}" if base else None


def types_of(parameters: Sequence[Sequence[str]]) -> tuple[str | None, ...] | None:
    """The types in a parameter list; None if their number is unknown."""
    kept = [_without_default(one) for one in parameters]
    if any("." in one for one in kept):  # ``...``, or a parameter pack
        return None
    if kept in ([[]], [["void"]]):
        return ()
    return tuple(type_of(one) for one in kept)


def split(words: Sequence[str]) -> list[list[str]]:
    """Words between two parentheses, split at commas outside brackets."""
    parts: list[list[str]] = [[]]
    depth = 0
    for word in words:
        depth += (word in _OPENING) - (word in _CLOSING)
        if word == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def of_demangled(demangled: str) -> tuple[str | None, ...] | None:
    """The parameter types of a demangled function; None if it shows none."""
    text = demangled.partition(" [clone")[0].rstrip()
    if not text.endswith(")") or len(text) > _LONGEST:
        return None
    depth = 0
    for index in range(len(text) - 1, -1, -1):
        depth += (text[index] == ")") - (text[index] == "(")
        if depth == 0:
            return types_of(split(list(_words(text[index + 1 : -1]))))
    return None


def _words(text: str) -> Iterator[str]:
    return (found for found in _WORD.findall(text) if not found.isspace())


def _without_default(words: Sequence[str]) -> list[str]:
    return list(words[: words.index("=")] if "=" in words else words)


def _arithmetic(words: Sequence[str]) -> str:
    """One spelling for ``unsigned long int``, ``long unsigned`` and the like."""
    kept = sorted(words)
    if len(kept) > 1 and "int" in kept:
        kept.remove("int")
    if "signed" in kept and "char" not in kept:
        kept.remove("signed")
    return " ".join(kept) if kept else "int"
