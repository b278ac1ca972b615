"""Why an object is in memory: decided from what its addresses and values are made of.

The order of the questions matters: the first one that has proof answers. Names of variables and
of user functions play no part; names of NVIDIA's own run-time functions and tables do, because
only the compiler writes them.
"""

from __future__ import annotations

from dataclasses import dataclass

from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.analysis.ptx.leaves import Leaf
from lmemscope.analysis.ptx.objects import FunctionObjects, PtxAccess, StackObject
from lmemscope.formats.ptx_body import Operand, Vector
from lmemscope.model import Cause, Evidence

REGISTER_FILE_BYTES = 255 * 4
"""What one thread can hold in registers at most (255 of 4 bytes): CUDA C++ Programming Guide,
"Compute Capabilities", maximum number of 32-bit registers per thread."""

_PRINTING = frozenset({"vprintf", "__assertfail", "__assert_fail"})
_LAUNCHING = ("cudaGetParameterBuffer", "cudaLaunchDevice", "cudaGraphLaunch", "__cudaCDP2")
_REDUCTION_TABLES = "__cudart_i2opi"
_SLOW_PATHS = "__internal_trig_reduction_slowpath"
"""libdevice's range reduction, by the start of its name: of float and of double arguments."""


@dataclass(frozen=True, slots=True)
class ProvenCause:
    """A cause with what shows it."""

    cause: Cause
    evidence: tuple[Evidence, ...]


def object_cause(
    module: ModuleFlow, kernel: str, objects: FunctionObjects, found: StackObject
) -> ProvenCause:
    """The cause of one stack object of a function that ``kernel`` reaches."""
    body = objects.body
    accesses = [*found.accesses, *accesses_of_callees(module, kernel, objects, found)]
    volatile = next(
        (a for a in found.accesses if "volatile" in body.instructions[a.index].modifiers), None
    )
    if volatile is not None:
        return ProvenCause("volatile", (_said(objects, volatile.index),))
    for call, _ in found.passed_to:
        if call.callee in _PRINTING:
            return ProvenCause("printf-args", (Evidence("address-passed", call.callee),))
        if call.callee is not None and call.callee.startswith(_LAUNCHING):
            return ProvenCause("device-launch", (Evidence("address-passed", call.callee),))
    slow = _slow_path(objects, found)
    if slow is not None:
        return ProvenCause("math-slow-path", (slow,))
    copied = _copied_parameter(objects, found)
    if copied is not None:
        return ProvenCause("param-copy", (Evidence("parameter-copy", copied),))
    for call, _ in found.passed_to:
        return ProvenCause("address-taken", (Evidence("address-passed", call.callee),))
    if found.stored_at:
        return ProvenCause("address-taken", (_said(objects, found.stored_at[0]),))
    return _by_index(objects, found, accesses)


def accesses_of_callees(
    module: ModuleFlow, kernel: str, objects: FunctionObjects, found: StackObject
) -> list[PtxAccess]:
    """Accesses that functions make through a pointer to the object."""
    result = []
    own = objects.dataflow.function.name
    for name in module.reached(kernel):
        if name == own:
            continue
        theirs = module.objects(name)
        if theirs is None:
            continue
        result += [
            access
            for access in theirs.accesses
            if any(pointee.kind == "parameter" for pointee in access.pointees)
            and (own, found.offset) in module.owners(kernel, name, access.pointees)
        ]
    return result


def _by_index(
    objects: FunctionObjects, found: StackObject, accesses: list[PtxAccess]
) -> ProvenCause:
    indexed = [access for access in accesses if access.leaves]
    dynamic = next((a for a in indexed if any(leaf.is_dynamic for leaf in a.leaves)), None)
    if dynamic is not None:
        if _is_table(objects, found):
            return ProvenCause("const-table", (Evidence("constant-stores"),))
        return ProvenCause("dynamic-index", (_said(objects, dynamic.index),))
    if found.size > REGISTER_FILE_BYTES:
        size = Evidence("object-size", bytes=found.size, limit=REGISTER_FILE_BYTES)
        return ProvenCause("large-array", (size,))
    if indexed:
        return ProvenCause("rolled-loop", (_said(objects, indexed[0].index),))
    return ProvenCause("unattributed", ())


