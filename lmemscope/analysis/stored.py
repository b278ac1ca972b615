"""What an object's stores say of the variable that it is: a parameter's value, or a number."""

from __future__ import annotations

import re

from lmemscope.analysis.layout import is_pointer
from lmemscope.analysis.ptx.objects import FunctionObjects, StackObject
from lmemscope.analysis.ptx.transfers import stored_values
from lmemscope.model import Variable

_WHOLE_NUMBER = re.compile(
    r"(?:const |volatile )*(?:(?:un)?signed |long |short )*(?:int|char|long|short|bool|unsigned"
    r"|u?int\d+_t|size_t)"
)
_FLOATS = ("f32", "f64")


def stored_parameter(objects: FunctionObjects, found: StackObject) -> str | None:
    """The parameter whose value a kernel's object is filled with at once, by its name in PTX.

    That is a parameter, or a variable that begins with its value, in memory for its address.
    """
    function = objects.dataflow.function
    if function.kind != "entry":
        return None
    sizes = {name: size for name, _, size in function.parameters}
    names: set[str] = set()
    for access in found.accesses:
        if not access.is_store or access.offset != found.offset:
            continue
        for value, _ in stored_values(objects.body.instructions[access.index]):
            name = _loaded(objects, value)
            if name is not None and sizes.get(name) == access.width:
                names.add(name)
    return names.pop() if len(names) == 1 else None


def _loaded(objects: FunctionObjects, register: str) -> str | None:
    """The parameter that a register has the first bytes of; None where it may have others."""
    at = objects.dataflow.definitions.get(register, ())
    if len(at) != 1:
        return None
    load = objects.body.instructions[at[0]]
    if load.modifiers[:2] != ("ld", "param") or load.address is None or load.address.offset:
        return None
    return load.address.base


def is_stored_as(variable: Variable, objects: FunctionObjects, found: StackObject) -> bool:
    """Whether a variable may have what is stored: a pointer or a whole number is no ``float``."""
    if not (is_pointer(variable.type) or _WHOLE_NUMBER.fullmatch(variable.type)):
        return True
    return not any(
        access.is_store
        and access.width == variable.size
        and objects.body.instructions[access.index].modifiers[-1] in _FLOATS
        for access in found.accesses
    )
