"""Dominators of a directed graph, the frontiers where dominance ends, and natural loops."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
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
    order = _postorder(successors, root)
    order.reverse()
    position = {node: index for index, node in enumerate(order)}
    predecessors: dict[int, list[int]] = {node: [] for node in order}
    for node in order:
        for successor in successors[node]:
            predecessors[successor].append(node)
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


def natural_loops(
    successors: Graph, dominated: Mapping[int, tuple[int, int]]
) -> tuple[NaturalLoop, ...]:
    """The natural loops of what the root reaches, by header; those of one header are one loop.

    Args:
        successors: of each node.
        dominated: the intervals that `spans` gives.
    """
    predecessors: dict[int, list[int]] = defaultdict(list)
    latches: dict[int, list[int]] = defaultdict(list)
    for node in sorted(dominated):
        inner = dominated[node]
        for successor in successors[node]:
            predecessors[successor].append(node)
            outer = dominated[successor]
            if outer[0] <= inner[0] and inner[1] <= outer[1]:
                latches[successor].append(node)
    loops = []
    for header, back in sorted(latches.items()):
        members, work = {header}, list(back)
        while work:
            node = work.pop()
            if node not in members:
                members.add(node)
                work += predecessors[node]
        loops.append(NaturalLoop(header, frozenset(members), tuple(back)))
    return tuple(loops)


def _postorder(successors: Graph, root: int) -> list[int]:
    order: list[int] = []
    seen = {root}
    stack = [(root, iter(successors[root]))]
    while stack:
        node, rest = stack[-1]
        for successor in rest:
            if successor not in seen:
                seen.add(successor)
                stack.append((successor, iter(successors[successor])))
                break
        else:
            order.append(node)
            stack.pop()
    return order
