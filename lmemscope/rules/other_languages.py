"""Advice for kernels that are not written in C++, by cause, in the words of their language."""

from __future__ import annotations

from collections.abc import Callable

from lmemscope.model import Advice, Cause, Language
from lmemscope.rules.base import Case
from lmemscope.rules.math_slow_path import is_float_path
from lmemscope.rules.register_cap import cap_of
from lmemscope.rules.shared import STATIC_BYTES

_WARP = 32
_LARGEST_BLOCK = 1024
_REGISTER_BYTES = 255 * 4
"""What a thread's registers hold: CUDA C++ Programming Guide, "Compute Capabilities"."""


def advice_in(language: Language, case: Case) -> tuple[Advice, ...]:
    """What removes a cause where the source is not C++; each text names what the language has.

    Args:
        language: of the kernel's source.
        case: to advise on.
    """
    return tuple(Advice(text) for text in _BY_CAUSE[case.share.cause](language, case))


def _registers(language: Language, case: Case) -> tuple[str, ...]:
    cap = cap_of(case.facts)
    found = []
    if cap.kind == "option":
        where = language.limit or "the compiler's register limit"
        found.append(f"Raise or drop {where}: occupancy decreases.")
    if cap.kind == "launch-bounds" and language.block is not None:
        found.append(
            f"A block's registers fill a multiprocessor: fewer threads ({language.block}) leave "
            "each of them more, if each then does no more work."
        )
    if cap.kind == "allocator" and language.bounds is not None:
        found.append(f"Promise one block per multiprocessor with {language.bounds}.")
    if language.spread is not None and cap.kind != "option":
        found.append(f"Give each thread less of the tile: {language.spread}.")
    elif cap.kind != "option":
        found.append("Keep fewer values live: smaller tiles, less unrolling, recomputation.")
    if language.smem_spilling is not None:
        found.append(
            f"Or spill to shared memory with {language.smem_spilling} (CUDA 13 and newer)."
        )
    return tuple(found)


def _calls(language: Language, case: Case) -> tuple[str, ...]:
    del case
    return (
        f"Avoid the call: {language.inline}; use a loop instead of recursion, and a branch instead "
        "of a call through a pointer.",
    )


def _indexed(language: Language, case: Case) -> tuple[str, ...]:
    if _bytes(case) > _REGISTER_BYTES:
        return _large(language, case)
    constant = f"Index it with constants only: {language.unroll}, or compare and select."
    shared = _shared(language, case)
    return (constant, f"Or {shared}.") if shared is not None else (constant,)


def _bytes(case: Case) -> int:
    """Bytes of the object for each thread, or of what is in the frame of several."""
    return case.object.size if case.object is not None else case.share.frame_bytes


def _shared(language: Language, case: Case) -> str | None:
    """How the object is kept in shared memory; None where the block does not fit, or no warp."""
    most = STATIC_BYTES // max(_bytes(case), 1) // _WARP * _WARP
    occupancy = case.facts.occupancy
    block = occupancy.block if occupancy is not None and occupancy.is_known else _WARP
    if language.shared is None or most < block:
        return None
    fitting = f" (blocks of up to {most} threads)" if most < _LARGEST_BLOCK else ""
    return f"keep it in shared memory{fitting}: {language.shared}"


def _rolled(language: Language, case: Case) -> tuple[str, ...]:
    return (
        f"Unroll every loop that indexes it: {language.unroll}. Trip counts must be constants.",
    )


def _large(language: Language, case: Case) -> tuple[str, ...]:
    shared = _shared(language, case)
    if shared is None:
        return ("Make it smaller, or process it in parts.",)
    return (f"Make it smaller, process it in parts, or {shared}.",)


def _address(language: Language, case: Case) -> tuple[str, ...]:
    return (
        f"Do not hand on its address: pass and return values, or "
        f"{language.inline} where it goes to one.",
    )


def _parameter(language: Language, case: Case) -> tuple[str, ...]:
    del language
    return ("Pass it as an array in device memory, or index it with constants.",)


def _table(language: Language, case: Case) -> tuple[str, ...]:
    return (f"Do not build it in each thread: {language.table}.",)


def _printing(language: Language, case: Case) -> tuple[str, ...]:
    del case
    return (
        "Leave it if the message is rare: nothing is stored unless it is printed. Otherwise "
        f"compile {language.prints} only in debug builds.",
    )


def _slow_path(language: Language, case: Case) -> tuple[str, ...]:
    found = ["Only large arguments take the slow path. Reduce them first where they can be large."]
    if is_float_path(case) is False:
        found.append(
            "There is no fast function for double: if float accuracy is enough, compute in float."
        )
    elif language.fast_math is not None:
        found.append(f"If less accuracy will do: {language.fast_math}.")
    return tuple(found)


def _fixed(text: str) -> Callable[[Language, Case], tuple[str, ...]]:
    return lambda language, case: (text,)


_BY_CAUSE: dict[Cause, Callable[[Language, Case], tuple[str, ...]]] = {
    "register-spill": _registers,
    "callee-save": _calls,
    "call-frame": _calls,
    "dynamic-index": _indexed,
    "rolled-loop": _rolled,
    "large-array": _large,
    "address-taken": _address,
    "param-copy": _parameter,
    "const-table": _table,
    "volatile": _fixed("Do not access it as volatile."),
    "printf-args": _printing,
    "math-slow-path": _slow_path,
    "alloca": _fixed("Give the array a constant size, or allocate it outside the kernel."),
    "device-launch": _fixed("No change needed. Never pass the address of a local variable on."),
    "debug-build": lambda language, _: (f"Compile without {language.debug}.",),
    "promoted": _fixed("Nothing to do."),
    "unattributed": lambda language, _: (
        f"Compile with line information, so that accesses can be traced: {language.lines}.",
    ),
}
