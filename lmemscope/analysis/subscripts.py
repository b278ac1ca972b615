"""Objects of which the source itself may tell the names: what subscripts them, and where.

An array of a function's own that is indexed and goes nowhere else is accessed where the source
subscripts it: `lmemscope.rules.subscripted` reads there which array it is. All else is asked of a
debug compilation, which takes as long as the first one.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from lmemscope.analysis.causes import object_causes
from lmemscope.analysis.mentions import same_function
from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.objects import FunctionObjects, StackObject
from lmemscope.formats.ptx import PtxFunction, PtxModule
from lmemscope.model import Cause, InlineFrame, SourceLocation, is_library, traits_of

_TELLING: frozenset[Cause] = frozenset(
    {"dynamic-index", "rolled-loop", "large-array", "const-table"}
)
"""What an array is in memory for that is only subscripted."""


class Subscripted(Struct, frozen=True):
    """An object that one statement or more subscript.

    Attributes:
        function: whose depot it is in, mangled.
        inside: the function that has these statements, mangled: the same, or inlined in it.
        size: bytes, padding included.
        indexed: where it is accessed by an index that is computed, and whether it is stored there.
        constant: the lines behind accesses at constant places, innermost first: the last is of
            that function, all before of functions that are inlined in it.
    """

    function: str
    inside: str
    size: int
    indexed: frozenset[tuple[SourceLocation, bool]]
    constant: frozenset[tuple[InlineFrame, ...]]


class Definition(Struct, frozen=True):
    """Where a function is defined.

    Attributes:
        file: of its first line with code.
        parameters: how many PTX passes to it; None of what is inlined.
        line: one that is in it, where that is known.
    """

    file: str
    parameters: int | None
    line: int | None = None


class Subscripts(Struct, frozen=True):
    """The objects of a module that want a name.

    Attributes:
        objects: each with what subscripts it.
        functions: those with stack objects, whatever these are, by their mangled names.
    """

    objects: tuple[Subscripted, ...]
    functions: Mapping[str, Definition]


def subscripts_of(flow: ModuleFlow) -> Subscripts | None:
    """What subscripts the objects of a module; None where one of them is accessed otherwise."""
    found: dict[tuple[str, int], Subscripted] = {}
    functions: dict[str, Definition] = {}
    # Of code that is linked later, a function may be what others call.
    listed = sorted(flow.ptx.functions, key=lambda one: one.kind != "entry")
    for kernel in listed:
        if kernel.kind != "entry" and kernel.name in functions:
            continue
        for name in flow.reached(kernel.name):
            function = flow.ptx.function(name)
            if function is None or not function.survey.declarations:
                continue
            objects, place = flow.objects(name), _place(flow.ptx, function)
            if objects is None or place is None:
                return None
            functions[name] = place
            causes = object_causes(flow, kernel.name, objects, objects.objects.values())
            for one in objects.objects.values():
                cause = causes[one.offset].cause
                if not traits_of(cause).named:
                    continue
                read = _read(flow.ptx, objects, one) if cause in _TELLING else None
                if read is None:
                    return None
                found[name, one.offset] = read
    return Subscripts(tuple(found.values()), functions)


def _place(module: PtxModule, function: PtxFunction) -> Definition | None:
    if function.first_loc is None:
        return None
    file = module.files.get(function.first_loc[0])
    return None if file is None else Definition(file, len(function.parameters))


def _read(module: PtxModule, objects: FunctionObjects, found: StackObject) -> Subscripted | None:
    """An object with the places of its subscripts; None where it may be accessed otherwise."""
    if found.passed_to or found.stored_at or any(len(a.pointees) != 1 for a in found.accesses):
        return None
    owner = objects.dataflow.function.name
    indexed: set[tuple[SourceLocation, bool]] = set()
    constant: set[tuple[InlineFrame, ...]] = set()
    inside: set[str] = set()
    for access in found.accesses:
        chain = module.chain(objects.body.instructions[access.index])
        if not chain or chain[0].line <= 0 or is_library(chain[0].file):
            return None
        chain = tuple(
            InlineFrame.at(one.location, same_function(one.function or owner)) for one in chain
        )
        if access.leaves:
            inside.add(chain[0].function or owner)
            indexed.add((chain[0].location, access.is_store))
        else:
            constant.add(chain)
    if len(inside) != 1:
        return None
    function = inside.pop()
    ways = frozenset(_up_to(function, chain) for chain in constant)
    if () in ways:
        return None
    return Subscripted(owner, function, found.size, frozenset(indexed), ways)


def _up_to(function: str, chain: tuple[InlineFrame, ...]) -> tuple[InlineFrame, ...]:
    """An inline chain as far as a function; empty where that is not on it, or several times."""
    at = [number for number, one in enumerate(chain) if one.function == function]
    return chain[: at[0] + 1] if len(at) == 1 else ()
