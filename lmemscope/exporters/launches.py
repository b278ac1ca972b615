"""Launch trees as text lines, shared by the terminal, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lmemscope.analysis.launch_tree import LaunchNode, trees
from lmemscope.exporters import layout
from lmemscope.model import Dimensions, Launch, Report, SourceLocation, total

TITLE = "Device-side launches"
_STREAMS = {
    "default": "",
    "tail": "tail launch",
    "fire-and-forget": "fire and forget",
    "named": "in its own stream",
    "unknown": "",
}


def drawn(report: Report) -> list[str]:
    """All launch trees in a report, each under its unit's name if there are several."""
    found = [(unit, trees(unit)) for unit in report.units]
    found = [(unit, nodes) for unit, nodes in found if nodes]
    lines: list[str] = []
    for unit, nodes in found:
        several = len({one.arch for one, _ in found if one.input == unit.input}) > 1
        where = f"{unit.input}{f' ({unit.arch})' if several else ''}"
        why = ", from its source only" if unit.failure is not None else ""
        lines.append(f"{where}{why}:")
        for node in nodes:
            lines += [f"  {line}" for line in _lines(node)]
    return lines


def _lines(node: LaunchNode) -> Iterator[str]:
    yield _said(node)
    last = len(node.children) - 1
    for number, child in enumerate(node.children):
        first, *rest = _lines(child)
        branch, below = ("└─ ", "   ") if number == last else ("├─ ", "│  ")
        yield f"{branch}{first}"
        yield from (f"{below}{line}" for line in rest)


def _said(node: LaunchNode) -> str:
    name = node.name or "a kernel selected at run time"
    parts = [
        *(_launched(node.launch, node.launch.location) if node.launch is not None else ()),
        *_figures(node),
    ]
    again = " (see above)" if node.is_repeated else ""
    return f"{name}{again}{': ' if parts else ''}{', '.join(parts)}"


def _launched(launch: Launch, place: SourceLocation | None) -> Iterator[str]:
    """A launch's configuration and its line."""
    if launch.seen != "cubin":
        written = f" from <<<{launch.written}>>>" if launch.written is not None else ""
        known = total(launch.grid) is not None and total(launch.block) is not None
        sizes = f"{_size(launch.grid)} × {_size(launch.block)} threads"
        yield f"{sizes}{'' if known else written}"
    if launch.shared:
        yield f"{launch.shared} B dynamic shared"
    if _STREAMS[launch.stream]:
        yield _STREAMS[launch.stream]
    if launch.count > 1:
        yield f"{launch.count} launches"
    if launch.loop_depth:
        yield "in a loop"
    if place is not None and launch.seen != "cubin":
        yield f"line {place.line}"
    # A loop that was unrolled passes the same object several times.
    for what in dict.fromkeys(
        f"`{pointer.object}`" if pointer.object else f"{pointer.space} memory"
        for pointer in launch.handed
    ):
        yield f"RECEIVES A POINTER TO ITS PARENT'S {what}"


def _size(dimensions: Dimensions) -> str:
    """``4``, ``4x4`` or ``?``; trailing dimensions of 1 are omitted."""
    shown = list(dimensions)
    while len(shown) > 1 and shown[-1] == 1:
        shown.pop()
    if all(one is None for one in shown):
        return "?"
    return "x".join("?" if one is None else str(one) for one in shown)


def _figures(node: LaunchNode) -> Iterator[str]:
    facts = node.facts
    if facts is None:
        return
    yield f"frame {layout.number(facts.stack_frame)} B"
    if facts.all_spill_stores or facts.all_spill_loads:
        yield f"spill {facts.all_spill_stores}/{facts.all_spill_loads} B"
    linked = facts.ptxas.linked_stack if facts.ptxas is not None else None
    if linked is not None:
        yield f"linked stack {linked} B"


def bounded(lines: Sequence[str], most: int) -> list[str]:
    """At most a given number of lines, followed by how many more there are."""
    left = len(lines) - most
    return [*lines[:most], f"… {left} more"] if left > 1 else list(lines)
