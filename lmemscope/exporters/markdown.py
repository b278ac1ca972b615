"""Markdown for pull requests and issues: a summary and one table first, details folded."""

from __future__ import annotations

from lmemscope.exporters import layout
from lmemscope.exporters.explanation import frame_label, merged
from lmemscope.exporters.formats import Presentation
from lmemscope.exporters.layout import Row
from lmemscope.model import (
    Finding,
    FunctionFacts,
    KernelFacts,
    KernelReport,
    Report,
    UnitReport,
    verdict_kind,
)

_BAR = 32


def render_markdown(report: Report) -> str:
    """The whole report, as GitHub renders it."""
    listed = layout.rows(report)
    lines = ["# Local memory report", "", f"{layout.summary(report)}."]
    for note in report.notes:
        lines += ["", f"Note: {note}."]
    if report.default_arch:
        lines += ["", f"Architecture {report.default_arch}."]
    if listed:
        lines += ["", *_table(listed)]
    failed = [unit for unit in report.units if unit.failure is not None]
    if failed:
        lines += ["", "## Not analysed", ""]
        for unit in failed:
            lines += _failure(unit)
    if listed:
        lines += ["", "## Details", ""]
        for row in listed:
            lines += _details(row)
    gaps = layout.distinct(
        f"- {_code(unit.input)}: {_text(gap.reason)} ({gap.stage})"
        for unit in report.units
        for gap in unit.gaps
    )
    if gaps:
        lines += ["", "## Not known", "", *gaps]
    tools = layout.routes(report)
    lines += [
        "",
        f"<sub>lmemscope {report.version}{'; ' + tools if tools else ''}. "
        "Sizes are bytes per thread; LDL/STL counts are instructions.</sub>",
    ]
    return "\n".join(lines) + "\n"


def render(report: Report, how: Presentation) -> str:
    """As `render_markdown`; it folds what a terminal would leave out."""
    del how
    return render_markdown(report)


