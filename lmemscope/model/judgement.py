"""Judgements: verdicts and findings."""

from __future__ import annotations

from msgspec import Struct

from lmemscope.model.cause_table import Cause, VerdictName
from lmemscope.model.causes import Extent, IndexFacts
from lmemscope.model.document import NOT_GIVEN, always
from lmemscope.model.evidence import Evidence
from lmemscope.model.fix import Applicability, ProvenFix, Verified
from lmemscope.model.request import (
    Confidence,
    Severity,
    SourceLocation,
)


class Verdict(Struct, frozen=True):
    """One line on a kernel.

    Attributes:
        kind: the worst one that holds (`VerdictKind`).
        text: for a person, naming bytes and lines.
        rank: sorts reports worst first: higher is worse.
    """

    kind: VerdictName
    text: str
    rank: tuple[int, int]


class Advice(Struct, frozen=True):
    """One way out.

    Attributes:
        text: what to do.
        code: to write, where it is known.
        verified: what came of it where it was tried.
        rewrite: that does it, as of ``lmemscope fix``; None where none does.
        is_none: whether it says that there is no way out but another program.
        applicability: of a rewrite's proposal that was not compiled: whether it may change what
            the program does; ``code`` then holds the lines that it removes and adds.
    """

    text: str
    code: str | None = None
    verified: Verified | None = None
    rewrite: str | None = None
    is_none: bool = False
    applicability: Applicability | None = None


class Finding(Struct, frozen=True, omit_defaults=True):
    """A cause judged: how bad it is, what it means and what removes it.

    Attributes:
        rule, name: ``LM201``, ``dynamic-index``.
        severity: judged by cost: in a loop and across lanes is worst.
        confidence: in the cause.
        cause: of the contract.
        object, type: variable and its type, where known.
        bytes: frame bytes; where there are none, bytes at instruction sites.
        location: the line to look at first; ``related``: others, such as the declaration.
        index: how the object is indexed, where it is.
        message: one sentence.
        advice: best first.
        evidence: what shows it, in words, which may change; filled where it is written.
        fingerprint: stable across moved lines and other offsets.
        also: other causes that alone would keep the object in memory.
        type_bytes: bytes of ``type``, where known; more than ``bytes`` where ``extent`` is
            ``part``: the compiler keeps the rest in registers.
        extent: what of the variable lies in the frame.
        fix: the best proven fix, where rewrites were tried and one is offered.
        evidence_facts: what shows it, the object's first, then that of single instructions; absent
            in earlier documents.
    """

    rule: str
    name: str
    severity: Severity
    confidence: Confidence
    cause: Cause
    object: str | None
    type: str | None
    bytes: int
    location: SourceLocation | None
    related: tuple[SourceLocation, ...]
    index: IndexFacts | None
    message: str
    advice: tuple[Advice, ...]
    evidence: tuple[str, ...]
    fingerprint: str
    also: tuple[Cause, ...] = always(())
    type_bytes: int | None = always(None)
    extent: Extent | None = always(None)
    fix: ProvenFix | None = always(None)
    evidence_facts: tuple[Evidence, ...] = NOT_GIVEN


class Quotes(Struct, frozen=True):
    """Lines of a kernel's own artefacts, and what only a disassembler counts.

    Attributes:
        ptx: PTX lines behind the findings, the most telling ones.
        sass: machine instructions behind the findings, the most telling ones.
        sass_at: the source line of each entry of ``sass``, where it is known; empty in reports
            that were saved before quotes had places.
        live_registers: the most that are live at one instruction, after spilling; None where
            that was not asked for or not counted.
        live_at: the source line of that instruction, or None.
    """

    ptx: tuple[str, ...] = ()
    sass: tuple[str, ...] = ()
    live_registers: int | None = None
    live_at: SourceLocation | None = None
    sass_at: tuple[SourceLocation | None, ...] = ()
