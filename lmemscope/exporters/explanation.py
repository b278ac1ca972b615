"""Text of ``explain``: one kernel, from its source lines to what would remove its local memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import LiteralString

from msgspec.structs import replace

from lmemscope.analysis.groups import Group
from lmemscope.analysis.ptx.uniformity import places_in, sectors_per_request
from lmemscope.exporters import escape_terminal, layout, proven
from lmemscope.exporters.escape_terminal import Part, Shown, document, styled
from lmemscope.exporters.figures_text import cut_name, disagreements, figures
from lmemscope.exporters.template_findings import Gathered, costliest_first, gathered
from lmemscope.formats.demangle import short_name
from lmemscope.model import (
    Advice,
    Cause,
    Finding,
    FrameRange,
    IndexFacts,
    IndexSource,
    KernelReport,
    LeftOut,
    LineUse,
    LocalAccess,
    ProvenFix,
    SiteKind,
    SourceKind,
    SourceLocation,
    Uniformity,
    UnitReport,
    count,
    traits_of,
)

_BAR = 40
_WARP = 32
_BESIDE_BAR = 22
_LANES_SHOWN = 4
_LANES_WIDTH = 11 * _LANES_SHOWN + len("…  lane 31")
_WORD_COLUMN = 22
_NAME = 24
_CULPRITS = 3
_COLORS = {"error": "1;31", "warning": "33", "note": "36", "dim": "2", "bold": "1"}
_INTRODUCTION = (
    "Local memory is private to each thread, but it resides in device memory, cached in L1 "
    "and L2. STL instructions write it, LDL instructions read it."
)


class Explainer:
    """Lays out explanations.

    Args:
        color: whether escape sequences are allowed.
        width: columns.
        left_out: facts that the report does not contain.
    """

    def __init__(self, *, color: bool, width: int, left_out: Sequence[LeftOut] = ()) -> None:
        self._color, self._width, self._left_out = color, max(width, 40), left_out
        self._patches: dict[str, str] = {}
        self._advised: dict[tuple[str, ...], str] = {}
        self._background: set[str] = set()

    def explain_group(self, group: Group) -> str:
        """The text for a template: its costliest instance, and how the others differ."""
        unit, kernel = group.kernels[0]
        facts = kernel.facts
        archs = " ".join(group.archs)
        place = layout.place_of(unit, facts)
        room = self._width - len(f"    {archs}{layout.times(group)}")
        where = layout.short_path(place, max(room - _NAME, _NAME))
        title = short_name(facts.demangled) if group.instances == 1 else group.name
        name = cut_name(title, max(room - len(where), _NAME))
        head = f"{name}{layout.times(group)}  {where}  {archs}"
        lines: list[Part] = [self._styled(head, "bold")]
        lines += self._wrapped(figures([one.facts for _, one in group.kernels]), "  ")
        settings = ", ".join(layout.settings_of(unit))
        if len(group.kernels) > 1:
            shown = f"{short_name(facts.demangled)} on {unit.arch}"
            shown += f" with {settings}" if settings else ""
            lines += self._wrapped(f"Shown below: {shown}, the costliest.", "  ", hanging="  ")
        elif settings:
            lines += self._wrapped(f"Compiled with {settings}.", "  ")
        uses = facts.counted or facts.frame or facts.lines
        if not uses and not kernel.findings:
            lines += ["", "  No local memory. Nothing to explain."]
            return document(lines)
        lines += self._culprits(unit, kernel)
        if uses:
            lines += self._once(_INTRODUCTION)
        lines += self._annotated(unit, kernel)
        lines += self._frame(kernel)
        kernels = [one for _, one in group.kernels]
        for number, found in enumerate(gathered(group), start=1):
            lines += self._finding(number, found, found.label or name, kernels, unit.arch)
        lines += self._quotes(kernel)
        for said in dict.fromkeys(disagreements(one.facts) for _, one in group.kernels):
            lines += said
        return document(lines)

    def _once(self, paragraph: str) -> list[Part]:
        """Background information, shown only once."""
        if paragraph in self._background:
            return []
        self._background.add(paragraph)
        return ["", *self._wrapped(paragraph, "  ")]

    def _culprits(self, unit: UnitReport, kernel: KernelReport) -> list[Part]:
        """The lines to look at first, each with its own file."""
        quoted, lines = layout.quoted(unit), list[Part]()
        places: dict[SourceLocation, list[str]] = defaultdict(list)
        ordered = costliest_first(kernel)
        for finding in [one for one in ordered if traits_of(one.cause).costly] or ordered:
            if finding.location is not None:
                what = f"{finding.name} of {finding.object}" if finding.object else finding.name
                places[finding.location].append(what)
        for place, causes in list(places.items())[:_CULPRITS]:
            said = ", ".join(dict.fromkeys(causes))
            lines += ["", *self._wrapped(f"{place.file}:{place.line}  {said}", "  ", hanging="  ")]
            if place in quoted:
                lines.append(self._styled(f"      {quoted[place].strip()}", "warning"))
        return lines

    def _annotated(self, unit: UnitReport, kernel: KernelReport) -> list[Part]:
        """The source lines that access local memory, with their accesses."""
        facts = kernel.facts
        rows: dict[SourceLocation, list[LocalAccess]] = defaultdict(list)
        nowhere: list[LocalAccess] = []
        for access in facts.accesses:
            place = facts.line_of(access)
            (nowhere if place is None else rows[place]).append(access)
        declared: dict[SourceLocation, list[str]] = defaultdict(list)
        for found in facts.objects:
            if found.declared is None or found.cause == "promoted" or found.extent == "rest":
                continue
            declared[found.declared].append(
                f"{found.name} is declared here: {count(found.size, 'byte')}"
            )
        summed: dict[SourceLocation, list[str]] = defaultdict(list)
        if not facts.counted:
            for use in facts.lines:
                summed[use.location].append(_line_note(kernel, use))
        places = sorted({*rows, *declared, *summed})
        if not places:
            return []
        digits = len(str(max(place.line for place in places)))
        lines: list[Part] = [""]
        file, quoted = None, layout.quoted(unit)
        for place in places:
            if place.file != file:
                file = place.file
                lines.append(self._styled(f"{file}", "bold"))
            notes = [*dict.fromkeys(declared.get(place, ()))]
            notes += line_notes(kernel, rows.get(place, []))
            notes += summed.get(place, [])
            lead, indent = "^ ", " " * (digits + 2) + " |   "
            if place in quoted:
                lines.append(f"  {place.line:>{digits}} | {quoted[place].expandtabs(2)}")
            else:
                lead, indent = f"line {place.line}: ", "  "
            for note in notes:
                wrapped = self._wrapped(f"{lead}{note}", indent, hanging="  ")
                lines += [self._styled(line, "warning") for line in wrapped]
        for note in line_notes(kernel, nowhere):
            lines += self._wrapped(f"Without a source line: {note}", "  ", hanging="  ")
        if summed and "accesses" in self._left_out:
            lines += self._once(_WITHOUT_ACCESSES)
        return lines

    def _frame(self, kernel: KernelReport) -> list[Part]:
        """The stack frame as ranges, and how its words are laid out across lanes."""
        facts = kernel.facts
        if not facts.frame or not facts.stack_frame:
            return []
        total = facts.stack_frame
        lines: list[Part] = ["", self._styled(f"Stack frame, {total} bytes per thread", "bold")]
        rows = [(part, frame_label(kernel, part)) for part in facts.frame]
        label_room = self._width - _BESIDE_BAR - _BAR // 4
        longest = min(max(len(label) for _, label in rows), label_room)
        room = max(min(_BAR, self._width - longest - _BESIDE_BAR), _BAR // 4)
        for part, label in merged(rows):
            bar = "█" * max(1, min(room, round(room * part.size / total)))
            lines.append(
                f"  {part.offset:>6}  {bar:<{room}}  {part.size:>6} B  "
                f"{layout.shortened(label, label_room)}"
            )
        lines += self._once(_INTERLEAVED)
        heads = "".join(f"lane {lane:<6}" for lane in range(_LANES_SHOWN))
        column = _WORD_COLUMN
        titles = []
        for word in range(min(3, -(-total // 4))):
            owner = next(
                (
                    label
                    for part, label in rows
                    if part.offset <= word * 4 < part.offset + part.size
                ),
                "",
            )
            room = max(self._width - _LANES_WIDTH, column) - len(f"    word {word} ()  ")
            titles.append(f"    word {word} ({layout.shortened(owner.partition(' ')[0], room)})")
            column = max(column, len(titles[-1]) + 2)
        lines.append(f"{'':<{column}}{heads}…  lane 31")
        for word, title in enumerate(titles):
            cells = "".join(f"{(word * 32 + lane) * 4:<11}" for lane in range(_LANES_SHOWN))
            lines.append(f"{title:<{column}}{cells}…  {(word * 32 + 31) * 4}")
        return lines

    def _finding(
        self,
        number: int,
        found: Gathered,
        name: str,
        kernels: Sequence[KernelReport],
        arch: str,
    ) -> list[Part]:
        finding = found.finding
        times = f" ×{found.times}" if found.times > 1 else ""
        head = f"{number}. {finding.severity} {finding.rule} {finding.name}{times}"
        lines: list[Part] = ["", self._styled(head, finding.severity)]
        if found.instances is not None:
            lines += self._wrapped(found.instances, "   ")
        lines += self._wrapped(_sentence(finding.message), "   ")
        if finding.location is not None:
            at, index = f"{finding.location.file}:{finding.location.line}", finding.index
            caller = index.called_from if index is not None else None
            if index is not None and caller is not None and index.location == finding.location:
                at += f", called from {caller.file}:{caller.line}"
            lines += self._wrapped(f"at {at}", "   ")
        if finding.index is not None:
            said = index_sentence(finding.index, _places(kernels, finding))
            lines += self._wrapped(f"{said}{_of_full_warps(kernels)}", "   ")
        if layout.evidence(finding):
            lines += self._wrapped(f"Evidence: {layout.evidence(finding)}.", "   ")
        if finding.also:
            lines += self._wrapped(f"Other causes: {' and '.join(finding.also)}.", "   ")
        if finding.confidence != "certain":
            lines.append(f"   Confidence: {finding.confidence}.")
        if finding.fix is not None:
            lines += self._fix(finding.fix, f"{name} on {arch}")
        return [*lines, *self._advice(finding, name)]

    def _advice(self, finding: Finding, name: str) -> list[Part]:
        """What there is to do beside the proven fix, once for findings that share it."""
        lines: list[Part] = []
        beside = proven.beside(finding)
        title = "Other ways:" if finding.fix is not None else _title(finding, beside)
        own = f"{finding.name} in {name}"
        first = self._advised.setdefault(tuple(f"{one.text} {one.code}" for one in beside), own)
        if first != own:
            return [*self._wrapped(f"{title} Same as for {first}, above.", "   ")]
        if beside:
            lines.append(f"   {title}")
        for advice in beside:
            lines += self._wrapped(f"- {proven.advice_text(advice)}", "   ", hanging="  ")
            if advice.code is not None:
                lines += [
                    self._styled(f"       {line}", "dim") for line in advice.code.splitlines()
                ]
        return lines

    def _fix(self, fix: ProvenFix, name: str) -> list[Part]:
        """The best fix; a patch that covers several instances is shown with the first."""
        lines: list[Part] = [*self._wrapped(proven.sentence(fix), "   ")]
        first = self._patches.setdefault(fix.patch, name)
        if first != name:
            return [*lines, *self._wrapped(f"The patch is the same as for {first}, above.", "   ")]
        shown = proven.short_patch(fix)
        lines += [self._styled(f"       {line}", "dim") for line in shown]
        return [*lines, *self._wrapped(proven.whole(fix), "   ")]

    def _quotes(self, kernel: KernelReport) -> list[Part]:
        """Live registers, and lines of the artefacts, if the report has them."""
        quotes = kernel.quotes
        if quotes is None:
            return []
        lines: list[Part] = []
        if quotes.live_registers is not None:
            place = quotes.live_at
            where = f" at {place.file}:{place.line}" if place is not None else ""
            text = (
                f"Registers: after spilling, at most {quotes.live_registers} are live at "
                f"once{where}; the kernel has {layout.number(kernel.facts.registers)}."
            )
            lines += ["", *self._wrapped(text, "  ")]
        for title, quoted in (("PTX", quotes.ptx), ("SASS", quotes.sass)):
            if quoted:
                lines += ["", self._styled(f"{title} behind it", "bold")]
                lines += [f"  {text}" for text in quoted]
        return lines

    def _wrapped(
        self, text: str, indent: LiteralString, hanging: LiteralString = ""
    ) -> list[Shown]:
        return escape_terminal.wrapped(text, self._width, indent, indent + hanging)

    def _styled(self, part: Part, style: str) -> Shown:
        return styled(part, _COLORS[style], on=self._color)


def _title(finding: Finding, advice: Sequence[Advice]) -> str:
    """The title of a list of advice: proposals that were not compiled may remove nothing."""
    if any(proposed := [one.applicability is not None for one in advice]):
        return f"What may remove it{', not tried yet' if all(proposed) else ''}:"
    removes = finding.severity != "note" and not all(one.is_none for one in advice)
    return "What removes it:" if removes else "What to do:"


_INTERLEAVED = (
    "The hardware interleaves the frames of a warp by 4-byte word (byte addresses below). If "
    "all lanes access the same word, a request moves 4 sectors of 32 bytes; if they access "
    "different words, up to 32."
)


_WITHOUT_ACCESSES = (
    "This report has no loops or sectors of lines: `scan --format json --accesses` saves them."
)


def _directions(loads: int, stores: int) -> str:
    """``1 load and 17 stores``."""
    counted = ((loads, "load"), (stores, "store"))
    return " and ".join(count(items, noun) for items, noun in counted if items)


def _site_kind(cause: Cause) -> SiteKind:
    """The class of sites that a cause belongs to."""
    if cause == "unattributed":
        return "unknown"
    saves = traits_of(cause).owner in ("spill slots", "saved registers")
    return "spill" if saves else "local-object"


def _line_note(kernel: KernelReport, use: LineUse) -> str:
    """The accesses of a line, from its totals; with the cause if only one is possible."""
    facts = kernel.facts
    what = _directions(use.sites.load_sites, use.sites.store_sites)
    shares = [s for s in facts.causes if s.sites.bytes and _site_kind(s.cause) == use.kind]
    if len(shares) > 1:
        here = {found.cause for found in kernel.findings if found.location == use.location}
        shares = [share for share in shares if share.cause in here]
    if len({share.cause for share in shares}) != 1:
        return f"{what}: {_KINDS[use.kind]}"
    named = {share.object_index for share in shares}
    number = named.pop() if len(named) == 1 else None
    name = facts.objects[number].name if number is not None else None
    return f"{what}: {shares[0].cause}" + (f" of {name}" if name is not None else "")


_KINDS: dict[SiteKind, str] = {
    "spill": "registers that ptxas keeps in memory",
    "local-object": "variables in local memory",
    "unknown": "owner unknown",
}


def frame_label(kernel: KernelReport, part: FrameRange) -> str:
    """The owner of a range, as text."""
    if part.object_index is not None:
        found = kernel.facts.objects[part.object_index]
        name = found.name or "object"
        kind = f" {found.type}" if found.type else ""
        return f"{name}{kind} ({part.cause})"
    if part.cause == "call-frame":
        return "values passed in calls"  # arguments and results are among them
    return part.owner


def merged(rows: Sequence[tuple[FrameRange, str]]) -> list[tuple[FrameRange, str]]:
    """Merge adjacent ranges with the same label."""
    result: list[tuple[FrameRange, str]] = []
    for part, label in rows:
        if result and result[-1][1] == label:
            last = result[-1][0]
            result[-1] = (replace(last, size=last.size + part.size), label)
        else:
            result.append((part, label))
    return result


def _sentence(text: str) -> str:
    first = text[:1].upper() + text[1:] if not text.startswith("`") else text
    return first if first.endswith(".") else f"{first}."


def line_notes(kernel: KernelReport, accesses: Iterable[LocalAccess]) -> list[str]:
    """The accesses of one line: a note for each cause, object and loop depth."""
    groups: dict[tuple[str, tuple[int, ...], bool, int], list[LocalAccess]] = defaultdict(list)
    for access in accesses:
        outwards = -(access.loop_depth or 0)
        groups[access.cause, access.touched, access.joined, outwards].append(access)
    notes = []
    for (cause, numbers, joined, outwards), group in sorted(groups.items()):
        loads, depth = sum(not access.is_store for access in group), -outwards
        what = f"{_directions(loads, len(group) - loads)}: {cause}"
        names = dict.fromkeys(kernel.facts.objects[number].name for number in numbers)
        if names and None not in names:
            what += f" of {(' and ' if joined else ' or ').join(str(name) for name in names)}"
        if depth:
            what += f", in {count(depth, 'loop')}" if depth > 1 else ", in a loop"
        notes.append(what + _traffic(group))
    return notes


def _traffic(accesses: Sequence[LocalAccess]) -> str:
    """The sectors of each request of accesses, and the requests of each where they are several."""
    known = [(a.sectors, a.requests) for a in accesses if a.sectors is not None]
    if len(known) < len(accesses):
        return ""  # Those of which it is not known may move more.
    is_known = len({sectors for sectors, _ in known}) == 1
    is_known = is_known and all(access.uniformity == "uniform" for access in accesses)
    sectors, requests = (max(numbers) for numbers in zip(*known, strict=True))
    text = f"; {'' if is_known else 'up to '}{count(sectors, 'sector')} per request"
    if requests > 1:
        upto = "" if len({number for _, number in known}) == 1 else "up to "
        text += f", {upto}{count(requests, 'request')} each"
    return text


def index_sentence(index: IndexFacts, places: int | None) -> str:
    """What an index means for the cost of accesses; ``places`` is the object's number of words."""
    sources = (*index.made_of, *index.chosen_by)
    said = f"{_in_lanes(index.uniformity, sources, places)}."
    if index.chosen_by:
        said = said.replace("Index", "Address").replace("index", "address")
    if index.other_uniformity is not None:
        other = _in_lanes(index.other_uniformity, index.all_sources, places)
        said += f" Other accesses: {other[0].lower()}{other[1:]}."
    return said


