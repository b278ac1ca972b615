"""Calls that launch, told as launches: how many of them a compiler made of one in the source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from lmemscope.model import Launch, SourceLocation

Places = tuple[SourceLocation, ...]


@dataclass(frozen=True, slots=True)
class LaunchCall:
    """A call that launches.

    Attributes:
        chain: the line that launches, and those that it is inlined at, innermost first.
        written: launches of that line that it may be; 0 where no text tells.
        launch: what it launches.
    """

    chain: Places
    written: int
    launch: Launch


def merged(calls: Iterable[LaunchCall]) -> list[Launch]:
    """One for all launches that nothing tells apart, with how many they are.

    Of the copies that a compiler makes of a launch when it unrolls the loop around it, one counts.
    """
    found: dict[object, list[LaunchCall]] = {}
    for call in calls:
        one = call.launch
        key = replace(one, loop_depth=0, handed=()) if one.location is not None else len(found)
        found.setdefault(key, []).append(call)
    return [
        replace(
            same[0].launch,
            loop_depth=max(one.launch.loop_depth for one in same),
            handed=tuple(dict.fromkeys(pointer for one in same for pointer in one.launch.handed)),
            count=_count(same),
        )
        for same in found.values()
    ]


def _count(calls: Sequence[LaunchCall]) -> int:
    at: dict[Places, int] = {}
    for call in calls:
        at[call.chain] = at.get(call.chain, 0) + 1
    written = max(call.written for call in calls)
    # Behind some line numbers nvcc does not say again where the same place is inlined.
    cut = {chain[:length] for chain in at for length in range(len(chain))}
    whole = [number for chain, number in at.items() if chain not in cut]
    return sum(min(number, written or number) for number in whole)
