"""Write reports as JSON, and read saved reports, so that they can be shown without compiling.

A `Report` is its own document, with the fields in docs/json.md. Writing omits what was not
requested and what documents never contain, and adds evidence as sentences; reading checks what
types cannot express.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, TypeVar, get_args

from msgspec import Struct
from msgspec.structs import fields, replace

from lmemscope.errors import FormatError
from lmemscope.exporters import escape_json
from lmemscope.exporters.formats import Presentation
from lmemscope.exporters.layout import evidence_words
from lmemscope.formats import codec, documents, seal
from lmemscope.model import (
    NOT_GIVEN,
    Finding,
    KernelReport,
    LeftOut,
    LocalAccess,
    LocalObject,
    Report,
    UnitReport,
)
from lmemscope.rules import RULES

S = TypeVar("S", Finding, LocalObject, LocalAccess)
W = TypeVar("W", KernelReport, UnitReport, Report)


def render_json(report: Report, *, with_accesses: bool = False) -> str:
    """The document as text; accesses are numerous, so they are included only on request."""
    return escape_json.sealed(to_document(report, with_accesses=with_accesses))


def render(report: Report, how: Presentation) -> str:
    """As `render_json`."""
    return render_json(report, with_accesses=how.with_accesses)


def parse_report(text: str | bytes, name: str = "the report") -> Report:
    """A report parsed from JSON; ``name`` is used in error messages.

    Raises:
        InputError, UsageError: as `load_report`.
    """
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return SAVED.parse(data, name)


def load_report(path: str) -> Report:
    """Read a saved report.

    Raises:
        InputError: the file is missing, damaged, or not a report.
        UsageError: it has the schema of another version of lmemscope.
    """
    return SAVED.load(path)


def to_document(report: Report, *, with_accesses: bool = False) -> Report:
    """A report as written; accesses are numerous, so they are included only on request."""
    left_out = {*report.left_out, *(() if with_accesses else ("accesses",))}
    return _written(
        report,
        left_out=_ordered(left_out),
        units=tuple(_unit(unit, left_out) for unit in report.units),
        digest=None,
    )


def from_document(document: Report) -> Report:
    """A report restored from a document.

    Raises:
        FormatError: it contradicts itself; the message names the place.
    """
    units = []
    for number, unit in enumerate(document.units):
        for place, kernel in enumerate(unit.kernels):
            _check(kernel, f"$.units[{number}].kernels[{place}]")
        units.append(_written(unit, kernels=tuple(map(_written, unit.kernels))))
    return _written(document, units=tuple(units), left_out=_left_out(document), digest=None)


SAVED = documents.Saved(
    structure=Report,
    meaning=from_document,
    stage="read",
    noun="saved report",
    missing="check the path",
    again="write it again with: lmemscope scan … -o report.json",
)


class _Told(Struct, frozen=True):
    """The figures in a document that are derived from others in it."""

    units: tuple[_ToldUnit, ...]


class _ToldUnit(Struct, frozen=True):
    input: str
    kernels: tuple[_ToldKernel, ...]


class _ToldKernel(Struct, frozen=True):
    demangled: str
    registers: int | None
    stack_frame: int | None
    spill_stores: int | None
    spill_loads: int | None


def doubts_of(path: str) -> Iterator[str]:
    """Why a saved report may have been modified: the digest or derived figures do not match.

    Raises:
        OSError: it cannot be read.
        FormatError: it is not a report.
    """
    data = documents.read_file(path)
    why = seal.broken(data)
    if why is not None:
        yield f"{why}; write it again with: lmemscope scan … -o {path}"
    told = codec.decode(data, _Told)
    for unit, meant in zip(told.units, codec.decode(data, Report).units, strict=True):
        for kernel, known in zip(unit.kernels, meant.kernels, strict=True):
            for name in _ToldKernel.__struct_fields__[1:]:
                if getattr(kernel, name) != getattr(known, name):
                    yield f"{unit.input}: {name} of {kernel.demangled} is not that of its sources"


def _left_out(document: Report) -> tuple[LeftOut, ...]:
    """What the document says it omits, and what documents of earlier versions omit silently."""
    found = set(document.left_out)
    if any(one.accesses is NOT_GIVEN for unit in document.units for one in unit.kernels):
        found.add("accesses")
    if any(unit.directives is NOT_GIVEN for unit in document.units):
        found.add("directives")
    return _ordered(found)


def _ordered(left_out: set[LeftOut]) -> tuple[LeftOut, ...]:
    return tuple(name for name in get_args(LeftOut) if name in left_out)


def _unit(unit: UnitReport, left_out: set[LeftOut]) -> UnitReport:
    return _written(
        unit,
        kernels=tuple(_kernel(kernel, left_out) for kernel in unit.kernels),
        directives=NOT_GIVEN if "directives" in left_out else tuple(unit.directives),
    )


def _kernel(kernel: KernelReport, left_out: set[LeftOut]) -> KernelReport:
    return _written(
        kernel,
        findings=tuple(map(_worded, kernel.findings)),
        objects=tuple(map(_worded, kernel.objects)),
        accesses=NOT_GIVEN if "accesses" in left_out else tuple(map(_worded, kernel.accesses)),
    )


def _written(value: W, **changes: Any) -> W:
    """The value with some fields changed, and without those that documents never contain."""
    return replace(value, **_unwritten(type(value)), **changes)


@functools.cache
def _unwritten(kind: type[Struct]) -> dict[str, Any]:
    """The fields of a structure that documents never contain, with their empty values."""
    names = getattr(kind, "UNWRITTEN", ())
    return {field.name: field.default for field in fields(kind) if field.name in names}


def _worded(shown: S) -> S:
    """The value with evidence as sentences beside the data."""
    return replace(shown, evidence=evidence_words(shown))


def _check(kernel: KernelReport, place: str) -> None:
    """Check what types cannot express: that objects referred to by number, and rules, exist."""
    numbers = (
        *((f"frame[{n}].object_index", part.object_index) for n, part in enumerate(kernel.frame)),
        *((f"causes[{n}].object_index", one.object_index) for n, one in enumerate(kernel.causes)),
        *((f"accesses[{n}].object", one.object) for n, one in enumerate(kernel.accesses)),
        *(
            (f"accesses[{n}].others", other)
            for n, one in enumerate(kernel.accesses)
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
