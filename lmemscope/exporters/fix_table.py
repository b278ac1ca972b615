"""The output of ``fix`` for people: a table per object, and the best rewrite as a patch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import LiteralString

from lmemscope.analysis.leaving import leave_reason
from lmemscope.exporters.escape_terminal import Part, Shown, document, line, styled, wrapped
from lmemscope.exporters.formats import Presentation
from lmemscope.exporters.layout import short_name
from lmemscope.exporters.occupancy_text import block_said, percent
from lmemscope.exporters.proven import ROUNDING, factor
from lmemscope.exporters.text_table import padded
from lmemscope.model import DeclinedRewrite, FixReport, Trial, Untried, count, listed
from lmemscope.model.fix import NOTICED

_WIDTH = 100
_ERROR = 70
_SAID = {
    "removed": "removed",
    "reduced": "reduced",
    "no-effect": "no effect",
    "worse": "worse",
    "failed": "not compiled",
}
_HEAD = (
    *("", "rewrite", "", "frame", "LDL/STL", "spills", "regs", "shared", "code", "warps"),
    "speed",
)
_FIRST_FIGURE = 3
_COLORS: dict[str, LiteralString] = {
    "removed": "32",
    "reduced": "36",
    "no-effect": "2",
    "worse": "31",
    "failed": "2",
}


@dataclass(frozen=True, slots=True)
class _Group:
    """All trials for one target, or for several targets that have the same edits.

    Attributes:
        trials: for the kernel with the largest frame, best first.
        kernels: names of all kernels that contain the target.
        every: the trials for all kernels.
    """

    trials: Sequence[Trial]
    kernels: Sequence[str]
    every: Sequence[Trial]


def render(report: FixReport, how: Presentation) -> str:
    """Tables, what could not be tried, and the patch that is offered."""
    color, columns = how.color, min(how.width or _WIDTH, 120)
    parts: list[Part] = []
    for group in _groups(report.trials):
        parts += _table(group, columns, color=color)
        if not any(one.rank is not None for one in group.every):
            parts += _declined(group, report.declined, columns)
        parts.append("")
    for one in report.untried:
        parts += wrapped(_nothing(one), columns, later="  ")
    if report.untried:
        parts.append("")
    for left in report.chosen.left_out:
        parts += wrapped(f"Left out of the patch: {left}.", columns, later="  ")
    if report.chosen.patch:
        parts += [*_diff(report.chosen.patch, color=color), ""]
    parts += wrapped(_rounding(report.trials), columns, later="  ")
    for note in report.notes:
        parts += [*wrapped(f"note: {note}", columns, later="  ")]
    if report.notes:
        parts.append("")
    parts += wrapped(_summary(report, unsafe=how.unsafe), columns)
    return document(parts)


def _groups(trials: Iterable[Trial]) -> list[_Group]:
    """Trials grouped by target: one rewriting, whatever the number of kernels and architectures.

    Spills of two instances are on different lines, and a header's variable is in several inputs: a
    rewriting tried for one is tried for the others, and is shown once.
    """
    found: dict[tuple[object, ...], list[Trial]] = {}
    for trial in trials:
        target = (trial.input, trial.cause, trial.object, trial.place, trial.declared)
        found.setdefault(target, []).append(trial)
    alike: dict[tuple[object, ...], list[Trial]] = {}
    for own in found.values():
        first = own[0]
        edits = frozenset(
            (one.rewriting.rewrite, one.rewriting.edits, one.rewritten, one.rewritten_at)
            for one in own
        )
        alike.setdefault((first.cause, first.object, edits), []).extend(own)
    groups = []
    for every in alike.values():
        worst = max(every, key=lambda trial: (trial.before.stack_frame or 0, trial.arch))
        same = [one for one in every if _where(one) == _where(worst)]
        kernels = list(dict.fromkeys(short_name(one.kernel) for one in every))
        groups.append(_Group(same, kernels, every))
    return groups


def _where(trial: Trial) -> tuple[object, ...]:
    """A trial's kernel and finding, as a key."""
    return trial.input, trial.arch, trial.kernel, trial.fingerprint, trial.declared


