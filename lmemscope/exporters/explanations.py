"""The output of ``explain``: the costliest templates in full, the others in one line each."""

from __future__ import annotations

from collections.abc import Sequence

from lmemscope.analysis.groups import Group, templates
from lmemscope.exporters import layout
from lmemscope.exporters.cause_text import causes_of
from lmemscope.exporters.escape_terminal import Part, document, line, wrapped
from lmemscope.exporters.explanation import Explainer
from lmemscope.model import Report, count

_LISTED = 20
_NAME = 44
_TOGETHER = (
    "Each fix is proven alone, and some may exclude each other: `lmemscope fix` makes one patch of "
    "those that go together."
)


def explanations(
    report: Report, explainer: Explainer, *, clean: bool, most: int | None, width: int, path: str
) -> list[str]:
    """The texts, worst kernel first.

    Args:
        report: what to explain.
        explainer: lays out one template.
        clean: also explain kernels without local memory.
        most: maximum number of templates explained in full; None means all.
        width: columns.
        path: the command's input, for the command that explains another kernel.
    """
    rows = [row for row in layout.rows(report) if row[1].findings or clean]
    found = templates(rows)
    full = found if most is None else found[:most]
    texts = [explainer.explain_group(group) for group in full]
    kernels = [kernel for group in full for _, kernel in group.kernels]
    if len({one.fix.patch for own in kernels for one in own.findings if one.fix is not None}) > 1:
        texts.append(document(["", *wrapped(_TOGETHER, width, "", "")]))
    others = found[len(full) :]
    if others:
        texts.append(document(_others(others, len(found), width, path)))
    return texts


def _others(others: Sequence[Group], total: int, width: int, path: str) -> list[Part]:
    """A line for each further template, and how to see them."""
    listed = others[:_LISTED]
    names = [layout.shortened(name, _NAME) for name in layout.names_of(listed)]
    room = max(map(len, names))
    has_findings = all(kernel.findings for group in others for _, kernel in group.kernels)
    lines: list[Part] = [
        f"{count(len(others), 'more template')}{' with findings' if has_findings else ''}:"
    ]
    for name, group in zip(names, listed, strict=True):
        cost = layout.costs([kernel.facts for _, kernel in group.kernels])
        text = f"{name:<{room}}  cost {cost:>9}  {causes_of(group)}"
        lines.append(line("  ", layout.shortened(text, width - 2)))
    if len(others) > len(listed):
        lines.append(f"  … and {len(others) - len(listed)} more")
    hint = f"`lmemscope explain '{path}::NAME'` explains one of them, --top {total} all."
    return ["", *lines, *wrapped(hint, width, "", "")]
