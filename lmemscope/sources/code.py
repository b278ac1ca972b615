"""Tokens of CUDA C++ with what belongs to what among them: brackets, declarations, names.

Each question is answered in constant time on average, however the brackets lie: text of which half
is missing, or that was made to take long, asks the same questions again and again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

ATTRIBUTES_WITH_ARGUMENTS = frozenset(
    "__launch_bounds__ __cluster_dims__ __maxnreg__ __attribute__ __declspec alignas "
    "__block_size__ __align__ decltype noexcept requires".split()
)
"""Words whose parentheses hold no parameters of a function."""

_STOPS = frozenset((";", "{", "}"))


class Token(NamedTuple):
    """A word, number, string or other sign of the source, and its line."""

    kind: str
    text: str
    line: int


class Code:
    """Tokens in their order.

    Attributes:
        tokens: those.
    """

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self._names: dict[int, str | None] = {}

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, position: int) -> Token:
        return self.tokens[position]

    @cached_property
    def depths(self) -> Sequence[int]:
        """How many parentheses are open before each token, and behind the last."""
        steps = ((one.text == "(") - (one.text == ")") for one in self.tokens)
        return list(accumulate(steps, initial=0))

    def between(self, text: str, first: int, end: int) -> Sequence[int]:
        """Indices of the tokens that are a text, from the first and before the end."""
        own = self._places.get(text, ())
        return own[bisect_left(own, first) : bisect_left(own, end)]

    @cached_property
    def _places(self) -> Mapping[str, Sequence[int]]:
        found: dict[str, list[int]] = {}
        for position, token in enumerate(self.tokens):
            found.setdefault(token.text, []).append(position)
        return found

    def next_is(self, position: int, text: str) -> bool:
        """Whether the token after ``position`` is that text."""
        return position + 1 < len(self.tokens) and self.tokens[position + 1].text == text

    def closing(self, position: int) -> int:
        """Index of what closes the parenthesis or brace at ``position`` (or the last token)."""
        return self._closing.get(position, len(self.tokens) - 1)

    def angle_end(self, position: int) -> int | None:
        """Index of the ``>`` that closes the ``<`` at ``position``; None where none does."""
        return self._angles.get(position)

    def angle_begin(self, position: int) -> int | None:
        """Index of the ``<`` that the ``>`` at ``position`` closes; None where it closes none."""
        return self._angles_closed.get(position)

    def configuration_end(self, position: int) -> int | None:
        """The last of the three ``>`` that close a launch's configuration.

        None where another launch, or the statement's end, comes before them.

        Args:
            position: of ``<<<``.
        """
        return self._configuration_ends[position + 1]

    def holds_kernel(self, begin: int, end: int) -> bool:
        """Whether ``__global__`` is among the tokens from ``begin`` up to ``end``."""
        return self._kernels_before[end] > self._kernels_before[begin]

    def kernel_name(self, position: int) -> str | None:
        """Name of the function declared after ``__global__``: the word before its parameters.

        None where a macro makes it, as in ``NAME(sum)(float *x)``.
        """
        seen: list[int] = []
        name = None
        position += 1
        while position < len(self.tokens):
            if position in self._names:
                name = self._names[position]
                break
            seen.append(position)
            token = self.tokens[position]
            if token.text in ATTRIBUTES_WITH_ARGUMENTS and self.next_is(position, "("):
                position = self.closing(position + 1) + 1
                continue
            if token.text in _STOPS or token.text == ")":
                break
            if token.kind == "word" and self.next_is(position, "("):
                closing = self.closing(position + 1)
                if self.next_is(closing, "("):
                    break
                name = token.text
                break
            if token.kind == "word" and self.next_is(position, "<"):
                # Arguments of a type, or of the template that this is a specialisation of.
                end = self.angle_end(position + 1)
                if end is not None:
                    if self.next_is(end, "("):
                        name = token.text
                        break
                    position = end
            position += 1
        self._names.update(dict.fromkeys(seen, name))
        return name

    def end(self, position: int) -> tuple[int, bool]:
        """Line of the brace that closes the body of the declaration at ``position``.

        Or of the semicolon of one without a body; and whether it is one.
        """
        _, last = self.body(position)
        line = self.tokens[last].line if self.tokens else 0
        return line, self._next_end[position] is not None and self.tokens[last].text == ";"

    def body(self, position: int) -> tuple[int, int]:
        """Indices of what opens and closes the body of the declaration at ``position``.

        Both are that of the semicolon of a declaration without a body.
        """
        at = self._next_end[position]
        if at is None:
            return len(self.tokens) - 1, len(self.tokens) - 1
        return at, at if self.tokens[at].text == ";" else self.closing(at)

    def start(self, position: int) -> int:
        """Index of the first token of the declaration that holds the one at ``position``."""
        return self._starts[position]

    def is_matched(self, position: int) -> bool:
        """Whether something closes the parenthesis or brace at ``position``."""
        return position in self._closing

    def is_template(self, position: int) -> bool:
        """Whether the declaration that holds this token begins with ``template <…>``."""
        at = self._templates[position]
        return at is not None and not self.next_is(at + 1, ">")

    @cached_property
    def _closing(self) -> dict[int, int]:
        found: dict[int, int] = {}
        for opening, closing in (("(", ")"), ("{", "}")):
            opened: list[int] = []
            for index, token in enumerate(self.tokens):
                if token.text == opening:
                    opened.append(index)
                elif token.text == closing and opened:
                    found[opened.pop()] = index
        return found

    @cached_property
    def _angles(self) -> dict[int, int]:
        found: dict[int, int] = {}
        # Of each parenthesis that is open, and around all of them: what is opened directly in it.
        levels: list[list[int]] = [[]]
        for index, token in enumerate(self.tokens):
            text = token.text
            if text == "(":
                levels.append([])
            elif text == ")":
                levels.pop()
                if not levels:
                    levels.append([])
            elif text == "<":
                levels[-1].append(index)
            elif text == ">":
                if levels[-1]:
                    found[levels[-1].pop()] = index
            elif text in _STOPS:
                levels[-1].clear()
        return found

    @cached_property
    def _angles_closed(self) -> dict[int, int]:
        return {closing: opening for opening, closing in self._angles.items()}

    @cached_property
    def _configuration_ends(self) -> list[int | None]:
        """Of each token, the last ``>`` of the first three from there on, outside parentheses."""
        found: list[int | None] = [None] * (len(self.tokens) + 1)
        for index in range(len(self.tokens) - 1, -1, -1):
            text = self.tokens[index].text
            if text == "(":
                found[index] = found[self.closing(index) + 1]
            elif text == ">" and self.next_is(index, ">") and self.next_is(index + 1, ">"):
                found[index] = index + 2
            elif text not in (";", "}", "<<<"):
                found[index] = found[index + 1]
        return found

    @cached_property
    def _kernels_before(self) -> list[int]:
        marks = (token.text == "__global__" for token in self.tokens)
        return list(accumulate(marks, initial=0))

    @cached_property
    def _next_end(self) -> list[int | None]:
        """Of each token, the first semicolon or opening brace from there on."""
        found: list[int | None] = [None] * (len(self.tokens) + 1)
        for index in range(len(self.tokens) - 1, -1, -1):
            is_end = self.tokens[index].text in (";", "{")
            found[index] = index if is_end else found[index + 1]
        return found

    @cached_property
    def _starts(self) -> list[int]:
        found: list[int] = []
        first = 0
        for index, token in enumerate(self.tokens):
            found.append(first)
            if token.text in _STOPS:
                first = index + 1
        return found

    @cached_property
    def _templates(self) -> list[int | None]:
        """Of each token, the first ``template <`` before it in the same declaration."""
        found: list[int | None] = []
        first: int | None = None
        for index, token in enumerate(self.tokens):
            found.append(first)
            if token.text in _STOPS:
                first = None
            elif first is None and token.text == "template" and self.next_is(index, "<"):
                first = index
        return found
