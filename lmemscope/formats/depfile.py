"""Depfiles: the rule of Make that a compiler writes for what it read (``-MD``).

Grammar: GCC manual, "Preprocessor Options", ``-M``: blanks and ``#`` in names are escaped by a
backslash, ``$`` is doubled, and lines go on after a backslash.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_CONTINUED = re.compile(r"\\\r?\n")
_WORD = re.compile(r"(?:[^\s\\]|\\.)+")
_ESCAPED = re.compile(r"\\([ \t#\\])|\$(\$)")


def parse_depfile(text: str) -> tuple[str, ...]:
    """The files that the first rule depends on, in order; none where there is no rule.

    Args:
        text: of the file; carriage returns at the ends of lines are not part of names.
    """
    lines = _CONTINUED.sub(" ", text).splitlines()
    rule = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    words = _WORD.findall(rule)
    ends = [at for at, word in enumerate(words) if word.endswith(":") and not word.endswith("\\:")]
    return tuple(map(_unescaped, words[ends[0] + 1 :])) if ends else ()


def _unescaped(word: str) -> str:
    return _ESCAPED.sub(lambda match: match[1] or match[2], word)


def without_depfile(words: Iterable[str]) -> tuple[tuple[str, ...], str | None]:
    """The words of a command but for those that ask for a depfile, and the depfile's name."""
    kept: list[str] = []
    name = None
    rest = iter(words)
    for word in rest:
        if word in ("-MF", "-MT", "-MQ"):
            value = next(rest, "")
            name = value if word == "-MF" else name
        elif word not in ("-MD", "-MMD"):
            kept.append(word)
    return tuple(kept), name
