"""Layout shared by all exporters: row order, short names, ranges, counts in words."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import LiteralString

from lmemscope.analysis.groups import Group, counted
from lmemscope.analysis.ranking import Row as Row
from lmemscope.analysis.ranking import arch_order, rows_of, worst_first
from lmemscope.exporters import escape_terminal, proven
from lmemscope.exporters.escape_terminal import Shown
from lmemscope.formats.demangle import short_name as short_name
from lmemscope.formats.demangle import symbol_text
from lmemscope.formats.kernel_names import stable_name
from lmemscope.model import (
    VERDICT_KINDS,
    Advice,
    Failure,
    Finding,
    Frontend,
    GateResult,
    KernelFacts,
    KernelReport,
    LocalAccess,
    LocalObject,
    Report,
    SourceLocation,
    UnitReport,
    VerdictName,
    count,
    evidence_text,
    is_library,
    verdict_kind,
)
from lmemscope.model.inputs import digest_in

_SCOPED = 44
_SHORT_NAME = 60
_PATH = 48


def rows(report: Report) -> list[Row]:
    """Kernels of all units, worst first."""
    return worst_first(rows_of(report))


def sites(facts: Sequence[KernelFacts]) -> str:
    """LDL and STL instructions as ranges over some kernels: ``54–81/88–139``."""
    known = [one.sass for one in facts if one.sass is not None]
    if len(known) < len(facts):
        return "?"
    loads, stores = span([one.load_sites for one in known]), span([s.store_sites for s in known])
    return "-" if loads == stores == "0" else f"{loads}/{stores}"


def span(values: Sequence[int | None]) -> str:
    """The range of some figures: ``32–40``; a question mark if one is unknown."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return "?"
    return str(known[0]) if len(set(known)) == 1 else f"{min(known)}–{max(known)}"


def spills(facts: Sequence[KernelFacts]) -> str:
    """Bytes of spill stores and loads, as ranges over some kernels."""
    stores = span([one.all_spill_stores for one in facts])
    loads = span([one.all_spill_loads for one in facts])
    return "-" if stores == loads == "0" else f"{stores}/{loads}"


def costs(facts: Sequence[KernelFacts]) -> str:
    """Modelled cycles per warp, as a range over those of some kernels that are modelled."""
    known = [one.cost for one in facts if one.cost is not None]
    if not known:
        return "?"
    least, most = cycles(min(known)), cycles(max(known))
    return most if least == most else f"{least}–{most}"


def cycles(cost: float) -> str:
    """A modelled cost: a dash for none, and at most two digits, since it is an estimate."""
    if cost == 0:
        return "-"
    return f"{float(f'{cost:.2g}'):.0f}" if cost >= 1 else "<1"


def quoted(unit: UnitReport) -> dict[SourceLocation, str]:
    """The text of the source lines in the unit's report."""
    return {SourceLocation(line.file, line.line): line.text for line in unit.source_lines}


def shortened(text: str, width: int) -> str:
    """At most ``width`` characters, with the middle cut out."""
    if len(text) <= width:
        return text
    head = (width - 1) * 2 // 3
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"


def wrapped(sentence: str, width: int | None, indent: LiteralString = "") -> list[Shown]:
    """Lines wrapped to a terminal's width; unchanged if the width is unknown.

    Args:
        sentence: foreign text.
        width: columns, or None.
        indent: before each line; if given, continuation lines have two more blanks.
    """
    if width is None:
        return [escape_terminal.line(indent, sentence)]
    later = f"{indent}  " if indent else ""
    return escape_terminal.wrapped(sentence, width, indent, later, break_words=True)


def scoped(name: str, width: int = _SCOPED) -> str:
    """A qualified name, without inner scopes if it is longer than ``width``.

    ``cub::detail::reduce::Kernel`` gives ``cub::…::Kernel``; the last part is never cut.
    """
    parts = name.split("::")
    if len(name) <= width or len(parts) < 3 or "<" in name:
        return name
    kept = f"{parts[0]}::…::{parts[-1]}"
    return kept if len(kept) <= width else f"…::{parts[-1]}"


def short_path(path: str, width: int = _PATH) -> str:
    """A path, without its first directories if it is longer than ``width``.

    What is in a package loses the package's name and its brackets then.
    """
    if len(path) <= width:
        return path
    if path.endswith("]"):
        path = path[:-1].rpartition("[")[2]
    parts = path.split("/")
    kept = parts[-1]
    for part in reversed(parts[:-1]):
        if len(kept) + len(part) + 3 > width:
            break
        kept = f"{part}/{kept}"
    return f"…/{kept}"


