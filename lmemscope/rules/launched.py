"""How many threads a kernel's blocks have: what it says itself, else what its launches say."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lmemscope.formats.demangle import plain_name, short_name
from lmemscope.formats.statements import parts_of
from lmemscope.model import KernelFacts, SourceLocation, SourceText, count
from lmemscope.rules.base import Case
from lmemscope.rules.callers import kernels_running
from lmemscope.rules.constants import meaning, number_of
from lmemscope.rules.remembered import Remembered

LARGEST_BLOCK = 1024
"""Threads of a block, at most: CUDA C++ Programming Guide, "Compute Capabilities"."""
_WARP = 32
_NAME = re.compile(r"[A-Za-z_]\w*")
_DEPTH = 4
"""How many definitions of blocks are followed."""
_ASKS = re.compile(
    r"\b(?:cudaFunc\w+|cudaOccupancy(?!MaxPotential)\w+)\s*(?:<[^;<>]*>\s*)?\([^();]*$"
)
"""A call that asks or sets something of a kernel, and does not launch it."""
_CHEVRONS = re.compile(r"<\s*<\s*<")
_ASSIGNED = re.compile(r"(?:[=?:]|\breturn)\s*(?:\([^()]*\)\s*)?[&*]?\s*$|&\s*(?:\w+\s*::\s*)*$")
"""What hands on the value behind it."""
_KEPT = re.compile(
    r"\b(?P<name>[A-Za-z_]\w*)\s*(?:\)\s*\([^;{}=]*\)\s*)?(?:=(?!=)|(?<!\))\{)"
    r"\s*\{?\s*(?:\([^()]*(?:\([^()]*\)[^()]*)*\)\s*)?&?\s*(?:\w+\s*::\s*)*$"
)
"""A variable that the value behind it is given to: ``auto k =``, ``void (*k)(int) =``, ``K k{``."""
_DECLARED = re.compile(r"\(\s*\*\s*(?:const\s+)?\w+\s*\)$")
"""``(*k)``: a pointer's declaration, or a call by it."""
_DEFINES = re.compile(r"#\s*define\s+\w+(?:\([^)]*\))?\s.*$")
_LONGEST = 300
"""Characters of such a call before the kernel's name."""
_REACH = 60
"""Lines above a launch on which its block may be put together."""
_VALUE = 200
"""Characters of a value that is followed."""
_INTEGER = re.compile(r"(\d+)[uUlL]*")


@dataclass(frozen=True, slots=True)
class Block:
    """The threads of a block.

    Attributes:
        threads: at most.
        described: where that is known from.
        is_exact: whether launches say it; of ``__launch_bounds__`` they may have fewer.
        is_dynamic: whether a launch asks for shared memory, or may.
        is_of_instance: whether a template's argument decides it: another instance has another.
        blocks: of a grid, at most; None where launches do not say it.
    """

    threads: int
    described: str
    is_exact: bool
    is_dynamic: bool = True
    is_of_instance: bool = False
    blocks: int | None = None


def block_of(case: Case) -> Block | None:
    """The block of the launches in sight, else that of ``__launch_bounds__``.

    Launches are looked for in the kernel's own file, in the source that includes it, and in the
    headers that these quote; of a function that is compiled by itself, those of the kernels there
    that run it. None where nothing says it, or where a launch's block is not a constant that can
    be read there.
    """
    if case.facts.kind != "entry":
        return _of_runners(case)
    launched = _launched(case, plain_name(case.facts.demangled), _own_arguments(case))
    bounds = case.facts.launch_bounds
    if launched is None and bounds is not None and bounds.max_threads:
        text = f"the {count(bounds.max_threads, 'thread')} of __launch_bounds__"
        is_instance = bool(_own_arguments(case))
        return Block(bounds.max_threads, text, is_exact=False, is_of_instance=is_instance)
    return launched


@dataclass(frozen=True, slots=True)
class _Launch:
    """A launch of the kernel's own instance.

    Attributes:
        shape: what stands between ``<<<`` and ``>>>``, as written.
        place: of it.
        given: what the names among its template arguments are.
    """

    shape: tuple[str, ...]
    place: SourceLocation
    given: Mapping[str, int]


def _launched(case: Case, kernel: str, own: tuple[str, ...]) -> Block | None:
    """The largest block of the launches in sight.

    Args:
        case: whose files are looked at.
        kernel: its plain name.
        own: template arguments of the instance that is meant; none are those of any.
    """
    launches = _launches(case.facts, case.sources, kernel, own)
    if launches is None:
        return None
    sizes = _sizes(case.sources, launches)
    dynamic = any(len(one.shape) > 2 and one.shape[2].strip() != "0" for one in launches)
    known = [size for size in sizes if size is not None]
    if not known or len(known) != len(sizes):
        return None
    text = f"the {count(max(known), 'thread')} that it is launched with"
    chosen = any(one.given for one in launches)
    return Block(
        max(known),
        text,
        is_exact=True,
        is_dynamic=dynamic,
        is_of_instance=chosen,
        blocks=_blocks(case, launches),
    )


def has_flat_blocks(case: Case) -> bool:
    """Whether no launch in sight has more than one dimension of threads."""
    if case.facts.kind != "entry":
        return True
    kernel, own = plain_name(case.facts.demangled), _own_arguments(case)
    launches = _launches(case.facts, case.sources, kernel, own)
    return all(
        _is_flat(one.shape[1], case.sources, one.place, _DEPTH)
        for one in launches or ()
        if one.shape[1:]
    )


def _is_flat(written: str, sources: SourceText, place: SourceLocation, depth: int) -> bool:
    """Whether a block as written has threads in x alone: ``dim3(32, 8)`` has not."""
    text = written.strip()
    shape = re.fullmatch(r"dim3\s*[({](.*)[)}]", text, re.DOTALL)
    if shape is not None:
        return all(number_of(one, sources, place) == 1 for one in [*parts_of(shape[1])][1:])
    if not depth or _NAME.fullmatch(text) is None:
        return True
    found = meaning(text, sources, place)
    if found is None:
        above = range(place.line, max(0, place.line - _REACH), -1)
        given = re.compile(rf"(?<![\w.>]){text}\s*\.\s*[yz]\s*=(?!=)")
        return not any(given.search(sources.line(place.file, number)) for number in above)
    value = found.value
    if found.type == "dim3" and (found.is_made or value.startswith("{")):
        value = f"dim3({value.strip('{}')})"
    return _is_flat(value, sources, found.place, depth - 1)


def _blocks(case: Case, launches: Iterable[_Launch]) -> int | None:
    """The most blocks of a grid that launches make; None where one of them does not say it."""
    counts = [
        _product(one.shape[0], case.sources, one.place, one.given, _DEPTH) for one in launches
    ]
    known = [number for number in counts if number is not None]
    return max(known) if known and len(known) == len(counts) else None


def sizes_in_sight(case: Case) -> frozenset[int]:
    """Threads of blocks that launches in sight give a kernel, as far as they are known."""
    if case.facts.kind != "entry":
        return frozenset()
    kernel, own = plain_name(case.facts.demangled), _own_arguments(case)
    launches = _launches(case.facts, case.sources, kernel, own)
    return frozenset(size for size in _sizes(case.sources, launches or ()) if size is not None)


def every_block(facts: KernelFacts, sources: SourceText) -> frozenset[int] | None:
    """Threads of the blocks of all launches of a kernel that its files have.

    None where a launch's block is not known, where the kernel's address or its name in quotes goes
    to whoever launches it, and where nothing in sight launches it.
    """
    kernel, own = plain_name(facts.demangled), template_arguments(short_name(facts.demangled))
    launches = _launches(facts, sources, kernel, own)
    if not launches or any(_is_quoted(kernel, one, sources) for one in _files(facts, sources)):
        return None
    sizes = _sizes(sources, launches)
    known = frozenset(size for size in sizes if size is not None)
    return known if len(known) == len(sizes) else None


def _is_quoted(kernel: str, file: str, sources: SourceText) -> bool:
    """Whether a string has a kernel's name."""
    word = re.compile(rf"(?<!\w){re.escape(kernel)}(?!\w)")
    counts = [len(word.findall(text)) for text in (sources.code(file), sources.uncommented(file))]
    return counts[0] != counts[1]


def shapes_in_sight(facts: Iterable[KernelFacts], sources: SourceText) -> Mapping[str, bool]:
    """Whether launches in sight make each warp 32 neighbours in x, by kernel with local memory.

    So do blocks of one dimension, and those with a multiple of 32 threads in x.

    Args:
        facts: of kernels.
        sources: the user's files.
    """
    asking = [
        one
        for one in facts
        if one.kind == "entry"
        and (one.uses_local_memory or (one.ptx is not None and one.ptx.local_bytes))
    ]
    found = {one.name: _has_rows(one, sources) for one in asking}
    return {name: rows for name, rows in found.items() if rows is not None}


def _has_rows(facts: KernelFacts, sources: SourceText) -> bool | None:
    """Whether all launches in sight of a kernel do; None where they do not say it."""
    own = template_arguments(short_name(facts.demangled))
    launches = _launches(facts, sources, plain_name(facts.demangled), own)
    shapes = [
        _extents(one.shape[1], sources, one.place, one.given, _DEPTH) if one.shape[1:] else None
        for one in launches or ()
    ]
    if not shapes or None in shapes:
        return None
    return all(s[0] % _WARP == 0 or math.prod(s[1:]) == 1 for s in shapes if s is not None)


def _sizes(sources: SourceText, launches: Iterable[_Launch]) -> set[int | None]:
    """Threads of the blocks of launches; None among them for those that are not known."""
    return {
        _product(one.shape[1], sources, one.place, one.given, _DEPTH) if one.shape[1:] else None
        for one in launches
    }


def _of_runners(case: Case) -> Block | None:
    """The largest block of the kernels in sight that run a function; others may run it, too."""
    home = case.facts.home
    if home is None:
        return None
    found: list[Block] = []
    for one in kernels_running(plain_name(case.facts.demangled), home, case.sources):
        block = _launched(case, one.name, ())
        if block is None and one.bound is not None:
            block = Block(one.bound, "", is_exact=False)
        if block is None:
            return None
        found.append(block)
    if not found:
        return None
    most = max(block.threads for block in found)
    text = f"the {count(most, 'thread')} that the kernels in sight which run it have"
    return Block(most, text, is_exact=False, is_dynamic=any(block.is_dynamic for block in found))


def _own_arguments(case: Case) -> tuple[str, ...]:
    return template_arguments(short_name(case.facts.demangled))


def _files(facts: KernelFacts, sources: SourceText) -> tuple[str, ...]:
    """A kernel's own file, the source that includes it, and the headers that these quote."""
    home = facts.home
    if home is None:
        return ()
    main = sources.main or home
    quoted = (*sources.quoted(home, searched=True), *sources.quoted(main, searched=True))
    return tuple(dict.fromkeys((home, main, *quoted)))


def _launches(
    facts: KernelFacts, sources: SourceText, kernel: str, own: tuple[str, ...]
) -> list[_Launch] | None:
    """Those in sight; None where others may launch it."""
    if facts.home is None:
        return None
    result = []
    for file in _files(facts, sources):
        written = _written(sources, file, kernel)
        if written is None:
            return None
        for one in written:
            given = arguments_given(one.instance, own, sources, one.place)
            if given is not None:
                result.append(_Launch(one.shape, one.place, given))
    return result


@dataclass(frozen=True, slots=True)
class _Written:
    """A launch as a text has it, of whatever instance: its template arguments, its shape."""

    instance: str | None
    shape: tuple[str, ...]
    place: SourceLocation


_WRITTEN: Remembered[tuple[str, str], tuple[_Written, ...] | None] = Remembered()


def _written(sources: SourceText, file: str, kernel: str) -> tuple[_Written, ...] | None:
    """The launches of a kernel that a file has; None where it may hand the kernel on."""
    return _WRITTEN.of(sources, (file, kernel), lambda: _find_written(sources, file, kernel))


def _find_written(
    sources: SourceText, file: str, kernel: str, depth: int = 2
) -> tuple[_Written, ...] | None:
    """The launches of a kernel that a file has; None where it may hand the kernel on.

    A variable that is given its address launches it, too.
    """
    called, text = _word(kernel), sources.code(file)
    by_others: tuple[_Written, ...] = ()
    if kernel not in text:
        return ()
    launches = launches_of(kernel).finditer(text) if has_launches(sources, file) else ()
    handed_on = re.compile(rf"{called}\s*(?:<[^;<>]*>\s*)?(?P<end>[,);:}}\]]|(?=\n))")
    for found in handed_on.finditer(text):
        before = text[max(0, found.start() - _LONGEST) : found.start()]
        last = before.rpartition("\n")[2]
        if not found["end"] and _DEFINES.search(last) is None:
            continue
        if found["end"] == ":" and (text[found.end()] == ":" or "?" not in before):
            continue
        if found["end"] == ";" and _ASSIGNED.search(before) is None:
            continue
        if _ASKS.search(before) is not None or _DECLARED.search(before + found[0]) is not None:
            continue
        other = _KEPT.search(before)
        by_it = None
        if other is not None and found["end"] in ";}," and other["name"] != kernel and depth:
            by_it = _find_written(sources, file, other["name"], depth - 1)
        if by_it is None:
            return None  # Its address goes to whoever launches it.
        by_others += by_it
    return *by_others, *(
        _Written(
            found["instance"],
            (*parts_of(found["shape"]),),
            SourceLocation(file, 1 + text.count("\n", 0, found.start())),
        )
        for found in launches
    )


_HAS_LAUNCHES: Remembered[str, bool] = Remembered()


def has_launches(sources: SourceText, file: str) -> bool:
    """Whether a file launches anything."""
    return _HAS_LAUNCHES.of(sources, file, lambda: _CHEVRONS.search(sources.code(file)) is not None)


def launches_of(kernel: str) -> re.Pattern[str]:
    """Launches of a kernel, by its plain name: the groups ``instance`` and ``shape``."""
    return re.compile(
        rf"{_word(kernel)}\s*(?:<(?P<instance>[^;{{}}]*?)>)?"
        r"\s*<\s*<\s*<(?P<shape>[^;]*?)>\s*>\s*>\s*\("
    )


def _word(name: str) -> str:
    """A pattern for a name that begins a word; it begins with the name, which is found fast."""
    return rf"{re.escape(name)}(?<!\w{re.escape(name)})"


def threads_of(
    written: str, sources: SourceText, place: SourceLocation, given: Mapping[str, int]
) -> int | None:
    """Threads of a block as a launch has it written; None where that is no constant in sight.

    Args:
        written: the expression.
        sources: where names are looked up.
        place: of the launch.
        given: what names among the launch's template arguments are.
    """
    return _product(written, sources, place, given, _DEPTH)


def template_arguments(short: str) -> tuple[str, ...]:
    """The template arguments of an instance, ``("float", "4")`` of ``ns::k<float, 4>``."""
    inside = short.partition("<")[2].rpartition(">")[0]
    return tuple(part.strip() for part in parts_of(inside)) if inside else ()


def arguments_given(
    written: str | None, own: tuple[str, ...], sources: SourceText, place: SourceLocation
) -> Mapping[str, int] | None:
    """The numbers that names among a launch's template arguments have where it launches a kernel.

    None where another number stands there than the kernel is an instance for: a launch of another
    instance. An argument is a constant, so whatever the name is, it has the instance's value.
    """
    given: dict[str, int] = {}
    for argument, value in zip(parts_of(written or ""), own, strict=False):
        text, number = argument.strip(), _INTEGER.fullmatch(value)
        if number is None:
            continue
        known = number_of(text, sources, place)
        if known is not None and known != int(number[1]):
            return None
        if known is None and _NAME.fullmatch(text):
            given[text] = int(number[1])
    return given


def _product(
    written: str,
    sources: SourceText,
    place: SourceLocation,
    given: Mapping[str, int],
    depth: int,
) -> int | None:
    """How many are in a block or grid as written; None where it is no constant."""
    return math.prod(_extents(written, sources, place, given, depth) or (0,)) or None


def _extents(
    written: str,
    sources: SourceText,
    place: SourceLocation,
    given: Mapping[str, int],
    depth: int,
) -> tuple[int, ...] | None:
    """A block or grid as written, ``dim3(16, 16)`` or a number; None where it is no constant."""
    text = written.strip()
    shape = re.fullmatch(r"dim3\s*[({](.*)[)}]", text, re.DOTALL)
    if shape is not None:
        values = [_number(part, sources, place, given, depth) for part in parts_of(shape.group(1))]
        known = [value for value in values if value is not None]
        return tuple(known) if known and len(known) == len(values) else None
    if depth and _NAME.fullmatch(text) and text not in given:
        found = meaning(text, sources, place)
        if found is None:
            return _of_members(text, sources, place, given, depth)
        value = found.value
        if found.type == "dim3" and (found.is_made or value.startswith("{")):
            value = f"dim3({value.strip('{}')})"
        return _extents(value, sources, found.place, given, depth - 1)
    number = _number(text, sources, place, given, depth)
    return (number,) if number is not None else None


def _of_members(
    name: str,
    sources: SourceText,
    place: SourceLocation,
    given: Mapping[str, int],
    depth: int,
) -> tuple[int, ...] | None:
    """A ``dim3`` without a value, of what is assigned to its members before a line, once each."""
    declared = re.compile(rf"\bdim3\s+(?:\w+\s*,\s*)*{name}\s*[;,]")
    assigned = re.compile(rf"(?<![\w.>]){name}\s*\.\s*([xyz])\s*=(?!=)\s*([^;,]{{1,{_VALUE}}});")
    found: dict[str, int | None] = {}
    for number in range(place.line, max(0, place.line - _REACH), -1):
        text = sources.line(place.file, number)
        for member, value in assigned.findall(text):
            if member in found:
                return None
            here = SourceLocation(place.file, number)
            found[member] = _number(value, sources, here, given, depth - 1)
        if declared.search(text):
            values = [found.get(member, 1) for member in "xyz"]
            known = [value for value in values if value is not None]
            return tuple(known) if found and len(known) == len(values) else None
    return None


def _number(
    written: str,
    sources: SourceText,
    place: SourceLocation,
    given: Mapping[str, int],
    depth: int,
) -> int | None:
    """An integer as written, where some names have the values of a launch's arguments."""

    def value(found: re.Match[str]) -> str:
        name = found[0]
        if name not in given and depth and (meant := meaning(name, sources, place)) is not None:
            inner = _number(meant.value, sources, meant.place, given, depth - 1)
            return str(inner) if inner is not None else name
        return str(given.get(name, name))

    return number_of(_NAME.sub(value, written) if given else written, sources, place)
