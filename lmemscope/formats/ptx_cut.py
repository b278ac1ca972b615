"""Cut PTX down to the bodies of few functions, for a compiler that does not need the others.

Lines keep their numbers.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from lmemscope.formats.ptx_scan import Definition, code_of, definitions

_NAME = re.compile(rb"[A-Za-z_$%][\w$%]*")
_VALUE = re.compile(rb"=[^;]*")
_DECLARATION = re.compile(
    rb"(?>(?:\.(?:visible|weak|common)[ \t]++){0,9})\.func\b(?>(?:[^{;.]++|\.(?!func\b))*);"
)
_DIRECTIVE = re.compile(rb"(\.[a-z]++)[ \t]++\d++")
_BRACE = re.compile(rb"[{}]")
_LINE = re.compile(rb"[^\n]+")


class PtxParts:
    """The functions in a PTX text.

    Args:
        text: of a module.
    """

    def __init__(self, text: bytes) -> None:
        self._text, self._code = text, code_of(text)
        self._functions = [(one, _end(self._code, one)) for one in definitions(self._code)]
        self.names = frozenset(one.name for one, _ in self._functions)
        """Mangled names of the functions it defines."""

    @property
    def kernels(self) -> dict[str, str]:
        """The kernels' headers by name, from ``.entry`` to the body, including comments."""
        return {
            one.name: self._code[one.begin : one.brace].decode("utf-8", "replace")
            for one, _ in self._functions
            if one.kind == "entry"
        }

    def with_first(self, name: str, statement: bytes) -> bytes:
        """The text with a statement inserted where a function's body starts, on the same line."""
        brace = next(one.brace for one, _ in self._functions if one.name == name)
        return self._text[: brace + 1] + statement + self._text[brace + 1 :]

    def without(self, name: str, directives: Collection[str]) -> bytes:
        """The text without numeric directives in a kernel's header, such as ``.maxnreg``."""
        found = next(one for one, _ in self._functions if one.name == name)
        header = self._code[found.begin : found.brace]
        parts: list[bytes] = []
        position = 0
        for directive in _DIRECTIVE.finditer(header):
            if directive[1].decode() not in directives:
                continue
            begin, end = (found.begin + place for place in directive.span())
            parts, position = [*parts, self._text[position:begin]], end
        return b"".join([*parts, self._text[position:]])

    def cut(self, names: Collection[str]) -> bytes:
        """The text without functions that the given ones cannot reach.

        Args:
            names: of the functions to keep; everything they name, and what variables' initial
                values name, is kept too.
        """
        dropped = self.names - self._reached(names)
        gone = [(one.begin, end) for one, end in self._functions if one.name in dropped]
        parts, position = [], 0
        for begin, end in sorted([*gone, *self._declared(dropped)]):
            parts += [self._text[position:begin], _LINE.sub(b"", self._text[begin:end])]
            position = end
        return b"".join([*parts, self._text[position:]])

    def _declared(self, names: Collection[str]) -> Iterator[tuple[int, int]]:
        """Where functions are declared without a body: ptxas misses the body once it is cut."""
        encoded = {name.encode() for name in names}
        position = 0
        for begin, end in [*((o.begin, e) for o, e in self._functions), (len(self._code), 0)]:
            for found in _DECLARATION.finditer(self._code, position, begin):
                if encoded.intersection(_NAME.findall(found[0])):
                    yield found.span()
            position = end

    def _reached(self, names: Collection[str]) -> set[str]:
        bounds = {one.name.encode(): (one.begin, end) for one, end in self._functions}
        kept: set[bytes] = set()
        waiting = {name for name in bounds if name.decode() in names} | self._initial(bounds)
        while waiting:
            name = waiting.pop()
            kept.add(name)
            waiting |= (bounds.keys() & _NAME.findall(self._code, *bounds[name])) - kept
        return {name.decode() for name in kept}

    def _initial(self, bounds: Mapping[bytes, tuple[int, int]]) -> set[bytes]:
        """Functions whose addresses are initial values of variables."""
        found: set[bytes] = set()
        position = 0
        for begin, end in [*((o.begin, e) for o, e in self._functions), (len(self._code), 0)]:
            for value in _VALUE.findall(self._code, position, begin):
                found |= bounds.keys() & _NAME.findall(value)
            position = end
        return found


def _end(code: bytes, definition: Definition) -> int:
    """The byte after the closing brace of a function's body."""
    depth = 0
    for brace in _BRACE.finditer(code, definition.brace, definition.end):
        depth += 1 if brace[0] == b"{" else -1
        if depth == 0:
            return brace.end()
    return definition.end
