"""Variable names for stack objects: the optimised depot joined with a debug compilation's DWARF.

The two compilations lay out different depots, so nothing is joined by offset. What an object and a
variable must share: the function (through the inline chains of the accesses), the size (up to
padding), and the lines, where the source mentions the name. The order of declarations decides
between equals, and lowers the confidence.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lmemscope.analysis.ptx.objects import FunctionObjects, StackObject
from lmemscope.formats.ptx import PtxModule
from lmemscope.model import Confidence, SourceLocation, SourceText, Variable

_PADDING = 16
_ENOUGH = 0.5


@dataclass(frozen=True, slots=True)
class ObjectName:
    """What an object is called in the source."""

    name: str
    type: str
    declared: SourceLocation
    confidence: Confidence
    size: int


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A variable that an object may be: bytes of padding (negative: shrunk), lines that name it."""

    variable: Variable
    slack: int
    mention: float

    @property
    def exact(self) -> bool:
        return 0 <= self.slack < _PADDING

    @property
    def is_aggregate(self) -> bool:
        return "[" in self.variable.type or bool(self.variable.members)

    @property
    def strength(self) -> tuple[bool, float, int]:
        """Orders candidates: arrays and structures first, then lines, then the better fit."""
        return (self.is_aggregate, self.mention, -self.slack)


