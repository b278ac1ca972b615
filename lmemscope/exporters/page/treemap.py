"""A treemap of modelled cost: file, template, cause."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from lmemscope.analysis.groups import Group
from lmemscope.exporters import layout
from lmemscope.exporters.page.boxes import Box, squarified
from lmemscope.model import listed, traits_of

_AREAS = {
    "wide-map": Box(0, 0, 1160, 300),
    "narrow-map": Box(0, 0, 388, 380),
    "print-map": Box(0, 0, 690, 300),
}
"""The last one has the width of paper, so that its letters match the text's size."""
_MOST_FILES = 24
_MOST_TEMPLATES = 16
_TITLE, _MARGIN = 17.0, 2.0
_CHAR, _BOLD = 6.6, 7.4
"""Generous width of a character in pixels at 11 px, so that text is cut rather than overflowing."""
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


@dataclass(frozen=True, slots=True)
class Cell:
    """A template's cause on the map."""

    box: Box
    cause: str
    title: str
    label: str


@dataclass(frozen=True, slots=True)
class TemplateBox:
    """A template on the map; ``anchor`` is its section in the page, or None."""

    box: Box
    label: str
    anchor: str | None
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class FileBox:
    """A file on the map."""

    box: Box
    label: str
    templates: tuple[TemplateBox, ...]


@dataclass(frozen=True, slots=True)
class Map:
    """The map for one page width.

    Attributes:
        name: of its style.
        width, height: in pixels.
        label: the whole map as text.
        files: largest first; a label is empty if it does not fit.
        small: templates without a label; empty if all have one.
    """

    name: str
    width: str
    height: str
    label: str
    files: tuple[FileBox, ...]
    small: str


def treemap(groups: Sequence[Group], anchors: dict[int, str]) -> list[Map]:
    """The map for wide and narrow pages and for paper; empty if it would be a single box.

    Args:
        groups: worst first.
        anchors: section anchors, by index in ``groups``.
    """
    files = _files(groups, anchors)
    if sum(len(one.leaves) for file in files for one in file.templates) < _WORTH_A_MAP:
        return []
    label = "Cost: " + "; ".join(f"{file.path} {file.size}" for file in files)
    return [_drawn(files, area, name, label) for name, area in _AREAS.items()]


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
    """Merge groups of one template; each cause has its largest cost in any of them."""
    sizes: defaultdict[str, int] = defaultdict(int)
    for one in same:
        for leaf in _merged(one.name, [one]).leaves:
            sizes[leaf.cause] = max(sizes[leaf.cause], leaf.size)
    leaves = (_Leaf(cause, size) for cause, size in sizes.items())
    ordered = tuple(sorted(leaves, key=lambda leaf: -leaf.size))
    return _Template(same[0].name, same[0].anchor, ordered)


def _merged(name: str, templates: list[_Template]) -> _Template:
    sizes: defaultdict[str, int] = defaultdict(int)
    for one in templates:
        for leaf in one.leaves:
            sizes[leaf.cause] += leaf.size
    leaves = (_Leaf(cause, size) for cause, size in sizes.items() if size)
    return _Template(name, None, tuple(sorted(leaves, key=lambda leaf: -leaf.size)))


def _drawn(files: list[_File], area: Box, name: str, label: str) -> Map:
    small: list[_Template] = []
    boxes = squarified([file.size for file in files], area)
    drawn = tuple(_file(file, box, small) for file, box in zip(files, boxes, strict=True))
    small.sort(key=lambda one: -one.size)
    named = listed([f"{one.name} {one.size}" for one in small], _MOST_LISTED)
    return Map(name, f"{area.width:g}", f"{area.height:g}", label, drawn, named)


def _file(file: _File, box: Box, small: list[_Template]) -> FileBox:
    inner = box.inside(_TITLE if box.height > 2 * _TITLE else _MARGIN, _MARGIN)
    boxes = squarified([one.size for one in file.templates], inner)
    placed = list(zip(file.templates, boxes, strict=True))
    small += [template for template, place in placed if not _titled(place)]
    label = _fitting((file.path, file.path.rpartition("/")[2]), box, _BOLD)
    return FileBox(box, label, tuple(_template(file, *one) for one in placed))


def _titled(box: Box) -> bool:
    """Whether a template's name fits above its cells."""
    return box.height > 2 * _TITLE and _room(box, _CHAR) >= _LEAST


def _template(file: _File, template: _Template, box: Box) -> TemplateBox:
    titled = _titled(box)
    inner = box.inside(_TITLE if titled else 0, 0)
    boxes = squarified([leaf.size for leaf in template.leaves], inner)
    name = template.name
    cells = tuple(
        Cell(
            place,
            leaf.cause,
            f"{file.path}: {name}: {leaf.cause}, {leaf.size} cycles",
            _fitting((f"{leaf.cause} {leaf.size}", leaf.cause), place),
        )
        for leaf, place in zip(template.leaves, boxes, strict=True)
    )
    label = _fitting((name, name.rpartition("::")[2]), box) if titled else ""
    return TemplateBox(box, label, template.anchor, cells)


def _fitting(texts: Sequence[str], box: Box, pixels: float = _CHAR) -> str:
    """The first text that fits, else the last one cut; empty if there is no room."""
    room = _room(box, pixels)
    if room < _LEAST or box.height < _TITLE - 3:
        return ""
    fitting = next((text for text in texts if len(text) <= room), None)
    return fitting if fitting is not None else f"{texts[-1][: room - 1]}…"


def _room(box: Box, pixels: float) -> int:
    """Number of characters that fit side by side."""
    return int((box.width - 6) / pixels)
