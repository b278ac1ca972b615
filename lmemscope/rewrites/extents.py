"""What an array's extent may be, and the constants around it: by the source, for any instance."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lmemscope.model import SourceLocation
from lmemscope.rewrites.base import DeclinedError, Target
from lmemscope.rewrites.computed import Named, UnknownError, Value
from lmemscope.rewrites.places import Extent
from lmemscope.rewrites.written import is_here
from lmemscope.rules.constants import number_of
from lmemscope.sources.syntax import around, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_SIZES = (1, 2, 3, 4, 5, 7, 8, 12, 16, 25, 32)
"""What a template's parameter is tried with."""
SIGNS = (True, False)
"""A constant whose type is not seen may be signed or not."""


class Extents:
    """An array's extent, and constants.

    Args:
        target: in whose file it is.
        extent: as written.
        place: where it is.

    Raises:
        DeclinedError: nothing says what it is.
    """

    def __init__(self, target: Target, extent: Extent, place: Node) -> None:
        self._target = target
        self._known: dict[bytes, int | None] = {}
        self._parameter = self._template(extent.text, place)
        number = extent.number
        if number is None and self._parameter is None:
            number = self._number(extent.text, place.start_point.row + 1)
            if number is None:
                raise DeclinedError("its extent is not known")
        self.sizes: tuple[int, ...] = _SIZES if number is None else (number,)

    def named(self, size: int, is_signed: bool) -> Named:
        """Constants' values where the array has a size.

        Args:
            size: of the array.
            is_signed: what constants are whose type is not seen.
        """

        def value(node: Node) -> Value:
            name = self._target.syntax.text(node)
            if self._parameter is not None and name == self._parameter[0]:
                return Value(size, self._parameter[1])
            number = self._number(name, node.start_point.row + 1)
            if number is None or number >= 1 << 31:
                raise UnknownError
            return Value(number, self._is_int(name) or is_signed)

        return value

    def _number(self, text: bytes, line: int) -> int | None:
        if text not in self._known:
            place = SourceLocation(self._target.path, line)
            for hit in self._target.hits:
                for own in (hit.facts.location, self._target.declared_at, hit.finding.location):
                    if own is not None and is_here(self._target, own):
                        place = SourceLocation(own.file, line)
            sources = self._target.hits[0].case.sources
            self._known[text] = number_of(text.decode(errors="replace"), sources, place)
        return self._known[text]

    def _is_int(self, name: bytes) -> bool:
        """Whether a constant is seen to be an ``int``."""
        text, name = self._target.syntax.code, re.escape(name)
        head = rb"(?:static[ \t]+)?(?:const|constexpr)[ \t]+(?:static[ \t]+)?int[ \t]+"
        return (
            re.search(head + name + rb"\b", text) is not None
            or re.search(rb"#[ \t]*define[ \t]+" + name + rb"[ \t]+\(?\d+\)?[ \t]*\r?$", text, re.M)
            is not None
        )

    def _template(self, extent: bytes, place: Node) -> tuple[bytes, bool] | None:
        """The template's parameter that the extent is, and whether it is signed."""
        words = set(re.findall(rb"[A-Za-z_]\w*", extent))
        for template in around(place, "template_declaration"):
            parameters = template.child_by_field_name("parameters")
            for one in parameters.named_children if parameters is not None else ():
                names = {self._target.syntax.text(n) for n in walk(one) if n.type == "identifier"}
                if not names & words:
                    continue
                if names != {extent}:
                    raise DeclinedError("its extent is computed from a template's parameter")
                kind = one.child_by_field_name("type")
                written = b"" if kind is None else self._target.syntax.text(kind)
                if written not in (b"int", b"unsigned", b"unsigned int"):
                    raise DeclinedError("its extent is of a type that is not known")
                return extent, written == b"int"
        return None
