"""The call graph of a linked image as nvlink walks it: calls, and pointers matched by signature."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from lmemscope.analysis.ptx.components import strong_components
from lmemscope.formats.linked_image import ImageFunction, LinkedImage

EdgeKind = Literal["direct", "indirect"]


@dataclass(frozen=True, slots=True)
class LinkedGraph:
    """Functions by index of their symbol.

    Attributes:
        functions: of the image.
        callees: of each caller, in the image's order, and by which kind of call; a direct call
            where there are both.
        candidates: of each caller, the signatures that it calls through pointers, each with the
            functions of that signature whose address is taken.
        holders: of a function, mangled names of what holds its address.
        component: of each function, a number that those which reach each other share.
        recursive: numbers of the components that are recursions.
    """

    functions: Mapping[int, ImageFunction]
    callees: Mapping[int, Mapping[int, EdgeKind]]
    candidates: Mapping[int, Mapping[str, tuple[int, ...]]]
    holders: Mapping[int, tuple[str, ...]]
    component: Mapping[int, int] = field(default_factory=dict)
    recursive: frozenset[int] = frozenset()

    def frame(self, index: int) -> int:
        """Bytes per thread of a function's own frame; 0 for what CUDA itself provides."""
        function = self.functions.get(index)
        return (function.stack_frame or 0) if function is not None else 0

    def reached(self, start: int) -> list[int]:
        """All functions that one reaches, itself first, nearest first."""
        seen, queue = {start: None}, deque([start])
        while queue:
            for callee in self.callees.get(queue.popleft(), ()):
                if callee not in seen:
                    seen[callee] = None
                    queue.append(callee)
        return list(seen)

    def members(self, component: int) -> list[int]:
        """The functions of a component."""
        return [index for index, number in self.component.items() if number == component]

    def shortest_cycle(self, members: Iterable[int]) -> list[tuple[int, EdgeKind]]:
        """The shortest way from one of a recursion's functions to itself, with its calls."""
        inside = set(members)
        best: list[int] = []
        for start in sorted(inside, key=self._name):
            before: dict[int, int] = {}
            queue = deque([start])
            while queue and start not in before:
                node = queue.popleft()
                for callee in self.callees.get(node, ()):
                    if callee in inside and callee not in before:
                        before[callee] = node
                        queue.append(callee)
            if start in before:
                way = [before[start]]
                while way[-1] != start:
                    way.append(before[way[-1]])
                way.reverse()
                if not best or len(way) < len(best):
                    best = way
        following = [*best[1:], *best[:1]]
        return [(a, self.callees[a][b]) for a, b in zip(best, following, strict=True)]

    def _name(self, index: int) -> str:
        return self.functions[index].name


def linked_graph(image: LinkedImage) -> LinkedGraph:
    """The graph of an image, with its recursions."""
    calls = image.calls
    taken: defaultdict[str, list[int]] = defaultdict(list)
    for function, signature in calls.taken:
        known = image.functions.get(function)
        # A kernel's address is taken by who launches it; nobody calls it through a pointer.
        if known is not None and not known.is_entry:
            taken[signature].append(function)
    callees: defaultdict[int, dict[int, EdgeKind]] = defaultdict(dict)
    candidates: defaultdict[int, dict[str, tuple[int, ...]]] = defaultdict(dict)
    for caller, signature in calls.through:
        candidates[caller][signature] = tuple(taken[signature])
        for function in taken[signature]:
            callees[caller][function] = "indirect"
    for caller, callee in calls.direct:
        if callee in image.functions:
            callees[caller][callee] = "direct"
    component: dict[int, int] = {}
    recursive: set[int] = set()

    def depends_on(index: int) -> Sequence[int]:
        return tuple(callees.get(index, ()))

    for number, members in enumerate(strong_components(image.functions, depends_on)):
        component.update(dict.fromkeys(members, number))
        first = next(iter(members))
        if len(members) > 1 or first in callees.get(first, ()):
            recursive.add(number)
    return LinkedGraph(
        image.functions, callees, candidates, calls.holders, component, frozenset(recursive)
    )
