"""Who launches whom, as trees: each kernel that no other launches, with all that it sets going."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from lmemscope.formats.demangle import short_name
from lmemscope.model import KernelFacts, Launch, UnitReport

_DEEPEST = 24
"""Levels of a tree; CUDA nests no deeper (CUDA C++ Programming Guide, "Nesting Depth")."""


@dataclass(frozen=True, slots=True)
class LaunchNode:
    """A kernel in a tree.

    Attributes:
        name: short; None where nothing tells which kernel it is.
        facts: of the kernel; None where the unit does not hold it.
        launch: that leads to it; None for a root.
        children: what it launches, in the order of the lines.
        is_repeated: whether it stands further up, or its children elsewhere in the tree: they are
            not drawn again.
    """

    name: str | None
    facts: KernelFacts | None
    launch: Launch | None
    children: tuple[LaunchNode, ...] = ()
    is_repeated: bool = False


def trees(unit: UnitReport) -> tuple[LaunchNode, ...]:
    """The launch trees of a unit, by the names of their roots."""
    return (*_compiled(unit), *_written(unit))


def _compiled(unit: UnitReport) -> Iterator[LaunchNode]:
    facts = {kernel.facts.name: kernel.facts for kernel in unit.kernels}
    launching = {name: one for name, one in facts.items() if one.kind == "entry" and one.launches}
    launched = {
        launch.child for name, one in launching.items() for launch in one.launches
        if launch.child != name
    }  # fmt: skip
    drawn: set[str] = set()
    roots = sorted((name for name in launching if name not in launched), key=_by_name(facts))
    # What launches each other in a circle has no root: the first by name stands for it.
    for name in (*roots, *sorted(launching, key=_by_name(facts))):
        if name not in drawn:
            yield _node(facts, name, None, drawn, 0)
    # Functions of a library that no kernel here calls.
    reached = {launch.function for one in launching.values() for launch in one.launches}
    for name in sorted(facts):
        one = facts[name]
        if one.kind == "function" and one.launches and name not in reached and "$" not in name:
            yield _node(facts, name, None, drawn, 0)


def _by_name(facts: Mapping[str, KernelFacts]) -> Callable[[str], str]:
    return lambda name: short_name(facts[name].demangled)


def _node(
    facts: Mapping[str, KernelFacts],
    name: str | None,
    launch: Launch | None,
    drawn: set[str],
    depth: int,
) -> LaunchNode:
    own = facts.get(name) if name is not None else None
    shown = own.demangled if own is not None else launch.demangled if launch is not None else None
    short = short_name(shown) if shown is not None else None
    if own is None or name is None:
        return LaunchNode(short, None, launch)
    if name in drawn or depth > _DEEPEST:
        return LaunchNode(short, own, launch, is_repeated=bool(own.launches))
    drawn.add(name)
    children = tuple(_node(facts, one.child, one, drawn, depth + 1) for one in own.launches)
    return LaunchNode(short, own, launch, children)


def _written(unit: UnitReport) -> Iterator[LaunchNode]:
    """Trees of the source alone: by the names of the functions that launch."""
    found: dict[str, list[Launch]] = {}
    for launch in unit.launches:
        for parent in launch.parents or (launch.function,):
            found.setdefault(parent, []).append(launch)
    launched = {
        launch.child for parent, launches in found.items() for launch in launches
        if launch.child != parent
    }  # fmt: skip
    drawn: set[str] = set()
    for parent in (*(name for name in found if name not in launched), *found):
        if parent not in drawn:
            yield _written_node(found, parent, None, drawn)


def _written_node(
    found: Mapping[str, list[Launch]], name: str, launch: Launch | None, drawn: set[str]
) -> LaunchNode:
    shown = launch.demangled if launch is not None and launch.demangled is not None else name
    if name not in found:
        return LaunchNode(shown, None, launch)
    if name in drawn:
        return LaunchNode(shown, None, launch, is_repeated=True)
    drawn.add(name)
    children = tuple(
        _written_node(found, one.child, one, drawn)
        if one.child is not None
        else LaunchNode(None, None, one)
        for one in found[name]
    )
    return LaunchNode(shown, None, launch, children)
