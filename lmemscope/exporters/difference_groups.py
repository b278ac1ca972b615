"""Differences of many kernels as few rows: instances of a template that changed alike are one.

A package's next version differs in thousands of kernels, most of which have no local memory on
either side; these are counted alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from msgspec import Struct

from lmemscope.analysis.groups import template_name
from lmemscope.analysis.ranking import arch_order
from lmemscope.analysis.selection import MANY
from lmemscope.exporters.layout import span
from lmemscope.model import Change, KernelDifference, count

_LOCAL = frozenset(("stack_frame", "spill_stores", "spill_loads", "ldl", "stl"))
_SAID: dict[Change, str] = {"added": "added", "removed": "removed"}


class DifferenceRow(Struct, frozen=True):
    """One or more kernels that changed alike.

    Attributes:
        change: what happened to each.
        name: of the kernel; of several the template without its arguments.
        number: how many there are, over all files and architectures.
        inputs: files, as `KernelDifference` has them.
        archs: older ones first.
        figures: name, before and after of those that differ, the least and the most of each.
        appeared, vanished, why: as of each kernel.
    """

    change: Change
    name: str
    number: int
    inputs: tuple[str, ...]
    archs: tuple[str, ...]
    figures: tuple[tuple[str, str, str], ...]
    appeared: tuple[str, ...]
    vanished: tuple[str, ...]
    why: tuple[str, ...]

    @property
    def place(self) -> str:
        """Its file, or how many they are, and its architectures."""
        file = self.inputs[0] if len(self.inputs) == 1 else count(len(self.inputs), "file")
        return f"{file}, {' '.join(self.archs)}"

    @property
    def title(self) -> str:
        """Its name, with how many there are."""
        return self.name if self.number == 1 else f"{self.name} ×{self.number}"


def rows(found: Sequence[KernelDifference]) -> tuple[tuple[DifferenceRow, ...], str | None]:
    """The rows, in the order of the kernels, and what is said of those that are only counted.

    Up to `MANY` kernels have a row each, as in a table of kernels.
    """
    if len(found) <= MANY:
        return tuple(_row([one]) for one in found), None
    alike: dict[tuple[object, ...], list[KernelDifference]] = defaultdict(list)
    without: Counter[Change] = Counter()
    for one in found:
        if _uses_memory(one):
            key = (one.change, template_name(one.kernel), one.appeared, one.vanished)
            alike[key].append(one)
        else:
            without[one.change] += 1
    return tuple(map(_row, alike.values())), _said(without)


def _uses_memory(one: KernelDifference) -> bool:
    """Whether a side has local memory, or may have: the other is not known."""
    if one.appeared or one.vanished:
        return True
    pairs = ((was, now) for name, was, now in one.figures if name in _LOCAL)
    if one.change in _SAID:
        return any(was or now for was, now in pairs)
    return any(was != now for was, now in pairs)


def _said(without: Counter[Change]) -> str | None:
    said = [f"{without[change]} {word}" for change, word in _SAID.items() if without[change]]
    others = without.total() - without["added"] - without["removed"]
    said += [f"{others} with other registers"] if others else []
    if not said:
        return None
    return f"Not listed, without a change of local memory: {', '.join(said)}. JSON has all."


def _row(alike: Sequence[KernelDifference]) -> DifferenceRow:
    first = alike[0]
    return DifferenceRow(
        first.change,
        first.kernel if len({one.kernel for one in alike}) == 1 else template_name(first.kernel),
        len(alike),
        tuple(sorted({one.input for one in alike})),
        tuple(sorted({one.arch for one in alike}, key=arch_order)),
        tuple(_figures(alike)),
        first.appeared,
        first.vanished,
        tuple(dict.fromkeys(sentence for one in alike for sentence in one.why))[:1]
        if len(alike) > 1
        else first.why,
    )


def _figures(alike: Sequence[KernelDifference]) -> Iterator[tuple[str, str, str]]:
    """Each figure that differs for some of them; of what one has unchanged, nothing is known."""
    found: dict[str, list[tuple[int | None, int | None]]] = defaultdict(list)
    for one in alike:
        for name, was, now in one.figures:
            found[name].append((was, now))
    for name, pairs in found.items():
        yield name, span([was for was, _ in pairs]), span([now for _, now in pairs])
