"""The JSON document ``lmemscope.report/1``, and back: a saved report can be rendered again.

All names and null rules are in docs/json.md. Sizes are bytes per thread; null means not observed.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from lmemscope.model import (
    CauseShare,
    Failure,
    Finding,
    FrameRange,
    KernelFacts,
    KernelReport,
    LocalAccess,
    LocalObject,
    Report,
    SourceLocation,
    Tool,
    UnitReport,
)

SCHEMA = "lmemscope.report/1"


def render_json(report: Report, *, with_accesses: bool = False) -> str:
    """The document, indented, with keys in the order of the documentation."""
    document = to_document(report, with_accesses=with_accesses)
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def to_document(report: Report, *, with_accesses: bool = False) -> dict[str, Any]:
    """The document as plain dictionaries and lists; accesses are many, so only when asked."""
    return {
        "schema": SCHEMA,
        "version": report.version,
        "toolchain": {
            tool.name: {"version": tool.version, "path": tool.path} for tool in report.toolchain
        },
        "default_arch": report.default_arch,
        "notes": list(report.notes),
        "units": [_unit(unit, with_accesses) for unit in report.units],
    }


def _unit(unit: UnitReport, with_accesses: bool) -> dict[str, Any]:
    return {
        "input": unit.input,
        "frontend": unit.frontend,
        "arch": unit.arch,
        "options": list(unit.options),
        "failure": None if unit.failure is None else _failure(unit.failure),
        "gaps": [{"stage": gap.stage, "reason": gap.reason} for gap in unit.gaps],
        "tools": [_tool(tool) for tool in unit.tools],
        "unknown_log_lines": list(unit.unknown_log_lines),
        "kernels": [_kernel(kernel, with_accesses) for kernel in unit.kernels],
        "source_lines": [asdict(line) for line in unit.source_lines],
    }


def _failure(failure: Failure) -> dict[str, Any]:
    return {
        "stage": failure.stage,
        "message": failure.message,
        "hint": failure.hint,
        "command": failure.command,
        "log": failure.log,
    }


def _tool(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "version": tool.version, "path": tool.path}


def _kernel(kernel: KernelReport, with_accesses: bool) -> dict[str, Any]:
    facts = kernel.facts
    return {
        "name": facts.name,
        "demangled": facts.demangled,
        "kind": facts.kind,
        "location": _location(facts.location),
        "registers": facts.registers,
        "stack_frame": facts.stack_frame,
        "cumulative_stack": facts.cumulative_stack,
        "stack_known": facts.stack_known,
        "linked_stack": facts.ptxas.linked_stack if facts.ptxas is not None else None,
        "spill_stores": facts.spill_stores,
        "spill_loads": facts.spill_loads,
        "shared": facts.ptxas.shared if facts.ptxas is not None else None,
        "barriers": facts.ptxas.barriers if facts.ptxas is not None else None,
        "launch_bounds": None if facts.launch_bounds is None else asdict(facts.launch_bounds),
        "ptx": None if facts.ptx is None else asdict(facts.ptx),
        "sass": None if facts.sass is None else asdict(facts.sass),
        "sites": None if facts.sites is None else asdict(facts.sites),
        "own_sites": None if facts.own_sites is None else asdict(facts.own_sites),
        "lines": [
            {**asdict(use.location), "kind": use.kind, **asdict(use.sites)} for use in facts.lines
        ],
        "callees": [
            {
                "name": callee.name,
                "demangled": callee.demangled,
                "ptxas": None if callee.ptxas is None else asdict(callee.ptxas),
                "sass": None if callee.sass is None else asdict(callee.sass),
                "sites": None if callee.sites is None else asdict(callee.sites),
            }
            for callee in facts.callees
        ],
        "sources": _sources(facts),
        "frame": [_frame_range(facts, part) for part in facts.frame],
        "causes": [_share(facts, share) for share in facts.causes],
        "findings": [_finding(finding) for finding in kernel.findings],
        "objects": [_object(found) for found in facts.objects],
        "calls": None if facts.calls is None else asdict(facts.calls),
        **(
            {"accesses": [_access(a) for a in (*facts.accesses, *facts.generic)]}
            if with_accesses
            else {}
        ),
        "verdict": {
            "kind": kernel.verdict.kind,
            "text": kernel.verdict.text,
            "rank": list(kernel.verdict.rank),
        },
        "disagreements": [
            {"quantity": found.quantity, "values": dict(found.values)}
            for found in facts.disagreements
        ],
    }


def _sources(facts: KernelFacts) -> dict[str, Any]:
    """Each source's own figures, so that nothing is lost by choosing one."""
    return {
        "ptxas": None if facts.ptxas is None else asdict(facts.ptxas),
        "cubin": None if facts.cubin is None else asdict(facts.cubin),
    }


def _frame_range(facts: KernelFacts, part: FrameRange) -> dict[str, Any]:
    found = facts.objects[part.object] if part.object is not None else None
    return {
        "offset": part.offset,
        "size": part.size,
        "owner": part.owner,
        "cause": part.cause,
        "object": found.name if found is not None else None,
        "object_index": part.object,
        "type": found.type if found is not None else None,
        "declared": _location(found.declared) if found is not None else None,
    }


def _share(facts: KernelFacts, share: CauseShare) -> dict[str, Any]:
    found = facts.objects[share.object] if share.object is not None else None
    return {
        "cause": share.cause,
        "object": found.name if found is not None else None,
        "object_index": share.object,
        "frame_bytes": share.frame_bytes,
        **asdict(share.sites),
    }


def _finding(finding: Finding) -> dict[str, Any]:
    document = asdict(finding)
    if finding.index is not None:
        document["index"]["sources"] = [asdict(source) for source in finding.index.sources]
    return {
        key: list(value) if isinstance(value, tuple) else value for key, value in document.items()
    }


def _object(found: LocalObject) -> dict[str, Any]:
    document = asdict(found)
    return {**document, "evidence": list(found.evidence)}


def _accesses(facts: KernelFacts) -> list[dict[str, Any]]:
    return [_access(access) for access in (*facts.accesses, *facts.generic)]


def _access(access: LocalAccess) -> dict[str, Any]:
    document = asdict(access)
    document["chain"] = [
        {**asdict(frame.location), "function": frame.function} for frame in access.chain
    ]
    return document


def _location(location: SourceLocation | None) -> dict[str, Any] | None:
    return None if location is None else {"file": location.file, "line": location.line}
