"""Check a saved report for contradictions between its figures, ledgers and findings.

Fresh results are always consistent. A saved file may have been edited so that its figures show
local memory that no finding mentions; the gate must not pass then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec.structs import astuple

from lmemscope.formats.demangle import short_name
from lmemscope.gate.limits import SPILLS
from lmemscope.model import (
    CauseShare,
    Finding,
    KernelFacts,
    KernelReport,
    LocalObject,
    Report,
    SiteClass,
)
from lmemscope.rules.reported import find_reported


def contradictions(report: Report) -> Iterator[tuple[str, str]]:
    """Input and reason of each kernel that contradicts itself.

    Args:
        report: with causes.
    """
    for unit in report.units:
        for kernel in unit.kernels:
            is_log = unit.frontend == "log"
            for reason in _of_log(kernel, unit.arch) if is_log else _of_kernel(kernel):
                name = short_name(kernel.facts.demangled)
                yield unit.input, f"{name} on {unit.arch} contradicts itself: {reason}"


def _of_log(kernel: KernelReport, arch: str) -> Iterator[str]:
    """A build log has no ledgers: only its figures show which findings there must be."""
    left = Counter((one.cause, one.bytes) for one in kernel.findings)
    wanted = Counter((one.cause, one.bytes) for one in find_reported(kernel.facts, None, arch))
    if kernel.findings:
        for cause, size in sorted((wanted - left).elements()):
            yield f"no finding is of its {cause} of {size} bytes"


def _of_kernel(kernel: KernelReport) -> Iterator[str]:
    facts = kernel.facts
    if not facts.causes and not kernel.findings:
        return  # Figures alone are judged as such.
    yield from _frame(facts)
    yield from _sites(facts)
    spilled = facts.spill_bytes
    if spilled and not any(share.cause in SPILLS for share in facts.causes):
        yield f"it has {spilled} bytes of spills, but no cause is a spill"
    yield from _findings(kernel)


def _frame(facts: KernelFacts) -> Iterator[str]:
    size = facts.stack_frame
    total = sum(part.size for part in facts.frame)
    if size is not None and total != size:
        yield f"its frame has {size} bytes, and the ranges of it {total}"
    ranges = Counter[str]()
    for part in facts.frame:
        ranges[part.cause or ""] += part.size
    ledger = Counter[str]()
    for share in facts.causes:
        ledger[share.cause] += share.frame_bytes
    for cause in sorted(ranges):
        if cause and ranges[cause] > ledger[cause]:
            yield f"{ranges[cause]} bytes of its frame are of {cause}, and the causes have " + str(
                ledger[cause]
            )


def _sites(facts: KernelFacts) -> Iterator[str]:
    if facts.sass is None:
        return
    told = sum((share.sites for share in facts.causes), SiteClass())
    if astuple(told) != astuple(facts.sass):
        yield (
            f"it has {facts.sass.count} LDL/STL instructions of "
            f"{facts.sass.bytes} bytes, and its causes {told.count} of {told.bytes}"
        )


def _findings(kernel: KernelReport) -> Iterator[str]:
    """Findings that the rules derive from the ledgers but that are missing."""
    left = list(kernel.findings)
    for share in kernel.facts.shares:
        finding = next((one for one in left if _is_of(one, share, kernel.facts)), None)
        if finding is None:
            yield f"no finding is of its {share.cause} of {_bytes(share, kernel.facts)} bytes"
        else:
            left.remove(finding)


def _is_of(finding: Finding, share: CauseShare, facts: KernelFacts) -> bool:
    found = _object(share, facts)
    name = found.name if found is not None else None
    if finding.cause != share.cause or (name is not None and finding.object != name):
        return False
    return finding.bytes == _bytes(share, facts)


def _bytes(share: CauseShare, facts: KernelFacts) -> int:
    """A finding's bytes, as the rules take them from a ledger entry."""
    found = _object(share, facts)
    return share.frame_bytes or (found.size if found is not None else 0) or share.sites.bytes


def _object(share: CauseShare, facts: KernelFacts) -> LocalObject | None:
    return facts.objects[share.object_index] if share.object_index is not None else None
