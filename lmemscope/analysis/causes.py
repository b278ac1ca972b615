"""Why an object is in memory: decided from what its addresses and values are made of.

The order of the questions matters: the first one that has proof answers, and what else would keep
the object in memory alone stands beside it. Names of variables and of user functions play no part;
names of the driver's own functions do, because nobody else can define them.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from lmemscope.analysis.contents import Contents
from lmemscope.analysis.library_buffers import ARGUMENT, PRINTING
from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.copying import is_copying
from lmemscope.analysis.ptx.flow import is_generic_access
from lmemscope.analysis.ptx.guards import open_copy
from lmemscope.analysis.ptx.leaves import Leaf
from lmemscope.analysis.ptx.objects import (
    FunctionObjects,
    PtxAccess,
    StackObject,
    computed,
)
from lmemscope.analysis.ptx.rooms import touched
from lmemscope.analysis.ptx.slicing import Dataflow
from lmemscope.analysis.ptx.trig import Reductions
from lmemscope.model import NULL, Cause, Evidence

REGISTER_FILE_BYTES = 255 * 4
"""What one thread can hold in registers at most (255 of 4 bytes): CUDA C++ Programming Guide,
"Compute Capabilities", maximum number of 32-bit registers per thread."""

_LAUNCHING = tuple(
    f"{prefix}{name}"
    for prefix in ("cuda", "__cudaCDP2")
    for name in ("GetParameterBuffer", "LaunchDevice", "GraphLaunch")
)
_NUMBER = 4
"""Bytes of a parameter that is no pointer."""
_WHATEVER_INLINED = frozenset({"memory", "thread-id", "block-id", "call"})
"""Sources of an index that stay unknown when a call is inlined."""


class ProvenCause(Struct, frozen=True):
    """A cause with what shows it.

    Attributes:
        cause: the first one that has proof.
        evidence: of that.
        also: others that alone would keep the object in memory.
        size: bytes of what is in the object, where the cause tells; the rest is padding.
        is_alike: whether each store is seen, and puts the same value there in all lanes of a warp.
    """

    cause: Cause
    evidence: tuple[Evidence, ...]
    also: tuple[Cause, ...] = ()
    size: int | None = None
    is_alike: bool = False


def object_causes(
    module: ModuleFlow, kernel: str, objects: FunctionObjects, found: Iterable[StackObject]
) -> dict[int, ProvenCause]:
    """Causes of a function's stack objects by their offsets.

    Args:
        module: that the function belongs to.
        kernel: that reaches the function.
        objects: of the function.
        found: those of them that are asked about, without what lies in their place in turn.
    """
    reductions = Reductions(objects)
    return {
        one.offset: _Reasons(module, kernel, objects, one, reductions).decide() for one in found
    }


def cause_of_turn(
    module: ModuleFlow, kernel: str, objects: FunctionObjects, found: StackObject
) -> ProvenCause:
    """The cause of one of several variables that have a place of the frame in turn.

    What is done with the others' addresses says nothing of it.

    Args:
        module: that the function belongs to.
        kernel: that reaches the function.
        objects: of the function.
        found: the place with the variable's own accesses and escapes.
    """
    return _Reasons(module, kernel, objects, found, Reductions(objects)).decide()


def accesses_of_callees(
    module: ModuleFlow, kernel: str, objects: FunctionObjects, found: StackObject
) -> list[PtxAccess]:
    """Accesses that functions make through a pointer to the object."""
    return [access for _, access in _in_callees(module, kernel, objects, found)]


def _in_callees(
    module: ModuleFlow, kernel: str, objects: FunctionObjects, found: StackObject
) -> list[tuple[FunctionObjects, PtxAccess]]:
    result = []
    own = objects.dataflow.function.name
    called = _getting(module, found)
    for name in module.reached(kernel):
        if name == own or (called is not None and name not in called):
            continue
        theirs = module.objects(name)
        if theirs is None:
            continue
        result += [
            (theirs, access)
            for access in theirs.accesses
            if any(pointee.kind == "parameter" for pointee in access.pointees)
            and (own, found.offset) in module.owners(kernel, name, access.pointees)
        ]
    return result


def _getting(module: ModuleFlow, found: StackObject) -> set[str] | None:
    """Functions that may get an object's address; None where any may.

    Another variable in the same place is handed to others.
    """
    callees = {call.callee for call, _ in found.passed_to}
    if found.stored_at or None in callees:
        return None
    return {name for callee in callees if callee for name in (callee, *module.reached(callee))}


class _Reasons:
    """The questions that are asked about one object."""

    def __init__(
        self,
        module: ModuleFlow,
        kernel: str,
        objects: FunctionObjects,
        found: StackObject,
        reductions: Reductions,
    ) -> None:
        self._module, self._kernel = module, kernel
        self._objects, self._found = objects, found
        self._dataflow, self._instructions = objects.dataflow, objects.body.instructions
        self._own = found.accesses
        self._stores = [access for access in found.accesses if access.is_store]
        self._theirs = _in_callees(module, kernel, objects, found)
        self._contents = Contents(module.ptx, objects, found)
        self._reduction = reductions.of_object(found)

    def decide(self) -> ProvenCause:
        """The cause, and what else would do."""
        made = self._compilers()
        if made is not None:
            return made
        parameter = self._contents.copied_parameter
        if parameter is not None:
            shown = [Evidence("parameter-copy", parameter)]
            chosen = next((a for a in self._own if self._objects.is_chosen(a.index)), None)
            if chosen is not None:
                shown.append(self._choice(chosen.index))
            if self._contents.changes is not None:
                store = self._instructions[self._contents.changes]
                shown.append(
                    Evidence("parameter-changed", ptx_line=store.line, opcode=store.opcode)
                )
            return ProvenCause("param-copy", (*shown, *self._passed()))
        proven = self._escaping()
        if proven is None:
            proven = replace(self._by_index(), is_alike=self._contents.is_alike)
        if self._reduction is not None:
            # Two that lie in one place in turn: neither keeps the other in memory.
            return replace(proven, evidence=(*proven.evidence, Evidence("shared-place")))
        return proven

    def _compilers(self) -> ProvenCause | None:
        """What the program asks for by name, and what compilers put on the stack themselves."""
        volatile = self._objects.volatile_access(self._found)
        if volatile is not None:
            return ProvenCause("volatile", (self._said(volatile.index),), self._others())
        for call, _ in self._found.passed_to:
            if call.callee in PRINTING and self._is_for_printing():
                passed = (Evidence("address-passed", call.callee),)
                return ProvenCause("printf-args", passed, size=self._written())
            if call.callee is not None and call.callee.startswith(_LAUNCHING):
                return ProvenCause("device-launch", (Evidence("address-passed", call.callee),))
        reduction = self._reduction
        if reduction is not None and all(a.index in reduction.stores for a in self._stores):
            return ProvenCause("math-slow-path", (reduction.evidence,), size=reduction.size)
        return None

    def _is_for_printing(self) -> bool:
        """Whether it may be a buffer of arguments, which is written at constant places and handed
        to nobody else. Otherwise a variable and such a buffer have its place in turn."""
        written = all(access.is_store and not access.leaves for access in self._own)
        return written and all(call.callee in PRINTING for call, _ in self._found.passed_to)

    def _is_only_printed(self) -> bool:
        """Whether nothing but a print reads it, by its address: without that its stores go, too."""
        if self._theirs or not all(access.is_store for access in self._own):
            return False
        objects = self._objects.objects
        kept = [self._objects.access_at.get(index) for index in self._found.stored_at]
        if None in kept:
            return False
        places = {
            pointee.offset if pointee.kind == "depot" else None
            for access in kept
            if access is not None
            for pointee in access.pointees
        }
        return bool(places) and all(
            place is not None
            and place in objects
            and objects[place].passed_to
            and all(call.callee in PRINTING for call, _ in objects[place].passed_to)
            for place in places
        )

    def _written(self) -> int | None:
        """Bytes up to the last one that is stored at a constant place: what is behind is padding.

        All of them where no padding can be so large: a value that is undefined is not stored. None
        where nothing is stored, or a place is not known.
        """
        reached = self._found.reached
        if reached is None or any(access.offset is None for access in self._stores):
            return None
        size, behind = self._found.size, self._found.size - reached
        depots = self._objects.body.locals
        is_whole = len(depots) == 1 and depots[0].align <= ARGUMENT <= behind
        return size if is_whole and self._found.offset + size == depots[0].size else reached

    def _passed(self) -> tuple[Evidence, ...]:
        """The functions that get its address, those that print aside."""
        callees = dict.fromkeys(call.callee for call, _ in self._found.passed_to)
        return tuple(Evidence("address-passed", one) for one in callees if one not in PRINTING)

    def _escaping(self) -> ProvenCause | None:
        """Proof that its address is needed, or that it holds addresses of other objects."""
        passed = self._passed()
        if passed:
            return ProvenCause("address-taken", passed, self._others())
        if self._found.stored_at:
            shown = self._said(self._found.stored_at[0])
            others = () if self._is_only_printed() else self._others()
            return ProvenCause("address-taken", (shown,), others)
        chosen = next((a for a in self._own if self._objects.is_chosen(a.index)), None)
        if chosen is not None:
            return ProvenCause("address-taken", (self._choice(chosen.index),), self._others())
        others = self._others()
        # With constant indices it is in registers itself, whatever it holds.
        if self._contents.are_addresses and "rolled-loop" not in others:
            first = self._instructions[self._stores[0].index]
            shown = Evidence("holds-addresses", ptx_line=first.line, opcode=first.opcode)
            return ProvenCause("address-taken", (shown,), others)
        return None

    def _by_index(self) -> ProvenCause:
        accesses = [*self._own, *(access for _, access in self._theirs)]
        places = [a for a in self._own if a.leaves and self._objects.is_between_places(a.index)]
        indexed = computed([one for one in accesses if one.leaves and one not in places])
        dynamic = next((a for a in indexed if any(leaf.is_dynamic for leaf in a.leaves)), None)
        if dynamic is None:
            # Of a narrow type, a length has a largest value; no loop of the source has it.
            own = (a for a in self._own if open_copy(self._objects, a) is not None)
            dynamic = next(own, None)
        if dynamic is not None:
            if self._contents.is_table:
                return ProvenCause("const-table", (Evidence("constant-stores"),))
            also = tuple(c for c in self._others() if c != "dynamic-index")
            return ProvenCause("dynamic-index", (self._said(dynamic.index),), also)
        if places:
            access = self._instructions[places[0].index]
            shown = Evidence("chosen-place", ptx_line=access.line, opcode=access.opcode)
            return ProvenCause("address-taken", (shown,))
        if self._is_large():
            limit = REGISTER_FILE_BYTES
            if self._contents.is_table:
                # Constants need no registers, however many they are, and wherever they are read.
                held = Evidence("constant-stores")
                if not indexed:
                    held = replace(held, bytes=self._found.size, limit=limit)
                return ProvenCause("const-table", (held,))
            size = Evidence("object-size", bytes=self._found.size, limit=limit)
            return ProvenCause("large-array", (size,))
        # At constant places alone it would be in registers, but for the pointer that is needed.
        between = next((a for a in self._own if self._is_of_several(a)), None)
        if between is not None and not indexed:
            return ProvenCause("address-taken", (self._choice(between.index),))
        indexed = self._indexed()
        indexed += [access for _, access in self._theirs if access.leaves]
        indexed += [access for access in self._own if self._objects.alternates(access)]
        if indexed:
            return ProvenCause("rolled-loop", (self._said(indexed[0].index),))
        instructions = self._objects.body.instructions
        generic = next(
            (a for a in self._own if is_generic_access(instructions[a.index].opcode)), None
        )
        if generic is not None:
            return ProvenCause("address-taken", (self._said(generic.index),))
        return ProvenCause("unattributed", ())

    def _is_large(self) -> bool:
        """Whether registers cannot hold what is used of it: most arrays are used as a whole."""
        if self._found.size <= REGISTER_FILE_BYTES:
            return False
        if self._theirs or self._contents.is_table or not self._indexed():
            return True
        used = touched(self._objects, self._found.offset)
        return used is None or used > REGISTER_FILE_BYTES

    def _indexed(self) -> list[PtxAccess]:
        """Its accesses with an index, without what copies the whole, or chooses beside one.

        What only chooses between this object and other memory is no index into it.
        """
        objects = self._objects
        indexed = (one for one in self._own if one.leaves)
        own = computed(
            [a for a in indexed if not objects.is_chosen(a.index) or objects.is_indexed(a.index)]
        )
        return [access for access in own if not is_copying(self._objects, access)]

    def _choice(self, index: int) -> Evidence:
        access = self._instructions[index]
        subject = NULL if self._objects.is_it_or_null(index) else None
        return Evidence("chosen-address", subject, ptx_line=access.line, opcode=access.opcode)

    def _is_of_several(self, access: PtxAccess) -> bool:
        """Whether a pointer leads to this object on some paths and to another on others."""
        return len({p.offset for p in access.pointees if p.kind == "depot"}) > 1

    def _others(self) -> tuple[Cause, ...]:
        """Causes by index and size, whatever the first cause is."""
        result: list[Cause] = []
        leaves = [access.leaves for access in self._indexed()]
        # A loop that only calls is unrolled once it is inlined.
        passed = self._objects.passed_indices(self._found)
        leaves += [found for found in passed if any(leaf.is_dynamic for leaf in found)]
        if any(leaf.is_dynamic for found in leaves for leaf in found) or any(
            self._is_dynamic_inlined(theirs.dataflow, leaf)
            for theirs, access in self._theirs
            for leaf in access.leaves
        ):
            result.append("dynamic-index")
        elif leaves:
            result.append("rolled-loop")
        # With constant indices alone, elements that are never used need no place.
        walked = any(not any(leaf.is_dynamic for leaf in found) for found in leaves)
        if walked and self._found.size > REGISTER_FILE_BYTES:
            result.append("large-array")
        return tuple(result)

    def _is_dynamic_inlined(self, callee: Dataflow, leaf: Leaf) -> bool:
        """Whether an index of a callee's stays unknown where its calls are inlined.

        Its parameters become their arguments then, and loops that they bound may become constant.
        """
        if leaf.kind == "parameter":
            return not self._is_constant_argument(callee, leaf.name)
        if leaf.kind != "loop-counter":
            return leaf.kind in _WHATEVER_INLINED
        if leaf.constant_trip:
            return False
        loop = next((one for one in callee.flow.loops if one.header == leaf.header), None)
        if loop is None:
            # A trip count rounded to steps of an unrolled loop: any number may be it.
            numbers = [name for name, _, size in callee.function.parameters if size <= _NUMBER]
            return not all(self._is_constant_argument(callee, name) for name in numbers)
        bounds = {
            bound
            for branch, register in callee.exit_tests(loop)
            for bound in callee.leaves(register, branch)
        }
        return any(
            self._is_dynamic_inlined(callee, bound)
            for bound in bounds
            if bound.header != leaf.header
        )

    def _is_constant_argument(self, callee: Dataflow, parameter: str | None) -> bool:
        """Whether every call passes a constant for a parameter."""
        function = callee.function
        names = [name for name, _, _ in function.parameters]
        if parameter not in names:
            return False
        position = names.index(parameter)
        for caller, call in self._module.calls_of(function.name, self._kernel):
            dataflow = self._module.dataflow(caller)
            assert dataflow is not None
            passed = call.arguments[position] if position < len(call.arguments) else ()
            if any(dataflow.leaves(register) for register in passed):
                return False
        return True

    def _said(self, index: int) -> Evidence:
        instruction = self._instructions[index]
        return Evidence("ptx-instruction", ptx_line=instruction.line, opcode=instruction.opcode)
