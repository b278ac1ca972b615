"""A report as one self-contained HTML page: overview, what to look at first, folded details.

The templates in `page/` produce the page, with one style sheet and one script. It loads nothing
else and works without the script. Light and dark follow the system; in print, findings are
expanded. This module supplies the templates' values. Every value is escaped by `escape_html.html`:
a template cannot write one in any other way.
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
"""Maximum number of groups with their own section; a longer page is read with the filter."""

_MOST = {"most_opened": 3, "most_notes": 3, "most_bars": 6, "most_failures": 5}
"""Number of items shown unfolded."""


def render(report: Report, how: Presentation) -> str:
    """The complete page, independent of the terminal."""
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
    """A complete page from a template, with the common style.

    Args:
        template: its file name.
        script: allowed script; without one, no script runs.
        values: for the template, besides style, script and policy.
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
    """The page templates, with the functions they may call."""
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
    """A template without indentation, which would only enlarge a page with many rows."""
    text = resources.files("lmemscope.exporters.page").joinpath(name).read_text("utf-8")
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def _policy(style: Html, script: Html | None) -> str:
    """A second line of defence behind escaping: only our own script and style, and no requests."""
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
    """Disagreements in kernels without their own section, with the kernel's name."""
    for unit in report.units:
        for kernel in unit.kernels:
            if id(kernel) not in described:
                name = layout.short_name(kernel.facts.demangled)
                for found in kernel.facts.disagreements:
                    yield found, f"{name} ({unit.arch}): "
