"""Whether the preprocessor may put a name together (``##``): what reads names does not find it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lmemscope.model import SourceText
from lmemscope.rules.remembered import Remembered

_PASTING = re.compile(r"##|%:%:")
_WORDS: Remembered[tuple[str, ...], frozenset[str]] = Remembered()


def may_be_pasted(name: str, sources: SourceText, files: Iterable[str]) -> bool:
    """Whether a name is made of words of some files, one of which pastes words.

    What pastes them, and which it is given, is not followed: other macros may be in between.
    """
    looked = tuple(dict.fromkeys(files))
    words = _WORDS.of(sources, looked, lambda: _pasted_words(sources, looked))
    # Of each length of the name's beginning, whether it is a word or several.
    is_made = [True, *(False for _ in name)]
    for end in range(1, len(name) + 1):
        is_made[end] = any(
            is_made[start] and end - start < len(name) and name[start:end] in words
            for start in range(end)
        )
    return is_made[-1]


def _pasted_words(sources: SourceText, files: Iterable[str]) -> frozenset[str]:
    """The words of files; none where no file pastes any."""
    looked = [*files]
    if not any(sources.holds(file, "##", "%:%:") for file in looked):
        return frozenset()
    if not any(_PASTING.search(sources.code(file)) for file in looked):
        return frozenset()
    return frozenset[str]().union(*(sources.words(file) for file in looked))
