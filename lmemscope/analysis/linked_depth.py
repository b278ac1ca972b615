"""The deepest path of calls below a kernel: exact without recursion, and with stated depths.

Frames are weights of functions. Without recursion the graph has no way around, and the deepest path
is found in one pass. With it there is none; two numbers are left that hold all the same. *Least*: a
path that visits each function once at most may well be taken, so that what it needs is the least
that can be enough. *Bound*: where the user says how often some functions can be on the stack at a
time, and each way around goes through one of these, walks have an end: a function and what is left
of each depth make a state, and states have no way around.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from lmemscope.analysis.linked_graph import LinkedGraph

_SMALL = 7
"""Functions of a recursion up to which all simple paths through it are tried."""
_STATES = 1 << 20
"""States of a bounded recursion at most."""


def deepest_paths(graph: LinkedGraph) -> dict[int, list[int]]:
    """The deepest path from each function on which none stands twice, by frames.

    Exact but for recursions of more than `_SMALL` functions, of which it takes paths that are there
    and may not be the deepest.
    """
    below: dict[int, list[int]] = {}
    depth: dict[int, int] = {}
    # Components are numbered in an order in which each comes after those that it calls.
    for index in sorted(graph.functions, key=lambda one: graph.component[one]):
        number = graph.component[index]
        inside = {index}
        if number in graph.recursive:
            inside = set(graph.members(number))
        paths = _simple(graph, index, inside) if len(inside) <= _SMALL else _tree(graph, index)
        best: list[int] = []
        most = -1
        for path in paths:
            own = sum(map(graph.frame, path))
            out = [c for c in graph.callees.get(path[-1], ()) if graph.component[c] != number]
            # What needs nothing is no part of what makes it deep.
            after = max(out, key=lambda callee: depth[callee], default=None)
            rest = below[after] if after is not None and depth[after] else []
            whole = own + (depth[after] if after is not None else 0)
            if whole > most:
                best, most = [*path, *rest], whole
        below[index], depth[index] = best, most
    return below


def _tree(graph: LinkedGraph, start: int) -> Iterator[list[int]]:
    """A shortest path to each function of a large recursion."""
    number = graph.component[start]
    paths = {start: [start]}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        yield paths[node]
        for callee in graph.callees.get(node, ()):
            if graph.component[callee] == number and callee not in paths:
                paths[callee] = [*paths[node], callee]
                queue.append(callee)


def _simple(graph: LinkedGraph, start: int, inside: set[int]) -> Iterator[list[int]]:
    """All paths within some functions that visit none twice."""
    stack: list[tuple[list[int], Iterable[int]]] = [([start], iter(graph.callees.get(start, ())))]
    yield [start]
    while stack:
        path, rest = stack[-1]
        for callee in rest:
            if callee in inside and callee not in path:
                longer = [*path, callee]
                yield longer
                stack.append((longer, iter(graph.callees.get(callee, ()))))
                break
        else:
            stack.pop()


def bounded(graph: LinkedGraph, start: int, depths: Mapping[int, int]) -> int | None:
    """Bytes per thread of the deepest path where some functions are on the stack so often at most.

    None where a way around goes through none of them, or where there is too much to try.

    Args:
        graph: of the image.
        start: the kernel.
        depths: by function.
    """
    reached = graph.reached(start)
    limited = sorted(index for index in reached if index in depths)
    states = len(reached)
    for index in limited:
        states *= depths[index] + 1
    if states > _STATES or not _breaks_all(graph, reached, limited):
        return None
    place = {index: n for n, index in enumerate(limited)}

    def following(state: _State) -> list[_State]:
        made = (_entered(callee, state[1], place) for callee in graph.callees.get(state[0], ()))
        return [one for one in made if one is not None]

    deepest_of: dict[_State, int] = {}
    first = (start, tuple(depths[index] for index in limited))
    for state in _postorder(first, following):
        below = max((deepest_of[one] for one in following(state)), default=0)
        deepest_of[state] = graph.frame(state[0]) + below
    return deepest_of[first]


_State = tuple[int, tuple[int, ...]]
"""A function, and how often each limited one may still be called."""


def _entered(index: int, left: tuple[int, ...], place: Mapping[int, int]) -> _State | None:
    """The state of calling a function, or None where its depth is used up."""
    at = place.get(index)
    if at is None:
        return index, left
    return (index, (*left[:at], left[at] - 1, *left[at + 1 :])) if left[at] else None


def _breaks_all(graph: LinkedGraph, reached: Sequence[int], limited: Sequence[int]) -> bool:
    """Whether each way around goes through a function whose depth is known."""
    apart = set(limited)
    state: dict[int, bool] = {}
    for root in reached:
        if root in apart or root in state:
            continue
        state[root] = True
        work = [(root, iter(graph.callees.get(root, ())))]
        while work:
            node, rest = work[-1]
            for callee in rest:
                if callee in apart:
                    continue
                if state.get(callee):
                    return False
                if callee not in state:
                    state[callee] = True
                    work.append((callee, iter(graph.callees.get(callee, ()))))
                    break
            else:
                state[node] = False
                work.pop()
    return True


def _postorder(first: _State, following: Callable[[_State], Sequence[_State]]) -> Iterator[_State]:
    """States, each after all that follow it; there is no way around."""
    work = [(first, iter(following(first)))]
    entered = {first}
    while work:
        state, rest = work[-1]
        for one in rest:
            if one not in entered:
                entered.add(one)
                work.append((one, iter(following(one))))
                break
        else:
            work.pop()
            yield state
