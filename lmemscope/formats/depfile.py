"""Parse depfiles: the Make rule in which a compiler lists the files it read (``-MD``).

Grammar: GCC manual, "Preprocessor Options", ``-M``: blanks and ``#`` in names are escaped by a
backslash, ``$`` is doubled, and lines continue after a backslash.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_CONTINUED = re.compile(r"\\\r?\n")
_WORD = re.compile(r"(?:[^\s\\]|\\.)+")
_ESCAPED = re.compile(r"\\([ \t#\\])|\$(\$)")


def parse_depfile(text: str) -> tuple[str, ...]:
    """The prerequisites of the first rule, in order; empty without a rule.

    Args:
        text: of the file; carriage returns at line ends are not part of names.
    """
    lines = _CONTINUED.sub(" ", text).splitlines()
    rule = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    words = _WORD.findall(rule)
    ends = [at for at, word in enumerate(words) if word.endswith(":") and not word.endswith("\\:")]
    return tuple(map(_unescaped, words[ends[0] + 1 :])) if ends else ()


def _unescaped(word: str) -> str:
    return _ESCAPED.sub(lambda match: match[1] or match[2], word)


def without_depfile(words: Iterable[str]) -> tuple[tuple[str, ...], str | None]:
    """A command's words without those that request a depfile, and the depfile's name."""
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
