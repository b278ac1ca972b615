"""The stack objects of everything that a kernel reaches, with cause, name and index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lmemscope.analysis.causes import ProvenCause, object_cause
from lmemscope.analysis.indexing import IndexReader
from lmemscope.analysis.layers import Layers
from lmemscope.analysis.names import Names, ObjectName
from lmemscope.analysis.ptx.callgraph import ObjectKey
from lmemscope.analysis.ptx.objects import FunctionObjects, StackObject
from lmemscope.formats.cubin import CubinFunction
from lmemscope.model import LocalObject, SourceText, traits_of


class KernelObjects:
    """A kernel's objects, and which one each PTX object belongs to.

    Attributes:
        listed: in the order of functions and offsets.
    """

    def __init__(self) -> None:
        self.listed: list[LocalObject] = []
        self._numbers: dict[ObjectKey, int] = {}

    def number(self, key: ObjectKey) -> int | None:
        """Index into ``listed``, or None for an object of another kernel's."""
        return self._numbers.get(key)

    def add(self, made: LocalObject, key: ObjectKey) -> None:
        """Add an object; the pieces of one variable that the compiler split are one object."""
        last = self.listed[-1] if self.listed else None
        if last is not None and _continues(made, last):
            self.listed[-1] = replace(last, size=last.size + made.size)
        else:
            self.listed.append(made)
        self._numbers[key] = len(self.listed) - 1


def find_objects(
    layers: Layers, names: Names | None, sources: SourceText, kernel: CubinFunction
) -> KernelObjects:
    """Objects of every function that a kernel reaches, but for those compiled separately.

    Args:
        layers: the unit's.
        names: of variables, or None.
        sources: the user's files.
        kernel: its machine code.
    """
    result = KernelObjects()
    flow = layers.flow
    if flow is None:
        return result
    reader = IndexReader(layers, names, sources)
    inside = {kernel.name, *(callee.name for callee in kernel.callees)}
    for name in flow.reached(kernel.name):
        function = flow.ptx.function(name)
        if function is None or not function.survey.declarations:
            continue
        if name not in inside and _has_own_section(layers, name):
            continue
        objects = flow.objects(name)
        assert objects is not None
        found = list(objects.objects.values())
        causes = {one.offset: object_cause(flow, kernel.name, objects, one) for one in found}
        named = _named(names, objects, found, causes)
        for one in found:
            name_found = named.get(one.offset)
            made = _local_object(layers, name, one, causes[one.offset], name_found)
            index = reader.read(kernel.name, objects, one, name_found)
            escape = reader.escape(kernel.name, objects, one)
            result.add(replace(made, index=index, escape=escape), (name, one.offset))
    return result


def _continues(made: LocalObject, last: LocalObject) -> bool:
    """Whether an object is the next piece of the same variable."""
    return (
        made.name is not None
        and (last.function, last.name, last.declared) == (made.function, made.name, made.declared)
        and last.cause == made.cause
        and last.offset + last.size == made.offset
    )


def _has_own_section(layers: Layers, name: str) -> bool:
    return any(function.name == name for function in layers.cubin.functions)


def _named(
    names: Names | None,
    objects: FunctionObjects,
    found: Sequence[StackObject],
    causes: Mapping[int, ProvenCause],
) -> dict[int, ObjectName]:
    if names is None:
        return {}
    wanted = [one for one in found if traits_of(causes[one.offset].cause).named]
    return names.of_objects(objects, wanted)


def _local_object(
    layers: Layers,
    function: str,
    found: StackObject,
    proven: ProvenCause,
    named: ObjectName | None,
) -> LocalObject:
    debug = layers.ptx is not None and layers.ptx.is_debug
    return LocalObject(
        function=function,
        offset=found.offset,
        size=min(found.size, named.size) if named is not None else found.size,
        cause="debug-build" if debug else proven.cause,
        name=named.name if named is not None else None,
        type=named.type if named is not None else None,
        declared=layers.paths.shown(named.declared) if named is not None else None,
        confidence=named.confidence if named is not None else None,
        index=None,
        evidence=proven.evidence,
    )
