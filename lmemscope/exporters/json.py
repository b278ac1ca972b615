"""Reports as JSON, and saved reports read again, so that they render without compiling.

The structures are in `report_document`, their fields in docs/json.md. Here is what lies between
them and the model: figures chosen, places and counts moved, objects named; and the way back.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, TypeVar, get_args

from msgspec import UNSET, Struct, UnsetType

from lmemscope.errors import FormatError
from lmemscope.exporters import escape_json
from lmemscope.exporters.formats import Presentation
from lmemscope.exporters.report_document import (
    AccessDocument,
    CauseDocument,
    DisagreementDocument,
    FindingDocument,
    FrameRangeDocument,
    FunctionDocument,
    KernelDocument,
    ObjectDocument,
    ReportDocument,
    SassDocument,
    SourcesDocument,
    ToolDocument,
    UnitDocument,
)
from lmemscope.formats import documents, seal
from lmemscope.formats.codec import shaped
from lmemscope.formats.demangle import symbol_text
from lmemscope.model import (
    CauseShare,
    Disagreement,
    Evidence,
    Finding,
    FrameRange,
    FunctionFacts,
    KernelFacts,
    KernelReport,
    LeftOut,
    LocalAccess,
    LocalObject,
    Report,
    SiteClass,
    Tool,
    UnitReport,
    evidence_text,
)
from lmemscope.rules import RULES

S = TypeVar("S", bound=Struct)
T = TypeVar("T")
SCHEMA: Final = "lmemscope.report/1"
_PTXAS_ALONE = ("shared", "barriers", "linked_stack")


def render_json(report: Report, *, with_accesses: bool = False) -> str:
    """The document as text; accesses are many, so only when asked."""
    return escape_json.sealed(to_document(report, with_accesses=with_accesses))


def render(report: Report, how: Presentation) -> str:
    """As `render_json`."""
    return render_json(report, with_accesses=how.with_accesses)


def parse_report(text: str | bytes, name: str = "the report") -> Report:
    """A report out of its JSON; ``name`` is what errors call it.

    Raises:
        InputError, UsageError: as `load_report`.
    """
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return SAVED.parse(data, name)


def load_report(path: str) -> Report:
    """Read a saved report.

    Raises:
        InputError: it does not exist, or is no report, or damaged.
        UsageError: it has the schema of an older or newer lmemscope.
    """
    return SAVED.load(path)


def why_unsealed(path: str) -> str | None:
    """Why a saved report may not be what was written; None where it is.

    Raises:
        OSError: it cannot be read.
    """
    return seal.broken(documents.read_file(path))


def to_document(report: Report, *, with_accesses: bool = False) -> ReportDocument:
    """The document of a report; accesses are many, so only when asked."""
    left_out = {*report.left_out, *(() if with_accesses else ("accesses",))}
    return shaped(
        ReportDocument,
        SassDocument,
        report,
        schema=SCHEMA,
        toolchain=_toolchain(report.toolchain),
        left_out=_ordered(left_out),
        units=tuple(_unit(unit, left_out) for unit in report.units),
        digest=UNSET,
    )


def from_document(document: ReportDocument) -> Report:
    """The report that a document was made from.

    Raises:
        FormatError: the document contradicts itself; the message names the place.
    """
    units = tuple(_unit_of(unit, f"$.units[{n}]") for n, unit in enumerate(document.units))
    return shaped(
        Report,
        document,
        toolchain=tuple(
            Tool(name, one.version, one.path)
            for name, tool in document.toolchain.items()
            for one in (*_given(tool.others), tool)
        ),
        units=units,
        left_out=_left_out(document),
        doubts=tuple(_doubts(document, units)),
    )


SAVED = documents.Saved(
    structure=ReportDocument,
    meaning=from_document,
    stage="read",
    noun="saved report",
    missing="check the path",
    again="write it again with: lmemscope scan … -o report.json",
)


def _doubts(document: ReportDocument, units: Sequence[UnitReport]) -> Iterator[str]:
    """Figures that the document holds twice, and otherwise each time."""
    for unit, meant in zip(document.units, units, strict=True):
        for kernel, known in zip(unit.kernels, meant.kernels, strict=True):
            for name in ("registers", "stack_frame", "spill_stores", "spill_loads"):
                if getattr(kernel, name) != getattr(known.facts, name):
                    yield f"{unit.input}: {name} of {kernel.demangled} is not that of its sources"


def _toolchain(tools: Iterable[Tool]) -> dict[str, ToolDocument]:
    found: dict[str, ToolDocument] = {}
    for tool in tools:
        before = found.get(tool.name)
        others: tuple[ToolDocument, ...] | UnsetType = UNSET
        if before is not None:
            alone = ToolDocument(version=before.version, path=before.path)
            others = (*_given(before.others), alone)
        found[tool.name] = ToolDocument(version=tool.version, path=tool.path, others=others)
    return found


def _left_out(document: ReportDocument) -> tuple[LeftOut, ...]:
    """What the document says is not there, and what earlier ones lack without saying so."""
    units = document.units
    found = set(document.left_out)
    if any(kernel.accesses is UNSET for unit in units for kernel in unit.kernels):
        found.add("accesses")
    if any(unit.directives is UNSET for unit in units):
        found.add("directives")
    return _ordered(found)


def _ordered(left_out: set[LeftOut]) -> tuple[LeftOut, ...]:
    return tuple(name for name in get_args(LeftOut) if name in left_out)


def _unit(unit: UnitReport, left_out: set[LeftOut]) -> UnitDocument:
    return shaped(
        UnitDocument,
        unit,
        kernels=tuple(_kernel(kernel, left_out) for kernel in unit.kernels),
        clean=unit.clean or UNSET,
        built=unit.built or UNSET,
        directives=UNSET if "directives" in left_out else unit.directives,
    )


def _unit_of(unit: UnitDocument, place: str) -> UnitReport:
    return shaped(
        UnitReport,
        unit,
        kernels=tuple(
            _kernel_of(kernel, f"{place}.kernels[{n}]") for n, kernel in enumerate(unit.kernels)
        ),
        built=None if unit.built is UNSET else unit.built,
        headers=(),  # What follows from these is among the report's gaps and notes.
        cached=False,
        others=(),
    )


def _kernel(kernel: KernelReport, left_out: set[LeftOut]) -> KernelDocument:
    facts = kernel.facts
    return shaped(
        KernelDocument,
        facts,
        kernel,
        **{
            name: getattr(facts.ptxas, name, None)
            for name in ("shared", "barriers", "linked_stack")
        },
        sass=_sass(facts.sass),
        callees=tuple(
            shaped(FunctionDocument, callee, sass=_sass(callee.sass)) for callee in facts.callees
        ),
        sources=shaped(SourcesDocument, facts),
        frame=tuple(_frame_range(part, facts.objects) for part in facts.frame),
        causes=tuple(_cause(share, facts.objects) for share in facts.causes),
        findings=tuple(_shown(FindingDocument, finding) for finding in kernel.findings),
        objects=tuple(_shown(ObjectDocument, found) for found in facts.objects),
        accesses=UNSET
        if "accesses" in left_out
        else (
            *(_shown(AccessDocument, one, generic=False) for one in facts.accesses),
            *(_shown(AccessDocument, one, generic=True) for one in facts.generic),
        ),
        disagreements=tuple(
            shaped(DisagreementDocument, found, values=dict(found.values))
            for found in facts.disagreements
        ),
    )


def _kernel_of(kernel: KernelDocument, place: str) -> KernelReport:
    _check(kernel, place)
    accesses = _given(kernel.accesses)
    facts = shaped(
        KernelFacts,
        kernel,
        kernel.sources,
        frame=tuple(shaped(FrameRange, part, object=part.object_index) for part in kernel.frame),
        causes=tuple(
            shaped(
                CauseShare,
                share,
                object=share.object_index,
                sites=shaped(SiteClass, share),
            )
            for share in kernel.causes
        ),
        objects=tuple(_known(LocalObject, found) for found in kernel.objects),
        sass=_sass_of(kernel.sass),
        callees=tuple(
            shaped(FunctionFacts, callee, sass=_sass_of(callee.sass)) for callee in kernel.callees
        ),
        accesses=tuple(
            _known(LocalAccess, access) for access in accesses if not _is_generic(access)
        ),
        generic=tuple(_known(LocalAccess, access) for access in accesses if _is_generic(access)),
        disagreements=tuple(
            shaped(Disagreement, found, values=tuple(found.values.items()))
            for found in kernel.disagreements
        ),
    )
    findings = tuple(_known(Finding, finding) for finding in kernel.findings)
    # What a warp does is what costs were computed from, and is not saved.
    return shaped(KernelReport, kernel, facts=facts, findings=findings, work=None)


def _sass(sites: SiteClass | None) -> SassDocument | None:
    """Sites under the names of the machine instructions."""
    if sites is None:
        return None
    return SassDocument(
        ldl=sites.load_sites,
        stl=sites.store_sites,
        ldl_bytes=sites.load_bytes,
        stl_bytes=sites.store_bytes,
    )


def _sass_of(sass: SassDocument | None) -> SiteClass | None:
    return None if sass is None else SiteClass(sass.ldl, sass.stl, sass.ldl_bytes, sass.stl_bytes)


def _frame_range(part: FrameRange, objects: Sequence[LocalObject]) -> FrameRangeDocument:
    found = objects[part.object] if part.object is not None else None
    return shaped(
        FrameRangeDocument,
        FunctionDocument,
        part,
        object=found.name if found is not None else None,
        object_index=part.object,
        type=found.type if found is not None else None,
        declared=found.declared if found is not None else None,
    )


def _cause(share: CauseShare, objects: Sequence[LocalObject]) -> CauseDocument:
    return shaped(
        CauseDocument,
        share,
        share.sites,
        object=objects[share.object].name if share.object is not None else None,
        object_index=share.object,
    )


def _shown(kind: type[S], value: Finding | LocalObject | LocalAccess, **given: Any) -> S:
    """With the evidence in words, and as data beside them."""
    texts = tuple(evidence_text(one, symbol_text) for one in value.evidence)
    return shaped(kind, value, evidence=texts, evidence_facts=value.evidence, **given)


def _known(kind: type[S], value: FindingDocument | ObjectDocument | AccessDocument) -> S:
    """With the evidence as data; of earlier documents, the words."""
    if value.evidence_facts is UNSET:
        evidence = tuple(Evidence("text", subject=text) for text in value.evidence)
    else:
        evidence = value.evidence_facts
    return shaped(kind, value, evidence=evidence)


def _is_generic(access: AccessDocument) -> bool:
    if access.generic is not UNSET:
        return access.generic
    # ``LDL``/``STL`` are local by their opcode, ``LD``/``ST`` by their address.
    return not access.opcode.startswith(("LDL", "STL"))


def _check(kernel: KernelDocument, place: str) -> None:
    """What types cannot say: numbers of objects that are there, rules that exist."""
    numbers = (
        *((f"frame[{n}].object_index", part.object_index) for n, part in enumerate(kernel.frame)),
        *((f"causes[{n}].object_index", one.object_index) for n, one in enumerate(kernel.causes)),
        *((f"accesses[{n}].object", one.object) for n, one in enumerate(_given(kernel.accesses))),
        *(
            (f"accesses[{n}].others", other)
            for n, one in enumerate(_given(kernel.accesses))
            for other in one.others
        ),
    )
    for where, number in numbers:
        if number is not None and not 0 <= number < len(kernel.objects):
            raise FormatError("json", f"There is no object {number} - at `{place}.{where}`")
    for n, finding in enumerate(kernel.findings):
        if (finding.rule, finding.name) not in _rules():
            raise FormatError("json", f"There is no such rule - at `{place}.findings[{n}].rule`")


@functools.cache
def _rules() -> frozenset[tuple[str, str]]:
    return frozenset((rule.id, rule.cause) for rule in RULES)


def _given(items: tuple[T, ...] | UnsetType) -> tuple[T, ...]:
    return () if items is UNSET else items
