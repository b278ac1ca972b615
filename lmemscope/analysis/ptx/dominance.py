"""Dominators of a directed graph, and the frontiers where a node's dominance ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Graph = Sequence[Sequence[int]]
"""Successors of each node, by number."""


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
