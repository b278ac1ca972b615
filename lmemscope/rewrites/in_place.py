"""Functions that an array is carried into and nothing else calls: changed where they stand.

A copy beside such a function would leave it without a use.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lmemscope.model import Edit
from lmemscope.rewrites.arrays import is_for_device
from lmemscope.rewrites.base import Target
from lmemscope.sources.syntax import Syntax

if TYPE_CHECKING:
    from tree_sitter import Node

Place = tuple[str, int]
"""A file, and a byte of it."""

_WORD = re.compile(rb"[A-Za-z_]\w*")
_SEEN_OUTSIDE = frozenset(b"__host__ constexpr consteval extern friend template".split())
"""What a function says that other files, or text that is not seen, may name."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A function that takes an array's class.

    Attributes:
        home, syntax, function, name: of the function as it is.
        edits: what a copy of it needs.
        before: what the file needs before it.
        has_views: whether it takes other arrays as views, too.
    """

    home: str
    syntax: Syntax
    function: Node
    name: bytes
    edits: tuple[Edit, ...]
    before: tuple[Edit, ...]
    has_views: bool

    @property
    def place(self) -> Place:
        """Where the function begins."""
        return self.home, self.function.start_byte


def in_place(
    target: Target, copies: Sequence[Copy], calls: Mapping[Place, Place | None]
) -> set[Place]:
    """Where functions begin that have no use but calls with the array.

    Of one that takes other arrays, too, that is a single call: what is made for each of them
    changes the same function.

    Args:
        target: whose array it is.
        copies: of all functions that the array is carried into.
        calls: where the calls with the array name a function, and where the copied function begins
            that calls it; None of one that is no copy.
    """
    own = [one for one in copies if not one.has_views]
    number = Counter(one.place for one in own)
    alone = [one for one in own if number[one.place] == 1 and _is_of_this_file(one, target)]
    named = {one.place: set(_mentions(one, target)) for one in alone}
    shared = {one.place for one in copies if one.has_views}
    found = {place for place, at in named.items() if place not in shared or len(at) == 1}
    while True:
        # A function that stays as it is still calls others as they are.
        stay = {
            place
            for place in found
            if any(
                at not in calls or not (calls[at] is None or calls[at] in found)
                for at in named[place]
            )
        }
        if not stay:
            return found
        found -= stay


def _is_of_this_file(copy: Copy, target: Target) -> bool:
    """Whether no other file can name a function."""
    sources = target.hits[0].case.sources
    if not copy.home.endswith(".cu") or sources.is_elsewhere(copy.home) or sources.is_relocatable:
        return False
    item, body = copy.syntax.item(copy.function), copy.function.child_by_field_name("body")
    end = body.start_byte if body is not None else item.end_byte
    words = set(_WORD.findall(copy.syntax.code[item.start_byte : end]))
    words |= set(_WORD.findall(target.meanings.definitions(words)))
    return is_for_device(copy.function, copy.syntax) and not words & _SEEN_OUTSIDE


def _mentions(copy: Copy, target: Target) -> Iterator[Place]:
    """Where a function's name stands beside its definition; byte -1 where a macro may make it."""
    name = re.compile(rb"\b" + re.escape(copy.name) + rb"\b")
    declarator = copy.function.child_by_field_name("declarator")
    while declarator is not None and declarator.type.endswith("declarator"):
        declarator = declarator.child_by_field_name("declarator")
    for file in dict.fromkeys((copy.home, *map(os.path.abspath, target.files))):
        syntax = copy.syntax if file == copy.home else target.tree(file)
        if syntax is None or b"##" in syntax.code:
            yield file, -1
            continue
        for one in name.finditer(syntax.code):
            is_own = declarator is not None and declarator.start_byte == one.start()
            if file != copy.home or not is_own:
                yield file, one.start()