def _is_table(objects: FunctionObjects, found: StackObject) -> bool:
    """Whether it is only ever filled with what is constant, and read by a run-time index.

    A value computed from counters of loops with constant trip counts is the same on every call.
    """
    stores = [access for access in found.accesses if access.is_store]
    loads = [access for access in found.accesses if not access.is_store]
    if not stores or not loads:
        return False
    if any(leaf.is_dynamic for access in stores for leaf in access.leaves):
        return False
    values: set[str] = set()
    counted = False
    for access in stores:
        for operand in objects.body.instructions[access.index].operands[1:]:
            for name in _value_names(operand):
                leaves = objects.dataflow.leaves(name) if name.startswith("%") else frozenset()
                made_of = [leaf for leaf in leaves if leaf.kind != "symbol"]
                if any(leaf.is_dynamic and not _is_constant_data(leaf) for leaf in made_of):
                    return False
                counted = counted or bool(made_of)
                values.add(name)
    # All zeros is an initialised array, not a table.
    return len(values) > 1 or counted


def _is_constant_data(leaf: Leaf) -> bool:
    """A load from a table that the compiler made of an initialiser (``__const…``)."""
    return leaf.kind == "memory" and (leaf.name or "").lstrip("_$").startswith("const")


def _value_names(operand: Operand) -> tuple[str, ...]:
    """Registers and constants that a stored operand is made of."""
    if isinstance(operand, str):
        return (operand,)
    return operand.items if isinstance(operand, Vector) else ()


def _slow_path(objects: FunctionObjects, found: StackObject) -> Evidence | None:
    """Proof that an object belongs to a mathematical function's argument reduction."""
    name = objects.dataflow.function.name
    if name.startswith(_SLOW_PATHS):
        return Evidence("library-function", name)
    for access in found.accesses:
        if not access.is_store:
            continue
        for operand in objects.body.instructions[access.index].operands[1:]:
            for register in _value_names(operand):
                for leaf in sorted(objects.dataflow.leaves(register), key=str):
                    if (leaf.name or "").startswith(_REDUCTION_TABLES):
                        return Evidence("library-table", leaf.name)
    return None


def _copied_parameter(objects: FunctionObjects, found: StackObject) -> str | None:
    """The by-value parameter that an object is a copy of: loads and stores at equal distances."""
    if objects.dataflow.function.kind != "entry":
        return None
    sizes = {name: size for name, _, size in objects.dataflow.function.parameters}
    votes: dict[str, int] = {}
    stores = [a for a in found.accesses if a.is_store and a.offset is not None]
    for access in stores:
        assert access.offset is not None
        for operand in objects.body.instructions[access.index].operands[1:]:
            for position, register in enumerate(_value_names(operand)):
                loaded = _loaded_from(objects, register)
                if loaded is None or position:
                    continue
                name, distance = loaded
                if access.offset - found.offset == distance and sizes.get(name, 0) > 8:
                    votes[name] = votes.get(name, 0) + 1
    best = max(votes, key=lambda name: votes[name], default=None)
    return best if best is not None and votes[best] * 2 >= len(stores) else None


def _loaded_from(objects: FunctionObjects, register: str) -> tuple[str, int] | None:
    """Parameter and offset that a register is loaded from directly."""
    indices = objects.dataflow.definitions.get(register, [])
    if len(indices) != 1:
        return None
    instruction = objects.body.instructions[indices[0]]
    address = instruction.address
    if instruction.modifiers[:2] != ["ld", "param"] or address is None or address.base is None:
        return None
    return address.base, address.offset


def _said(objects: FunctionObjects, index: int) -> Evidence:
    instruction = objects.body.instructions[index]
    return Evidence("ptx-instruction", ptx_line=instruction.line, opcode=instruction.opcode)