def labels(group: Group) -> list[str]:
    """Labels that distinguish a group's kernels, in order: the template arguments that differ.

    Arguments that all kernels share become ``…``. Labels are equal only if names are, and include
    the front end if there are several.
    """
    names = [short_name(kernel.facts.demangled) for _, kernel in group.kernels]
    made = _told_apart(names) or names
    if len({unit.frontend for unit, _ in group.kernels}) == 1:
        return made
    routed = zip(made, group.kernels, strict=True)
    return [f"{label} ({unit.frontend})" for label, (unit, _) in routed]


def few(items: Sequence[str], most: int) -> str:
    """Items as a list in a sentence, those beyond ``most`` only counted: ``a, b and 3 more``."""
    if len(items) <= most + 1:
        return ", ".join(items)
    return f"{', '.join(items[:most])} and {len(items) - most} more"


def _told_apart(names: Sequence[str]) -> list[str] | None:
    """The differing arguments of each name; None if they do not distinguish the names."""
    lists = [_arguments(name) for name in names]
    first = lists[0]
    if first is None or any(one is None or len(one) != len(first) for one in lists):
        return None
    split = [one for one in lists if one is not None]
    same = [len({one[index] for one in split}) == 1 for index in range(len(first))]
    if all(same):
        return None
    made = [f"<{', '.join(_elided(one, same))}>" for one in split]
    # Instances may also differ in an enclosing template's arguments.
    return made if len(set(made)) == len(set(names)) else None


_KEPT_ARGUMENT = 8


def _elided(arguments: list[str], same: list[bool]) -> list[str]:
    """Keep short arguments, by which authors identify instances; drop long equal ones."""
    return [
        "…" if alike and len(argument) > _KEPT_ARGUMENT else argument
        for argument, alike in zip(arguments, same, strict=True)
    ]


def _arguments(name: str) -> list[str] | None:
    """The arguments of the last template in a name; None if it ends without any."""
    if not name.endswith(">"):
        return None
    parts: list[str] = []
    depth, end = 0, len(name) - 1
    for index in range(len(name) - 1, -1, -1):
        char = name[index]
        depth += (char in ">)]}") - (char in "<([{")
        if (depth == 1 and char == ",") or depth == 0:
            parts.append(name[index + 1 : end].strip())
            end = index
        if depth == 0:
            return parts[::-1]
    return None


def number(value: int | None) -> str:
    """A figure, or a question mark if it was not observed."""
    return "?" if value is None else str(value)


def pair(first: int | None, second: int | None) -> str:
    """Two figures; a dash if both are zero, so that others stand out."""
    if first == 0 and second == 0:
        return "-"
    return f"{number(first)}/{number(second)}"


def summary(report: Report) -> str:
    """A one-sentence summary of the report."""
    kinds: dict[tuple[str, str], set[VerdictName]] = {}
    for unit, kernel in rows_of(report):
        # One kernel, however often it was compiled.
        key = (unit.input, stable_name(kernel.facts.name))
        kinds.setdefault(key, set()).add(kernel.verdict.kind)
    files = len({unit.file for unit in report.units})
    archs = len({unit.arch for unit in report.units if unit.kernels or unit.clean})
    using = sum(any(verdict_kind(kind).uses_memory for kind in found) for found in kinds.values())
    if kinds or any(unit.clean for unit in report.units):
        on = f" on {count(archs, 'architecture')}" if archs > 1 else ""
        parts = [f"{counted(rows_of(report), report.units)}{on} in {count(files, 'file')}"]
        parts.append(f"{using} with local memory" if using else "none uses local memory")
    else:
        parts = [f"no kernel in {count(files, 'file')}"]
    for one in reversed(VERDICT_KINDS):
        having = sum(one.name in found for found in kinds.values())
        if one.counted is not None and having:
            parts.append(f"{having} {one.counted}")
    failed = sum(unit.failure is not None for unit in report.units)
    if failed:
        parts.append(f"{count(failed, 'input')} could not be analysed")
    return ", ".join(parts)


