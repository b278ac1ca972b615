"""Read the initial values of variables in a PTX module, if they are plain numbers."""

from __future__ import annotations

import re

_DECLARATION = re.compile(
    rb"\.[bus](8|16|32|64)[ \t]+([\w$%]+)(?:\[\d*\])*\s*=\s*"
    rb"\{\s*(-?\d{1,20}(?:\s*,\s*-?\d{1,20})*)\s*\}"
)


class Initialisers:
    """The declarations in a module with a plain numeric initialiser, found in one pass.

    Of several declarations with one name, the first counts.
    """

    def __init__(self, text: bytes) -> None:
        self._found: dict[str, re.Match[bytes]] = {}
        self._values: dict[str, bytes] = {}
        for match in _DECLARATION.finditer(text):
            self._found.setdefault(match.group(2).decode(), match)

    def value(self, symbol: str) -> bytes | None:
        """The initial bytes of a variable, or None if unknown."""
        declaration = self._found.get(symbol)
        if declaration is None:
            return None
        if symbol not in self._values:
            size = int(declaration.group(1)) // 8
            numbers = (int(number) for number in declaration.group(3).split(b","))
            plain = (number % 2 ** (8 * size) for number in numbers)
            self._values[symbol] = b"".join(number.to_bytes(size, "little") for number in plain)
        return self._values[symbol]
