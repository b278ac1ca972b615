"""Write docs/rules/ from the rules' docstrings and examples: python -m docs.generate_rules"""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path
from typing import Any

from docs.rule_examples import BUILDS, Example, Shown, examples_of, quoted
from docs.rule_figures import BLOCK
from docs.rule_figures import TARGET as FIGURES
from lmemscope.rules import RULES
from lmemscope.rules.base import Rule

LEAD = re.compile(r"^((?:What|How|When) [a-z ]+\.)", re.MULTILINE)
"""How a paragraph of a page says what it answers."""
TARGET = Path(__file__).parent / "rules"
HEAD = """\
# Rules

Each cause has a rule. `lmemscope rules ID` shows the same text without the examples. The figures
are bytes of frames, spills and shared memory, and `LDL`/`STL` instructions of the kernel and its
callees. `with calls` is the stack including callees; `?` is unknown.
"""
WIDTH = 100
UNKNOWN = "?"
Figures = dict[str, Any]


def page(rule: Rule) -> str:
    body = LEAD.sub(r"**\1**", rule.page.partition("\n")[2].strip())
    known = json.loads(FIGURES.read_text())
    shown = [section(one, known, known["examples"][key]) for key, one in examples_of(rule.id)]
    examples = "\n".join(["## Before and after\n", *shown])
    return f"# {rule.id} {rule.cause}\n\n{rule.title}.\n\n{body}\n\n{examples}"


def section(example: Example, known: Figures, own: Figures) -> str:
    """An example as text: the kernels, a note, their figures, and what ``fix`` offers for it."""
    parts = [*_kernels(example), *([_wrapped(example.note)] if example.note else [])]
    parts.append("\n".join(table(example, known, own)))
    if own["fix"] is not None:
        parts.append(_wrapped(fix(example, own["fix"])))
    return "\n\n".join(parts) + "\n"


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _kernels(example: Example) -> list[str]:
    """Where it stands and what stands there; a kernel that stays as it is only once."""
    path = f"kernels/{example.source}"

    def block(shown: Shown) -> str:
        return f"```cuda\n{quoted(example.source, (*shown.uses, shown.kernel))}\n```"

    before = [f"In `{path}`:", block(example.before)]
    if example.after is None or example.after.kernel == example.before.kernel:
        return before
    return [*before, "After:", block(example.after)]


def table(example: Example, known: Figures, own: Figures) -> list[str]:
    """The figures; columns that would say nothing new in any row are left out."""
    rows = [(_name(example.before), own["before"])]
    if example.after is not None:
        rows.append((_name(example.after), own["after"]))
    made = (own["fix"] or {}).get("after")
    if made is not None:
        rows.append((f"`{example.before.kernel}` by {_linked(example.rewrite)}", made))
    figures = [row for _, row in rows]

    def differ(name: str, *, other: str | None = None) -> bool:
        present = [row for row in figures if name in row]
        return any(row[name] != (row[other] if other else 0) for row in present)

    columns: list[tuple[str, tuple[str, ...]]] = [
        ("registers", ("registers",)),
        ("frame", ("stack_frame",)),
    ]
    if differ("cumulative_stack", other="stack_frame"):
        columns.append(("with calls", ("cumulative_stack",)))
    if differ("spill_stores") or differ("spill_loads"):
        columns.append(("spilled st/ld", ("spill_stores", "spill_loads")))
    columns.append(("LDL/STL", ("ldl", "stl")))
    if differ("ptx_local", other="stack_frame"):
        columns.append(("PTX .local", ("ptx_local",)))
    if differ("shared"):
        columns.append(("shared", ("shared",)))
    made_by = f"{known['arch']}, CUDA {known['toolkit']['ptxas']}"
    lines = [
        f"| {made_by} | {' | '.join(name for name, _ in columns)} | findings |",
        f"|---|{'--:|' * len(columns)}---|",
    ]
    for name, row in rows:
        cells = [_cell(row, names) for _, names in columns]
        lines.append(f"| {name} | {' | '.join(cells)} | {_findings(row)} |")
    return lines


def _name(shown: Shown) -> str:
    return f"`{shown.kernel}`{BUILDS[shown.build]}"


def _cell(row: Figures, names: tuple[str, ...]) -> str:
    """A figure or two; empty where none was asked for."""
    values = [row[name] for name in names if name in row]
    return "/".join(UNKNOWN if value is None else str(value) for value in values)


def _findings(row: Figures) -> str:
    found = [f"{one['severity']} {one['name']}" for one in row.get("findings", ())]
    return ", ".join(found) or ("none" if "findings" in row else "")


def _linked(rewrites: str) -> str:
    """Rewrites with their pages."""
    return " and ".join(f"[{one}](../rewrites.md#{one})" for one in rewrites.split("+"))


def fix(example: Example, found: Figures) -> str:
    """What ``lmemscope fix`` offers for the kernel that is shown before the fix."""
    asked = f"`lmemscope fix kernels/{example.source}::{example.before.kernel} --block {BLOCK}`"
    if "verdict" not in found:
        if found["vain"]:
            tried = ", ".join(map(_linked, found["vain"]))
            return f"{asked} tries {tried} without effect."
        return f"{asked} offers no rewrite."
    text = f"{asked}: {found['summary']}."
    if found["applicability"] == "unsafe":
        text += f" Only with `--unsafe`: {found['caveat']}."
    return text


def main() -> None:
    TARGET.mkdir(exist_ok=True)
    index = [HEAD, "| rule | cause | |", "|---|---|---|"]
    for rule in RULES:
        index.append(f"| {rule.id} | [{rule.cause}]({rule.cause}.md) | {rule.title} |")
        (TARGET / f"{rule.cause}.md").write_text(page(rule))
    (TARGET / "README.md").write_text("\n".join(index) + "\n")


if __name__ == "__main__":
    main()
