"""One group on the page: findings of its worst kernel, source beside machine code, frame map."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from lmemscope.analysis.groups import Group
from lmemscope.exporters import layout, proven
from lmemscope.exporters.escape_html import (
    NOTHING,
    Child,
    Html,
    constant,
    element,
    html,
    joined,
    prose,
)
from lmemscope.exporters.explanation import frame_label, merged
from lmemscope.exporters.page.listing import instances, times
from lmemscope.model import (
    Advice,
    Disagreement,
    Finding,
    FrameRange,
    KernelReport,
    LineUse,
    Quotes,
    SiteClass,
    SourceLocation,
    UnitReport,
    count,
)

_LEAST_HEAT, _MOST_HEAT = 8, 32
_SPACE = constant("&nbsp;")


def card(group: Group, title: str, anchor: str, *, opened: bool) -> Html:
    """A group, folded unless it is one of the first."""
    unit, worst = group.kernels[0]
    head = element(
        "summary",
        element("b", title),
        times(group),
        " ",
        element("span", worst.verdict.text, class_=worst.verdict.kind),
    )
    return element(
        "details",
        head,
        element("div", joined(_body(group, title, unit, worst)), id=anchor),
        class_="card",
        data_g=anchor,
        open=opened,
    )


def disagreement(found: Disagreement, of: str = "") -> Html:
    """Sources that contradict each other on a figure."""
    values = ", ".join(f"{source} says {value}" for source, value in found.values)
    said = f"{of}Sources disagree on {found.quantity}: {values}{found.why}"
    return element("p", said, class_="unknown")


def _body(group: Group, title: str, unit: UnitReport, worst: KernelReport) -> Iterable[Html]:
    facts = worst.facts
    place = layout.place_of(unit, facts)
    where = element("code", layout.short_path(place), title=place)
    own = place.startswith(unit.input)
    inputs = "" if own else f", compiled in {unit.input}"
    lead = "worst instance, " if len(group.kernels) > 1 else ""
    yield element("p", where, f"{inputs}; {lead}{unit.arch}, by {unit.frontend}", class_="dim")
    if facts.demangled != title:
        yield element(
            "details",
            element("summary", "full name"),
            element("pre", facts.demangled, class_="wrapped"),
            class_="plain",
        )
    advice = layout.shown_once(worst.findings)
    for finding, (fresh, repeated) in zip(worst.findings, advice, strict=True):
        yield _finding(finding, fresh, repeated=repeated)
    yield _annotated(unit, worst)
    yield _frame(worst)
    for found in facts.disagreements:
        yield disagreement(found)
    if len(group.kernels) > 1:
        yield element("h3", count(group.instances, "kernel"), " with these causes")
        yield instances(group)


def _place(place: SourceLocation) -> Html:
    shown = f"{layout.short_path(place.file)}:{place.line}"
    return element("code", shown, title=f"{place.file}:{place.line}")


def _finding(finding: Finding, fresh: Iterable[Advice], *, repeated: bool) -> Html:
    head: list[Child] = [
        element("b", f"{finding.severity} {finding.rule} {finding.name}"),
    ]
    if finding.location is not None:
        head += [" at ", _place(finding.location)]
    sure = "" if finding.confidence == "certain" else f" ({finding.confidence})"
    parts = [
        element("h3", *head),
        element("p", prose(finding.message), sure),
        element(
            "ul",
            element("li", "As above.") if repeated else NOTHING,
            *(_advice(proven.advice_text(one), one.code) for one in fresh),
        ),
    ]
    if finding.fix is not None:
        parts += [
            element("p", prose(proven.sentence(finding.fix))),
            element("pre", "\n".join(proven.patch_lines(finding.fix))),
        ]
    if finding.evidence:
        parts.append(element("p", f"Evidence: {layout.evidence(finding)}", class_="dim"))
    return joined(parts)


def _advice(text: str, code: str | None) -> Html:
    return element("li", prose(text), NOTHING if code is None else element("pre", code))


def _annotated(unit: UnitReport, kernel: KernelReport) -> Html:
    """Source lines with heat, and beside each the machine code that the report quotes of it."""
    uses: defaultdict[SourceLocation, list[LineUse]] = defaultdict(list)
    for use in kernel.facts.lines:
        uses[use.location].append(use)
    machine = _machine_code(kernel.quotes)
    places = sorted({*uses, *(place for place in machine if place is not None)})
    if not places and not machine:
        return NOTHING
    sites = {place: _total(uses[place]) for place in places}
    most = max((total.bytes for total in sites.values()), default=0)
    quoted = layout.quoted(unit)
    parts: list[Html] = []
    file = None
    for place in places:
        if place.file != file:
            file = place.file
            parts.append(element("div", layout.short_path(file), title=file, class_="head"))
        parts += _line(place.line, quoted.get(place, ""), sites[place], most)
        if machine:
            parts.append(_sass(machine.get(place, ())))
    if None in machine:
        parts.append(element("div", "elsewhere", class_="head"))
        parts += [element("div", class_="l"), element("div")]
        parts.append(_sass(machine[None]))
    return joined(
        (
            element("h3", "Source and machine code" if machine else "Source"),
            element("div", *parts, class_="src two" if machine else "src"),
        )
    )


def _line(number: int, text: str, sites: SiteClass, most: int) -> list[Html]:
    heat = _LEAST_HEAT + round(_MOST_HEAT * sites.bytes / most) if most and sites.bytes else 0
    style = f"background:color-mix(in srgb,var(--hot) {heat}%,transparent)" if heat else None
    counts = ((sites.load_sites, "load"), (sites.store_sites, "store"))
    said = [count(found, noun) for found, noun in counts if found]
    note = ", ".join([*said, f"{sites.bytes} bytes at sites"])
    return [
        element("div", str(number), class_="l"),
        element(
            "div",
            element("code", text.expandtabs(2) or _SPACE, style=style),
            element("small", note) if sites.count else NOTHING,
        ),
    ]


def _sass(lines: Iterable[str]) -> Html:
    return element("div", html("\n".join(lines), lines=True), class_="sass")


def _total(uses: Iterable[LineUse]) -> SiteClass:
    return sum((use.sites for use in uses), SiteClass())


def _machine_code(quotes: Quotes | None) -> dict[SourceLocation | None, list[str]]:
    if quotes is None or not quotes.sass:
        return {}
    places = quotes.sass_at or (None,) * len(quotes.sass)
    found: defaultdict[SourceLocation | None, list[str]] = defaultdict(list)
    for place, text in zip(places, quotes.sass, strict=False):
        found[place].append(text)
    return dict(found)


def _frame(kernel: KernelReport) -> Html:
    """The frame as a bar, its ranges in the colours of their causes, and in words."""
    facts = kernel.facts
    if not facts.frame or not facts.stack_frame:
        return NOTHING
    rows = merged([(part, frame_label(kernel, part)) for part in facts.frame])
    labels = "; ".join(f"{label}: {part.size} bytes" for part, label in rows)
    return joined(
        (
            element("h3", f"Stack frame, {facts.stack_frame} bytes per thread"),
            element(
                "div",
                *(_range(part, label) for part, label in rows),
                class_="bar",
                role="img",
                aria_label=labels,
            ),
            element("p", labels, class_="dim"),
        )
    )


def _range(part: FrameRange, label: str) -> Html:
    return element(
        "span",
        f"{label} {part.size} B",
        class_=part.cause or "padding",
        style=f"flex:{part.size}",
        title=f"{label}, bytes {part.offset} to {part.offset + part.size - 1}",
    )
