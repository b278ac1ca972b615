"""A pull request comment on what changed: what is new, worse and better, and where.

GitHub shows at most 65,536 characters and notifies people whom a text mentions: see
`escape_markdown`. The first line is an HTML comment by which a bot finds its own comment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from msgspec.structs import replace

from lmemscope.exporters.accounts import edited, left_out, looked_at
from lmemscope.exporters.difference import number_of_kernels, unlike
from lmemscope.exporters.escape_markdown import (
    Markdown,
    block,
    code,
    constant,
    document,
    line,
    prose,
    summary,
    table,
    text,
)
from lmemscope.exporters.formats import Presentation
from lmemscope.exporters.gate_markdown import MARKS, cut
from lmemscope.exporters.layout import number, verdict_text
from lmemscope.model import (
    Advice,
    Checked,
    Difference,
    GateFailure,
    GateResult,
    KernelDifference,
    SourceLocation,
    count,
)

_MARK = constant("<!-- lmemscope -->")
_SHOWN = 25
_DETAILED = 10
_EMPTY = constant("")


def checked(found: Checked, how: Presentation) -> str:
    """The gate's result; failures that differ only in architecture share a row."""
    result = found.result
    groups = _grouped(_located(one, how) for one in result.failures)
    failed = count(len(result.failures), "failure") if result.failures else verdict_text(result)
    lines = [
        _MARK,
        line(constant("### "), MARKS[result.verdict], " Local memory: ", failed),
        _EMPTY,
    ]
    if groups:
        lines += table(("", "kernel", "found", "where", "on"), map(_row, groups[:_SHOWN]))
        lines += [_EMPTY, *_left(groups)]
    if not result.complete:
        lines += _open("Missing evidence", [piece.text for piece in result.missing])
    lines += [*_open("To review", edited(result)), *_details(groups)]
    better = _better(result)
    if better:
        rows = table(("kernel", "was → is"), better[:_SHOWN])
        lines += _fold(f"{len(better)} better or gone", [*rows, _EMPTY, *_left(better)])
    if result.complete:
        lines += _listed("missing evidence, accepted", (piece.text for piece in result.missing))
    seen = looked_at(result)
    about = (*([seen] if seen else []), *result.notes, *result.unused, *left_out(result))
    lines += _listed("what was checked, and notes", about)
    return cut(document(lines))


def difference(found: Difference, how: Presentation) -> str:
    """Two reports compared: what is worse or new first, then what is better or gone."""
    kernels = [replace(one, input=how.located(one.input)) for one in found.kernels]
    bad = _alike(one for one in kernels if one.change in ("added", "worse", "changed"))
    good = _alike(one for one in kernels if one.change in ("better", "removed"))
    worse, better = (number_of_kernels(chain.from_iterable(groups)) for groups in (bad, good))
    title = f"{count(worse, 'kernel')} new, worse or changed; {better} better or gone"
    lines = [_MARK, line(constant("### Local memory: "), title), _EMPTY]
    lines += _open("Not compared", unlike(found))
    heads = ("", "kernel", "figures", "causes", "on")
    if bad:
        lines += table(heads, map(_changed, bad[:_SHOWN]))
        lines += [_EMPTY, *_left(bad)]
        whys = dict.fromkeys(chain.from_iterable(group[0].why for group in bad[:_SHOWN]))
        lines += _listed("why", whys)
    if good:
        rows = table(heads, map(_changed, good[:_SHOWN]))
        lines += _fold(f"{better} better or gone", [*rows, _EMPTY, *_left(good)])
    tools = (f"{one.name} {one.before or '?'} → {one.after or '?'}" for one in found.toolchain)
    lines += _listed("other tools", tools)
    return cut(document(lines))


def _located(failure: GateFailure, how: Presentation) -> GateFailure:
    """A failure with file paths as in the repository."""
    place = failure.location
    if place is not None:
        place = replace(place, file=how.located(place.file))
    return replace(failure, input=how.located(failure.input), location=place)


def _grouped(failures: Iterable[GateFailure]) -> list[list[GateFailure]]:
    """Failures grouped by everything a row shows except the architecture.

    A kernel in a header is the same in every file that includes it.
    """
    groups: dict[tuple[str, ...], list[GateFailure]] = {}
    for one in failures:
        finding = one.finding
        own = (finding.cause, finding.object or "") if finding is not None else ()
        place = _place(one.location) or one.input
        key = (one.kind, place, one.kernel, one.symbol, one.found, one.expected, *own)
        groups.setdefault(key, []).append(one)
    return list(groups.values())


