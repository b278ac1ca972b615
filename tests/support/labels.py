"""The labels of tests/corpus/labelled/*.cu: what a person found out about each kernel, as data.

Each kernel is preceded by one comment that begins with ``/* labels`` and holds TOML::

    /* labels
    [[find]]                      # one for each object, spill, slow path, ... of the kernel
    cause = "dynamic-index"       # or a list, where several are equally true
    object = "window"             # as a user would write it ("s.a.b"); left out: it has no name
    type = "float[44]"            # of the object or the member; or a list
    size = 176                    # bytes of that type
    declared = "window"           # marker: the source line that carries //@window
    lines = ["write", "read"]     # markers of all lines whose accesses are accesses of this object
    primary = ["read"]            # markers of the lines that may be the line of the finding
    index = ["[i % 44]"]          # acceptable expressions; empty: none is to be shown
    sources = ["loop-counter run-time"]   # that must be named; "a | b": in one of two spellings
    optional = []                 # that may be named
    uniformity = "uniform"        # or a list
    also = []                     # further causes that keep the same object in memory
    archs = ["sm_75", "sm_80"]    # left out: all of them
    instance = "ring<float, 40>"  # of a template; left out: all of them
    */

What is left out is not scored. A kernel without local memory in the end says ``clean = true``, or
``promoted = ["name", ...]`` where its objects are in PTX only ("" for one that has no name);
``promoted_archs`` limits that to some architectures. ``experiment_frame`` is the stack frame that
stays when the file is compiled with ``-DEXPERIMENT``, which removes the causes: 0 if left out.

A marker is looked for from its label to the next label, then in the whole file.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LABELLED = Path(__file__).parents[1] / "corpus" / "labelled"
ARCHS = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")
_BEGIN = re.compile(r"/\*\s*labels\b(.*?)\*/", re.DOTALL)
_CALLED = re.compile(r"(\w+)\s*\(")
_MARKERS = re.compile(r"//\s*(@\w+(?:[ ,]+@\w+)*)")
_INDEXED = ("object", "type", "size", "declared", "lines", "primary", "sources", "uniformity")


class LabelError(Exception):
    """A label that cannot be read; the message names file, kernel and key."""


@dataclass(frozen=True, slots=True)
class Find:
    """What is to be found, once or in several copies; None where nothing is asked.

    Attributes:
        causes: the acceptable ones.
        object, type, size: of the variable; bytes.
        declared: the line of its declaration.
        lines: all lines with accesses.
        primary: lines that the finding may point at.
        index: acceptable expressions.
        sources, optional: of the index, as `tests.support.scoring` spells them.
        uniformity: the acceptable ones.
        also: further causes that keep the object in memory.
        archs: where this holds.
        instance: of the template, or None for all.
    """

    causes: tuple[str, ...]
    object: str | None
    type: tuple[str, ...] | None
    size: int | None
    declared: int | None
    lines: frozenset[int] | None
    primary: frozenset[int] | None
    index: tuple[str, ...] | None
    sources: frozenset[str] | None
    optional: frozenset[str]
    uniformity: tuple[str, ...] | None
    also: frozenset[str]
    archs: tuple[str, ...]
    instance: str | None


@dataclass(frozen=True, slots=True)
class Label:
    """All that is known about one kernel.

    Attributes:
        file, kernel: the kernel's plain name: no namespace, no template arguments.
        finds: what keeps it in local memory.
        promoted: objects that are in PTX alone, on ``promoted_archs``.
        experiment_frame: bytes of frame that stay under ``-DEXPERIMENT``.
    """

    file: Path
    kernel: str
    finds: tuple[Find, ...]
    promoted: tuple[str, ...]
    promoted_archs: tuple[str, ...]
    experiment_frame: int

    def expected(self, arch: str, instance: str) -> tuple[Find, ...]:
        """The finds of an architecture and an instance, such as ``ring<float, 40>``."""
        plain = instance.replace(" ", "")
        return tuple(
            find for find in self.finds if arch in find.archs and find.instance in (None, plain)
        )


@dataclass(frozen=True, slots=True)
class _Section:
    """A kernel's label with the text that its markers are first looked for in."""

    file: Path
    kernel: str
    data: Mapping[str, Any]
    inside: Mapping[str, frozenset[int]]
    outside: Mapping[str, frozenset[int]]

    def fail(self, what: str) -> LabelError:
        return LabelError(f"{self.file.name}: {self.kernel}: {what}")

    def marked(self, marker: str) -> frozenset[int]:
        if marker in self.inside:
            return self.inside[marker]
        lines = self.outside.get(marker, frozenset())
        if len(lines) != 1:
            raise self.fail(f"the marker @{marker} is on {len(lines)} lines")
        return lines


def files() -> list[Path]:
    """The labelled files."""
    return sorted(LABELLED.glob("*.cu"))


