"""Match findings to baseline entries.

Both are compared as multisets, so that a second array beside a known one is noticed. The strongest
criterion comes first: the fingerprint in the same file, then in a file that was moved, then other
variables in the same kernel, then a renamed kernel. An entry for a kernel that still exists never
matches another kernel, however similar the names.
"""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable

from msgspec import Struct

from lmemscope.analysis.groups import template_arguments, template_name
from lmemscope.formats.demangle import ABI_TAG, demangle, original_name, short_name
from lmemscope.formats.kernel_names import lasting_name
from lmemscope.gate.baseline import entry_of, is_ignored, toolchain_of
from lmemscope.model import Baseline, BaselineEntry, Finding, KernelReport, Report, UnitReport
from lmemscope.model.inputs import without_hashes
from lmemscope.rules.base import FINGERPRINTS

_LAMBDA = re.compile(r"(\{lambda\([^{}]*\))#\d+(?=\})")


class Item(Struct, frozen=True):
    """A finding and its place.

    ``asked_by``: a limit that would decide if the cause were known, as text; else empty.
    """

    unit: UnitReport
    kernel: KernelReport
    finding: Finding
    asked_by: str = ""

    @property
    def name(self) -> str:
        """The kernel's name."""
        return short_name(self.kernel.facts.demangled)


class Matches(Struct, frozen=True):
    """The result of matching.

    Attributes:
        known: findings with their entry.
        new: findings without an entry.
        left: entries without a finding.
    """

    known: tuple[tuple[Item, BaselineEntry], ...]
    new: tuple[Item, ...]
    left: tuple[BaselineEntry, ...]


def match(
    report: Report,
    items: Iterable[Item],
    baseline: Baseline,
    *,
    by_cause: bool,
    movable: Collection[str],
) -> Matches:
    """Match findings to entries.

    Args:
        report: that contains the findings.
        items: findings that something has to accept.
        baseline: the known findings.
        by_cause: treat a kernel's findings of one cause as the same whatever their object, because
            another toolchain reported them.
        movable: inputs in the baseline whose file is gone: findings elsewhere may be theirs. A
            finding like one in a file that still exists is a copy.
    """
    matcher = _Matcher(report, items, baseline.findings, movable)
    kernels = {
        (without_hashes(unit.input), unit.arch, lasting_name(short_name(kernel.facts.demangled)))
        for unit in report.units
        for kernel in unit.kernels
    }
    if baseline.fingerprints == FINGERPRINTS:
        matcher.pair(
            lambda i: (i.unit.arch, i.finding.fingerprint, without_hashes(i.unit.input)),
            lambda e: (e.arch, e.fingerprint, without_hashes(e.input)),
        )
        matcher.pair(
            lambda i: (i.unit.arch, i.finding.fingerprint),
            lambda e: (e.arch, e.fingerprint) if e.input in movable else None,
        )
        matcher.pair(
            lambda i: (*_place(i), _kernel(i), i.finding.object, i.finding.bytes),
            lambda e: (*_known(e), e.object, e.bytes) if _is_sized(e) else None,
        )
        # The same variable with another size (or a finding without a variable: a spill is listed at
        # the line that spills most). It is worse or better, neither new nor gone.
        matcher.pair(
            lambda i: (*_place(i), _kernel(i), i.finding.object),
            lambda e: (*_known(e), e.object) if e.object is not None or _is_sized(e) else None,
        )
        # The same bytes in the same kernel: a renamed variable.
        matcher.pair(
            lambda i: (*_place(i), _kernel(i), i.finding.bytes) if i.finding.object else None,
            lambda e: (*_known(e), e.bytes) if e.object and _is_sized(e) else None,
        )
        # The same, in a file that was also moved.
        matcher.pair(
            lambda i: (*_place(i)[1:], _kernel(i), i.finding.bytes) if i.finding.object else None,
            lambda e: (
                (*_known(e)[1:], e.bytes)
                if e.object and _is_sized(e) and e.input in movable
                else None
            ),
        )
    else:
        matcher.pair(
            lambda i: (*_place(i), _kernel(i), i.finding.object),
            lambda e: (*_known(e), e.object),
        )
        matcher.pair(
            lambda i: (i.unit.arch, i.finding.cause, _kernel(i), i.finding.object),
            lambda e: (*_known(e)[1:], e.object) if e.input in movable else None,
        )

    # An instance with a lambda: compilers number the lambdas of a function in order.
    matcher.pair(
        lambda i: (*_place(i), _unnumbered(i.name), i.finding.object, i.finding.bytes),
        lambda e: (
            (*_known(e)[:-1], _unnumbered(e.kernel), e.object, e.bytes)
            if _is_sized(e) and _unnumbered(e.kernel) is not None
            else None
        ),
    )
    # A renamed kernel: first the instance with the same arguments, then another of the same
    # template.
    for alike in (template_arguments, template_name, _any):
        matcher.pair(
            functools.partial(_of_renamed, alike), functools.partial(_was_renamed, alike, kernels)
        )
    if by_cause:
        matcher.pair(lambda i: (*_place(i), _kernel(i)), _known)
    return Matches(tuple(matcher.known), tuple(matcher.items), tuple(matcher.entries))


