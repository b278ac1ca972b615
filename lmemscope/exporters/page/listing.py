"""The page's tables: groups with local memory in full, the others folded and short."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lmemscope.analysis.groups import Group, Row, Span
from lmemscope.exporters import layout
from lmemscope.exporters.escape_html import NOTHING, Child, Html, element, joined
from lmemscope.model import KernelFacts

_HEADS = ("kernel", "verdict", "cost", "frame", "spill st/ld", "LDL/STL", "registers", "arch")
_FIRST_FIGURE, _LAST_FIGURE = 2, 6
_INSTANCE = "instance"


def worklist(groups: Sequence[Group], anchors: dict[int, str], all_archs: Sequence[str]) -> Html:
    """Groups that use local memory, a row each.

    Args:
        groups: worst first.
        anchors: where the page describes a group, by its number in ``groups``.
        all_archs: of the report; a single one needs no column.
    """
    titles = layout.titles_of(groups)
    rows = (
        _group_row(number, group, titles[number], anchors, all_archs)
        for number, group in enumerate(groups)
    )
    return _table(_HEADS if len(all_archs) > 1 else _HEADS[:-1], rows)


def instances(group: Group) -> Html:
    """The kernels of one group, a row each, told apart by their template arguments."""
    rows = []
    with_arch = len(group.archs) > 1
    for label, row in zip(layout.labels(group), group.kernels, strict=True):
        unit, kernel = row
        full = kernel.facts.demangled
        where = element("small", unit.input) if unit.input != group.file else NOTHING
        cell = element("td", element("code", label), where, class_="name", title=full)
        rows.append(
            element(
                "tr",
                cell,
                _verdict(row),
                *_figures([row]),
                _arch([unit.arch], group.archs),
            )
        )
    return _table((_INSTANCE, *(_HEADS[1:] if with_arch else _HEADS[1:-1])), rows)


def others(groups: Sequence[Group], all_archs: Sequence[str]) -> Html:
    """Groups without local memory: template, instances, registers, file."""
    titled = zip(groups, layout.titles_of(groups), strict=True)
    heads = ("kernel", "verdict", "registers", *(("arch",) if len(all_archs) > 1 else ()))
    return _table(heads, (_short_row(*one, all_archs) for one in titled))


def _table(heads: Sequence[str], rows: Iterable[Html]) -> Html:
    figures = {*_HEADS[_FIRST_FIGURE : _LAST_FIGURE + 1]}
    cells = (
        element(
            "th",
            element("button", head, type="button"),
            scope="col",
            class_="n" if head in figures else None,
        )
        for head in heads
    )
    return element(
        "table",
        element("thead", element("tr", *cells)),
        element("tbody", joined(rows)),
        class_="rows",
    )


def _group_row(
    number: int, group: Group, title: str, anchors: dict[int, str], all_archs: Sequence[str]
) -> Html:
    name = element("b", title)
    anchor = anchors.get(number)
    linked = name if anchor is None else element("a", name, href=f"#{anchor}")
    return element(
        "tr",
        element("td", linked, times(group), _file(group), class_="name", title=group.name),
        element(
            "td", group.verdict.text, class_=f"verdict {group.verdict.kind}", data_v=f"{number:06}"
        ),
        *_figures(group.kernels),
        _arch(group.archs, all_archs),
        data_g=anchor,
        data_c=" ".join(layout.distinct(one.cause for one in group.causes)),
        data_o=_objects(group),
    )


def _objects(group: Group) -> str | None:
    """Its variables, for the filter."""
    names = layout.distinct(one.object for one in group.causes if one.object is not None)
    return " ".join(names) or None


def _file(group: Group) -> Html:
    file = layout.file_of(group)
    return element("small", layout.short_path(file), title=file)


def times(group: Group) -> Html:
    """``×12``."""
    said = layout.times(group)
    return element("span", said, class_="x") if said else NOTHING


def _short_row(group: Group, title: str, all_archs: Sequence[str]) -> Html:
    full = [kernel.facts.demangled for _, kernel in group.kernels]
    inner: list[Child] = [element("span", title, title=full[0])]
    shown = layout.labels(group)
    inner += [times(group), _file(group)]
    if group.instances > 1:
        listed = element("ul", *(element("li", label) for label in layout.distinct(shown)))
        inner.append(element("details", element("summary", "instances"), listed))
    registers = _span(kernel.facts.registers for _, kernel in group.kernels)
    return element(
        "tr",
        element("td", *inner, class_="name"),
        element("td", group.verdict.text, class_=f"verdict {group.verdict.kind}"),
        _figure(
            "registers", registers, _known(kernel.facts.registers for _, kernel in group.kernels)
        ),
        _arch(group.archs, all_archs),
        data_c=" ".join(layout.distinct(one.cause for one in group.causes)) or None,
        data_o=_objects(group),
    )


def _verdict(row: Row) -> Html:
    _, kernel = row
    return element("td", kernel.verdict.text, class_=f"verdict {kernel.verdict.kind}")


def _figures(rows: Sequence[Row]) -> list[Html]:
    facts = [kernel.facts for _, kernel in rows]
    costs = _known(round(one.cost) if one.cost is not None else None for one in facts)
    return [
        _figure("cost", layout.costs(facts), costs),
        _figure(
            "frame", _span(one.stack_frame for one in facts), _known(f.stack_frame for f in facts)
        ),
        _figure("spill st/ld", _spills(facts), _known(one.spill_bytes for one in facts)),
        _figure(
            "LDL/STL", layout.sites(rows), _known(f.sass.count if f.sass else None for f in facts)
        ),
        _figure(
            "registers", _span(one.registers for one in facts), _known(f.registers for f in facts)
        ),
    ]


def _figure(label: str, shown: str, values: list[int]) -> Html:
    """A cell that sorts by the largest of its values; what is not known sorts first."""
    text = "–" if shown in ("0", "0/0", "-") else shown
    dim = " dim" if text in ("–", "?") else ""
    return element("td", text, class_=f"n{dim}", data_v=max(values, default=-1), data_l=label)


def _spills(facts: Sequence[KernelFacts]) -> str:
    stores = _span(one.all_spill_stores for one in facts)
    loads = _span(one.all_spill_loads for one in facts)
    return f"{stores}/{loads}" if stores != "?" or loads != "?" else "?"


def _span(values: Iterable[int | None]) -> str:
    known = _known(values)
    return str(Span(min(known), max(known))) if known else "?"


def _known(values: Iterable[int | None]) -> list[int]:
    return [value for value in values if value is not None]


def _arch(archs: Sequence[str], of: Sequence[str]) -> Html:
    """A cell where there is more than one architecture to tell apart."""
    if len(of) == 1:
        return NOTHING
    every = len(archs) == len(of)
    return element("td", f"all {len(of)}" if every else ", ".join(archs), class_="arch")
