"""How an object is indexed: out of the slices of its accesses, in the words of the source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from lmemscope.analysis.causes import accesses_of_callees
from lmemscope.analysis.layers import Layers
from lmemscope.analysis.names import Names, ObjectName
from lmemscope.analysis.ptx.leaves import Leaf, worst
from lmemscope.analysis.ptx.objects import FunctionObjects, PtxAccess, StackObject
from lmemscope.formats.demangle import variable_name
from lmemscope.model import IndexFacts, IndexSource, SourceLocation, SourceText

_BUILTINS = {"tid": "threadIdx", "ctaid": "blockIdx"}


class IndexReader:
    """Indices of one unit's objects.

    Args:
        layers: the unit's.
        names: of variables, or None.
        sources: the user's files.
    """

    def __init__(self, layers: Layers, names: Names | None, sources: SourceText) -> None:
        self._layers, self._names, self._sources = layers, names, sources

    def read(
        self, kernel: str, objects: FunctionObjects, found: StackObject, named: ObjectName | None
    ) -> IndexFacts | None:
        """How an object is indexed at run time, or None where it is not.

        Args:
            kernel: mangled name of the kernel that reaches the function.
            objects: of the function that owns the object.
            found: the object.
            named: its name, where known.
        """
        flow = self._layers.flow
        theirs = accesses_of_callees(flow, kernel, objects, found) if flow is not None else []
        own = [access for access in found.accesses if access.leaves]
        leaves = {
            leaf
            for access in _decisive([*own, *theirs])
            for leaf in access.leaves
            if leaf.kind != "symbol"
        }
        if not leaves:
            return None
        loop = None
        if not any(leaf.is_dynamic for leaf in leaves):
            loop = self._loop_line(objects, min(leaf.header for leaf in leaves))
        return IndexFacts(
            expression=self._expression(objects, own, named),
            sources=tuple(sorted({self._source(leaf) for leaf in leaves}, key=str)),
            uniformity=worst(leaf.uniformity for leaf in leaves),
            loop=loop,
        )

    def _expression(
        self, objects: FunctionObjects, accesses: Sequence[PtxAccess], named: ObjectName | None
    ) -> str | None:
        """The index as written on most lines of the accesses that decide."""
        if named is None or self._layers.ptx is None:
            return None
        last = named.name.rpartition(".")[2]
        found: Counter[str] = Counter()
        for access in _decisive(accesses):
            for frame in self._layers.ptx.chain(objects.body.instructions[access.index]):
                place = frame.location
                texts = (
                    self._sources.subscript(place.file, place.line, spelling)
                    for spelling in (named.name, last, f".{last}")
                )
                text = next((text for text in texts if text), None)
                if text is not None:
                    found[text] += 1
                    break
        return found.most_common(1)[0][0] if found else None

    def _loop_line(self, objects: FunctionObjects, header: int) -> SourceLocation | None:
        if self._layers.ptx is None:
            return None
        chain = self._layers.ptx.chain(objects.body.instructions[header])
        return self._layers.paths.shown(chain[0].location) if chain else None

    def _source(self, leaf: Leaf) -> IndexSource:
        name, position = leaf.name, None
        if name is not None and "_param_" in name:
            owner, _, number = name.rpartition("_param_")
            position = int(number) if number.isdigit() else None
            known = self._names.parameter(owner, name) if self._names is not None else None
            name = known or f"parameter {number}"
        elif leaf.kind in ("thread-id", "block-id") and name is not None:
            base, _, dimension = name.lstrip("%").partition(".")
            name = _BUILTINS.get(base, base) + (f".{dimension}" if dimension else "")
        elif name is not None:
            name = variable_name(name)
        constant = leaf.constant_trip if leaf.kind == "loop-counter" else None
        return IndexSource(leaf.kind, name, position, constant)


def _decisive(accesses: Sequence[PtxAccess]) -> Sequence[PtxAccess]:
    """Those with a run-time index, if any: loops that initialise say nothing about the others."""
    dynamic = [a for a in accesses if any(leaf.is_dynamic for leaf in a.leaves)]
    return dynamic or accesses