def _table(listed: list[Row]) -> list[str]:
    lines = [
        "| | kernel | file | arch | registers | frame | spill st/ld | LDL/STL | PTX .local "
        "| verdict |",
        "|---|---|---|---|--:|--:|--:|--:|--:|---|",
    ]
    for unit, kernel in listed:
        facts = kernel.facts
        sass, ptx = facts.sass, facts.ptx
        cells = [
            verdict_kind(kernel.verdict.kind).mark,
            _code(layout.short_name(facts.demangled)),
            _code(_place(unit, facts)),
            unit.arch,
            layout.number(facts.registers),
            layout.number(facts.stack_frame),
            layout.pair(facts.spill_stores, facts.spill_loads),
            "?" if sass is None else layout.pair(sass.load_sites, sass.store_sites),
            "?" if ptx is None else str(ptx.local_bytes or "-"),
            _text(kernel.verdict.text),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _details(row: Row) -> list[str]:
    unit, kernel = row
    facts = kernel.facts
    title = f"<b>{_html(layout.short_name(facts.demangled))}</b>, {unit.arch}: "
    lines = ["<details>", f"<summary>{title}{_html(kernel.verdict.text)}</summary>", ""]
    lines += [
        f"- signature: {_code(facts.demangled)}",
        f"- symbol: {_code(facts.name)}",
        f"- compiled by {unit.frontend} from {_code(_place(unit, facts))}",
    ]
    stack = layout.number(facts.cumulative_stack) if facts.stack_known else "not statically known"
    lines.append(
        f"- registers {layout.number(facts.registers)}, "
        f"frame {layout.number(facts.stack_frame)} B, stack with calls {stack}"
    )
    if facts.sites is not None:
        for label, share in (
            ("spill", facts.sites.spill),
            ("local objects", facts.sites.local_object),
            ("unknown", facts.sites.unknown),
        ):
            if share.load_sites or share.store_sites:
                lines.append(
                    f"- {label}: {layout.count(share.load_sites, 'load')} "
                    f"({share.load_bytes} B) and {layout.count(share.store_sites, 'store')} "
                    f"({share.store_bytes} B) at instruction sites"
                )
    lines += [_callee(callee) for callee in facts.callees]
    lines += _frame(kernel)
    for finding in kernel.findings:
        lines += _finding(finding)
    for found in facts.disagreements:
        values = ", ".join(f"{source} says {value}" for source, value in found.values)
        lines.append(f"- ⚠️ sources disagree on {_text(found.quantity)}: {values}")
    if facts.lines:
        lines += ["", "| line | what | loads | stores |", "|---|---|--:|--:|"]
        lines += [
            f"| {_code(f'{use.location.file}:{use.location.line}')} | {use.kind} "
            f"| {use.sites.load_sites} ({use.sites.load_bytes} B) "
            f"| {use.sites.store_sites} ({use.sites.store_bytes} B) |"
            for use in facts.lines
        ]
    return [*lines, "", "</details>", ""]


def _frame(kernel: KernelReport) -> list[str]:
    """The frame map: who owns which bytes, and how words lie across the lanes of a warp."""
    facts = kernel.facts
    if not facts.frame or not facts.stack_frame:
        return []
    total = facts.stack_frame
    lines = ["", f"Stack frame, {total} bytes per thread:", "", "```text"]
    for part, label in merged([(part, frame_label(kernel, part)) for part in facts.frame]):
        bar = "█" * max(1, min(_BAR, round(_BAR * part.size / total)))
        lines.append(f"{part.offset:>6}  {bar:<{_BAR}}  {part.size:>6} B  {label}")
    lines += [
        "",
        "in the memory of a warp: lane 0, lane 1, …, lane 31 hold each 4-byte word in turn",
    ]
    for word in range(min(2, -(-total // 4))):
        cells = "".join(f"{(word * 32 + lane) * 4:<8}" for lane in range(4))
        lines.append(f"word {word}  {cells}…  {(word * 32 + 31) * 4}")
    return [*lines, "```"]


def _finding(finding: Finding) -> list[str]:
    place = (
        f" at {_code(f'{finding.location.file}:{finding.location.line}')}"
        if (finding.location is not None)
        else ""
    )
    lines = ["", f"**{finding.severity} {finding.rule} {finding.name}**{place}: {finding.message}"]
    if finding.confidence != "certain":
        lines[-1] += f" ({finding.confidence})"
    lines.append("")
    for advice in finding.advice:
        lines.append(f"- {_text(advice.text)}")
        if advice.code is not None:
            lines += ["", "  ```cuda", *(f"  {line}" for line in advice.code.splitlines()), "  ```"]
    if finding.evidence:
        lines += ["", f"Evidence: {_text(layout.evidence(finding))}."]
    return lines


def _callee(callee: FunctionFacts) -> str:
    text = f"- calls {_code(callee.demangled)} (not inlined)"
    if callee.ptxas is not None:
        text += (
            f": frame {layout.number(callee.ptxas.stack_frame)} B, spill "
            f"{layout.pair(callee.ptxas.spill_stores, callee.ptxas.spill_loads)}"
        )
    return text


def _failure(unit: UnitReport) -> list[str]:
    failure = unit.failure
    assert failure is not None
    lines = [f"- {_code(unit.input)} [{failure.stage}]: {_text(failure.message)}"]
    if failure.hint:
        lines.append(f"  - {_text(failure.hint)}")
    if failure.log:
        fence = "```"
        while fence in failure.log:
            fence += "`"
        body = [f"  {line}" for line in failure.log.strip().splitlines()]
        lines += ["", f"  {fence}text", *body, f"  {fence}", ""]
    return lines


def _place(unit: UnitReport, facts: KernelFacts) -> str:
    if facts.location is None:
        return unit.input
    return f"{facts.location.file}:{facts.location.line}"


def _code(text: str) -> str:
    """Inline code; a table cell ends at a bar even inside code."""
    return f"`{text.replace('`', chr(39)).replace('|', chr(92) + '|')}`"


def _text(text: str) -> str:
    escaped = text
    for char in "\\`*_[]<>|#":
        escaped = escaped.replace(char, f"\\{char}")
    return escaped


def _html(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
