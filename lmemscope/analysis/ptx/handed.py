"""Pointers to a thread's local, or a block's shared, memory among the arguments of a launch.

Parent and child share neither (CUDA C++ Programming Guide, "Dynamic Parallelism", "Memory Coherence
and Consistency"): such a pointer means something else in the child. NVVM warns where it sees one
stored into the parameter buffer of the same function; here it is followed through the values of
PTX, through what is kept on the stack, and through the calls that a kernel makes. What a call
returns is followed into the callee with that call's arguments alone: a function that returns one of
its parameters returns a local address to some of its callers, and not to others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.forms import Form, Given
from lmemscope.analysis.ptx.slicing import Dataflow
from lmemscope.analysis.ptx.sources import Sources, ValueSource, loaded
from lmemscope.analysis.ptx.transfers import position_in, stored_values
from lmemscope.formats.ptx_operands import defined

_DEEPEST = 40
"""Calls and places in memory from a value back to the address that it is made of."""
_MOST_RETURNS = 4
"""Calls, one in the other, whose results are followed; each call has an analysis of its own."""
_Calls = tuple[tuple[str, int], ...]
"""Calls whose result is being followed, outermost first: each one's function and instruction."""
_Seen = set[tuple[str, int, str, _Calls]]
"""Functions, instructions and what they read that a question has come by, in which calls."""


class _Step(NamedTuple):
    """Where else the value of something is: an instruction of a function, and what it reads.

    Attributes:
        calls: that are followed from there on.
        through: functions that the value was passed to.
    """

    function: str
    at: int
    value: str
    calls: _Calls
    through: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class Pointed:
    """Memory that a pointer leads to.

    Attributes:
        space: whose.
        function: that owns it.
        offset: of the object in the function's depot; 0 of shared memory.
        through: functions that the pointer was passed to, outermost first.
    """

    space: Literal["local", "shared"]
    function: str
    offset: int
    through: tuple[str, ...] = ()


class Pointers:
    """What addresses lead to, in the functions that a kernel reaches.

    Args:
        module: that they belong to.
        kernel: whose calls count.
    """

    def __init__(self, module: ModuleFlow, kernel: str) -> None:
        self._module, self._sources = module, Sources(module, kernel)

    def of(self, function: str, index: int, value: str) -> frozenset[Pointed]:
        """Local and shared memory that what an instruction reads may point into."""
        return frozenset(self._of(function, index, value, (), set(), 0))

    def _of(
        self, function: str, index: int, value: str, calls: _Calls, seen: _Seen, depth: int
    ) -> Iterator[Pointed]:
        code = self._module.dataflow(function)
        key = (function, index, value, calls)
        if code is None or key in seen or depth > _DEEPEST:
            return
        seen.add(key)
        for one in code.points_to.at(index, value):
            if one.kind == "depot":
                yield Pointed("local", function, one.offset)
            elif one.kind == "shared":
                yield Pointed("shared", function, 0)
        for at in code.points_to.passed(index, value):
            if code.body.instructions[at].isa.access == "load":
                for other, where, given, there, through in self._loaded(code, at, calls):
                    for found in self._of(other, where, given, there, seen, depth + 1):
                        yield replace(found, through=(*found.through, *through))

    def _loaded(self, code: Dataflow, index: int, calls: _Calls) -> Iterator[_Step]:
        """What crosses a call, or is stored at the byte of the stack that is loaded."""
        instruction = code.body.instructions[index]
        for register in defined(instruction):
            source = loaded(code, index, register)
            form = code.affine.address(index)
            if source is not None:
                yield from self._across(source, calls)
            elif form is not None:
                place = form.plus(Form(position_in(instruction, register)))
                yield from self._kept(code, place, calls, 0)

    def _across(self, source: ValueSource, calls: _Calls) -> Iterator[_Step]:
        """What a parameter or the result of a call is on the other side of the call."""
        if source.kind == "parameter":
            at = calls[-1] if calls else None
            for caller, where, given in self._sources.given(source, at):
                yield _Step(caller, where, given, calls[:-1], (source.function,))
        elif source.name is not None and len(calls) < _MOST_RETURNS:
            for where, value in self._sources.returned(source):
                yield _Step(source.name, where, value, (*calls, (source.function, source.index)))

    def _kept(self, code: Dataflow, place: Form, calls: _Calls, depth: int) -> Iterator[_Step]:
        """Addresses that are stored at a known place of a stack, this function's or another's."""
        if list(place.terms.values()) != [1] or depth > _DEEPEST:
            return
        (base,) = place.terms
        function, start = code.function.name, place.constant
        if isinstance(base, str) and base in code.depot.names:
            bytes_ = range(start, start + 1)
            for index in code.points_to.stores(code.depot.object_at(start), bytes_):
                written = code.points_to.place(index)
                for value, position in stored_values(code.body.instructions[index]):
                    if written is not None and written.start + position == start:
                        yield _Step(function, index, value, calls)
            return
        source = None
        if isinstance(base, Given):
            source = ValueSource("parameter", function, base.name, base.offset)
        elif isinstance(base, int) and base >= 0:
            source = loaded(code, base, str(code.body.instructions[base].operands[0]))
        for step in self._across(source, calls) if source is not None else ():
            there = self._module.dataflow(step.function)
            form = there.affine.read(step.at, step.value) if there is not None else None
            if there is not None and form is not None:
                further = form.plus(Form(start))
                for found in self._kept(there, further, step.calls, depth + 1):
                    yield found._replace(through=(*found.through, *step.through))
