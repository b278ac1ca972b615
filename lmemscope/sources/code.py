"""Structure of CUDA C++ tokens: matching brackets, declarations, names.

Each query takes constant time on average, however the brackets are nested: truncated or malicious
text would otherwise repeat the same searches.
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
"""Words whose parentheses do not contain a function's parameters."""

_STOPS = frozenset((";", "{", "}"))


class Token(NamedTuple):
    """A word, number, string or other symbol in the source, and its line."""

    kind: str
    text: str
    line: int


class Code:
    """Tokens in order, with queries about their structure.

    Attributes:
        tokens: the tokens.
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
        """The number of open parentheses before each token, and after the last."""
        steps = ((one.text == "(") - (one.text == ")") for one in self.tokens)
        return list(accumulate(steps, initial=0))

    def between(self, text: str, first: int, end: int) -> Sequence[int]:
        """Indices of tokens with the given text, in a range."""
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
        """Index of what closes the parenthesis or brace at ``position`` (or of the last token)."""
        return self._closing.get(position, len(self.tokens) - 1)

    def angle_end(self, position: int) -> int | None:
        """Index of the ``>`` that closes the ``<`` at ``position``; None if there is none."""
        return self._angles.get(position)

    def angle_begin(self, position: int) -> int | None:
        """Index of the ``<`` that the ``>`` at ``position`` closes; None if there is none."""
        return self._angles_closed.get(position)

    def configuration_end(self, position: int) -> int | None:
        """Index of the last of the three ``>`` that close a launch configuration.

        None if another launch, or the end of the statement, comes first.

        Args:
            position: of ``<<<``.
        """
        return self._configuration_ends[position + 1]

    def holds_kernel(self, begin: int, end: int) -> bool:
        """Whether ``__global__`` is among the tokens of a range."""
        return self._kernels_before[end] > self._kernels_before[begin]

    def kernel_name(self, position: int) -> str | None:
        """Name of the function declared after ``__global__``: the word before its parameters.

        None if a macro produces the name, as in ``NAME(sum)(float *x)``.
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
                # Arguments of a type, or of the template being specialised.
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
        """Line of the closing brace of the body of the declaration at ``position``.

        Without a body, the line of the semicolon. Also returns whether it has no body.
        """
        _, last = self.body(position)
        line = self.tokens[last].line if self.tokens else 0
        return line, self._next_end[position] is not None and self.tokens[last].text == ";"

    def body(self, position: int) -> tuple[int, int]:
        """Indices of the braces around the body of the declaration at ``position``.

        Without a body, both are the index of the semicolon.
        """
        at = self._next_end[position]
        if at is None:
            return len(self.tokens) - 1, len(self.tokens) - 1
        return at, at if self.tokens[at].text == ";" else self.closing(at)

    def start(self, position: int) -> int:
        """Index of the first token of the declaration that contains a token."""
        return self._starts[position]

    def is_matched(self, position: int) -> bool:
        """Whether the parenthesis or brace at ``position`` is closed."""
        return position in self._closing

    def is_template(self, position: int) -> bool:
        """Whether the declaration that contains a token begins with ``template <…>``."""
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
        # For each open parenthesis, and outside all of them: what is opened directly inside.
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
        """For each token, the last ``>`` of the next three, outside parentheses."""
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
        """For each token, the next semicolon or opening brace."""
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
        """For each token, the first ``template <`` before it in the same declaration."""
        found: list[int | None] = []
        first: int | None = None
        for index, token in enumerate(self.tokens):
            found.append(first)
            if token.text in _STOPS:
                first = None
            elif first is None and token.text == "template" and self.next_is(index, "<"):
                first = index
        return found
