"""The difference between two reports as text, Markdown and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from lmemscope.exporters import escape_json, escape_terminal
from lmemscope.exporters.difference_groups import rows
from lmemscope.exporters.escape_markdown import code, constant, document, line, prose, table
from lmemscope.exporters.escape_terminal import Part
from lmemscope.exporters.formats import Presentation
from lmemscope.model import Difference, KernelDifference, ToolChange, count

_MARKS = {"added": "➕", "removed": "➖", "worse": "🟥", "better": "✅", "changed": "🔸"}


def text(difference: Difference, how: Presentation) -> str:
    """For a terminal."""
    del how
    above: list[Part] = [_tools(difference.toolchain), ""] if difference.toolchain else []
    below = [f"not compared: {one}" for one in unlike(difference)]
    return escape_terminal.document([*above, *_text(difference.kernels), *below])


def unlike(difference: Difference) -> list[str]:
    """Sentences about inputs that could not be analysed on one side."""
    said = []
    for one in difference.not_compared:
        sides = {"before": one.before, "after": one.after}
        whys = "; ".join(f"{side}: {why}" for side, why in sides.items() if why is not None)
        said.append(f"{one.input} ({one.arch}): {whys}")
    return said


def json(difference: Difference, how: Presentation) -> str:
    """The document ``lmemscope.diff/1``."""
    del how
    return escape_json.document(difference)


def _tools(tools: Sequence[ToolChange]) -> str:
    changes = (f"{tool.name} {tool.before or '?'} → {tool.after or '?'}" for tool in tools)
    return f"Toolchain: {', '.join(changes)}."


def _text(found: Sequence[KernelDifference]) -> list[Part]:
    if not found:
        return ["No kernel differs."]
    lines: list[Part] = []
    listed, others = rows(found)
    for one in listed:
        lines.append(f"{one.change}: {one.title} ({one.place})")
        lines += [f"  {what}: {was} → {now}" for what, was, now in one.figures]
        lines += [f"  + {cause}" for cause in one.appeared]
        lines += [f"  - {cause}" for cause in one.vanished]
        lines += [f"    {sentence}" for sentence in one.why]
        lines.append("")
    lines.append(f"{_counted(found)}.")
    return lines if others is None else [*lines, others]


def number_of_kernels(found: Iterable[KernelDifference]) -> int:
    """Number of kernels that differ, each counted once whatever the number of architectures."""
    each = Counter((one.input, one.kernel, one.arch) for one in found)
    # Overloads share a name.
    most: Counter[tuple[str, str]] = Counter()
    for (path, kernel, _), times in each.items():
        most[path, kernel] = max(most[path, kernel], times)
    return most.total()


def _counted(found: Sequence[KernelDifference]) -> str:
    """How many kernels differ, and on how many architectures, as text."""
    kernels = number_of_kernels(found)
    archs = len({one.arch for one in found})
    on = f" on {count(archs, 'architecture')}" if archs > 1 else ""
    return f"{count(kernels, 'kernel')} differ{'s' if kernels == 1 else ''}{on}"


def markdown(difference: Difference, how: Presentation) -> str:
    """For a pull request."""
    del how
    found, tools = difference.kernels, difference.toolchain
    below = [constant(""), line(_tools(tools))] if tools else []
    for one in unlike(difference):
        below += [constant(""), line(constant("Not compared: "), prose(one))]
    if not found:
        return document([constant("# Local memory: no kernel differs"), *below])
    listed, others = rows(found)
    below = [*([constant(""), line(prose(others))] if others is not None else []), *below]
    cells = (
        (
            _MARKS[one.change],
            code(one.title),
            code(one.inputs[0]) if len(one.inputs) == 1 else count(len(one.inputs), "file"),
            " ".join(one.archs),
            ", ".join(f"{what} {was} → {now}" for what, was, now in one.figures),
            ", ".join([*(f"+ {c}" for c in one.appeared), *(f"− {c}" for c in one.vanished)]),
        )
        for one in listed
    )
    return document(
        [
            line(constant("# Local memory: "), _counted(found)),
            constant(""),
            *table(("", "kernel", "file", "arch", "change", "causes"), cells),
            *below,
        ]
    )