def failures(report: Report) -> list[tuple[Failure, str, str]]:
    """What could not be analysed: the reason, the input, and the architectures: ``, sm_80, sm_90``.

    The same failure on several architectures is listed once.
    """
    found: dict[tuple[str, str, str], tuple[Failure, list[str]]] = {}
    for unit in report.units:
        if unit.failure is not None:
            key = (unit.input, unit.failure.stage, unit.failure.message)
            found.setdefault(key, (unit.failure, []))[1].append(unit.arch)
    return [
        (failure, path, "".join(f", {arch}" for arch in by_number(archs) if arch))
        for (path, _, _), (failure, archs) in found.items()
    ]


def gaps(report: Report) -> list[tuple[list[str], str, str]]:
    """Missing evidence, identical pieces once: the inputs, the reason and the stage."""
    inputs: dict[tuple[str, str], list[str]] = {}
    for unit in report.units:
        for gap in unit.gaps:
            inputs.setdefault((gap.stage, gap.reason), []).append(unit.input)
    return [(distinct(names), reason, stage) for (stage, reason), names in inputs.items()]


def verdict_text(result: GateResult) -> str:
    """The gate's result as text: ``failed: 2 failures``."""
    if result.verdict == "failed":
        return f"failed: {count(len(result.failures), 'failure')}"
    if result.verdict == "undecided":
        return "incomplete: evidence is missing"
    return "passed"


def route_differences(report: Report) -> list[str]:
    """Kernels whose figures differ between NVRTC and nvcc (``--frontend both``)."""
    found: dict[tuple[str, str, str], dict[str, KernelReport]] = {}
    for unit in report.units:
        for kernel in unit.kernels:
            key = (unit.input, unit.arch, stable_name(kernel.facts.name))
            found.setdefault(key, {})[unit.frontend] = kernel
    lines = []
    by_place = sorted(found.items(), key=lambda one: (one[0][0], arch_order(one[0][1]), one[0][2]))
    for (path, arch, _), by_route in by_place:
        if not {"nvrtc", "nvcc"} <= by_route.keys():
            continue
        ours, theirs = by_route["nvrtc"].facts, by_route["nvcc"].facts
        differing = [
            f"{what} {was} by nvrtc, {now} by nvcc"
            for what, was, now in zip(_COMPARED, _figures(ours), _figures(theirs), strict=True)
            if was != now
        ]
        if differing:
            lines.append(f"{path} ({arch}): {short_name(ours.demangled)}: {'; '.join(differing)}")
    return lines


def advice(finding: Finding, route: Frontend) -> str:
    """The first advice on a finding, in one line; for a log, with the command that explains it.

    Gate output always shows only the first; `explain` and reports show all.
    """
    return " ".join(
        f"{one.text} {one.code}" if route == "log" and one.code is not None else one.text
        for one in finding.advice[:1]
    )


def evidence(finding: Finding) -> str:
    """The evidence for a finding, in one line."""
    return "; ".join(evidence_words(finding))


def evidence_words(shown: Finding | LocalObject | LocalAccess) -> tuple[str, ...]:
    """The evidence for a cause, as worded in documents; for older documents, their own wording."""
    if not shown.evidence_facts:
        return shown.evidence
    return tuple(evidence_text(one, symbol_text) for one in shown.evidence_facts)


_COMPARED = ("registers", "stack_frame", "spill_stores", "spill_loads", "LDL", "STL")


def _figures(facts: KernelFacts) -> tuple[int | None, ...]:
    sites = facts.sass
    return (
        facts.registers,
        facts.stack_frame,
        facts.spill_stores,
        facts.spill_loads,
        None if sites is None else sites.load_sites,
        None if sites is None else sites.store_sites,
    )


def routes(report: Report) -> str:
    """The tools that made these figures: ``nvrtc 13.5, ptxas 13.5.37``."""
    return ", ".join(f"{tool.name} {tool.version or '?'}" for tool in report.tools)


def by_number(archs: Iterable[str]) -> list[str]:
    """Architectures without duplicates, older ones first."""
    return sorted(set(archs), key=arch_order)


def distinct(values: Iterable[str]) -> list[str]:
    """Values without duplicates, in order of first appearance."""
    return list(dict.fromkeys(values))


_SETTING = re.compile(r"num_\w+=\d+|maxnreg=\d+")
_DIGEST = 6
"""Number of digest letters shown."""