def paired(
    baseline: Baseline, report: Report
) -> tuple[tuple[tuple[BaselineEntry, BaselineEntry | None], ...], tuple[BaselineEntry, ...]]:
    """Each finding of a report as an entry, with its baseline entry or None.

    Also the baseline entries that match nothing in the report.
    """
    by_cause = is_by_others(baseline, report)
    found = match(report, items_of(report), baseline, by_cause=by_cause, movable=())
    pairs = (
        *((_entry(item), entry) for item, entry in found.known),
        *((_entry(item), None) for item in found.new),
    )
    return pairs, found.left


def items_of(report: Report) -> tuple[Item, ...]:
    """The findings in a report that may fail the gate."""
    return tuple(
        Item(unit, kernel, finding)
        for unit in report.units
        for kernel in unit.kernels
        for finding in kernel.findings
        if not is_ignored(finding)
    )


def is_by_others(baseline: Baseline, report: Report) -> bool:
    """Whether the baseline was made with other tool versions than the report."""
    return any(
        baseline.toolchain.get(name, version) != version
        for name, version in toolchain_of(report).items()
    )


def _entry(item: Item) -> BaselineEntry:
    return entry_of(item.unit, item.kernel, item.finding)


def _place(item: Item) -> tuple[Hashable, ...]:
    return without_hashes(item.unit.input), item.unit.arch, item.finding.cause


def _kernel(item: Item) -> str:
    return lasting_name(item.name)


def _of_renamed(alike: Callable[[str], str], item: Item) -> Hashable:
    return *_place(item), item.finding.object, item.finding.bytes, alike(item.name)


def _was_renamed(
    alike: Callable[[str], str], kernels: Collection[Hashable], entry: BaselineEntry
) -> Hashable | None:
    """As for an item, for an entry whose kernel no longer exists."""
    file, arch, cause, name = _known(entry)
    if (file, arch, name) in kernels or not _is_sized(entry):
        return None
    return file, arch, cause, entry.object, entry.bytes, alike(entry.kernel)


def _unnumbered(name: str) -> str | None:
    """A kernel's name without the numbers of lambdas, or None if it has none."""
    found, times = _LAMBDA.subn(r"\1", lasting_name(name))
    return found if times else None


def _any(name: str) -> str:
    del name
    return ""


def _known(entry: BaselineEntry) -> tuple[Hashable, ...]:
    """The place and kernel of an entry, as `_place` and `_kernel` return them for an item."""
    return without_hashes(entry.input), entry.arch, entry.cause, lasting_name(entry.kernel)


def _is_sized(entry: BaselineEntry) -> bool:
    """Whether equal bytes identify a finding; not for ``alloca``, which may take more at run time.

    Its fingerprint includes what computes the size.
    """
    return entry.cause != "alloca"