class Names:
    """Names of one unit's variables.

    Args:
        variables: of the debug compilation; empty where there was none.
        ptx: the optimised module.
        sources: for the text of lines.
    """

    def __init__(self, variables: Iterable[Variable], ptx: PtxModule, sources: SourceText) -> None:
        self._ptx, self._sources = ptx, sources
        self._by_function: dict[str, list[Variable]] = defaultdict(list)
        seen: set[tuple[object, ...]] = set()
        for variable in variables:
            key = (variable.function, variable.name, variable.line, variable.type)
            if key not in seen:
                seen.add(key)
                self._by_function[variable.function].append(variable)

    def __bool__(self) -> bool:
        return bool(self._by_function)

    def declared_in(self, function: str) -> Sequence[Variable]:
        """Variables and parameters of a function, in the order of their declarations."""
        return self._by_function.get(function, ())

    def parameter(self, function: str, ptx_name: str) -> str | None:
        """Source name of the parameter that PTX calls ``FUNCTION_param_3``."""
        position = ptx_name.rpartition("_param_")[2]
        parameters = [v for v in self._by_function.get(function, ()) if v.is_parameter]
        if not position.isdigit() or int(position) >= len(parameters):
            return None
        return parameters[int(position)].name

    def of_objects(
        self, objects: FunctionObjects, wanted: Iterable[StackObject]
    ) -> dict[int, ObjectName]:
        """Names by depot offset, for those of a function's objects that have one."""
        listed = sorted(wanted, key=lambda found: found.offset)
        candidates = {found.offset: self._candidates(objects, found) for found in listed}
        chosen = {found.offset: self._choose(found, listed, candidates) for found in listed}
        self._settle_claims(objects, listed, candidates, chosen)
        result: dict[int, ObjectName] = {}
        for found in listed:
            best = chosen[found.offset]
            if best is not None:
                variable, confidence = best
                name = self._with_member(objects, found, variable)
                result[found.offset] = _named(variable, name, confidence)
        return result

    def _settle_claims(
        self,
        objects: FunctionObjects,
        listed: list[StackObject],
        candidates: dict[int, list[_Candidate]],
        chosen: dict[int, tuple[Variable, Confidence] | None],
    ) -> None:
        """A variable of the function itself exists once: the surest claim keeps it.

        Variables of inlined functions may have many copies, and an array that the compiler split
        into elements has many pieces; both stay.
        """
        owner = objects.dataflow.function.name
        for found in sorted(listed, key=lambda item: _certainty(chosen[item.offset])):
            mine = chosen[found.offset]
            if mine is None or mine[0].function != owner or mine[0].size > found.size:
                continue
            for other in listed:
                theirs = chosen[other.offset]
                if other is found or theirs is None or theirs[0] != mine[0]:
                    continue
                if _certainty(theirs) <= _certainty(mine) and other.offset < found.offset:
                    continue
                left = [c for c in candidates[other.offset] if c.variable != mine[0]]
                candidates[other.offset] = left
                again = self._choose(other, listed, candidates)
                # Found by exclusion: never more than likely.
                weaker = again is not None and again[1] == "certain"
                chosen[other.offset] = (again[0], "likely") if weaker and again else again

    def _choose(
        self,
        found: StackObject,
        listed: list[StackObject],
        candidates: dict[int, list[_Candidate]],
    ) -> tuple[Variable, Confidence] | None:
        mine = candidates[found.offset]
        exact = [c for c in mine if c.exact and c.mention >= _ENOUGH]
        shrunk = [c for c in mine if not c.exact and c.is_aggregate and c.mention >= _ENOUGH]
        # The compiler may split an array into its elements; then a loop's counter fits in size.
        if shrunk and not any(c.is_aggregate for c in exact):
            top_shrunk = max(c.mention for c in shrunk)
            closest = [c for c in shrunk if c.mention == top_shrunk]
            if len(closest) == 1 and top_shrunk >= max((c.mention for c in exact), default=0.0):
                return closest[0].variable, "likely"
        if not exact:
            if len(shrunk) == 1:
                return shrunk[0].variable, "likely"
            silent = [c for c in mine if c.exact]
            return (silent[0].variable, "possible") if len(silent) == 1 else None
        top = max(c.strength for c in exact)
        best = [c for c in exact if c.strength == top]
        rivals = [
            c
            for c in exact
            if c not in best and c.is_aggregate == best[0].is_aggregate and c.mention > top[1] / 2
        ]
        if len(best) == 1:
            claimed = self._claims(best[0].variable, listed, candidates)
            sure = claimed == 1 and not rivals and best[0].is_aggregate
            return best[0].variable, "certain" if sure else "likely"
        # Equals: the order of declarations is the order in the depot, where the numbers agree.
        names = [c.variable for c in sorted(best, key=lambda c: c.variable.order)]
        peers = [
            other
            for other in listed
            if {c.variable for c in candidates[other.offset] if c.exact and c.mention >= _ENOUGH}
            >= set(names)
        ]
        if len(peers) == len(names):
            return names[peers.index(found)], "likely"
        return names[min(peers.index(found), len(names) - 1)], "possible"

    def _claims(
        self,
        variable: Variable,
        listed: list[StackObject],
        candidates: dict[int, list[_Candidate]],
    ) -> int:
        """How many objects could be this variable."""
        return sum(
            any(
                c.variable == variable and c.exact and c.mention >= _ENOUGH
                for c in candidates[other.offset]
            )
            for other in listed
        )

    def _candidates(self, objects: FunctionObjects, found: StackObject) -> list[_Candidate]:
        owner = objects.dataflow.function.name
        lines: dict[str, list[tuple[str, int]]] = defaultdict(list)
        indices = [access.index for access in found.accesses]
        indices += [call.index for call, _ in found.passed_to] + found.stored_at
        for index in indices:
            for frame in self._ptx.chain(objects.body.instructions[index]):
                place = (frame.location.file, frame.location.line)
                lines[frame.function or owner].append(place)
        lines.setdefault(owner, [])
        result = []
        for function, places in lines.items():
            for variable in self._by_function.get(function, ()):
                if variable.size == 0:
                    continue
                slack = found.size - variable.size
                if slack >= _PADDING:
                    continue
                said = sum(
                    self._sources.mentions(file, line, variable.name) for file, line in places
                )
                mention = said / len(places) if places else 0.0
                result.append(_Candidate(variable, slack, mention))
        return result

    def _with_member(self, objects: FunctionObjects, found: StackObject, variable: Variable) -> str:
        """``p.tag`` where that member alone is indexed on the lines of run-time accesses."""
        arrays = [member for member in variable.members if "[" in member.type]
        touched = set()
        for access in found.accesses:
            if not access.leaves:
                continue
            for frame in self._ptx.chain(objects.body.instructions[access.index]):
                place = frame.location
                touched |= {
                    member.name
                    for member in arrays
                    if self._sources.subscript(place.file, place.line, f".{member.name}")
                    or self._sources.subscript(place.file, place.line, member.name)
                }
        return f"{variable.name}.{touched.pop()}" if len(touched) == 1 else variable.name


def _certainty(claim: tuple[Variable, Confidence] | None) -> int:
    """Surest first; no claim last."""
    return 3 if claim is None else ("certain", "likely", "possible").index(claim[1])


def _named(variable: Variable, name: str, confidence: Confidence) -> ObjectName:
    kind = variable.type
    if "." in name:
        member = name.rpartition(".")[2]
        kind = next((m.type for m in variable.members if m.name == member), kind)
    declared = SourceLocation(variable.file, variable.line)
    return ObjectName(name, kind, declared, confidence, variable.size)