def read(file: Path) -> list[Label]:
    """The labels of a file, one for each of its kernels.

    Raises:
        LabelError: a kernel without a label, a label without a kernel, or a key that is not known.
    """
    text = file.read_text(encoding="utf-8")
    starts = [(match.start(), match.group(1)) for match in _BEGIN.finditer(text)]
    kernels = list(_kernels(text))
    ends = [*(start for start, _ in starts[1:]), len(text)][: len(starts)]
    everywhere = _markers(text, 0, len(text))
    labels = []
    labelled = set()
    for (start, toml), end in zip(starts, ends, strict=True):
        names = [(at, name) for at, name in kernels if start < at < end]
        if len(names) != 1:
            line = text.count("\n", 0, start) + 1
            raise LabelError(f"{file.name}:{line}: a label of the kernels {[n for _, n in names]}")
        labelled.add(names[0][0])
        try:
            data = tomllib.loads(toml)
        except tomllib.TOMLDecodeError as error:
            raise LabelError(f"{file.name}: {names[0][1]}: {error}") from error
        inside = _markers(text, start, end)
        labels.append(_label(_Section(file, names[0][1], data, inside, everywhere)))
    for at, name in kernels:
        if at not in labelled:
            raise LabelError(f"{file.name}: {name} has no label")
    return labels


def _kernels(text: str) -> Iterator[tuple[int, str]]:
    """Offsets and names of the kernels that a text defines."""
    bare = re.sub(r"//[^\n]*|/\*.*?\*/", lambda m: " " * len(m.group()), text, flags=re.DOTALL)
    for match in re.finditer(r"(\btemplate\s+)?\b__global__\b", bare):
        if match.group(1):
            continue  # an explicit instantiation
        at = match.end()
        while (called := _CALLED.search(bare, at)) is not None:
            at = _closed(bare, called.end())
            if not called.group(1).startswith("__"):
                if not bare[at:].lstrip().startswith(";"):
                    yield match.start(), called.group(1)
                break


def _closed(text: str, at: int) -> int:
    """The offset behind the parenthesis that closes the one before ``at``."""
    depth = 1
    while depth and at < len(text):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at


def _markers(text: str, start: int, end: int) -> dict[str, frozenset[int]]:
    first = text.count("\n", 0, start) + 1
    found: dict[str, set[int]] = {}
    for number, line in enumerate(text[start:end].split("\n"), first):
        for match in _MARKERS.finditer(line):
            for name in re.findall(r"@(\w+)", match.group(1)):
                found.setdefault(name, set()).add(number)
    return {name: frozenset(lines) for name, lines in found.items()}


def _label(section: _Section) -> Label:
    data = dict(section.data)
    finds = tuple(_find(section, find) for find in data.pop("find", []))
    promoted = tuple(data.pop("promoted", ()))
    label = Label(
        section.file,
        section.kernel,
        finds,
        promoted,
        _archs(section, data.pop("promoted_archs", ARCHS)),
        data.pop("experiment_frame", 0),
    )
    clean = data.pop("clean", False)
    if data:
        raise section.fail(f"unknown keys: {', '.join(data)}")
    if clean == bool(finds or promoted):
        raise section.fail("a kernel is clean, or something is found or promoted")
    return label


def _find(section: _Section, given: Mapping[str, Any]) -> Find:
    data = dict(given)
    causes = _several(data.pop("cause"))
    if "dynamic-index" in causes:
        missing = [key for key in _INDEXED if key not in data]
        if missing:
            raise section.fail(f"a dynamic-index without {', '.join(missing)}")
    declared = data.pop("declared", None)
    where = section.marked(declared) if declared is not None else None
    if where is not None and len(where) != 1:
        raise section.fail(f"the declaration @{declared} is on {len(where)} lines")
    sources = data.pop("sources", None)
    uniformity = data.pop("uniformity", None)
    index = data.pop("index", None)
    instance = data.pop("instance", None)
    kind = data.pop("type", None)
    find = Find(
        causes=causes,
        object=data.pop("object", None),
        type=_several(kind) if kind is not None else None,
        size=data.pop("size", None),
        declared=next(iter(where)) if where is not None else None,
        lines=_lines(section, data.pop("lines", None)),
        primary=_lines(section, data.pop("primary", None)),
        index=_several(index) if index is not None else None,
        sources=frozenset(sources) if sources is not None else None,
        optional=frozenset(data.pop("optional", ())),
        uniformity=_several(uniformity) if uniformity is not None else None,
        also=frozenset(data.pop("also", ())),
        archs=_archs(section, data.pop("archs", ARCHS)),
        instance=instance.replace(" ", "") if instance is not None else None,
    )
    if data:
        raise section.fail(f"unknown keys: {', '.join(data)}")
    return find


def _several(value: str | list[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _lines(section: _Section, markers: str | list[str] | None) -> frozenset[int] | None:
    if markers is None:
        return None
    return frozenset().union(*(section.marked(marker) for marker in _several(markers)))


def _archs(section: _Section, given: Any) -> tuple[str, ...]:
    archs = tuple(given)
    if not set(archs) <= set(ARCHS):
        raise section.fail(f"unknown architectures: {sorted(set(archs) - set(ARCHS))}")
    return archs
