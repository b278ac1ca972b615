"""Grid-stride loops: lanes begin side by side, and each steps over a row of its block or more.

Up to one limit, the lanes of a warp then run numbers of iterations that differ by one at most. What
an unrolled loop leaves over of such numbers begins at one place in all lanes that have any of it.
"""

from __future__ import annotations

from lmemscope.analysis.ptx.analyses import Analyses
from lmemscope.analysis.ptx.conditions import Comparison
from lmemscope.analysis.ptx.forms import Form, Given, Iteration, Term
from lmemscope.analysis.ptx.graph import Loop

_THREAD, _ROW = "%tid.x", "%ntid.x"
_COMMON = frozenset({_ROW, "%nctaid.x", "%ctaid.x"})
"""What the lanes of a warp have in common."""


class GridWalks:
    """Grid-stride loops of one function.

    Args:
        analyses: of the function.
    """

    def __init__(self, analyses: Analyses) -> None:
        self._code, self._values, self._control = analyses.code, analyses.values, analyses.control
        self._affine, self._conditions = analyses.affine, analyses.conditions

    def bound(self, loop: Loop) -> bool:
        """Whether a loop runs as often as each lane ran a grid-stride loop before it."""
        tested = {one for forms in self._tests(loop) for form in forms for one in form.terms}
        counts = tested - {Iteration(loop.header)}
        return bool(counts) and any(
            all(self._counts(one, Iteration(walk.header)) for one in counts) and self._is_walk(walk)
            for walk in self._code.flow.loops
            if walk is not loop
        )

    def _counts(self, term: Term, iteration: Iteration) -> bool:
        """Whether a term is how many iterations a loop ran, or what is left over of it."""
        join = self._values.join(term) if isinstance(term, int) else None
        if join is None:
            masked = self._operands(term, "and")
            return bool(masked) and all(self._counts(one, iteration) for one in masked[0].terms)
        forms = [self._affine.of(one) for one in self._values.met(join)]
        begun = {form.constant - bool(form.terms) for form in forms}
        return len(begun) == 1 and all(form.terms in ({}, {iteration: 1}) for form in forms)

    def _is_walk(self, loop: Loop) -> bool:
        members = self._control.blocks_of(loop)
        for moved, limit in self._tests(loop):
            for term in moved.terms:
                join = self._values.join(term) if isinstance(term, int) else None
                step = moved.without(term)
                if join is None or self._control.loop_at.get(join.block) is not loop:
                    continue
                begun = [v for b, v in self._values.incoming(join).items() if b not in members]
                starts = [self._lanes(self._affine.of(v)) for v in begun if v is not None]
                return starts == [1] and self._lanes(limit) == 0 and self._is_row(step)
        return False

    def _is_row(self, step: Form) -> bool:
        factors = [one for term in step.terms for one in self._operands(term, "mul")]
        mentioned = any(one.factor(_ROW) > 0 for one in (step, *factors))
        return mentioned and self._lanes(step) == 0

    def _lanes(self, form: Form) -> int | None:
        """By how much neighbouring lanes differ; None where that is not known."""
        found = 0
        for term, factor in form.terms.items():
            apart = self._apart(term)
            if apart is None:
                return None
            found += factor * apart
        return found

    def _apart(self, term: Term) -> int | None:
        if term == _THREAD:
            return 1
        if isinstance(term, Given):
            return 0 if self._code.function.kind == "entry" else None
        if term in _COMMON:
            return 0
        added = self._operands(term, "mad")
        factors = added[:2] or self._operands(term, "mul")
        if not factors or any(self._lanes(one) != 0 for one in factors):
            return None
        return self._lanes(added[2]) if added else 0

    def _operands(self, term: Term, operation: str) -> list[Form]:
        """What an instruction of some operation computes a term from; empty of any other."""
        if not isinstance(term, int) or term < 0:
            return []
        instruction = self._code.body.instructions[term]
        if instruction.operation != operation:
            return []
        read = [self._affine.read(term, one) for one in instruction.operands[1:]]
        return [one for one in read if one is not None] if None not in read else []

    def _tests(self, loop: Loop) -> list[tuple[Form, Form]]:
        """What the branch out of a loop compares, either way round; empty of another's."""
        endings = list(self._control.endings(loop))
        if len(endings) != 1 or len(self._control.leaving(loop)) != 1:
            return []
        ((index, register, _),) = endings
        value = self._values.read(index, register)
        compared = self._conditions.of(value) if value is not None else None
        if not isinstance(compared, Comparison):
            return []
        first, second = (
            self._affine.read(compared.index, s) for s in (compared.first, compared.second)
        )
        return (
            [(first, second), (second, first)] if first is not None and second is not None else []
        )
