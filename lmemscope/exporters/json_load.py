"""A saved JSON report back into a `Report`, so that it renders again without compiling."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

from lmemscope.errors import InputError, UsageError
from lmemscope.exporters.json import SASS_KEYS, SCHEMA
from lmemscope.model import (
    Advice,
    CallFacts,
    CauseShare,
    CubinFacts,
    Disagreement,
    Evidence,
    Failure,
    Finding,
    FrameRange,
    FunctionFacts,
    Gap,
    IndexFacts,
    IndexSource,
    InlineFrame,
    KernelFacts,
    KernelReport,
    LaunchBounds,
    LineUse,
    LocalAccess,
    LocalObject,
    PtxasFacts,
    PtxFacts,
    Report,
    SiteClass,
    SiteSplit,
    SourceLine,
    SourceLocation,
    Tool,
    UnitReport,
    Verdict,
)

T = TypeVar("T")
_SITES = ("load_sites", "store_sites", "load_bytes", "store_bytes")


def load_report(path: str) -> Report:
    """Read a saved report.

    Raises:
        InputError: it does not exist, or is no report.
        UsageError: it was written by a newer lmemscope.
    """
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
        schema = document["schema"]
    except FileNotFoundError as error:
        raise InputError("read", f"{path} does not exist", hint="check the path") from error
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InputError(
            "read",
            f"{path} is no saved report: {error}",
            hint="write one with: lmemscope scan … -o report.json",
        ) from error
    if schema != SCHEMA:
        raise UsageError(
            "read", f"{path} has schema {schema}; this lmemscope reads {SCHEMA}", hint="upgrade it"
        )
    try:
        return from_document(document)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise InputError("read", f"{path} is damaged: {error!r}", hint="write it again") from error


def from_document(document: dict[str, Any]) -> Report:
    """The report that a document was made from."""
    toolchain = tuple(
        Tool(name, tool["version"], tool["path"]) for name, tool in document["toolchain"].items()
    )
    units = tuple(_unit(unit) for unit in document["units"])
    notes = tuple(document.get("notes", ()))
    return Report(document["version"], toolchain, units, document.get("default_arch"), notes)


def _unit(unit: dict[str, Any]) -> UnitReport:
    return UnitReport(
        input=unit["input"],
        frontend=unit["frontend"],
        arch=unit["arch"],
        options=tuple(unit["options"]),
        failure=_maybe(Failure, unit["failure"]),
        gaps=tuple(Gap(gap["stage"], gap["reason"]) for gap in unit["gaps"]),
        kernels=tuple(_kernel(kernel) for kernel in unit["kernels"]),
        tools=tuple(Tool(**tool) for tool in unit.get("tools", ())),
        unknown_log_lines=tuple(unit.get("unknown_log_lines", ())),
        source_lines=tuple(SourceLine(**line) for line in unit.get("source_lines", ())),
    )


def _kernel(kernel: dict[str, Any]) -> KernelReport:
    accesses = tuple(_access(access) for access in kernel.get("accesses", ()))
    facts = KernelFacts(
        name=kernel["name"],
        demangled=kernel["demangled"],
        kind=kernel["kind"],
        location=_maybe(SourceLocation, kernel["location"]),
        stack_known=kernel["stack_known"],
        launch_bounds=_maybe(LaunchBounds, kernel["launch_bounds"]),
        ptxas=_maybe(PtxasFacts, kernel["sources"]["ptxas"]),
        cubin=_maybe(CubinFacts, kernel["sources"]["cubin"]),
        ptx=_maybe(PtxFacts, kernel["ptx"]),
        sass=_sass(kernel["sass"]),
        sites=_split(kernel["sites"]),
        own_sites=_split(kernel["own_sites"]),
        lines=tuple(
            LineUse(SourceLocation(use["file"], use["line"]), use["kind"], _sites(use))
            for use in kernel["lines"]
        ),
        callees=tuple(
            FunctionFacts(
                callee["name"],
                callee["demangled"],
                _maybe(PtxasFacts, callee["ptxas"]),
                _sass(callee["sass"]),
                _split(callee["sites"]),
            )
            for callee in kernel["callees"]
        ),
        disagreements=tuple(
            Disagreement(found["quantity"], tuple(found["values"].items()))
            for found in kernel["disagreements"]
        ),
        objects=tuple(_object(found) for found in kernel["objects"]),
        accesses=tuple(a for a in accesses if a.opcode[2:3] == "L"),
        generic=tuple(a for a in accesses if a.opcode[2:3] != "L"),
        frame=tuple(
            FrameRange(
                part["offset"], part["size"], part["owner"], part["cause"], part["object_index"]
            )
            for part in kernel["frame"]
        ),
        causes=tuple(
            CauseShare(share["cause"], share["object_index"], share["frame_bytes"], _sites(share))
            for share in kernel["causes"]
        ),
        calls=_calls(kernel["calls"]),
    )
    verdict = kernel["verdict"]
    rank = (verdict["rank"][0], verdict["rank"][1])
    return KernelReport(
        facts,
        Verdict(verdict["kind"], verdict["text"], rank),
        tuple(_finding(finding) for finding in kernel["findings"]),
    )


def _finding(finding: dict[str, Any]) -> Finding:
    return Finding(
        **{
            **_with_evidence(finding),
            "location": _maybe(SourceLocation, finding["location"]),
            "related": tuple(SourceLocation(**place) for place in finding["related"]),
            "index": _index(finding["index"]),
            "advice": tuple(Advice(**advice) for advice in finding["advice"]),
        }
    )


def _index(index: dict[str, Any] | None) -> IndexFacts | None:
    if index is None:
        return None
    return IndexFacts(
        index["expression"],
        tuple(IndexSource(**source) for source in index["sources"]),
        index["uniformity"],
        _maybe(SourceLocation, index["loop"]),
    )


def _object(found: dict[str, Any]) -> LocalObject:
    return LocalObject(
        **{
            **_with_evidence(found),
            "declared": _maybe(SourceLocation, found["declared"]),
            "index": _index(found["index"]),
        }
    )


def _access(access: dict[str, Any]) -> LocalAccess:
    chain = tuple(
        InlineFrame(SourceLocation(frame["file"], frame["line"]), frame["function"])
        for frame in access["chain"]
    )
    return LocalAccess(**{**_with_evidence(access), "chain": chain})


def _with_evidence(document: dict[str, Any]) -> dict[str, Any]:
    """The document with typed evidence; older reports have its sentences only."""
    result = dict(document)
    facts = result.pop("evidence_facts", None)
    if facts is None:
        facts = [{"kind": "text", "subject": text} for text in document["evidence"]]
    result["evidence"] = tuple(Evidence(**fact) for fact in facts)
    return result


def _calls(calls: dict[str, Any] | None) -> CallFacts | None:
    if calls is None:
        return None
    return CallFacts(
        tuple(calls["reached"]),
        tuple(calls["recursive"]),
        calls["indirect"],
        tuple(calls["with_local_memory"]),
    )


def _split(split: dict[str, Any] | None) -> SiteSplit | None:
    if split is None:
        return None
    return SiteSplit(
        SiteClass(**split["spill"]),
        SiteClass(**split["local_object"]),
        SiteClass(**split["unknown"]),
    )


def _sass(document: dict[str, Any] | None) -> SiteClass | None:
    return None if document is None else SiteClass(*(document[key] for key in SASS_KEYS))


def _sites(document: dict[str, Any]) -> SiteClass:
    return SiteClass(*(document[key] for key in _SITES))


def _maybe(kind: type[T], document: dict[str, Any] | None) -> T | None:
    return None if document is None else kind(**document)
