"""Dominators of a directed graph, the frontiers where dominance ends, and natural loops."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

Graph = Sequence[Sequence[int]]
"""Successors of each node, by number."""


@dataclass(frozen=True, slots=True)
class NaturalLoop:
    """A natural loop of a control-flow graph.

    Attributes:
        header: the node that dominates all others of it.
        members: its nodes.
        latches: the nodes with an edge back to the header, in ascending order.
    """

    header: int
    members: frozenset[int]
    latches: tuple[int, ...]


def immediate_dominators(successors: Graph, root: int) -> dict[int, int]:
    """Immediate dominators of what ``root`` reaches; the root is its own.

    Cooper, Harvey, Kennedy: A Simple, Fast Dominance Algorithm.
    """
    walk = _DepthFirst(successors, root)
    reached = (node for node, number in enumerate(walk.begin) if number >= 0)
    order = sorted(reached, key=lambda node: (-walk.end[node], walk.begin[node]))
    position = {node: index for index, node in enumerate(order)}
    predecessors = walk.predecessors
    dominators = {root: root}
    changed = True
    while changed:
        changed = False
        for node in order[1:]:
            known = [before for before in predecessors[node] if before in dominators]
            new = known[0]
            for other in known[1:]:
                while new != other:
                    while position[new] > position[other]:
                        new = dominators[new]
                    while position[other] > position[new]:
                        other = dominators[other]
            if dominators.get(node) != new:
                dominators[node] = new
                changed = True
    return dominators


def spans(dominators: Mapping[int, int], root: int) -> dict[int, tuple[int, int]]:
    """An interval per node; one node dominates another if its interval holds the other's."""
    children: dict[int, list[int]] = {}
    for node, parent in dominators.items():
        if node != root:
            children.setdefault(parent, []).append(node)
    begin: dict[int, int] = {}
    result: dict[int, tuple[int, int]] = {}
    work = [root]
    while work:
        node = work[-1]
        if node not in begin:
            begin[node] = len(begin)
            work += children.get(node, ())
        else:
            work.pop()
            result[node] = (begin[node], len(begin))
    return result


def frontiers(successors: Graph, dominators: Mapping[int, int]) -> dict[int, set[int]]:
    """Where each node's dominance ends: nodes with a predecessor that it dominates.

    Over the reversed graph these are the branches that a node is control-dependent on (Ferrante,
    Ottenstein, Warren: The Program Dependence Graph and Its Use in Optimization).
    """
    result: dict[int, set[int]] = {}
    for node in dominators:
        for successor in successors[node]:
            runner = node
            while runner != dominators[successor] or runner == successor:
                result.setdefault(runner, set()).add(successor)
                if runner == dominators[runner]:
                    break
                runner = dominators[runner]
    return result


class _DepthFirst:
    """A depth-first walk of what a root reaches.

    A node's number lies between the numbers of those that it leads to first and the end of its
    interval, so that one node is an ancestor of another if its interval holds the other's number.

    Attributes:
        begin: number of each node, in the order in which they are met; negative where none is.
        end: behind the numbers of what the walk reaches through it.
        predecessors: of each node, among those that are reached.
        retreating: edges to an ancestor or to the node itself: where they begin, by where they end.
    """

    def __init__(self, successors: Graph, root: int) -> None:
        self.begin, self.end = [-1] * len(successors), [0] * len(successors)
        self.predecessors: list[list[int]] = [[] for _ in successors]
        self.retreating: defaultdict[int, list[int]] = defaultdict(list)
        begin, end, predecessors = self.begin, self.end, self.predecessors
        node, rest, number = root, iter(successors[root]), 1
        begin[root] = 0
        above: list[tuple[int, Iterator[int]]] = []
        while True:
            for successor in rest:
                predecessors[successor].append(node)
                if begin[successor] < 0:
                    begin[successor] = number
                    number += 1
                    above.append((node, rest))
                    node, rest = successor, iter(successors[successor])
                    break
                if not end[successor]:  # The walk has not left it.
                    self.retreating[successor].append(node)
            else:
                end[node] = number
                if not above:
                    return
                node, rest = above.pop()

    def loop(self, header: int, latches: Sequence[int]) -> NaturalLoop | None:
        """The loop of some edges back to a header; None where it does not dominate them all.

        What a header dominates is reached through it, and so is all that leads there past it. A
        node outside that leads to a latch is a way around the header.
        """
        first, last = self.begin[header], self.end[header]
        members, work = {header}, list(latches)
        while work:
            node = work.pop()
            if node not in members:
                if not first < self.begin[node] < last:
                    return None
                members.add(node)
                work += self.predecessors[node]
        return NaturalLoop(header, frozenset(members), tuple(sorted(latches)))


def loops_reached(successors: Graph, root: int) -> tuple[list[bool], tuple[NaturalLoop, ...]]:
    """Which nodes a root reaches, and the natural loops among them, by header.

    Loops of one header are one loop. One walk, and for each loop a look at its own nodes.
    """
    walk, loops = _DepthFirst(successors, root), []
    for header, latches in sorted(walk.retreating.items()):
        loop = walk.loop(header, latches)
        if loop is None:
            latches = [one for one in latches if walk.loop(header, (one,)) is not None]
            loop = walk.loop(header, latches) if latches else None
        if loop is not None:
            loops.append(loop)
    return [number >= 0 for number in walk.begin], tuple(loops)
