"""Where in a stack frame the depots of PTX functions lie, and which object a place belongs to.

The second witness beside the PTX line: ptxas moves and joins accesses, and what it made of them can
carry the line of a neighbour that is no access at all, but the address stays the object's. Depots
and the slots of spilled registers share no byte of a frame.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from lmemscope.analysis.frame import Placement
from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.objects import FunctionObjects, PtxAccess
from lmemscope.formats.sites import Site


@dataclass(frozen=True, slots=True)
class PlacedAccess:
    """A PTX instruction that a site can have come from, by its address or as a call's argument.

    Attributes:
        function: mangled name of the PTX function.
        instruction: index in it.
        line: in the PTX text.
    """

    function: str
    instruction: int
    line: int


class Depots:
    """Depots in the frame of one body of machine code.

    Args:
        flow: analyses of the PTX.
        placements: sites of the body at constant places of a depot, by their PTX lines.
        frame: bytes of the frame, or None where not known.
    """

    def __init__(
        self, flow: ModuleFlow, placements: Iterable[Placement], frame: int | None
    ) -> None:
        self._flow = flow
        votes: dict[str, list[Placement]] = defaultdict(list)
        for placed in placements:
            votes[placed.function].append(placed)
        self._starts = {
            name: start
            for name, cast in votes.items()
            if (start := _agreed(cast, frame)) is not None
        }

    def is_there(self, placed: Placement) -> bool | None:
        """Whether a depot has a constant place of it where a site lies; None: nothing tells."""
        start = self._starts.get(placed.function)
        return start in placed.starts if start is not None else None

    def access(self, site: Site, function: str, line: int) -> PlacedAccess | None:
        """The PTX access of an object's bytes that a site relative to the stack pointer touches.

        Args:
            site: it goes the access's way.
            function: mangled name of the PTX function that the site's line is in.
            line: the site's, in the PTX text; of several accesses, the nearest.
        """
        # What was inlined by ptxas keeps the lines of its own function: that one's depot first.
        names = sorted(self._starts, key=lambda name: name != function)
        for name in names:
            objects = self._flow.objects(name)
            at = site.displacement - self._starts[name]
            if objects is None:
                continue
            found = _touching(objects, site, at)
            if found:
                lines = objects.body.instructions
                nearest = min(found, key=lambda access: abs(lines[access.index].line - line))
                return PlacedAccess(name, nearest.index, lines[nearest.index].line)
        return None


def _agreed(placements: list[Placement], frame: int | None) -> int | None:
    """Where a depot begins, if most of its sites agree; a joined access allows several places."""
    votes = Counter(start for placed in placements for start in placed.starts)
    inside = [start for start in votes if start >= 0 and (frame is None or start < frame)]
    most = max((votes[start] for start in inside), default=0)
    agreed = [start for start in inside if votes[start] == most]
    return agreed[0] if len(agreed) == 1 and 2 * most > len(placements) else None


def _touching(objects: FunctionObjects, site: Site, at: int) -> list[PtxAccess]:
    """Accesses, in the site's direction, of the objects that hold all of the site's bytes."""
    end = at + site.width
    held = [o for o in objects.objects.values() if o.offset < end and at < o.offset + o.size]
    if sum(min(end, o.offset + o.size) - max(at, o.offset) for o in held) != site.width:
        return []
    own = [a for o in held for a in o.accesses if a.is_store == site.is_store]
    fixed = [a for a in own if a.offset is not None and a.offset < end and at < a.offset + a.width]
    # At a constant place, what ptxas knew to be one: those, before accesses by an index.
    return fixed or [access for access in own if access.offset is None]
