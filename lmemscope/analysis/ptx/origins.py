"""What values are computed of in the end: what a loop counts, what a kernel is given, and data."""

from __future__ import annotations

from dataclasses import dataclass

from lmemscope.analysis.ptx.affine import Affine
from lmemscope.analysis.ptx.components import strong_components
from lmemscope.analysis.ptx.control import Control
from lmemscope.analysis.ptx.definitions import Definitions
from lmemscope.analysis.ptx.forms import Form, Iteration, Term, is_base
from lmemscope.analysis.ptx.graph import Loop
from lmemscope.analysis.ptx.values import Join, Value, Values


@dataclass(frozen=True, slots=True)
class Loaded:
    """What lies at a place in memory: a limit that is loaded twice is one thing.

    Attributes:
        base: a variable's name, or the value of a pointer.
        offset: bytes from there.
    """

    base: Value | str
    offset: int


Origin = Term | Loaded


class Origins:
    """Origins of one function's values.

    Args:
        code: the function.
        values, control, affine: its own.
    """

    def __init__(self, code: Definitions, values: Values, control: Control, affine: Affine) -> None:
        self._code, self._values, self._control = code, values, control
        self._affine, self._instructions = affine, code.body.instructions
        self._origins: dict[Value, frozenset[Origin]] = {}

    def of(self, form: Form) -> frozenset[Origin]:
        """What a form is computed of in the end, by whatever arithmetic, without what chose it.

        Iterations of the loops that count in it, parameters, places that are loaded from, other
        results, special registers; joins of what paths bring together, and what they bring. Numbers
        and addresses of variables are none.
        """
        found: set[Origin] = set()
        for term in form.terms:
            found |= self._origins_of(term)
        return frozenset(found)

    def _origins_of(self, term: Term) -> frozenset[Origin]:
        if isinstance(term, tuple):
            term = term[0]
        if not isinstance(term, int):
            return frozenset() if is_base(term) else frozenset({term})
        for group in strong_components([term], self._made_of, self._origins):
            found: set[Origin] = set()
            for value in group:
                found |= self._ends_at(value)
                for other in self._made_of(value):
                    if other not in group:
                        found |= self._origins[other]
            self._origins |= dict.fromkeys(group, frozenset(found))
        return self._origins[term]

    def _made_of(self, value: Value) -> list[Value]:
        """Values that one is computed of."""
        terms = self._affine.of(value).terms
        found = [one[0] if isinstance(one, tuple) else one for one in terms]
        others = [one for one in found if isinstance(one, int) and one != value]
        return [*others, *self._operands(value)] if value in terms else others

    def _ends_at(self, value: Value) -> set[Origin]:
        """What a value is by itself, of what `of` gives."""
        terms = self._affine.of(value).terms
        found: set[Origin] = {one for one in terms if not isinstance(one, (int, tuple, str))}
        found |= {one for one in terms if isinstance(one, str) and not is_base(one)}
        if value not in terms:
            return found
        join = self._values.join(value)
        if join is not None:
            loop = self._control.loop_at.get(join.block)
            is_counter = loop is not None and self._evolves(join, loop)
            return {*found, Iteration(loop.header) if loop is not None and is_counter else value}
        if not self._is_computed(value):
            return {*found, self._place(value) or value}
        read = self._code.depends_on(value)
        return found | {one for one in read if self._values.read(value, one) is None}

    def _place(self, value: Value) -> Loaded | None:
        """Where an instruction loads a value from."""
        instruction = self._instructions[value]
        address = instruction.address
        if instruction.isa.access != "load" or address is None or address.base is None:
            return None
        if "param" in instruction.modifiers:
            return None  # a result; the next call has another one there
        base = self._values.read(value, address.base) if address.base[:1] == "%" else address.base
        return None if base is None else Loaded(base, address.offset)

    def _operands(self, value: Value) -> tuple[Value, ...]:
        """What is computed with, or what paths bring together."""
        is_known = self._values.join(value) is not None or self._is_computed(value)
        return self._values.operands(value) if is_known else ()

    def _is_computed(self, value: Value) -> bool:
        instruction = self._instructions[value]
        return instruction.isa.is_pure and instruction.predicate is None

    def _evolves(self, join: Join, loop: Loop) -> bool:
        """Whether each iteration computes one value from that of the one before."""
        members = self._control.blocks_of(loop)
        incoming = self._values.incoming(join)
        latches = {brought for before, brought in incoming.items() if before in members}
        return len(latches) == 1 and None not in incoming.values()
