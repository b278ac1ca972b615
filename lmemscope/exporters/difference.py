"""Differences between two reports as text, Markdown and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from lmemscope.exporters import escape_json, escape_terminal
from lmemscope.exporters.escape_markdown import code, constant, document, line, row
from lmemscope.exporters.escape_terminal import Part
from lmemscope.exporters.layout import number
from lmemscope.gate.difference import KernelDifference, ToolChange
from lmemscope.model import count

SCHEMA = "lmemscope.diff/1"
_MARKS = {"added": "➕", "removed": "➖", "worse": "🟥", "better": "✅", "changed": "🔸"}


def render_difference(
    found: Sequence[KernelDifference], format_name: str, tools: Sequence[ToolChange] = ()
) -> str:
    """``table``, ``markdown`` or ``json``; ``tools`` are those that differ between the sides."""
    if format_name == "json":
        document = {
            "schema": SCHEMA,
            "toolchain": tools,
            "kernels": found,
        }
        return escape_json.document(document)
    if format_name == "markdown":
        return _markdown(found, tools)
    above: list[Part] = [_tools(tools), ""] if tools else []
    return escape_terminal.document([*above, *_text(found)])


def _tools(tools: Sequence[ToolChange]) -> str:
    changes = (f"{tool.name} {tool.before or '?'} → {tool.after or '?'}" for tool in tools)
    return f"Toolchain: {', '.join(changes)}."


def _text(found: Sequence[KernelDifference]) -> list[Part]:
    if not found:
        return ["No kernel differs."]
    lines: list[Part] = []
    for one in found:
        lines.append(f"{one.change}: {one.kernel} ({one.input}, {one.arch})")
        lines += [f"  {what}: {number(was)} → {number(now)}" for what, was, now in one.figures]
        lines += [f"  + {cause}" for cause in one.appeared]
        lines += [f"  - {cause}" for cause in one.vanished]
        lines += [f"    {sentence}" for sentence in one.why]
        lines.append("")
    lines.append(f"{_counted(found)}.")
    return lines


def _counted(found: Sequence[KernelDifference]) -> str:
    """How many kernels differ, each counted once on however many architectures."""
    each = Counter((one.input, one.kernel, one.arch) for one in found)
    # Overloads have one name.
    most: Counter[tuple[str, str]] = Counter()
    for (path, kernel, _), times in each.items():
        most[path, kernel] = max(most[path, kernel], times)
    kernels = most.total()
    archs = len({one.arch for one in found})
    on = f" on {count(archs, 'architecture')}" if archs > 1 else ""
    return f"{count(kernels, 'kernel')} differ{'s' if kernels == 1 else ''}{on}"


def _markdown(found: Sequence[KernelDifference], tools: Sequence[ToolChange]) -> str:
    below = [constant(""), line(_tools(tools))] if tools else []
    if not found:
        return document([constant("# Local memory: no kernel differs"), *below])
    lines = [
        line(constant("# Local memory: "), _counted(found)),
        constant(""),
        constant("| | kernel | file | arch | change | causes |"),
        constant("|---|---|---|---|---|---|"),
    ]
    for one in found:
        figures = ", ".join(
            f"{what} {number(was)} → {number(now)}" for what, was, now in one.figures
        )
        causes = ", ".join([*(f"+ {c}" for c in one.appeared), *(f"− {c}" for c in one.vanished)])
        names = code(one.kernel), code(one.input)
        lines.append(row((_MARKS[one.change], *names, one.arch, figures, causes)))
    return document([*lines, *below])
