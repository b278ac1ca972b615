"""What one value depends on: as parts of it, and in what lanes differ."""

from __future__ import annotations

from dataclasses import dataclass, field

from lmemscope.analysis.ptx.leaves import Leaf
from lmemscope.analysis.ptx.values import Value
from lmemscope.model import Uniformity


@dataclass(frozen=True, slots=True)
class Node:
    """What one value depends on.

    Attributes:
        values: what it is computed from, and what chose it.
        lanes: what makes it differ between lanes without being part of it: the address and the
            stored values behind a load.
        leaves: those that it is itself.
        level: how uniform it is by itself.
        shared: all lanes get one value, whatever they bring.
        broadcast: all lanes get one lane's value if they all name the same; None for what is no
            shuffle. Empty where a constant names it.
        loaded: a load, which makes what differs between lanes depend on data.
        between: all that it can differ between lanes with, if it is no broadcast.
    """

    values: tuple[Value, ...] = ()
    lanes: tuple[Value, ...] = ()
    leaves: frozenset[Leaf] = frozenset()
    level: Uniformity = "uniform"
    shared: bool = False
    broadcast: tuple[Value, ...] | None = None
    loaded: bool = False
    between: tuple[Value, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        between = () if self.shared else (*self.values, *self.lanes)
        object.__setattr__(self, "between", between)


@dataclass(slots=True)
class Inputs:
    """Values that something depends on: as parts of it, and only between lanes."""

    values: dict[Value, None] = field(default_factory=dict)
    lanes: dict[Value, None] = field(default_factory=dict)

    def add(self, value: Value) -> None:
        """Add a part."""
        self.values[value] = None

    def update(self, other: Inputs) -> None:
        """Add what something else depends on."""
        self.values.update(other.values)
        self.lanes.update(other.lanes)

    def only_between_lanes(self) -> Inputs:
        """The same, with nothing as a part."""
        return Inputs({}, {**self.values, **self.lanes})
