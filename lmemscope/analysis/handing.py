"""Which lines hand an object's address on: calls, stores, choices."""

from __future__ import annotations

from collections.abc import Sequence

from lmemscope.analysis.layers import Layers
from lmemscope.analysis.names import Names, ObjectName
from lmemscope.analysis.ptx.flow import is_generic_access
from lmemscope.analysis.ptx.objects import FunctionObjects, StackObject
from lmemscope.formats.ptx_body import Instruction
from lmemscope.model import Evidence, SourceLocation, calling_line


class Handing:
    """Lines of one unit's objects, as a reader of a variable is sent to them.

    Args:
        layers: the unit's.
        names: of variables, or None.
    """

    def __init__(self, layers: Layers, names: Names | None) -> None:
        self._layers, self._names = layers, names
        self._lines = layers.lines

    def escape(
        self,
        kernel: str,
        objects: FunctionObjects,
        found: StackObject,
        named: ObjectName | None,
        evidence: Sequence[Evidence],
    ) -> SourceLocation | None:
        """The line that hands an object's address on: a call in the deepest loop, or a store.

        Else that of an access by a generic address at a constant place, such as inline assembly's.

        Args:
            kernel: mangled name of the kernel that reaches the function.
            objects: of the function that owns the object.
            found: the object.
            named: its name, where known.
            evidence: of its cause: an address that is chosen has the line of that choice.
        """
        depth = objects.dataflow.flow.depth
        calls = sorted((call.index for call, _ in found.passed_to), key=lambda at: (-depth(at), at))
        instructions = objects.body.instructions
        generic = [
            access.index
            for access in found.accesses
            if not access.leaves and is_generic_access(instructions[access.index].opcode)
        ]
        by_line = objects.dataflow.by_line
        chosen = [e.ptx_line for e in evidence if e.kind == "chosen-address" and e.ptx_line]
        shown = [index for line in chosen for index in by_line.get(line, ())[:1]]
        for index in (*calls, *found.stored_at, *generic, *shown):
            place = self.place(kernel, objects.body.instructions[index], named)
            if place is not None:
                return place
        return None

    def handed_at(self, objects: FunctionObjects, found: StackObject) -> tuple[SourceLocation, ...]:
        """The lines of all calls that get an object's address: several may share what is stored.

        They are the user's own, as written, wherever the functions are inlined that they stand in.
        """
        instructions = objects.body.instructions
        places = {
            calling_line(self._lines.of_instruction(instructions[call.index]))
            for call, _ in found.passed_to
        }
        return tuple(sorted(place for place in places if place is not None))

    def place(
        self, kernel: str, instruction: Instruction, named: ObjectName | None
    ) -> SourceLocation | None:
        """The line of an instruction that a reader of a variable is sent to.

        What is further out than the variable's own scope shows nothing of it: the function that
        declares it may be inlined itself.
        """
        chain = self._lines.of_instruction(instruction)
        ptx, names = self._layers.ptx, self._names
        last = (
            names.scopes.last(named.variable) if names is not None and named is not None else None
        )
        if named is not None and ptx is not None and last is not None:
            for number, frame in enumerate(ptx.chain(instruction), start=1):
                place = frame.location
                inside = named.variable.line <= place.line <= last
                if inside and place.file == named.variable.file:
                    return self._lines.reader_line(chain[:number], kernel)
        return self._lines.reader_line(chain, kernel)
