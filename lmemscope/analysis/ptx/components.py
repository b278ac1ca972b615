"""Strong components of a graph that is made while it is walked."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence
from math import inf
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def reached(
    starts: Iterable[Node],
    onwards: Callable[[Node], Iterable[Node]],
    counts: Callable[[Node], bool] | None = None,
) -> Iterator[Node]:
    """All nodes that some lead to, themselves included, each once.

    Args:
        starts: where to begin.
        onwards: what each node leads to; asked when the next one is taken.
        counts: which nodes are entered; None for all.
    """
    work, seen = list(starts), set[Node]()
    while work:
        node = work.pop()
        if node not in seen and (counts is None or counts(node)):
            seen.add(node)
            yield node
            work += onwards(node)


def strong_components(
    roots: Iterable[Node],
    depends_on: Callable[[Node], Sequence[Node]],
    known: Container[Node] = (),
) -> Iterator[set[Node]]:
    """Strong components, each after those it depends on.

    Without recursion, and with one number per node: D. Pearce, "A space-efficient algorithm for
    finding strongly connected components" (2016), of which most nodes, components of their own,
    never see the stack.

    Args:
        roots: where to begin.
        depends_on: what each node depends on.
        known: nodes that are not entered. It may grow with each component that is taken.
    """
    # When a node was entered, or the first such number that it leads back to; of components that
    # were given, infinity.
    number: dict[Node, float] = {}
    waiting: list[Node] = []
    count = 0
    for root in roots:
        if root in number or root in known:
            continue
        count += 1
        number[root] = count
        work = [(root, iter(depends_on(root)), count)]
        while work:
            node, rest, own = work[-1]
            low = number[node]
            for successor in rest:
                there = number.get(successor)
                if there is None:
                    if successor in known:
                        continue
                    number[node] = low
                    count += 1
                    number[successor] = count
                    work.append((successor, iter(depends_on(successor)), count))
                    break
                if there < low:
                    low = there
            else:
                work.pop()
                if low < own:
                    number[node] = low
                    waiting.append(node)
                    parent = work[-1][0]
                    if low < number[parent]:
                        number[parent] = low
                    continue
                component = {node}
                number[node] = inf
                while waiting and number[waiting[-1]] >= own:
                    member = waiting.pop()
                    number[member] = inf
                    component.add(member)
                yield component