def _table(group: _Group, columns: int, *, color: bool) -> list[Part]:
    first = group.trials[0]
    others = len(group.kernels) - 1
    more = f" and {count(others, 'other kernel')}" if others else ""
    head = f"{_what(first)} in {short_name(first.kernel)}{more} on {first.arch}"
    parts: list[Part] = [*(styled(one, "1", on=color) for one in wrapped(head, columns))]
    rows = [_HEAD, *(_row(trial) for trial in group.trials)]
    shown = [at for at in range(len(_HEAD)) if any(row[at] for row in rows[1:])]
    right = [n for n, at in enumerate(shown) if at >= _FIRST_FIGURE]
    for number, cells in enumerate(padded([[row[at] for at in shown] for row in rows], right)):
        made = line("  ", "  ".join(cells).rstrip())
        if number == 0:
            parts.append(styled(made, "2", on=color))
            continue
        trial = group.trials[number - 1]
        parts.append(styled(made, _COLORS[trial.verdict], on=color))
        parts += _notes(trial, group, columns)
    parts += _block(group.trials, columns)
    reason = leave_reason(group.trials)
    if reason is not None:
        parts += wrapped(f"Leaving it as it is costs little: {reason}.", columns, "  ", "  ")
    return parts


def _block(trials: Sequence[Trial], columns: int) -> Iterator[Shown]:
    """If a rewriting changes the occupancy: the block size, and the new limiter."""
    first = trials[0].before
    made = (one.after.occupancy for one in trials if one.after is not None)
    is_changed = any(held != first.occupancy for held in made)
    if is_changed and first.block is not None and first.block_from is not None:
        said = block_said(first.block, first.block_from)
        yield from wrapped(f"Warps: occupancy of {said}.", columns, "  ", "    ")


def _declined(group: _Group, declined: Sequence[DeclinedRewrite], columns: int) -> Iterator[Shown]:
    """If nothing is offered, why the cause's other rewrites propose nothing."""
    first = group.trials[0]
    own = [one for one in declined if _finding(one) == _finding(first)]
    reasons: dict[str, list[str]] = {}
    for one in own:
        if not one.is_absent:
            reasons.setdefault(one.reason, []).append(one.rewrite)
    for reason, names in reasons.items():
        yield from wrapped(f"Not tried: {', '.join(names)}: {reason}.", columns, "  ", "    ")
    absent = [one.rewrite for one in own if one.is_absent]
    if absent:
        said = f"Nothing here for: {', '.join(absent)} (docs/rewrites.md)."
        yield from wrapped(said, columns, "  ", "    ")


def _finding(one: Trial | DeclinedRewrite) -> tuple[object, ...]:
    return one.input, one.object, one.cause, one.place, one.declared


def _notes(trial: Trial, group: _Group, columns: int) -> list[Shown]:
    said = [*_remarks(trial)]
    names = [one.rewriting.rewrite for one in group.trials]
    if names.count(trial.rewriting.rewrite) > 1 or trial.rewritten is not None:
        said.insert(0, trial.summary)
    others = [*_elsewhere(trial, group)]
    if others:
        said.append(f"in the other kernels: {', '.join(others)}")
    return [part for one in said for part in wrapped(one, columns, "       ", "       ")]


def _remarks(trial: Trial) -> Iterator[str]:
    if trial.run is not None:
        took = f"{trial.run.seconds_before:.2f} → {trial.run.seconds_after:.2f} s"
        said = "the same" if trial.run.same else "different output"
        yield f"the program prints {said}: {took}"
    elif trial.rank is not None and trial.rewriting.caveat:
        yield f"unsafe: correct only if {trial.rewriting.caveat}"
    elif trial.error and trial.rank is None and not _is_plain(trial):
        text = trial.error.rpartition("error: ")[2]
        is_ours = trial.verdict != "failed" or len(text) <= _ERROR
        yield text if is_ours else f"{text[: _ERROR - 1]}…"


def _is_plain(trial: Trial) -> bool:
    """Whether a row's columns already show why it is not offered: no effect, or slower."""
    if trial.verdict == "no-effect":
        gained = trial.speed_up
        return trial.before == trial.after and (gained is None or gained <= NOTICED)
    return trial.is_offered and not trial.is_worth


def _elsewhere(trial: Trial, group: _Group) -> Iterator[str]:
    """Results of the same edits in the group's other kernels, if they differ."""
    others = [
        one.verdict
        for one in group.every
        if one.rewriting.edits == trial.rewriting.edits and _where(one) != _where(trial)
    ]
    if any(one != trial.verdict for one in others):
        for verdict, said in _SAID.items():
            if verdict in others:
                yield f"{others.count(verdict)} {said}"


