"""Cells and sentences about linked programs, shared by all formats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lmemscope.exporters import layout
from lmemscope.formats.demangle import demangle, short_name
from lmemscope.model import (
    CallChain,
    IndirectCall,
    Link,
    LinkedKernel,
    LinkTimeFigures,
    Report,
    UnknownStack,
    count,
    listed,
)

TITLE = "Linked programs"
COLUMNS = ("kernel", "regs", "own frame", "linked stack", "deepest path")
_CANDIDATES, _STEPS, _INPUTS = 6, 12, 6


@dataclass(frozen=True, slots=True)
class KernelText:
    """A kernel in a linked program: a row of cells, as in `COLUMNS`, and sentences."""

    cells: tuple[str, ...]
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LinkText:
    """A linked program.

    Attributes:
        heading: its name and origin.
        failure: why it could not be linked, with advice; empty if it was.
        log: nvlink's log, after a failure.
        kernels: those with information from linking, deepest stack first.
        rest: a sentence about kernels that need no stack.
        remarks: sentences about the whole program.
    """

    heading: str
    failure: tuple[str, ...]
    log: str
    kernels: tuple[KernelText, ...]
    rest: str
    remarks: tuple[str, ...]


def link_texts(report: Report) -> tuple[LinkText, ...]:
    """Every linked program of a report."""
    return tuple(map(_link, report.links))


def _link(link: Link) -> LinkText:
    hollow = {call.caller for call in link.indirect if not call.candidates}
    shown = sorted(
        (kernel for kernel in link.kernels if _tells(kernel) or hollow & {*kernel.indirect}),
        key=_deepest_first,
    )
    failure: tuple[str, ...] = ()
    if link.failure is not None:
        failure = (link.failure.message, *([link.failure.hint] if link.failure.hint else []))
    left = len(link.kernels) - len(shown)
    rest = ""
    if link.failure is None:
        rest = f"{count(left, 'kernel')} with no stack after linking." if left else ""
    return LinkText(
        heading=_heading(link),
        failure=failure,
        log=(link.failure.log or "") if link.failure is not None else "",
        kernels=tuple(_kernel(kernel, link) for kernel in shown),
        rest=rest,
        remarks=tuple(_on_all(link)),
    )


def _tells(kernel: LinkedKernel) -> bool:
    return bool(
        not kernel.stack_known
        or kernel.linked_stack
        or kernel.reaches
        or kernel.disagreements
        or (kernel.lto is not None and kernel.lto.linked_stack != kernel.linked_stack)
    )


def _deepest_first(kernel: LinkedKernel) -> tuple[bool, int, str]:
    return kernel.stack_known, -(kernel.linked_stack or kernel.least_stack), kernel.function.name


def _heading(link: Link) -> str:
    names = listed([one.name for one in link.inputs], _INPUTS)
    by = f", {link.origin}" if link.origin else ""
    return f"{link.name} ({link.arch or 'no architecture'}{by}): {names}"


def _on_all(link: Link) -> Iterator[str]:
    recursions = (_recursion(one) for kernel in link.kernels for one in kernel.unknown)
    yield from dict.fromkeys(recursions)
    asked = {caller for kernel in link.kernels for caller in kernel.indirect}
    yield from dict.fromkeys(_indirect(one) for one in link.indirect if one.caller in asked)
    if link.library_kernels:
        yield (f"libcudadevrt.a contains {count(link.library_kernels, 'kernel')}, not shown here")
    yield from (f"nvlink: {message}" for message in link.messages)
    yield from (f"not known: {gap.reason}" for gap in link.gaps)


def _kernel(kernel: LinkedKernel, link: Link) -> KernelText:
    function = kernel.function
    registers = layout.number(function.registers)
    if function.from_object not in (None, function.registers):
        registers = f"{function.from_object} → {registers}"
    return KernelText(
        cells=(
            short_name(function.demangled),
            registers,
            layout.number(function.stack_frame),
            _stack(kernel),
            _path(kernel.path, link),
        ),
        remarks=tuple(_remarks(kernel, link)),
    )


def _stack(kernel: LinkedKernel) -> str:
    if kernel.stack_known:
        more = " and more" if kernel.run_time_stack else ""
        return f"{layout.number(kernel.linked_stack)}{more}"
    if kernel.bound is not None:
        return f"unknown, at most {kernel.bound} as stated"
    return f"unknown, at least {kernel.least_stack}"


def _path(path: CallChain, link: Link) -> str:
    own = {one.name for one in link.functions}
    said = []
    for place, step in enumerate(path.steps):
        other = place > 0 and step.input != path.steps[place - 1].input
        unnamed = "an unknown input" if step.name in own else "CUDA"
        where = f" ({step.input or unnamed})" if other else ""
        through = "through a pointer " if step.by == "indirect" else ""
        said.append(f"{through}{short_name(step.demangled)} {step.stack_frame}{where}")
    if len(said) > _STEPS:
        half = _STEPS // 2
        said = [*said[:half], f"… {len(said) - 2 * half} more …", *said[-half:]]
    return " → ".join(said)


def _remarks(kernel: LinkedKernel, link: Link) -> Iterator[str]:
    below = {one.name: one for one in link.functions}
    elsewhere = [below[name] for name in kernel.elsewhere if name in below]
    if elsewhere:
        named = "; ".join(
            f"{short_name(one.demangled)} {layout.number(one.stack_frame)} B, LDL/STL "
            f"{layout.pair(one.load_sites, one.store_sites)} "
            f"({one.input or 'an unknown input'})"
            for one in elsewhere[:_CANDIDATES]
        )
        yield f"local memory in other inputs: {named}{_more(elsewhere)}"
    if not kernel.stack_known:
        yield from _limit(kernel)
    for name in kernel.run_time_stack:
        taker = short_name(demangle(name.partition("$")[0]))
        yield f"{taker} allocates stack at run time (alloca), which nvlink does not count"
    for found in kernel.disagreements:
        yield f"sources disagree on {found.quantity}: {found.said}"
    if kernel.lto is not None:
        yield _optimised(kernel, kernel.lto)


def _limit(kernel: LinkedKernel) -> Iterator[str]:
    """The value to set ``cudaLimitStackSize`` to."""
    if not kernel.unknown:
        yield "nvlink does not report why the stack is unknown, and no recursion was found"
    elif kernel.bound is not None:
        yield f"cudaLimitStackSize of {kernel.bound} is enough for the stated depths"
    else:
        yield (
            f"cudaLimitStackSize of {kernel.least_stack} at least, for one level of each recursion"
        )


def _recursion(found: UnknownStack) -> str:
    turn = sum(call.stack_frame for call in found.cycle)
    steps = " → ".join(
        f"{short_name(call.demangled)} {call.stack_frame} B"
        + (" (through a pointer)" if call.kind == "indirect" else "")
        for call in found.cycle
    )
    first = short_name(found.cycle[0].demangled)
    others = found.size - len(found.cycle)
    more = f", with {count(others, 'function')} more that reach each other" if others > 0 else ""
    said = f"recursion: {steps} → {first}, {turn} B per level{more}"
    spelled = {call.caller: short_name(call.demangled) for call in found.cycle}
    depths = ", ".join(
        f"{spelled.get(name, short_name(demangle(name)))}={depth}" for name, depth in found.depths
    )
    if found.bounded:
        return f"{said}; stated: {depths}"
    if depths:
        return f"{said}; stated: {depths}, which leaves a cycle unbounded"
    plain = first.partition("<")[0]
    return f"{said}; // lmemscope: depth {plain}=N states its maximum depth"


def _indirect(call: IndirectCall) -> str:
    who = short_name(call.demangled)
    if not call.candidates:
        return (
            f"{who} calls through a pointer of signature {call.signature}, and no function of that "
            "signature has its address taken: nvlink counts nothing for it"
        )
    how = "a virtual function" if call.kind == "virtual" else "a pointer"
    named = "; ".join(
        f"{short_name(one.demangled)} {layout.number(one.stack_frame)} B"
        + (f" in {', '.join(one.held_in)}" if one.held_in else "")
        for one in call.candidates[:_CANDIDATES]
    )
    return f"{who} calls {how} ({call.signature}) that can be {named}{_more(call.candidates)}"


def _optimised(kernel: LinkedKernel, after: LinkTimeFigures) -> str:
    before = "unknown" if not kernel.stack_known else layout.number(kernel.linked_stack)
    stack = "unknown" if not after.stack_known else layout.number(after.linked_stack)
    return (
        f"with -lto: registers {layout.number(kernel.function.registers)} → "
        f"{layout.number(after.registers)}, stack {before} → {stack}, "
        f"LDL/STL {layout.pair(after.load_sites, after.store_sites)}"
    )


def _more(items: Sequence[object]) -> str:
    left = len(items) - _CANDIDATES
    return f"; and {left} more" if left > 0 else ""
