"""Judgement where a report is all there is: ptxas's figures without code that would show causes.

A log cannot tell why there is local memory, and it is not guessed here. What follows from figures
alone: registers that are spilled take no more of the stack than the spill stores write, so what
the stack holds beyond them is something else, the frames and spills of unknown callees included.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from lmemscope.formats.demangle import short_name
from lmemscope.model import (
    Advice,
    Cause,
    CauseShare,
    Confidence,
    Evidence,
    Finding,
    KernelFacts,
    SiteClass,
    SourceText,
    VerdictName,
)
from lmemscope.rules import call_frame, register_spill, unattributed
from lmemscope.rules.base import Case, Rule

_ALIGNMENT = 16
"""ptxas rounds frames up to 8 or 16 bytes: less than that beyond the spills may be padding."""

_EVIDENCE_SHOWN = 6
_GLOB = frozenset("*?[]")
_NOT_KNOWN = "cause not known from a log"


@dataclass(frozen=True, slots=True)
class Stack:
    """What the figures of a kernel, and of the functions compiled with it, come to.

    Attributes:
        spills: bodies with spills: name or None for the kernel's own, bytes stored, bytes loaded.
        bytes: per thread on the deepest call path, as far as it is known; None if nothing is.
        other: of these, what the spills of the kernel and its known callees cannot fill.
        frame: the kernel's own.
    """

    spills: tuple[tuple[str | None, int, int], ...]
    bytes: int | None
    other: int
    frame: int | None

    @property
    def stored(self) -> int:
        """Bytes of spill stores, at instruction sites."""
        return sum(stores for _, stores, _ in self.spills)

    @property
    def loaded(self) -> int:
        """Bytes of spill loads, at instruction sites."""
        return sum(loads for _, _, loads in self.spills)


def stack_of(facts: KernelFacts) -> Stack:
    """Add up a kernel's figures."""
    bodies = [(None, facts.ptxas), *((short_name(c.demangled), c.ptxas) for c in facts.callees)]
    spills = tuple(
        (name, said.spill_stores or 0, said.spill_loads or 0)
        for name, said in bodies
        if said is not None and (said.spill_stores or said.spill_loads)
    )
    frames = [c.ptxas.stack_frame or 0 for c in facts.callees if c.ptxas is not None]
    frame = facts.stack_frame
    known = [
        value
        for value in (
            None if frame is None else frame + max(frames, default=0),
            facts.cumulative_stack,
            facts.ptxas.local if facts.ptxas is not None else None,
        )
        if value is not None
    ]
    size = max(known, default=None)
    other = (size or 0) - sum(stores for _, stores, _ in spills)
    return Stack(spills, size, other if not spills or other >= _ALIGNMENT else 0, frame)


def said_by_report(facts: KernelFacts) -> list[tuple[VerdictName, str]]:
    """Kinds and texts of a verdict; none only if the figures say that there is nothing."""
    stack = stack_of(facts)
    said: list[tuple[VerdictName, str]] = [
        ("spill", f"spill {stores}/{loads} B{f' in {name}' if name is not None else ''}")
        for name, stores, loads in stack.spills
    ]
    if stack.other:
        what = _described(stack)
        said.append(("unknown", f"{what}, {_NOT_KNOWN}"))
    if not facts.stack_known:
        said.append(("call-stack", "stack depth unknown (recursion or indirect call)"))
    if stack.bytes is None and not said:
        said.append(("unknown", "stack frame and spills not known"))
    return said


def weight(facts: KernelFacts) -> int:
    """Bytes that order kernels of one kind, worst first."""
    stack = stack_of(facts)
    return stack.stored + stack.loaded + stack.other


def find_reported(facts: KernelFacts, source: str | None, arch: str) -> tuple[Finding, ...]:
    """Findings that the figures alone support, most certain first.

    Args:
        facts: of a report, without code.
        source: the file whose compilation would explain it, or None where that is not known.
        arch: the architecture, empty where it is not known.
    """
    stack = stack_of(facts)
    found: list[Finding] = []
    way_out = _way_out(facts, source, arch)
    if stack.spills:
        size = (stack.bytes or 0) - stack.other
        found.append(
            _finding(
                register_spill.RULE,
                facts,
                size or stack.stored + stack.loaded,
                "likely",
                f"{stack.stored} bytes of spill stores, {stack.loaded} bytes of spill loads"
                f"{_where(stack)}; registers saved across calls count as spills too",
                way_out,
            )
        )
    if stack.other:
        beyond = " more than these spills can fill" if stack.spills else ""
        found.append(
            _finding(
                unattributed.RULE,
                facts,
                stack.other,
                "possible",
                f"{_described(stack)}{beyond}: a log cannot say what it holds",
                way_out,
            )
        )
    if not facts.stack_known:
        found.append(
            _finding(
                call_frame.RULE,
                facts,
                0,
                "likely",
                "the stack depth is not known at compile time: recursion, or calls through "
                "pointers",
                way_out,
            )
        )
    return tuple(found)


def _described(stack: Stack) -> str:
    own = stack.frame or 0
    if stack.spills or stack.other <= own:
        return f"stack frame of {stack.other} B"
    if own:
        return f"stack of {stack.other} B, {own} B of it in its own frame"
    return f"stack of {stack.other} B in called functions"


def _where(stack: Stack) -> str:
    names = [name for name, _, _ in stack.spills if name is not None]
    if not names:
        return ""
    own = "the kernel and " if any(name is None for name, _, _ in stack.spills) else ""
    return f" in {own}{', '.join(names)}"


def _finding(
    rule: Rule,
    facts: KernelFacts,
    size: int,
    confidence: Confidence,
    message: str,
    advice: Sequence[Advice],
) -> Finding:
    """The rule's finding on bytes that no access shows."""
    cause: Cause = rule.cause
    share = CauseShare.of(cause, None, size, SiteClass())
    judged = rule.judge(Case(facts, share, None, (), SourceText(lambda _: [])))
    return replace(
        judged,
        bytes=size,
        confidence=confidence,
        message=message,
        advice=tuple(advice),
        evidence_facts=_evidence(facts),
    )


def _evidence(facts: KernelFacts) -> tuple[Evidence, ...]:
    """The report's own figures, function by function."""
    bodies = [(facts.name, facts.ptxas), *((callee.name, callee.ptxas) for callee in facts.callees)]
    said = []
    for name, figures in bodies:
        if figures is None:
            continue
        if figures.stack_frame is not None:
            said.append(Evidence("reported-frame", name, bytes=figures.stack_frame))
        if figures.spill_stores:
            said.append(Evidence("reported-stores", name, bytes=figures.spill_stores))
        if figures.spill_loads:
            said.append(Evidence("reported-loads", name, bytes=figures.spill_loads))
    linked = facts.ptxas.linked_stack if facts.ptxas is not None else None
    if linked is not None:
        said.append(Evidence("linked-stack", facts.name, bytes=linked))
    return tuple(said[:_EVIDENCE_SHOWN])


def _way_out(facts: KernelFacts, source: str | None, arch: str) -> tuple[Advice, ...]:
    """The command that shows why."""
    kernel = short_name(facts.demangled)
    if _GLOB & set(kernel):
        kernel = facts.name
    target = shlex.quote(f"{source or 'FILE.cu'}::{kernel}")
    command = f"lmemscope explain {target}{f' --arch {arch}' if arch else ''}"
    text = "The source shows why: this command, with the -I, -D and -std of its build, explains it."
    if source is None:
        text = "The source shows why; the log does not name the file."
    return (Advice(text, command),)
