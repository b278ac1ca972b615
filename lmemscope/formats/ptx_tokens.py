"""Tokenise PTX, parse its integers, and resolve names in nested scopes (PTX ISA 9, 4.1 to 4.5)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from lmemscope.errors import FormatError

_LEXER = re.compile(
    r"""[ \t\r\f\v]*(?:"""
    r"""(?P<newline>\n)"""
    r"""|(?P<skip>//[^\n]*|\Z)"""
    r"""|(?P<comment>/\*.*?(?:\*/|\Z))"""
    r"""|(?P<name>[%$_A-Za-z][\w$%]*(?:::\w+)*)"""
    r"""|(?P<dotted>\.\w+(?:::\w+)*)"""
    r"""|(?P<number>0[fFdD][0-9a-fA-F]+|0[xX][0-9a-fA-F]+U?|\d+(?:\.\d+(?:[eE][+-]?\d+)?)?U?)"""
    r"""|(?P<string>"[^"]*")"""
    r"""|(?P<punct>.))""",
    re.DOTALL | re.ASCII,
)
_TRAILING = re.compile(r"(0|[1-9]\d{0,17})\Z", re.ASCII)
_DIGITS = 66
"""Maximum length of an integer: 64 binary digits and a prefix."""
_LARGEST = 1 << 64

Token = tuple[str, str, int]
"""Kind, text, line."""


def tokenise(text: str, first_line: int = 1) -> Iterator[Token]:
    """Tokens without white space and comments."""
    line = first_line
    for match in _LEXER.finditer(text):
        kind = match.lastgroup
        if kind == "newline":
            line += 1
        elif kind == "comment":
            line += match["comment"].count("\n")
        elif kind is not None and kind != "skip":
            yield kind, match[kind], line


def integer(text: str) -> int:
    """An integer in PTX syntax: decimal, octal, hexadecimal or binary, optionally with ``U``.

    Raises:
        FormatError: it is not an integer, or does not fit into 64 bits.
    """
    digits = text.removesuffix("U")
    try:
        # Length first: int() must not get a number of thousands of digits.
        if len(digits) > _DIGITS or not digits.isascii():
            raise ValueError
        is_octal = len(digits) > 1 and digits[0] == "0" and digits.isdigit()
        value = int(digits, 8) if is_octal else int(digits, 0)
    except ValueError as error:
        raise FormatError("ptx", f"not an integer: {text[:40]}") from error
    if not abs(value) < _LARGEST or "_" in digits:
        raise FormatError("ptx", f"not an integer of 64 bits: {text[:40]}")
    return value


@dataclass(slots=True)
class Scope:
    """A block in braces inside a function, as in inline assembly, with its own names.

    Attributes:
        number: distinguishes its names from those of other blocks.
        begin: index of its first instruction.
        registers: unique names of its registers in the body.
        families: number of registers declared by a name and a count, by name.
        labels: its labels.
    """

    number: int
    begin: int
    registers: dict[str, str] = field(default_factory=dict)
    families: dict[str, int] = field(default_factory=dict)
    labels: set[str] = field(default_factory=set)

    def own(self, name: str) -> str:
        """The unique form of a name declared here; a register always starts with a percent sign."""
        return f"{name}@{self.number}"

    def declared(self, name: str) -> str | None:
        """The unique name of a register declared here; None for other names."""
        if name in self.registers:
            return self.registers[name]
        number = _TRAILING.search(name) if self.families else None
        if number is None:
            return None
        count = self.families.get(name[: number.start()], 0)
        return self.own("%" + name.lstrip("%")) if int(number[0]) < count else None
