"""One self-contained HTML page: where the bytes are, what to look at first, the rest folded.

No network, no framework: the page is text, one style sheet and a few lines of script, and reads
well without the script. Light and dark follow the reader's system; printed, findings are open.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence

from lmemscope.analysis.groups import CauseTotal, Group, counted, groups, totals
from lmemscope.exporters import launches, layout, reservation
from lmemscope.exporters.escape_html import NOTHING, Html, constant, element, joined
from lmemscope.exporters.formats import Presentation
from lmemscope.exporters.page.kernel import card, disagreement
from lmemscope.exporters.page.links import linked_programs
from lmemscope.exporters.page.listing import others, worklist
from lmemscope.exporters.page.style import SCRIPT, STYLE
from lmemscope.exporters.page.treemap import treemap
from lmemscope.exporters.selection import negligible, parted
from lmemscope.model import Failure, Report, count, traits_of

_DESCRIBED = 200
"""Groups that have a section of their own; a page of more is read with the filter."""
_OPENED = 3
_NOTES_SHOWN = 3
_BARS = 6
_FAILURES = 5
_TITLE = constant("<title>Local memory</title>")
_CHARSET = constant('<meta charset="utf-8">')
_VIEWPORT = constant('<meta name="viewport" content="width=device-width,initial-scale=1">')


def render_html(report: Report) -> str:
    """The whole page."""
    found = groups(report)
    archs = layout.by_number(arch for group in found for arch in group.archs)
    using, minor, rest = parted(found)
    anchors = {number: f"g{number}" for number in range(min(len(using), _DESCRIBED))}
    body = joined(
        (
            *_heading(report),
            *_failures(report),
            *_where(using, anchors),
            *_work(using, anchors, archs),
            *linked_programs(report),
            *_cards(using, anchors),
            *_launches(report),
            *_reservation(report),
            *_minor(minor, archs),
            *_others(rest, archs, folded=bool(using)),
            *_sections(report, using, anchors),
            element("script", SCRIPT),
        )
    )
    page = element(
        "html",
        element("head", _CHARSET, _policy(), _VIEWPORT, _TITLE, element("style", STYLE)),
        constant("\n"),
        element("body", constant("\n"), body, constant("\n")),
        lang="en",
    )
    return f"<!doctype html>\n{page.markup}\n"


def render(report: Report, how: Presentation) -> str:
    """As `render_html`; a page is the same for everybody."""
    del how
    return render_html(report)


def _policy() -> Html:
    """A second line behind the escaping: no script and no sheet but our own, and no request."""
    allowed = (
        "default-src 'none'",
        f"script-src {_source(SCRIPT)}",
        f"style-src-elem {_source(STYLE)}",
        "style-src-attr 'unsafe-inline'",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return element("meta", http_equiv="Content-Security-Policy", content="; ".join(allowed))


def _source(text: Html) -> str:
    digest = hashlib.sha256(text.markup.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _heading(report: Report) -> Iterable[Html]:
    yield element("h1", "Local memory")
    yield element("p", f"{layout.summary(report)}.", class_="tally")
    yield element(
        "p",
        f"lmemscope {report.version}; {layout.routes(report)}{_archs(report)}. "
        "Sizes are bytes per thread; LDL and STL are counts of instructions; cost is modelled: "
        "cycles of a multiprocessor that local memory takes for each warp.",
        class_="dim",
    )
    for note in report.notes[:_NOTES_SHOWN]:
        yield element("p", f"Note: {note}.", class_="dim")
    if len(report.notes) > _NOTES_SHOWN:
        more = report.notes[_NOTES_SHOWN:]
        yield _folded(count(len(more), "more note"), more)


def _archs(report: Report) -> str:
    archs = layout.by_number(unit.arch for unit in report.units if unit.kernels)
    return f"; {', '.join(archs)}" if archs else ""


def _folded(title: str, lines: Sequence[str]) -> Html:
    listed = element("ul", *(element("li", line) for line in lines))
    return element("details", element("summary", title), listed)


def _failures(report: Report) -> Iterable[Html]:
    failed = layout.failures(report)
    if not failed:
        return
    yield element("h2", "Not analysed")
    yield from (_failure(*one) for one in failed[:_FAILURES])
    if len(failed) > _FAILURES:
        title = count(len(failed) - _FAILURES, "more failure")
        rest = joined(_failure(*one) for one in failed[_FAILURES:])
        yield element("details", element("summary", title), rest)


def _failure(failure: Failure, path: str, archs: str) -> Html:
    """What failed and what to do; the whole log folded, for the kernels matter more."""
    log = NOTHING
    if failure.log:
        log = element(
            "details", element("summary", "log"), element("pre", failure.log), class_="plain"
        )
    where = element("span", f" {path}{archs}", class_="dim")
    return joined(
        (
            element("p", f"[{failure.stage}] {failure.message}", where, class_="spill"),
            element("p", failure.hint, class_="dim") if failure.hint else NOTHING,
            log,
        )
    )


def _where(using: Sequence[Group], anchors: dict[int, str]) -> Iterable[Html]:
    shown = [one for one in totals(using) if one.cost and traits_of(one.cause).costly]
    if not shown:
        return
    most = shown[0].cost
    yield element("h2", "What costs most")
    yield treemap(using, anchors)
    rows = [
        element(
            "tr",
            element("td", one.cause),
            element("td", element("i", class_=f"k {one.cause}", style=_share(one, most))),
            element("td", layout.cycles(one.cost), class_="n"),
            element("td", count(one.kernels, "kernel"), class_="dim"),
        )
        for one in shown
    ]
    yield _bars(rows[:_BARS])
    if len(rows) > _BARS:
        title = count(len(rows) - _BARS, "smaller cause")
        yield element("details", element("summary", title), _bars(rows[_BARS:]), class_="plain")


def _share(one: CauseTotal, most: float) -> str:
    return f"width:{100 * one.cost / most:.1f}%"


def _bars(rows: Sequence[Html]) -> Html:
    return element("table", element("tbody", *rows), class_="causes")


def _work(using: Sequence[Group], anchors: dict[int, str], archs: Sequence[str]) -> Iterable[Html]:
    if not using:
        return
    yield element("h2", "What uses local memory")
    chips = json.dumps([[one.cause, f"({one.kernels})"] for one in totals(using)])
    yield element("div", class_="find", data_causes=chips, hidden=True)
    yield worklist(using, anchors, archs)


def _cards(using: Sequence[Group], anchors: dict[int, str]) -> Iterable[Html]:
    if not anchors:
        return
    yield element("h2", "Findings, sources and frames")
    titles = layout.titles_of(using)
    cards = (card(using[n], titles[n], at, opened=n < _OPENED) for n, at in anchors.items())
    yield element("div", joined(cards), class_="cards")
    if len(using) > len(anchors):
        left = count(len(using) - len(anchors), "more group")
        yield element(
            "p", f"{left} in the table above: lmemscope explain shows each.", class_="dim"
        )


def _launches(report: Report) -> Iterable[Html]:
    found = launches.drawn(report)
    if found:
        yield element("h2", launches.TITLE)
        yield element("pre", "\n".join(found))


def _reservation(report: Report) -> Iterable[Html]:
    found = reservation.drawn(report)
    if found:
        yield element("h2", reservation.title(report))
        yield element("ul", *(element("li", line) for line in found))


def _minor(groups: Sequence[Group], archs: Sequence[str]) -> Iterable[Html]:
    if groups:
        title = element("summary", negligible(groups))
        yield element("details", title, others(groups, archs), class_="quiet")


def _others(rest: Sequence[Group], archs: Sequence[str], *, folded: bool) -> Iterable[Html]:
    if not rest:
        return
    kernels = counted(one for group in rest for one in group.kernels)
    title = f"{kernels} in {count(len(rest), 'group')}"
    yield element("h2", "Without local memory")
    yield element(
        "details",
        element("summary", title),
        others(rest, archs),
        class_="quiet",
        open=not folded,
    )


def _sections(report: Report, using: Sequence[Group], anchors: dict[int, str]) -> Iterable[Html]:
    described = {id(using[number].kernels[0][1]) for number in anchors}
    odd = [
        disagreement(found, f"{layout.short_name(kernel.facts.demangled)} ({unit.arch}): ")
        for unit in report.units
        for kernel in unit.kernels
        if id(kernel) not in described
        for found in kernel.facts.disagreements
    ]
    if odd:
        yield element("h2", "Sources that disagree")
        yield from odd
    differing = layout.route_differences(report)
    if differing:
        yield element("h2", "NVRTC and nvcc differ")
        yield element("ul", *(element("li", line) for line in differing))
    gaps = layout.gaps(report)
    if gaps:
        yield element("h2", "Not known")
        yield element("ul", *(_gap(*one) for one in gaps))


def _gap(path: str, others: int, reason: str, stage: str) -> Html:
    more = f" and {others} more" if others else ""
    return element("li", element("code", path), f"{more}: {reason} ({stage})")
