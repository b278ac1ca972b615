"""Check measured traffic against a limit on local memory's share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from lmemscope.formats.kernel_names import matches
from lmemscope.model import (
    GateFailure,
    GateResult,
    MeasuredKernel,
    Measurement,
    MissingEvidence,
    count,
    verdict_of,
)


def with_measured(
    result: GateResult, found: Measurement, name: str, most: float, kernels: Sequence[str]
) -> GateResult:
    """The gate's answer, extended by kernels that exceed the limit on measured local memory.

    Args:
        result: the answer so far.
        found: the measurement.
        name: of its file.
        most: the largest share of a kernel's L1 traffic, from 0 to 1.
        kernels: globs over the kernels to check; none means all.
    """
    asked = [one for one in found.kernels if matches(kernels, one.name, one.demangled)]
    failures = (*result.failures, *_failures(asked, most))
    missing = (*result.missing, *_missing(asked, name))
    note = f"{name}: {count(len(asked), 'measured kernel')} compared with --max-local-share"
    return replace(
        result,
        verdict=verdict_of(failures, missing, allow_incomplete=result.allow_incomplete),
        failures=failures,
        missing=missing,
        notes=(*result.notes, note),
    )


def _failures(kernels: Sequence[MeasuredKernel], most: float) -> Iterator[GateFailure]:
    for one in kernels:
        if one.local_share is None or one.local_share <= most:
            continue
        yield GateFailure(
            kind="limit",
            input=one.input or "",
            arch=one.arch or "",
            kernel=one.demangled,
            symbol=one.name,
            expected=f"at most {100 * most:g}% of a kernel's L1 traffic is local memory",
            found=f"local memory is {100 * one.local_share:.1f}% of its L1 traffic{_largest(one)}",
            finding=None,
            location=one.location,
        )


def _largest(kernel: MeasuredKernel) -> str:
    share = next((one for one in kernel.shares if one.of_traffic), None)
    if share is None or share.of_traffic is None:
        return ""
    named = f"`{share.object}`, {share.cause}" if share.object is not None else share.cause
    return f"; most of it: {named}, {100 * share.of_traffic:.1f}%"


def _missing(kernels: Sequence[MeasuredKernel], name: str) -> Iterator[MissingEvidence]:
    if not kernels:
        yield MissingEvidence(None, "measure", f"{name} has none of the requested kernels")
    for one in kernels:
        # A kernel that never accesses L1 has no share.
        if one.local_share is None and one.traffic.sectors != 0:
            reason = f"{name} has no counters of {one.demangled}"
            yield MissingEvidence(one.input, "measure", reason)
