"""What costs most: file, template, cause, by modelled cost, as static SVG."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lmemscope.analysis.groups import Group
from lmemscope.exporters import layout
from lmemscope.exporters.escape_html import NOTHING, Html, element
from lmemscope.exporters.page.boxes import Box, squarified
from lmemscope.model import traits_of

_WIDE = Box(0, 0, 1160, 300)
_NARROW = Box(0, 0, 388, 380)
_PRINTED = Box(0, 0, 690, 300)
"""As wide as paper, so that its letters are as large as the text's."""
_MOST_FILES = 24
_MOST_TEMPLATES = 16
_TITLE, _MARGIN = 17.0, 2.0
_CHAR, _BOLD = 6.6, 7.4
"""Pixels of a character at 11 px, generously: text that does not fit is cut, never spilt over."""
_LEAST = 4
_WORTH_A_MAP = 2
_MOST_LISTED = 12


@dataclass(frozen=True, slots=True)
class _Leaf:
    cause: str
    size: int


@dataclass(frozen=True, slots=True)
class _Template:
    name: str
    anchor: str | None
    leaves: tuple[_Leaf, ...]

    @property
    def size(self) -> int:
        return sum(leaf.size for leaf in self.leaves)


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    templates: tuple[_Template, ...]

    @property
    def size(self) -> int:
        return sum(one.size for one in self.templates)


def treemap(groups: Sequence[Group], anchors: dict[int, str]) -> Html:
    """The map, for wide pages and for narrow ones; nothing where it would be a single box.

    Args:
        groups: worst first.
        anchors: where the page describes a group, by its number in ``groups``.
    """
    files = _files(groups, anchors)
    if sum(len(one.leaves) for file in files for one in file.templates) < _WORTH_A_MAP:
        return NOTHING
    label = "Cost: " + "; ".join(f"{file.path} {file.size}" for file in files)
    return element(
        "figure",
        *_drawn(files, _WIDE, "wide-map", label),
        *_drawn(files, _NARROW, "narrow-map", label),
        *_drawn(files, _PRINTED, "print-map", label),
        element(
            "figcaption",
            "File, template and cause; areas are modelled cycles per warp of each template's "
            "costliest instance.",
        ),
        class_="map",
    )


def _files(groups: Sequence[Group], anchors: dict[int, str]) -> list[_File]:
    by_name: defaultdict[tuple[str, str], list[_Template]] = defaultdict(list)
    for number, group in enumerate(groups):
        leaves = tuple(
            _Leaf(one.cause, math.ceil(one.cost))
            for one in group.causes
            if traits_of(one.cause).costly
        )
        if any(leaf.size for leaf in leaves):
            made = _Template(layout.scoped(group.name), anchors.get(number), leaves)
            by_name[group.file, group.name].append(made)
    by_file: defaultdict[str, list[_Template]] = defaultdict(list)
    for (path, _), same in by_name.items():
        by_file[path].append(_costliest(same))
    files = sorted(
        (_File(path, _most(templates)) for path, templates in by_file.items()),
        key=lambda file: (-file.size, file.path),
    )
    if len(files) <= _MOST_FILES:
        return files
    rest = [one for file in files[_MOST_FILES:] for one in file.templates]
    title = f"{len(files) - _MOST_FILES} more files"
    kept = [*files[:_MOST_FILES], _File(title, (_merged(title, rest),))]
    return sorted(kept, key=lambda file: -file.size)


def _most(templates: list[_Template]) -> tuple[_Template, ...]:
    ordered = sorted(templates, key=lambda one: -one.size)
    if len(ordered) <= _MOST_TEMPLATES:
        return tuple(ordered)
    rest = ordered[_MOST_TEMPLATES:]
    kept = [*ordered[:_MOST_TEMPLATES], _merged(f"{len(rest)} more", rest)]
    return tuple(sorted(kept, key=lambda one: -one.size))


def _costliest(same: list[_Template]) -> _Template:
    """Groups of one template as one, whose causes cost what they cost the costliest of them."""
    sizes: defaultdict[str, int] = defaultdict(int)
    for one in same:
        for leaf in _merged(one.name, [one]).leaves:
            sizes[leaf.cause] = max(sizes[leaf.cause], leaf.size)
    leaves = (_Leaf(cause, size) for cause, size in sizes.items())
    ordered = tuple(sorted(leaves, key=lambda leaf: -leaf.size))
    return _Template(same[0].name, same[0].anchor, ordered)


