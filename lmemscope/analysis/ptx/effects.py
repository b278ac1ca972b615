"""What a kernel does that others can see, by kind: what a rewrite must not take away.

A rewrite that makes a parameter const can have another overload called, and one that promises
something can have code left out: the kernel is faster then, for it does less.
"""

from __future__ import annotations

from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.formats.ptx_body import Instruction

_ATOMIC = frozenset({"atom", "red"})
"""The second is the first without a result; compilers make one of the other."""
_WHAT = frozenset("add and or xor cas exch min max inc dec".split())


def effects(flow: ModuleFlow, kernel: str) -> tuple[str, ...]:
    """Kinds of what a kernel and the functions that it reaches do to memory of others, sorted.

    Args:
        flow: of the module.
        kernel: its mangled name.
    """
    found: set[str] = set()
    for name in flow.reached(kernel):
        dataflow = flow.dataflow(name)
        if dataflow is not None:
            found |= {kind for one in dataflow.body.instructions if (kind := _kind(one))}
    return tuple(sorted(found))


def _kind(instruction: Instruction) -> str | None:
    """``atomic add``, ``store``, or None of what is neither, or may be to the thread's own."""
    modifiers = instruction.modifiers
    if instruction.operation in _ATOMIC:
        what = next((one for one in modifiers if one in _WHAT), None)
        return f"atomic {what}" if what is not None else None
    return "store to global memory" if modifiers[:2] == ["st", "global"] else None
