"""A report in Markdown for pull requests and issues: a narrow table, with folded details.

Its size is bounded: what does not fit is counted, and the HTML page has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lmemscope.analysis.groups import Group, counted, groups
from lmemscope.analysis.selection import negligible, parted
from lmemscope.exporters import launches, layout, proven, reservation
from lmemscope.exporters.escape_markdown import (
    Markdown,
    Part,
    block,
    code,
    constant,
    document,
    line,
    prose,
    summary,
    table,
)
from lmemscope.exporters.explanation import frame_label, merged
from lmemscope.exporters.formats import Presentation
from lmemscope.exporters.link_markdown import linked_programs
from lmemscope.exporters.occupancy_text import occupancy_said
from lmemscope.model import (
    Advice,
    Failure,
    Finding,
    FunctionFacts,
    KernelFacts,
    KernelReport,
    Report,
    UnitReport,
    count,
    plural,
    verdict_kind,
)

_MADE = {"binary": "read from", "log": "read from", "ptx": "assembled from"}
"""How a unit was made, where no front end compiled it."""
_BAR = 32
_SHOWN = 30
_INSTANCES = 12
_LINES = 12
_LISTED = 20
_LOG_LINES = 20
_TREE_LINES = 60
_OVER = 4
"""A name that exceeds the limit by no more than this is not broken."""
_NAME, _VERDICT, _PATH = 40, 110, 44

_EMPTY = constant("")
_BREAK = constant("<br>")
_OPEN, _CLOSE = constant("<details>"), constant("</details>")
_HEADS = ("", "kernel", "verdict", "cost:", "frame:", "LDL/STL:")


def render(report: Report, how: Presentation) -> str:
    """The complete report for GitHub; it folds what a terminal would omit."""
    del how
    return document(_report(report))


def _report(report: Report) -> Iterable[Markdown]:
    found = groups(report)
    using, minor, rest = parted(found)
    yield constant("# Local memory report")
    yield _EMPTY
    yield line(f"{layout.summary(report)}.")
    yield from _bounded([line(f"Note: {note}.") for note in report.notes], "note", apart=True)
    if report.default_arch:
        yield _EMPTY
        yield line(f"Architecture {report.default_arch}.")
    yield from _table(using)
    if minor:
        yield from (_EMPTY, line(f"{negligible(minor)}."))
    yield from _without(rest)
    yield from linked_programs(report)
    failed = layout.failures(report)
    if failed:
        yield from (_EMPTY, constant("## Not analysed"), _EMPTY)
        for one in failed[:_LISTED]:
            yield from _failure(*one)
        yield from _more(len(failed) - _LISTED, "input")
    if using:
        yield from (_EMPTY, constant("## Details"), _EMPTY)
        titles = layout.titles_of(using)
        for group, title in zip(using[:_SHOWN], titles, strict=False):
            yield from _details(group, title)
    yield from _launches(report)
    yield from _section(reservation.title(report), map(line, reservation.drawn(report)))
    yield from _section("Sources that disagree", _disagreements(report, using[:_SHOWN]))
    yield from _section("NVRTC and nvcc differ", map(line, layout.route_differences(report)))
    yield from _section("Not known", _gaps(report))
    tools = layout.routes(report)
    yield _EMPTY
    yield line(
        constant("<sub>"),
        f"lmemscope {report.version}{'; ' + tools if tools else ''}. Sizes are bytes per "
        "thread; LDL/STL are instruction counts; cost is the modelled number of "
        "multiprocessor cycles that local memory takes per warp.",
        constant("</sub>"),
    )


def _launches(report: Report) -> Iterable[Markdown]:
    found = launches.drawn(report)
    if found:
        yield from (_EMPTY, line(constant("## "), launches.TITLE), _EMPTY)
        yield from block(launches.bounded(found, _TREE_LINES))


def _table(using: Sequence[Group]) -> Iterable[Markdown]:
    if not using:
        return
    titles = layout.titles_of(using, _NAME)
    every = {arch for group in using for arch in group.archs}
    rows = (
        (
            verdict_kind(group.verdict.kind).mark,
            line(
                *_broken(title),
                layout.times(group),
                _BREAK,
                code(layout.short_path(layout.place_of(*_worst(group)), _PATH)),
                *((_BREAK, ", ".join(group.archs)) if len(group.archs) < len(every) else ()),
            ),
            _ended(group.verdict.text, _VERDICT),
            layout.costs([kernel.facts for _, kernel in group.kernels]),
            "?" if group.frame is None else str(group.frame),
            layout.sites([kernel.facts for _, kernel in group.kernels]),
        )
        for group, title in zip(using[:_SHOWN], titles, strict=False)
    )
    yield from (_EMPTY, *table(_HEADS, rows))
    yield from _more(len(using) - _SHOWN, "group", " with local memory, in the HTML report")


def _broken(name: str) -> Iterable[Markdown]:
    """A name broken into lines in its cell: GitHub does not wrap code, which would be too wide."""
    while len(name) > _NAME + _OVER:
        argument = name.rfind(", ", 0, _NAME) + 2
        end = argument if argument >= 2 else _NAME + _OVER
        yield code(name[:end].rstrip())
        yield _BREAK
        name = name[end:]
    yield code(name)


def _without(rest: Sequence[Group]) -> Iterable[Markdown]:
    """Kernels that need no attention, folded: names and numbers."""
    if not rest:
        return
    title = f"{counted(one for group in rest for one in group.kernels)} without local memory"
    yield from (_EMPTY, _OPEN, summary(title), _EMPTY)
    rows = (
        (
            verdict_kind(group.verdict.kind).mark,
            line(code(called), layout.times(group)),
            code(layout.short_path(layout.file_of(group), _PATH)),
            _ended(group.verdict.text, _VERDICT),
        )
        for group, called in zip(rest[:_SHOWN], layout.titles_of(rest), strict=False)
    )
    yield from table(("", "kernel", "file", "verdict"), rows)
    yield from _more(len(rest) - _SHOWN, "group", ", in the HTML report")
    yield from (_EMPTY, _CLOSE)


def _details(group: Group, title: str) -> Iterable[Markdown]:
    unit, kernel = group.kernels[0]
    facts = kernel.facts
    yield _OPEN
    times = layout.times(group)
    yield summary(f"{times}, {unit.arch}: {kernel.verdict.text}", bold=title)
    yield _EMPTY
    worst = "worst instance" if len(group.kernels) > 1 else "signature"
    yield _item(f"{worst}: ", code(facts.demangled))
    yield _item("symbol: ", code(facts.name))
    how = _MADE.get(unit.frontend, f"compiled by {unit.frontend} from")
    yield _item(f"{how} ", code(layout.place_of(unit, facts)))
    yield _item(_figures(facts))
    yield from _sites(facts)
    yield from map(_callee, facts.callees[:_LISTED])
    yield from _frame(kernel)
    advice = layout.shown_once(kernel.findings)
    for finding, (fresh, repeated) in zip(kernel.findings, advice, strict=True):
        yield from _finding(finding, fresh, repeated=repeated)
    for found in facts.disagreements:
        yield _item(f"⚠️ sources disagree on {found.quantity}: {found.said}")
    yield from _source_lines(facts)
    yield from _instances(group)
    yield from (_EMPTY, _CLOSE, _EMPTY)


def _figures(facts: KernelFacts) -> str:
    stack = layout.number(facts.cumulative_stack) if facts.stack_known else "not statically known"
    figures = [
        f"registers {layout.number(facts.registers)}",
        f"frame {layout.number(facts.stack_frame)} B",
        f"stack with calls {stack}",
    ]
    if facts.all_spill_stores or facts.all_spill_loads:
        spills = layout.pair(facts.all_spill_stores, facts.all_spill_loads)
        figures.append(f"spill st/ld {spills}")
    if facts.sass is not None:
        figures.append(f"LDL/STL {layout.pair(facts.sass.load_sites, facts.sass.store_sites)}")
    if facts.ptx is not None and facts.ptx.local_bytes:
        figures.append(f"PTX .local {facts.ptx.local_bytes} B")
    if facts.occupancy is not None:
        figures.append(occupancy_said(facts.occupancy))
    return ", ".join(figures)


def _sites(facts: KernelFacts) -> Iterable[Markdown]:
    if facts.sites is None:
        return
    for label, share in (
        ("spill", facts.sites.spill),
        ("local objects", facts.sites.local_object),
        ("unknown", facts.sites.unknown),
    ):
        if share.count:
            yield _item(
                f"{label}: {count(share.load_sites, 'load')} ({share.load_bytes} B) and "
                f"{count(share.store_sites, 'store')} ({share.store_bytes} B) at "
                "instruction sites"
            )


def _source_lines(facts: KernelFacts) -> Iterable[Markdown]:
    if not facts.lines:
        return
    rows = (
        (
            code(f"{layout.short_path(use.location.file)}:{use.location.line}"),
            use.kind,
            f"{use.sites.load_sites} ({use.sites.load_bytes} B)",
            f"{use.sites.store_sites} ({use.sites.store_bytes} B)",
        )
        for use in facts.lines[:_LINES]
    )
    yield from (_EMPTY, *table(("line", "what", "loads:", "stores:"), rows))
    yield from _more(len(facts.lines) - _LINES, "line")


def _instances(group: Group) -> Iterable[Markdown]:
    if len(group.kernels) == 1:
        return
    shown = zip(layout.labels(group)[:_INSTANCES], group.kernels, strict=False)
    rows = (
        (
            code(label),
            unit.arch,
            layout.costs([kernel.facts]),
            layout.number(kernel.facts.stack_frame),
            layout.number(kernel.facts.registers),
        )
        for label, (unit, kernel) in shown
    )
    yield from (_EMPTY, *table(("instance", "arch", "cost:", "frame:", "registers:"), rows))
    yield from _more(len(group.kernels) - _INSTANCES, "instance")


def _frame(kernel: KernelReport) -> Iterable[Markdown]:
    """The frame map: the owner of each range, and the layout of words across a warp's lanes."""
    facts = kernel.facts
    if not facts.frame or not facts.stack_frame:
        return
    total = facts.stack_frame
    lines = []
    for part, label in merged([(part, frame_label(kernel, part)) for part in facts.frame]):
        bar = "█" * max(1, min(_BAR, round(_BAR * part.size / total)))
        lines.append(f"{part.offset:>6}  {bar:<{_BAR}}  {part.size:>6} B  {label}")
    lines += [
        "",
        "byte addresses in a warp: each 4-byte word is interleaved across lanes 0 to 31",
    ]
    for word in range(min(2, -(-total // 4))):
        cells = "".join(f"{(word * 32 + lane) * 4:<8}" for lane in range(4))
        lines.append(f"word {word}  {cells}…  {(word * 32 + 31) * 4}")
    yield from (_EMPTY, line(f"Stack frame, {total} bytes per thread:"), _EMPTY)
    yield from block(lines)


def _finding(finding: Finding, fresh: Sequence[Advice], *, repeated: bool) -> Iterable[Markdown]:
    place: Part = ""
    if finding.location is not None:
        place = line(" at ", code(f"{finding.location.file}:{finding.location.line}"))
    sure = "" if finding.confidence == "certain" else f" ({finding.confidence})"
    mark = constant("**")
    head = line(mark, f"{finding.severity} {finding.rule} {finding.name}", mark, place)
    yield from (_EMPTY, line(head, ": ", prose(finding.message), sure), _EMPTY)
    if repeated:
        yield _item("as above")
    for advice in fresh:
        yield _item(prose(proven.advice_text(advice)))
        if advice.code is not None:
            yield _EMPTY
            yield from block(advice.code.splitlines(), "cuda", indent="  ")
    if finding.fix is not None:
        yield from (_EMPTY, line(prose(proven.sentence(finding.fix))), _EMPTY)
        yield from block(proven.patch_lines(finding.fix), "diff")
    if layout.evidence(finding):
        yield from (_EMPTY, line(f"Evidence: {layout.evidence(finding)}."))


def _callee(callee: FunctionFacts) -> Markdown:
    text = ""
    if callee.ptxas is not None:
        text = (
            f": frame {layout.number(callee.ptxas.stack_frame)} B, spill "
            f"{layout.pair(callee.ptxas.spill_stores, callee.ptxas.spill_loads)}"
        )
    return _item("calls ", code(callee.demangled), f" (not inlined){text}")


def _failure(failure: Failure, path: str, archs: str) -> Iterable[Markdown]:
    yield _item(code(path), f"{archs} [{failure.stage}]: {failure.message}")
    if failure.hint:
        yield line(constant("  - "), failure.hint)
    if failure.log:
        log = failure.log.strip().split("\n")
        left = len(log) - _LOG_LINES
        more = [f"… {count(left, 'more line')}"] if left > 0 else []
        yield _EMPTY
        yield from block([*log[:_LOG_LINES], *more], indent="  ")
        yield _EMPTY


def _disagreements(report: Report, described: Sequence[Group]) -> Iterable[Markdown]:
    """Disagreements in kernels without details."""
    shown = {id(group.kernels[0][1]) for group in described}
    for unit in report.units:
        for kernel in unit.kernels:
            for found in kernel.facts.disagreements if id(kernel) not in shown else ():
                name = code(layout.scoped(layout.short_name(kernel.facts.demangled)))
                yield line(name, f" ({unit.arch}): ⚠️ {found.quantity}: {found.said}")


def _gaps(report: Report) -> Iterable[Markdown]:
    for (first, *others), reason, stage in layout.gaps(report):
        more = f" and {len(others)} more" if others else ""
        yield line(code(first), f"{more}: {reason} ({stage})")


def _section(title: str, items: Iterable[Markdown]) -> Iterable[Markdown]:
    listed = list(items)
    if listed:
        yield from (_EMPTY, line(constant("## "), title), _EMPTY)
        yield from _bounded(listed, "entry")


def _bounded(items: Sequence[Markdown], noun: str, *, apart: bool = False) -> Iterable[Markdown]:
    """List items or paragraphs, up to a readable number."""
    for one in items[:_LISTED]:
        yield from (_EMPTY, one) if apart else (_item(one),)
    yield from _more(len(items) - _LISTED, noun)


def _more(left: int, noun: str, where: str = "") -> Iterable[Markdown]:
    if left > 0:
        yield from (_EMPTY, line(f"… and {left} more {plural(left, noun)}{where}."))


def _item(*parts: Part) -> Markdown:
    return line(constant("- "), *parts)


def _worst(group: Group) -> tuple[UnitReport, KernelFacts]:
    unit, kernel = group.kernels[0]
    return unit, kernel.facts


def _ended(text: str, width: int) -> str:
    """A verdict cut to a width, between two words."""
    if len(text) <= width:
        return text
    whole = text[: width - 1].rpartition(" ")[0]
    return f"{whole or text[: width - 2]} …"