def _merged(name: str, templates: list[_Template], anchor: str | None = None) -> _Template:
    sizes: defaultdict[str, int] = defaultdict(int)
    for one in templates:
        for leaf in one.leaves:
            sizes[leaf.cause] += leaf.size
    leaves = (_Leaf(cause, size) for cause, size in sizes.items() if size)
    return _Template(name, anchor, tuple(sorted(leaves, key=lambda leaf: -leaf.size)))


def _drawn(files: list[_File], area: Box, class_: str, label: str) -> Iterable[Html]:
    parts: list[Html] = []
    small: list[_Template] = []
    for file, box in zip(files, squarified([f.size for f in files], area), strict=True):
        parts += _file(file, box, small)
    yield element(
        "svg",
        *parts,
        viewBox=f"0 0 {area.width:g} {area.height:g}",
        class_=class_,
        role="group",
        aria_label=label,
    )
    if small:
        small.sort(key=lambda one: -one.size)
        named = ", ".join(f"{one.name} {one.size}" for one in small[:_MOST_LISTED])
        more = f" and {len(small) - _MOST_LISTED} more" if len(small) > _MOST_LISTED else ""
        yield element("p", f"Too small for a name: {named}{more}.", class_=f"{class_} dim")


def _file(file: _File, box: Box, small: list[_Template]) -> list[Html]:
    parts = [_rect(box, "f"), *_text(_texts(file.path), box, "ft", _BOLD)]
    inner = box.inside(_TITLE if box.height > 2 * _TITLE else _MARGIN, _MARGIN)
    boxes = squarified([one.size for one in file.templates], inner)
    for template, place in zip(file.templates, boxes, strict=True):
        parts.append(_template(file, template, place))
        if not _titled(place):
            small.append(template)
    return parts


def _titled(box: Box) -> bool:
    """Whether there is room for a template's name above its cells."""
    return box.height > 2 * _TITLE and _room(box, _CHAR) >= _LEAST


def _template(file: _File, template: _Template, box: Box) -> Html:
    titled = _titled(box)
    inner = box.inside(_TITLE if titled else 0, 0)
    parts: list[Html] = [_rect(box, "t")]
    if titled:
        parts += _text((template.name, template.name.rpartition("::")[2]), box, "tt")
    boxes = squarified([leaf.size for leaf in template.leaves], inner)
    for leaf, place in zip(template.leaves, boxes, strict=True):
        parts.append(
            element(
                "g",
                element("title", f"{file.path}: {template.name}: {leaf.cause}, {leaf.size} cycles"),
                _rect(place, f"c {leaf.cause}"),
                *_text((f"{leaf.cause} {leaf.size}", leaf.cause), place, "ct"),
            )
        )
    if template.anchor is None:
        return element("g", *parts)
    return element("a", *parts, href=f"#{template.anchor}")


def _rect(box: Box, class_: str) -> Html:
    return element(
        "rect",
        x=f"{box.x:.1f}",
        y=f"{box.y:.1f}",
        width=f"{max(box.width, 0.5):.1f}",
        height=f"{max(box.height, 0.5):.1f}",
        class_=class_,
    )


def _texts(path: str) -> tuple[str, str]:
    """A path, and what to show of it where there is no room."""
    return path, path.rpartition("/")[2]


def _text(texts: Sequence[str], box: Box, class_: str, pixels: float = _CHAR) -> list[Html]:
    """The first text that fits; the last one cut where none does."""
    room = _room(box, pixels)
    if room < _LEAST or box.height < _TITLE - 3:
        return []
    fitting = next((text for text in texts if len(text) <= room), None)
    shown = fitting if fitting is not None else f"{texts[-1][: room - 1]}…"
    return [element("text", shown, x=f"{box.x + 4:.1f}", y=f"{box.y + 13:.1f}", class_=class_)]


def _room(box: Box, pixels: float) -> int:
    """Characters that fit beside each other."""
    return int((box.width - 6) / pixels)