def _row(trial: Trial) -> tuple[str, ...]:
    before, after = trial.before, trial.after
    rank = f"{trial.rank}." if trial.rank is not None else "-"
    head = (rank, trial.rewriting.rewrite, f"{_SAID[trial.verdict]}{_slower(trial)}")
    if after is None:
        return (*head, *([""] * (len(_HEAD) - len(head))))
    return (
        *head,
        _change(before.stack_frame, after.stack_frame),
        _change(before.sites, after.sites),
        _change(before.spills, after.spills, hide=0),
        _change(before.registers, after.registers),
        _change(before.shared, after.shared, hide=0),
        _change(before.code_bytes, after.code_bytes),
        _change(_percent(before.occupancy), _percent(after.occupancy), unit="%"),
        _speed(trial.speed_up),
    )


def _slower(trial: Trial) -> str:
    """Why an offer has no rank, if that is because of its speed."""
    if not trial.is_offered or trial.is_worth:
        return ""
    return ", slower" if (trial.speed_up or 0.0) < 1 / NOTICED else ", about as fast"


def _speed(gain: float | None) -> str:
    """A modelled speed-up; a difference too small to measure counts as none."""
    if gain is None:
        return ""
    return "about the same" if 1 / NOTICED <= gain <= NOTICED else f"× {factor(gain)}"


def _change(
    before: int | None, after: int | None, *, unit: str = "", hide: int | None = None
) -> str:
    if before is None and after is None:
        return ""
    if before == after:
        return "" if before == hide else f"{after}{unit}"
    old, new = ("?" if one is None else str(one) for one in (before, after))
    return f"{old} → {new}{unit}"


def _percent(share: float | None) -> int | None:
    return None if share is None else percent(share)


def _nothing(one: Untried) -> str:
    return f"{_what(one)} in {short_name(one.kernel)}: {one.reason}."


def _what(one: Trial | Untried) -> str:
    """A variable with its line and cause, or a cause with its line."""
    place = f" ({one.place.file}:{one.place.line})" if one.place is not None else ""
    return f"`{one.object}`{place}, {one.cause}," if one.object else f"{one.cause}{place}"


def _diff(patch: str, *, color: bool) -> Iterable[Part]:
    codes: dict[str, LiteralString] = {"+": "32", "-": "31", "@": "36"}
    for text in patch.rstrip("\n").split("\n"):
        is_name = text.startswith(("---", "+++"))
        code = "1" if is_name else codes.get(text[:1], "0")
        yield styled(text, code, on=color and code != "0")


def _rounding(trials: Iterable[Trial]) -> str:
    """Which of the offered rewrites may round differently; empty if none."""
    offered = (one for one in trials if one.rank is not None and one.rounding)
    names = dict.fromkeys(
        f"{one.rewriting.rewrite} of {f'`{one.object}`' if one.object else one.cause}"
        for one in offered
    )
    return f"{listed([*names])}: {ROUNDING}" if names else ""


def _summary(report: FixReport, *, unsafe: bool) -> str:
    kernels, using = report.kernels
    arch = f" Architecture {report.default_arch}." if report.default_arch and kernels else ""
    if not kernels:
        return "No kernel was compiled."
    if not using:
        return f"None of {count(kernels, 'kernel')} uses local memory.{arch}"
    groups = _groups(report.trials)
    offered = [any(trial.rank is not None for trial in group.trials) for group in groups]
    safe = [
        any(t.rank is not None and t.rewriting.applicability == "safe" for t in group.trials)
        for group in groups
    ]
    slower = sum(
        not has and any(trial.is_offered for trial in group.trials)
        for has, group in zip(offered, groups, strict=True)
    )
    total = len(groups) + len(report.untried)
    said = f"{count(total, 'finding')}: {sum(offered)} with a proven fix"
    if sum(offered) > sum(safe):
        said += f", {sum(safe)} of them safe"
    if slower:
        said += f"; {slower} more can be removed, but that alone is not clearly faster"
    said += "."
    if sum(offered) > sum(safe) and not unsafe:
        said += " --unsafe adds the others to the patch."
    if report.chosen.patch:
        said += " --format patch prints only the patch; --apply applies it."
    return said + arch
