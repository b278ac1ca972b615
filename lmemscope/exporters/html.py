"""One self-contained HTML page: where the bytes are, what to look at first, the rest folded.

The page is written by the templates in `page/`, with one style sheet and one script. It loads
nothing and reads well without the script. Light and dark follow the reader's system; printed,
findings are open. Here is what the templates are given. What they show of it is escaped by
`escape_html.html`, whatever it is: a template has no other way to write a value.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from collections.abc import Iterable
from importlib import resources
from typing import TYPE_CHECKING, Any

from lmemscope.analysis.groups import counted, groups, totals
from lmemscope.analysis.selection import negligible, parted
from lmemscope.exporters import launches, layout, link_text, proven, reservation
from lmemscope.exporters.escape_html import Html, html, prose, shipped, shown
from lmemscope.exporters.formats import Presentation
from lmemscope.exporters.page.annotated import frame_rows, source_lines
from lmemscope.exporters.page.listing import FIGURES, figures
from lmemscope.exporters.page.treemap import treemap
from lmemscope.model import Disagreement, Report, count, traits_of

if TYPE_CHECKING:
    from jinja2 import Environment

_DESCRIBED = 200
"""Groups that have a section of their own; a page of more is read with the filter."""

_MOST = {"most_opened": 3, "most_notes": 3, "most_bars": 6, "most_failures": 5}
"""How much of each is shown unfolded."""


def render(report: Report, how: Presentation) -> str:
    """The whole page, the same for everybody."""
    del how
    found = groups(report)
    using, minor, rest = parted(found)
    anchors = {number: f"g{number}" for number in range(min(len(using), _DESCRIBED))}
    described = {id(using[number].kernels[0][1]) for number in anchors}
    causes = totals(using)
    return page(
        "page.html",
        shipped("script.js"),
        report=report,
        compiled_for=layout.by_number(unit.arch for unit in report.units if unit.kernels),
        archs=layout.by_number(arch for group in found for arch in group.archs),
        using=using,
        minor=minor,
        rest=rest,
        clean=counted(one for group in rest for one in group.kernels),
        anchors=anchors,
        costly=[one for one in causes if one.cost and traits_of(one.cause).costly],
        maps=treemap(using, anchors),
        chips=json.dumps([[one.cause, f"({one.kernels})"] for one in causes]),
        links=link_text.link_texts(report),
        launches=launches.drawn(report),
        reserved=reservation.drawn(report),
        reserved_title=reservation.title(report),
        odd=list(_odd(report, described)),
        **_MOST,
    )


def page(template: str, script: Html | None = None, **values: Any) -> str:
    """A whole page of a template, with the style of all pages.

    Args:
        template: its file's name.
        script: that it may run; without one it runs none.
        values: that the template takes beside style, script and policy.
    """
    style = shipped("style.css")
    made = (
        templates()
        .get_template(template)
        .render(policy=_policy(style, script), style=style, script=script, **values)
    )
    return f"{made}\n"


@functools.cache
def templates() -> Environment:
    """The templates of pages, with what they may call."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    made = Environment(
        loader=FunctionLoader(_template),
        autoescape=True,
        finalize=shown,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    made.filters |= {"prose": prose, "lines": functools.partial(html, lines=True)}
    made.globals |= {
        "layout": layout,
        "proven": proven,
        "count": count,
        "negligible": negligible,
        "figures": figures,
        "figure_names": list(FIGURES),
        "source_lines": source_lines,
        "frame_rows": frame_rows,
        "launches_title": launches.TITLE,
        "links_title": link_text.TITLE,
        "links_columns": link_text.COLUMNS,
    }
    return made


def _template(name: str) -> str:
    """A template without its indentation, which a page of many rows has no use for."""
    text = resources.files("lmemscope.exporters.page").joinpath(name).read_text("utf-8")
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def _policy(style: Html, script: Html | None) -> str:
    """A second line behind the escaping: no script and no sheet but our own, and no request."""
    allowed = (
        "default-src 'none'",
        f"script-src {_source(script)}" if script is not None else "script-src 'none'",
        f"style-src-elem {_source(style)}",
        "style-src-attr 'unsafe-inline'",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return "; ".join(allowed)


def _source(text: Html) -> str:
    digest = hashlib.sha256(text.markup.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _odd(report: Report, described: set[int]) -> Iterable[tuple[Disagreement, str]]:
    """Contradictions of kernels that have no section of their own, and which kernel it is."""
    for unit in report.units:
        for kernel in unit.kernels:
            if id(kernel) not in described:
                name = layout.short_name(kernel.facts.demangled)
                for found in kernel.facts.disagreements:
                    yield found, f"{name} ({unit.arch}): "