def _of_full_warps(kernels: Sequence[KernelReport]) -> str:
    """A sentence that sectors are for full warps, if launches show that no warp is full."""
    known = [
        one.occupancy.block
        for one in kernels
        if one.occupancy is not None and one.occupancy.block_from == "launch"
    ]
    if len(known) != len(kernels) or not known or max(known) >= _WARP:
        return ""
    threads = count(max(known), "thread")
    return f" These are the sectors of full warps: its blocks, of {threads}, have fewer."


def _places(kernels: Sequence[KernelReport], finding: Finding) -> int | None:
    """The number of words in a finding's object; None if the object is not known."""
    found = [
        places_in(one.offset, one.span)
        for kernel in kernels
        for one in kernel.facts.objects
        if one.name == finding.object and one.size == finding.bytes
    ]
    return max(found, default=None)


def _in_lanes(
    uniformity: Uniformity, sources: Sequence[IndexSource], places: int | None = None
) -> str:
    """What uniformity means for an access's cost; ``places`` is the object's number of words."""
    kinds = {source.kind for source in sources}
    sectors = f"up to {sectors_per_request('lane-varying', places)} sectors per request"
    threads = {source.name for source in sources if source.kind == "thread-id"}
    if uniformity == "unknown" and threads & _ROWS:
        return (
            "Index may diverge within a warp if blockDim.x is not a multiple of 32 (block "
            f"shape unknown): {sectors}"
        )
    if uniformity == "lane-varying" and threads and not threads & _ROWS and kinds <= _COMPUTED:
        return f"Index differs between lanes: {sectors}"
    is_assumed = "thread-id" in kinds and not threads & _ROWS  # Of these, the shape is known.
    warp = "a warp (of 32 neighbours in x)" if is_assumed else "a warp"
    return {
        "uniform": f"Uniform index, the same in all lanes of {warp}: 4 sectors per request",
        "lane-varying": f"Lane-dependent index; may diverge across the warp: {sectors}",
        "data-dependent": f"Data-dependent index; may diverge across the warp: {sectors}",
        "unknown": f"Index not known to be uniform: {_unknown(kinds)}",
    }[uniformity]


def _unknown(kinds: set[SourceKind]) -> str:
    """Why an index's uniformity is unknown."""
    if "call" in kinds:
        return "it is computed from the result of a call"
    if "parameter" in kinds:
        return "it comes from the function's caller"
    return "it depends on values that are not known"


_ROWS = frozenset({"threadIdx.y", "threadIdx.z"})
_COMPUTED: frozenset[SourceKind] = frozenset(
    {"thread-id", "block-id", "loop-counter", "copy", "symbol"}
)
"""Sources with which ``threadIdx.x`` makes an index differ between lanes. Parameters, and values
from calls, shuffles or memory, may make it equal again: ``(threadIdx.x + n) / 32``."""
