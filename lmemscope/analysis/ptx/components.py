"""Strong components of a graph that is made while it is walked."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def strong_components(
    roots: Iterable[Node],
    depends_on: Callable[[Node], Sequence[Node]],
    known: Container[Node] = (),
) -> Iterator[set[Node]]:
    """Strong components, each after those it depends on (Tarjan, without recursion).

    Args:
        roots: where to begin.
        depends_on: what each node depends on.
        known: nodes that are not entered. It may grow with each component that is taken.
    """
    index: dict[Node, int] = {}
    low: dict[Node, int] = {}
    on_stack: set[Node] = set()
    stack: list[Node] = []
    for root in roots:
        if root in index or root in known:
            continue
        work = [(root, iter(depends_on(root)))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, rest = work[-1]
            for successor in rest:
                if successor not in index:
                    if successor in known:
                        continue
                    index[successor] = low[successor] = len(index)
                    stack.append(successor)
                    on_stack.add(successor)
                    work.append((successor, iter(depends_on(successor))))
                    break
                if successor in on_stack:
                    low[node] = min(low[node], index[successor])
            else:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[node])
                if low[node] == index[node]:
                    component: set[Node] = set()
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        component.add(member)
                        if member == node:
                            break
                    yield component
