"""A kernel's source lines with heat, beside the SASS that the report quotes for each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from lmemscope.exporters import layout
from lmemscope.exporters.explanation import frame_label, merged
from lmemscope.model import (
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


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the listing.

    Attributes:
        head: heading above it where another file begins; else empty.
        file: the full path of that file.
        number, text: of the source; the number is None for SASS without a source line.
        heat: percent of colour, by bytes at sites.
        note: description of its sites; empty without any.
        sass: machine instructions.
    """

    head: str
    file: str
    number: int | None
    text: str
    heat: int
    note: str
    sass: tuple[str, ...]


def source_lines(unit: UnitReport, kernel: KernelReport) -> list[Line]:
    """The lines of a kernel's sites and quoted SASS, by file and number."""
    uses: defaultdict[SourceLocation, list[LineUse]] = defaultdict(list)
    for use in kernel.facts.lines:
        uses[use.location].append(use)
    sass = _machine_code(kernel.quotes)
    places = sorted({*uses, *(place for place in sass if place is not None)})
    sites = {place: sum((use.sites for use in uses[place]), SiteClass()) for place in places}
    most = max((total.bytes for total in sites.values()), default=0)
    quoted = layout.quoted(unit)
    lines = []
    for number, place in enumerate(places):
        is_new = number == 0 or places[number - 1].file != place.file
        total = sites[place]
        lines.append(
            Line(
                layout.short_path(place.file) if is_new else "",
                place.file,
                place.line,
                quoted.get(place, "").expandtabs(2),
                _LEAST_HEAT + round(_MOST_HEAT * total.bytes / most) if total.bytes else 0,
                ", ".join(_said(total)),
                tuple(sass.get(place, ())),
            )
        )
    if None in sass:
        lines.append(Line("elsewhere", "", None, "", 0, "", tuple(sass[None])))
    return lines


def frame_rows(kernel: KernelReport) -> list[tuple[FrameRange, str]]:
    """The ranges of the frame with their owners as text; empty without a frame."""
    if not kernel.facts.stack_frame:
        return []
    return merged([(part, frame_label(kernel, part)) for part in kernel.facts.frame])


def _said(sites: SiteClass) -> Iterator[str]:
    if sites.load_sites:
        yield count(sites.load_sites, "load")
    if sites.store_sites:
        yield count(sites.store_sites, "store")
    if sites.count:
        yield f"{sites.bytes} bytes at sites"


def _machine_code(quotes: Quotes | None) -> dict[SourceLocation | None, list[str]]:
    if quotes is None or not quotes.sass:
        return {}
    places = quotes.sass_at or (None,) * len(quotes.sass)
    found: defaultdict[SourceLocation | None, list[str]] = defaultdict(list)
    for place, text in zip(places, quotes.sass, strict=False):
        found[place].append(text)
    return dict(found)
