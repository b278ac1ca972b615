"""Find a source's device functions: their bodies, and the kernels that reach them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lmemscope.sources.code import Code
from lmemscope.sources.conditions import Branch

_QUALIFIERS = frozenset(("__global__", "__device__"))
_STOPS = frozenset((";", "{", "}", "="))
_FARTHEST = 4096
"""Maximum number of tokens in a declaration."""
_MOST = 100_000
"""Maximum number of steps from functions to their callers in one file."""


@dataclass(frozen=True, slots=True)
class DeviceFunction:
    """A function definition; its body's tokens are between ``begin`` and ``end``.

    Attributes:
        name: unqualified; ``operator()`` for a lambda.
        is_kernel: whether it is ``__global__``.
        begin, end: indices of its braces.
        parameters: names of its template parameters, in order.
    """

    name: str
    is_kernel: bool
    begin: int
    end: int
    parameters: tuple[str, ...] = ()


def closings(code: Code, skipped: frozenset[int]) -> dict[int, int]:
    """For each opening brace, the one that closes it.

    Args:
        code: of a file.
        skipped: lines to ignore (`later_alternatives`).
    """
    found: dict[int, int] = {}
    opened: list[int] = []
    for index, token in enumerate(code.tokens):
        if token.text == "{" and token.line not in skipped:
            opened.append(index)
        elif token.text == "}" and opened and token.line not in skipped:
            found[opened.pop()] = index
    return found


def later_alternatives(code: Code, conditions: Sequence[Branch]) -> frozenset[int]:
    """Lines of branches that are alternatives to an earlier branch containing code.

    Alternatives may each open a brace that is closed once after them: only one of them counts.
    """
    chosen: dict[int, Branch] = {}
    lines = sorted({token.line for token in code.tokens})
    skipped: set[int] = set()
    behind = 0
    for one in sorted(conditions, key=lambda one: one.first):
        first = bisect_right(lines, one.first)
        holds = first < len(lines) and lines[first] < one.last
        if holds and chosen.setdefault(one.group, one) is not one:
            # Of nested branches, the outer one comes first.
            begin = max(first, behind)
            behind = max(behind, bisect_right(lines, one.last - 1))
            skipped.update(lines[begin:behind])
    return frozenset(skipped)


def device_functions(code: Code, closing: Mapping[int, int]) -> Iterator[DeviceFunction]:
    """Functions with a body that are declared to run on the device, in order."""
    seen: set[int] = set()
    for position, token in enumerate(code.tokens):
        if token.text not in _QUALIFIERS:
            continue
        at, farthest = position + 1, min(len(code), position + _FARTHEST)
        while at < farthest and code[at].text not in _STOPS and code[at].text not in _QUALIFIERS:
            at = code.closing(at) + 1 if code[at].text == "(" else at + 1
        if at >= len(code) or code[at].text != "{" or at in seen:
            continue
        seen.add(at)
        name = "operator()" if code.next_is(position, "(") else code.kernel_name(position)
        if name is not None:
            end = closing.get(at, code.closing(at))
            parameters = tuple(_parameters(code, position))
            yield DeviceFunction(name, token.text == "__global__", at, end, parameters)


def _parameters(code: Code, position: int) -> Iterator[str]:
    """Names of the template parameters of the declaration that contains a token."""
    at = position
    while at > 0 and position - at < _FARTHEST and code[at - 1].text not in (";", "{", "}"):
        at -= 1
        if code[at].text == "template" and code.next_is(at, "<"):
            end = code.angle_end(at + 1)
            for index in range(at + 2, end + 1 if end is not None else at):
                ends = code[index].text in (",", "=", ">") and code[index - 1].text != "="
                if ends and code[index - 1].kind == "word":
                    yield code[index - 1].text
            return


class Reaching:
    """Determines which kernels reach a function, by names in function bodies.

    Args:
        code: of a file.
        functions: of that file.
    """

    def __init__(self, code: Code, functions: Sequence[DeviceFunction]) -> None:
        self._functions = functions
        self._known: dict[str, tuple[str, ...]] = {}
        self._left = _MOST
        names = {one.name for one in functions if not one.is_kernel}
        self._callers: dict[str, dict[DeviceFunction, None]] = {}
        opened: list[DeviceFunction] = []
        waiting = sorted(functions, key=lambda one: -one.begin)
        for index, token in enumerate(code.tokens):
            while waiting and waiting[-1].begin <= index:
                opened.append(waiting.pop())
            while opened and opened[-1].end < index:
                opened.pop()
            called = code.next_is(index, "(") or code.next_is(index, "<")
            if opened and called and token.text in names:
                self._callers.setdefault(token.text, {})[opened[-1]] = None

    def kernels(self, wanted: DeviceFunction) -> tuple[str, ...]:
        """Kernel names in definition order; the function's own if it is a kernel."""
        if wanted.is_kernel:
            return (wanted.name,)
        if wanted.name not in self._known:
            self._known[wanted.name] = tuple(self._find(wanted.name))
        return self._known[wanted.name]

    def _find(self, name: str) -> list[str]:
        found: dict[str, int] = {}
        seen: set[str] = set()
        work = [name]
        while work and self._left > 0:
            current = work.pop()
            if current in seen:
                continue
            seen.add(current)
            for caller in self._callers.get(current, ()):
                self._left -= 1
                if caller.is_kernel:
                    found.setdefault(caller.name, caller.begin)
                else:
                    work.append(caller.name)
        return sorted(found, key=lambda one: found[one])
