"""Judgements derived from facts: verdicts, findings and advice."""

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
    """The one-line verdict on a kernel.

    Attributes:
        kind: the worst kind that applies (`VerdictKind`).
        text: for people, with bytes and lines.
        rank: sorts reports; higher is worse.
    """

    kind: VerdictName
    text: str
    rank: tuple[int, int]


class Advice(Struct, frozen=True):
    """One possible remedy.

    Attributes:
        text: what to do.
        code: code to write, if known.
        verified: the result if it was tried.
        rewrite: the rewrite of ``lmemscope fix`` that does it; None if none does.
        is_none: whether it says that only another program would help.
        applicability: for a rewrite's proposal that was not compiled, whether it may change the
            program's meaning.
    """

    text: str
    code: str | None = None
    verified: Verified | None = None
    rewrite: str | None = None
    is_none: bool = False
    applicability: Applicability | None = None


class Finding(Struct, frozen=True, omit_defaults=True):
    """A judged cause: how bad it is, what it means, and what removes it.

    Attributes:
        rule, name: ``LM201``, ``dynamic-index``.
        severity: judged by cost: highest inside loops and with divergent addresses.
        confidence: how certain the cause is.
        cause: as in the documents.
        object, type: the variable and its type, if known.
        bytes: frame bytes; if there are none, bytes at instruction sites.
        location: the line to look at first; ``related``: others, such as the declaration.
        index: how the object is indexed, if it is.
        message: one sentence.
        advice: best first.
        evidence: the evidence as sentences, whose wording may change; filled in on output.
        fingerprint: stable when lines move or offsets change.
        also: other causes, each of which alone would keep the object in memory.
        type_bytes: bytes of ``type``, if known; exceeds ``bytes`` if ``extent`` is ``part``,
            because the compiler keeps the rest in registers.
        extent: how much of the variable lies in the frame.
        fix: the best proven fix, if rewrites were tried and one is offered.
        evidence_facts: the evidence as data: the object's first, then that of single instructions;
            absent in documents of earlier versions.
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
    """Lines of a kernel's artefacts, and figures that only a disassembler gives.

    Attributes:
        ptx: the most relevant PTX lines behind the findings.
        sass: the most relevant machine instructions behind the findings.
        sass_at: the source line of each entry of ``sass``, if known; empty in reports saved before
            quotes had locations.
        live_registers: the maximum number live at one instruction, after spilling; None if not
            requested or not counted.
        live_at: the source line of that instruction, or None.
    """

    ptx: tuple[str, ...] = ()
    sass: tuple[str, ...] = ()
    live_registers: int | None = None
    live_at: SourceLocation | None = None
    sass_at: tuple[SourceLocation | None, ...] = ()
