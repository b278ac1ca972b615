"""The figures that limits and expectations refer to: a kernel with everything it calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lmemscope.model import FunctionFacts, KernelFacts, UnitReport
from lmemscope.model.sites import known_sum

_UNKNOWN_STACK = "recursion or an indirect call"


@dataclass(frozen=True, slots=True)
class Figure:
    """A number, or why there is none.

    Attributes:
        value: None if unknown.
        why: what makes it unknowable; None if it is known or was not observed.
    """

    value: int | None
    why: str | None = None

    @property
    def shown(self) -> str:
        """The figures that a limit or expectation may name, including callees.

        Args:
            unit: contains the separately compiled functions that the kernel may reach.
            facts: of the kernel.
        """
        if self.value is not None:
            return str(self.value)
        return "unknown" if self.why is None else f"unknown ({self.why})"


def figures(unit: UnitReport, facts: KernelFacts) -> dict[str, Figure]:
    """What a limit or an expectation may name, callees included.

    Args:
        unit: holds the separately compiled functions that the kernel may reach.
        facts: of the kernel.
    """
    reached = facts.calls.reached if facts.calls is not None else ()
    elsewhere = [
        one.facts
        for one in (unit.kernels if reached else ())
        if one.facts.kind == "function" and one.facts.name in reached
    ]
    return {
        "frame": _frame(facts, elsewhere),
        "spill": Figure(
            known_sum(
                *(one.all_spill_stores for one in (facts, *elsewhere)),
                *(one.all_spill_loads for one in (facts, *elsewhere)),
            )
        ),
        "sites": Figure(
            known_sum(
                *(None if one.sass is None else one.sass.count for one in (facts, *elsewhere))
            )
        ),
        "registers": Figure(facts.registers),
        "stack": _unknown((facts,)) or Figure(facts.cumulative_stack),
    }


def _unknown(kernels: Iterable[KernelFacts]) -> Figure | None:
    """The stack figure of a kernel whose depth is not statically known."""
    unknown = [one for one in kernels if not one.stack_known]
    if not unknown:
        return None
    return Figure(None, "alloca" if any(one.run_time_sizes for one in unknown) else _UNKNOWN_STACK)


def _frame(facts: KernelFacts, elsewhere: Sequence[KernelFacts]) -> Figure:
    """The total of the frames of a kernel and everything it calls."""
    unknown = _unknown((facts, *elsewhere))
    if unknown is not None:
        return unknown
    called = map(_own_frame, facts.callees)
    frames = known_sum(facts.stack_frame, *called, *(other.stack_frame for other in elsewhere))
    # Without a report, the depth of the deepest path still implies frames.
    return Figure(facts.cumulative_stack if frames is None else frames)


def _own_frame(callee: FunctionFacts) -> int | None:
    if callee.ptxas is not None:
        return callee.ptxas.stack_frame
    # ptxas reports nothing about its own subroutines, such as division.
    return 0 if callee.sass is not None and callee.sass.count == 0 else None
