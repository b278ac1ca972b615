"""What a kernel does that others can see, by kind: what a rewrite must not take away.

A rewrite that makes a parameter const can have another overload called, and one that promises
something can have code left out: the kernel is faster then, for it does less.
"""

from __future__ import annotations

from collections import Counter

from lmemscope.analysis.library_buffers import PRINTING
from lmemscope.analysis.ptx.callgraph import ModuleFlow
from lmemscope.formats.ptx_body import Instruction
from lmemscope.formats.ptx_isa import GENERIC, space_of

_WHAT = frozenset("add and or xor cas exch min max inc dec".split())
PRINT = "print"
POINTED = "store through a pointer"
"""What may be to the thread's own memory as well."""
_STORE = "store to "


def is_store(kind: str) -> bool:
    """Whether a kind of effect is a store, of whatever memory."""
    return kind == POINTED or kind.startswith(_STORE)


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
    modifiers, access = instruction.modifiers, instruction.isa.access
    if access == "atomic":
        # With a result or without: compilers make one of the other.
        what = next((one for one in modifiers if one in _WHAT), None)
        return f"atomic {what}" if what is not None else None
    space = space_of(instruction.opcode)
    if access != "store" or space in ("local", "param"):
        return None
    return POINTED if space == GENERIC else f"{_STORE}{space} memory"
