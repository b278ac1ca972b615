"""What of a module is the compiler's mathematical library: tables by content, functions by lines.

NVVM links libdevice into a kernel: most of it is inlined, some of it called, and tables come along.
A user's index that is a sine depends on what the sine is of, and on nothing of the library's.
"""

from __future__ import annotations

from functools import cached_property

from lmemscope.formats.ptx import PtxModule

TWO_OVER_PI = bytes.fromhex(
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561"
    "b7246e3a424dd2e006492eea09d1921cfe1deb1cb129a73ee88235f52ebb4484"
    "e99c7026b45f7e413991d639835339f49c845f8bbdf9283b1ff897ffde05980f"
    "ef2f118b5a0a6d1f6d367ecf27cb09b74f463f669e5fea2d7527bac7ebe5f17b"
    "3d0739f78a5292ea6bfb5fb11f8d5d08"
)[::-1]
"""The 1152 bits of 2/pi behind the binary point, as they lie in memory: sines of doubles need all,
those of floats the first 192, which are the last bytes."""

_SINE = bytes.fromhex(
    "46d2b02cf1e55abe92e3ac69e31dc73ea162db19a0012abf180811111111813f545555555555c5bf"
)
"""How the polynomials of sine and cosine begin, of double precision: shared by all toolkits."""
_WORD = 4
_ENOUGH = 4
"""Words of 2/pi that a table has at least; the smallest reduction has six."""


class Library:
    """The library's part of a module.

    Args:
        module: the module.
    """

    def __init__(self, module: PtxModule) -> None:
        self._module = module
        self._functions: dict[str, bool] = {}

    def is_reduction_table(self, symbol: str) -> bool:
        """Whether a variable holds the bits of 2/pi."""
        content = self._content(symbol)
        return content is not None and len(content) >= _ENOUGH * _WORD and is_piece(content)

    def is_table(self, symbol: str) -> bool:
        """Whether a variable holds constants of the library's."""
        content = self._content(symbol)
        if content is None:
            return False
        return content.startswith(_SINE) or self.is_reduction_table(symbol)

    def is_function(self, name: str) -> bool:
        """Whether a function is one of the library's: it alone has no lines of any source.

        Its result follows from its arguments.
        """
        if name not in self._functions:
            target = self._module.function(name)
            self._functions[name] = (
                target is not None
                and target.kind != "entry"
                and not target.is_visible
                and target.first_loc is None
                and self._has_lines
            )
        return self._functions[name]

    @cached_property
    def _has_lines(self) -> bool:
        return any(function.first_loc is not None for function in self._module.functions)

    def _content(self, symbol: str) -> bytes | None:
        return None if symbol.startswith("%") else self._module.initial_value(symbol)


def is_piece(data: bytes) -> bool:
    """Whether bytes are whole words of 2/pi, in the order of memory."""
    start = TWO_OVER_PI.find(data)
    while start >= 0 and start % _WORD:
        start = TWO_OVER_PI.find(data, start + 1)
    return start >= 0
