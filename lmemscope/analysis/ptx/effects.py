"""What a kernel does that others can see, by kind: what a rewrite must not take away.

A rewrite that makes a parameter const can have another overload called, and one that promises
something can have code left out: the kernel is faster then, for it does less.
"""

from __future__ import annotations

from collections import Counter

from lmemscope.analysis.library_buffers import PRINTING
from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.formats.ptx_body import Instruction

_ATOMIC = frozenset({"atom", "red"})
"""The second is the first without a result; compilers make one of the other."""
_WHAT = frozenset("add and or xor cas exch min max inc dec".split())
_OWN = frozenset({"local", "param"})
PRINT = "print"
GENERIC = "store through a pointer"
"""What may be to the thread's own memory as well."""


def effects(flow: ModuleFlow, kernel: str) -> tuple[tuple[str, int], ...]:
    """What a kernel and the functions that it reaches do that others can see: kinds, and how often
    each stands there.

    Args:
        flow: of the module.
        kernel: its mangled name.
    """
    found: Counter[str] = Counter()
    for name in flow.reached(kernel):
        dataflow = flow.dataflow(name)
        if dataflow is not None:
            kinds = map(_kind, dataflow.body.instructions)
            found.update(kind for kind in kinds if kind is not None)
            found[PRINT] += sum(call.callee in PRINTING for call in dataflow.flow.calls)
    return tuple(sorted((+found).items()))


def _kind(instruction: Instruction) -> str | None:
    """``atomic add``, ``store to global memory``; None of what nobody else can see."""
    modifiers = instruction.modifiers
    if instruction.operation in _ATOMIC:
        what = next((one for one in modifiers if one in _WHAT), None)
        return f"atomic {what}" if what is not None else None
    if instruction.operation != "st" or _OWN & {*modifiers}:
        return None
    space = next((one for one in ("global", "shared") if one in modifiers), None)
    return f"store to {space} memory" if space is not None else GENERIC