def _row(group: Sequence[GateFailure]) -> tuple[Markdown, ...]:
    first = group[0]
    found = prose(first.found)
    if first.kind != "new":
        found = line(found, constant("<br>expected: "), text(first.expected))
    return (
        line(constant("**"), first.kind, constant("**")),
        code(first.kernel),
        found,
        _where(group),
        text(", ".join(sorted({one.arch for one in group}))),
    )


def _where(group: Sequence[GateFailure]) -> Markdown:
    """The line to look at, and the files if there are several."""
    first = group[0]
    place = code(_place(first.location) or first.input)
    more = len({one.input for one in group}) - 1
    return (
        line(place, constant("<br>in "), code(first.input), f" and {more} more") if more else place
    )


def _place(location: SourceLocation | None) -> str:
    return f"{location.file}:{location.line}" if location is not None else ""


def _details(groups: Sequence[Sequence[GateFailure]]) -> Iterator[Markdown]:
    """The reason, and one thing to try; text shared by several failures appears once."""
    seen: set[tuple[str, str]] = set()
    for first in (group[0] for group in groups):
        finding = first.finding
        if finding is None or (finding.message, _place(first.location)) in seen:
            continue
        if len(seen) == _DETAILED:
            return
        seen.add((finding.message, _place(first.location)))
        inside = [prose(finding.message), _EMPTY]
        for advice in finding.advice[:1]:
            inside += _advice(advice)
        named = f" {finding.object}" if finding.object is not None else ""
        where = f", {_place(first.location)}" if first.location is not None else ""
        yield from _fold(f"{finding.cause}{named} in {first.kernel}{where}", inside)


def _advice(advice: Advice) -> Iterator[Markdown]:
    lead = constant("") if advice.is_none else constant("**Try:** ")
    yield line(lead, prose(advice.text))
    yield _EMPTY
    if advice.code is not None:
        yield from block(advice.code.rstrip("\n").split("\n"), "cuda")
        yield _EMPTY


def _better(result: GateResult) -> list[tuple[Markdown, Markdown]]:
    rows = []
    smaller = [(one.entry, f"{one.bytes} B") for one in result.better]
    for entry, now in (*smaller, *((entry, "gone") for entry in result.gone)):
        named = f" {entry.object}" if entry.object is not None else ""
        kernel = line(code(entry.kernel), f" ({entry.arch})")
        rows.append((kernel, text(f"{entry.cause}{named}: {entry.bytes} B → {now}")))
    return rows


def _alike(found: Iterable[KernelDifference]) -> list[list[KernelDifference]]:
    """Differences grouped by everything a row shows except the architecture."""
    groups: dict[KernelDifference, list[KernelDifference]] = {}
    for one in found:
        groups.setdefault(replace(one, arch=""), []).append(one)
    return list(groups.values())


def _changed(group: Sequence[KernelDifference]) -> tuple[Markdown, ...]:
    one = group[0]
    figures = [
        f"{what.replace('_', ' ')} {number(was)} → {number(now)}" for what, was, now in one.figures
    ]
    if one.change in ("added", "removed"):
        # If one side lacks the kernel, only the other side's nonzero figures are shown.
        there = [(what, now if one.change == "added" else was) for what, was, now in one.figures]
        figures = [f"{what.replace('_', ' ')} {number(size)}" for what, size in there if size != 0]
    causes = (*(f"+ {cause}" for cause in one.appeared), *(f"− {cause}" for cause in one.vanished))
    return (
        line(constant("**"), one.change, constant("**")),
        line(code(one.kernel), constant("<br>"), code(one.input)),
        text(", ".join(figures)),
        text(", ".join(causes)),
        text(", ".join(sorted({each.arch for each in group}))),
    )


def _open(title: str, sentences: Sequence[str]) -> Iterator[Markdown]:
    """A list that is visible without unfolding."""
    if sentences:
        yield line(constant("**"), title, constant("**"))
        yield _EMPTY
        yield from (line(constant("- "), prose(one)) for one in sentences[:_SHOWN])
        yield _EMPTY
        yield from _left(sentences)


def _listed(title: str, sentences: Iterable[str]) -> Iterator[Markdown]:
    said = [*sentences]
    if said:
        shown = [line(constant("- "), prose(one)) for one in said[:_SHOWN]]
        yield from _fold(f"{title} ({len(said)})", [*shown, *_left(said)])


def _left(rows: Sequence[object]) -> Iterator[Markdown]:
    if len(rows) > _SHOWN:
        yield text(f"… and {len(rows) - _SHOWN} more")
        yield _EMPTY


def _fold(title: str, inside: Iterable[Markdown]) -> Iterator[Markdown]:
    yield from (constant("<details>"), summary(title), _EMPTY)
    yield from inside
    yield from (constant("</details>"), _EMPTY)