def inexact(report: Report, pairs: Iterable[tuple[Item, BaselineEntry]]) -> list[str]:
    """Names shared by several kernels in a file, where entries without a symbol accept findings.

    It is unknown which of the kernels such an entry belongs to.
    """
    named: dict[Hashable, set[str]] = defaultdict(set)
    for unit in report.units:
        for kernel in unit.kernels:
            shared = unit.input, unit.arch, short_name(kernel.facts.demangled)
            named[shared].add(_signature(kernel.facts.name))
    return sorted(
        {
            item.name
            for item, entry in pairs
            if entry.symbol is None and len(named[item.unit.input, item.unit.arch, item.name]) > 1
        }
    )


@functools.lru_cache(maxsize=1 << 16)
def _signature(symbol: str) -> str:
    """The part of a mangled name that no edit elsewhere in the file changes.

    Lambdas, functions compiled by Numba, and ptxas's function copies are numbered in order.
    """
    spelled = demangle(original_name(lasting_name(symbol)))
    return ABI_TAG.sub("", _LAMBDA.sub(r"\1", spelled))


class _Matcher:
    """The items and entries not yet paired, and the pairs."""

    def __init__(
        self,
        report: Report,
        items: Iterable[Item],
        entries: Iterable[BaselineEntry],
        movable: Collection[str],
    ) -> None:
        self.items = list(items)
        self.entries = list(entries)
        self.known: list[tuple[Item, BaselineEntry]] = []
        self._movable = movable
        self._there = {
            (file, unit.arch, _signature(kernel.facts.name))
            for unit in report.units
            for kernel in unit.kernels
            for file in (without_hashes(unit.input), None)
        }

    def pair(
        self,
        key_of_item: Callable[[Item], Hashable | None],
        key_of_entry: Callable[[BaselineEntry], Hashable | None],
    ) -> None:
        """Pair items and entries with equal keys: in one kernel, then where the entry's is gone."""

        def of_kernel(entry: BaselineEntry) -> Hashable | None:
            key = key_of_entry(entry)
            return None if key is None or entry.symbol is None else (key, _signature(entry.symbol))

        self._pair(lambda i: (key_of_item(i), _signature(i.kernel.facts.name)), of_kernel)
        self._pair(key_of_item, lambda e: None if self._is_there(e) else key_of_entry(e))

    def _is_there(self, entry: BaselineEntry) -> bool:
        """Whether the report has the entry's kernel: in any file, if its own is gone."""
        if entry.symbol is None:
            return False
        file = None if entry.input in self._movable else without_hashes(entry.input)
        return (file, entry.arch, _signature(entry.symbol)) in self._there

    def _pair(
        self,
        key_of_item: Callable[[Item], Hashable | None],
        key_of_entry: Callable[[BaselineEntry], Hashable | None],
    ) -> None:
        """Pair items and entries with equal keys, equal bytes first; a key of None never pairs."""
        waiting: dict[Hashable, list[BaselineEntry]] = defaultdict(list)
        rest: list[BaselineEntry] = []
        for entry in self.entries:
            key = key_of_entry(entry)
            (rest if key is None else waiting[key]).append(entry)
        open_items: list[Item] = []
        for item in self.items:
            candidates = waiting.get(key_of_item(item), [])
            same = next((e for e in candidates if e.bytes == item.finding.bytes), None)
            if same is None:
                open_items.append(item)
            else:
                candidates.remove(same)
                self.known.append((item, same))
        self.items = []
        # Smallest first, so that the surplus is the largest, which is most likely new.
        for candidates in waiting.values():
            candidates.sort(key=lambda entry: entry.bytes)
        for item in sorted(open_items, key=lambda item: item.finding.bytes):
            candidates = waiting.get(key_of_item(item), [])
            if candidates:
                self.known.append((item, candidates.pop(0)))
            else:
                self.items.append(item)
        self.entries = [*rest, *(entry for left in waiting.values() for entry in left)]
