"""What rules found in the user's sources before: a template's instances all ask for the same."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from lmemscope.model import SourceText

Key = TypeVar("Key", bound=Hashable)
Found = TypeVar("Found")


class Remembered(Generic[Key, Found]):
    """Answers to one question about sources, each kept for as long as the text is."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[SourceText, dict[Key, Found]] = WeakKeyDictionary()

    def of(self, sources: SourceText, key: Key, find: Callable[[], Found]) -> Found:
        """The answer for a key.

        Args:
            sources: the text that is asked.
            key: all that the answer follows from besides.
            find: finds it the first time; what it gives must not hold the text.
        """
        known = self._known.setdefault(sources, {})
        if key not in known:
            known[key] = find()
        return known[key]
