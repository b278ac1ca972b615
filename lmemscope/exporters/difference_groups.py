"""Merge the differences of many kernels into few rows: one per template that changed alike.

Between two versions of a package thousands of kernels differ, most of them without local memory on
either side; these are only counted.
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
    """Kernels that changed in the same way.

    Attributes:
        change: what happened to each.
        name: of the kernel; for several, the template without arguments.
        number: of kernels, over all files and architectures.
        inputs: files, as in `KernelDifference`.
        archs: older ones first.
        figures: name, before and after of figures that differ, with the range of values.
        appeared, vanished, why: as for each kernel.
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
        """Its file, or the number of files, and its architectures."""
        file = self.inputs[0] if len(self.inputs) == 1 else count(len(self.inputs), "file")
        return f"{file}, {' '.join(self.archs)}"

    @property
    def title(self) -> str:
        """Its name, with the number of kernels."""
        return self.name if self.number == 1 else f"{self.name} ×{self.number}"


def rows(found: Sequence[KernelDifference]) -> tuple[tuple[DifferenceRow, ...], str | None]:
    """The rows, in the order of the kernels, and a sentence about those that are only counted.

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
    """Whether a kernel has, or may have, local memory on either side."""
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
    """The ranges of each figure that differs for some kernels; unchanged values are unknown."""
    found: dict[str, list[tuple[int | None, int | None]]] = defaultdict(list)
    for one in alike:
        for name, was, now in one.figures:
            found[name].append((was, now))
    for name, pairs in found.items():
        yield name, span([was for was, _ in pairs]), span([now for _, now in pairs])