def names_of(entries: Sequence[Group]) -> list[str]:
    """A name for each table entry, with its number of instances: ``k<4> ×3``.

    Terminal, HTML and Markdown use the same names. A group is named after its template, and a
    single instance includes its arguments. Groups of the same template include the arguments of
    their worst instance, and the front end if that distinguishes two entries. Instances in a
    compiler cache include the settings that distinguish them, else the start of their digests.
    """
    titles = titles_of(entries, None)
    return [f"{title}{times(entry)}" for title, entry in zip(titles, entries, strict=True)]


def titles_of(entries: Sequence[Group], width: int | None = _SHORT_NAME) -> list[str]:
    """As `names_of`, without the number of instances.

    Args:
        entries: all entries shown together.
        width: beyond it, inner scopes and a single instance's arguments are dropped.
    """
    found = [_title(entry, width) for entry in entries]
    for alike in _alike(found):
        names = [_worst(entries[index]) for index in alike]
        told = _told_apart(names)
        for place, index in enumerate(alike):
            if told is not None:
                found[index] += told[place]
            elif len(set(names)) > 1:
                found[index] = names[place]
    for tell in (_settings, _digest):
        for alike in _alike(found):
            every = [tell(entries[index]) for index in alike]
            for index, own in zip(alike, every, strict=True):
                told = [one for one in own if any(one not in others for others in every)]
                found[index] += f" ({', '.join(told)})" if told else ""
    for alike in _alike(found):
        routes_ = [", ".join(distinct(u.frontend for u, _ in entries[n].kernels)) for n in alike]
        if len(set(routes_)) > 1:
            for index, route in zip(alike, routes_, strict=True):
                found[index] += f" ({route})"
    return found


def times(entry: Group) -> str:
    """The number of instances of an entry, to follow its name: `` ×3``; empty for one."""
    return f" ×{entry.instances}" if entry.instances > 1 else ""


def _alike(names: Sequence[str]) -> list[list[int]]:
    """Indices of entries with equal names."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for index, name in enumerate(names):
        found[name].append(index)
    return [numbers for numbers in found.values() if len(numbers) > 1]


def _worst(entry: Group) -> str:
    return short_name(entry.kernels[0][1].facts.demangled)


def settings_of(unit: UnitReport) -> tuple[str, ...]:
    """Settings of a just-in-time compiler, such as ``num_warps=4``; empty for others."""
    if unit.frontend != "binary":
        return ()
    return tuple(option for option in unit.options if _SETTING.fullmatch(option) is not None)


def _settings(entry: Group) -> tuple[str, ...]:
    return settings_of(entry.kernels[0][0])


def _digest(entry: Group) -> tuple[str, ...]:
    if entry.instances > 1:
        return ()
    return (digest_in(entry.kernels[0][0].input)[:_DIGEST],)


def _title(entry: Group, width: int | None) -> str:
    short = _worst(entry)
    if entry.instances == 1 and (width is None or len(short) <= width):
        return short
    return entry.name if width is None else scoped(entry.name, min(width, _SCOPED))


def file_of(entry: Group) -> str:
    """A group's file, with its programs in brackets: ``kernels.py[medians]``."""
    inputs = distinct(unit.input for unit, _ in entry.kernels)
    programs = [one[len(entry.file) :] for one in inputs if one.startswith(f"{entry.file}[")]
    more = f" and {len(programs) - 1} more" if len(programs) > 1 else ""
    return f"{entry.file}{programs[0]}{more}" if programs else entry.file


def shown_file(entry: Group) -> str:
    """The file of a row's lines: a template's own, whichever file instantiates it."""
    return entry.input if is_library(entry.file) else file_of(entry)


def place_of(unit: UnitReport, facts: KernelFacts) -> str:
    """Where a kernel begins: ``a.cu:12``, with the program of its file in brackets."""
    place = facts.location
    if place is None:
        return unit.input
    file = unit.input if unit.input.startswith(f"{place.file}[") else place.file
    return f"{os.path.normpath(file)}:{place.line}"


def shown_once(findings: Sequence[Finding]) -> list[tuple[tuple[Advice, ...], bool]]:
    """For each finding, advice not already given by an earlier one, and whether any was dropped."""
    said: set[Advice] = set()
    made = []
    for finding in findings:
        advice = proven.beside(finding)
        fresh = tuple(one for one in advice if one not in said)
        said.update(fresh)
        made.append((fresh, len(fresh) < len(advice)))
    return made
