"""The ``lmemscope.gate/1`` document: the gate's result, and an account of all it was given."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Final, Literal

from msgspec import Struct

from lmemscope import __version__
from lmemscope.exporters import escape_json
from lmemscope.exporters.formats import Presentation
from lmemscope.exporters.layout import advice
from lmemscope.formats.codec import shaped
from lmemscope.model import (
    Account,
    BaselineEntry,
    Cause,
    Checked,
    FailureKind,
    GateFailure,
    GateVerdict,
    Improvement,
    MissingEvidence,
    SourceLocation,
)

SCHEMA: Final = "lmemscope.gate/1"
_NO_FINDING = SimpleNamespace(rule=None, cause=None, object=None, bytes=None, fingerprint=None)


class GateFailureDocument(Struct, frozen=True, kw_only=True):
    """One reason why the gate fails.

    Attributes:
        kind: a new or worse finding, an exceeded limit, or a failed expectation.
        input, arch, kernel, symbol: the place; the kernel's name is demangled, its symbol mangled.
        expected, found: as text.
        figure: the number that exceeds a limit or fails an expectation; null if there is none.
        rule, cause, object, bytes, fingerprint: of the finding; null if there is none.
        why: the finding's message; null if there is none.
        advice: what removes it, or that nothing does, as in the other formats; null if there is
            none.
        location: the line to look at, or null.
    """

    kind: FailureKind
    input: str
    arch: str
    kernel: str
    symbol: str
    expected: str
    found: str
    figure: int | None
    rule: str | None
    cause: Cause | None
    object: str | None
    bytes: int | None
    why: str | None
    advice: str | None
    fingerprint: str | None
    location: SourceLocation | None


class AcceptedDocument(Struct, frozen=True, kw_only=True):
    """A finding that does not fail the gate.

    Attributes:
        input, arch, kernel, symbol: as for failures.
        cause, bytes, fingerprint: of the finding.
        by: what accepts it, as text.
    """

    input: str
    arch: str
    kernel: str
    symbol: str
    cause: Cause
    bytes: int
    fingerprint: str
    by: str


class GateDocument(Struct, frozen=True, kw_only=True):
    """The gate's result.

    Attributes:
        schema, version: of the document, of lmemscope.
        verdict, exit_code: the result.
        allow_incomplete: whether missing evidence was accepted.
        failures: why it fails.
        accepted: findings that the baseline, an allowance or a limit accepts.
        better: known findings that have become smaller.
        gone: baseline entries that no longer match anything.
        unused: allowances and limits without effect.
        missing: evidence that the gate needs but lacks.
        notes: further information.
        accounts: the fate of every input, of every input in the baseline, and of what was left out.
    """

    schema: Literal["lmemscope.gate/1"]
    version: str
    verdict: GateVerdict
    exit_code: int
    allow_incomplete: bool
    failures: tuple[GateFailureDocument, ...]
    accepted: tuple[AcceptedDocument, ...]
    better: tuple[Improvement, ...]
    gone: tuple[BaselineEntry, ...]
    unused: tuple[str, ...]
    missing: tuple[MissingEvidence, ...]
    notes: tuple[str, ...]
    accounts: tuple[Account, ...]


def render(checked: Checked, how: Presentation) -> str:
    """The document as text."""
    del how
    result = checked.result
    return escape_json.document(
        shaped(
            GateDocument,
            result,
            schema=SCHEMA,
            version=__version__,
            failures=tuple(map(_failure, result.failures)),
            accepted=tuple(shaped(AcceptedDocument, one, one.finding) for one in result.accepted),
        )
    )


def _failure(failure: GateFailure) -> GateFailureDocument:
    finding = failure.finding
    why = finding.message if finding is not None else None
    told = advice(finding, failure.route) if finding is not None else ""
    return shaped(
        GateFailureDocument, failure, finding or _NO_FINDING, why=why, advice=told or None
    )
