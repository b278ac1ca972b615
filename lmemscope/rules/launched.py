"""How many threads a kernel's blocks have: what it says itself, else what its launches say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from lmemscope.analysis.block_occupancy import occupancy_of
from lmemscope.formats.demangle import plain_name, short_name
from lmemscope.model import (
    BlockSource,
    CauseShare,
    KernelFacts,
    SiteClass,
    SourceLocation,
    SourceText,
    count,
)
from lmemscope.rules.base import Case
from lmemscope.rules.block_sizes import (
    arguments_given,
    extents_of,
    number_given,
    template_arguments,
    threads_among,
    threads_of,
)
from lmemscope.rules.callers import kernels_running
from lmemscope.rules.launch_reader import WrittenLaunch, launches_in

_WARP = 32
_NO_SHARE = CauseShare.of("unattributed", None, 0, SiteClass())


class Block(Struct, frozen=True):
    """The threads of a block.

    Attributes:
        threads: at most.
        described: where that is known from.
        is_exact: whether launches say it; of ``__launch_bounds__`` they may have fewer.
        is_dynamic: whether a launch asks for shared memory, or may.
        is_of_instance: whether a template's argument decides it: another instance has another.
        blocks: of a grid, at most; None where launches do not say it.
        source: what says it.
        dynamic_shared: bytes of shared memory that a launch asks for, at most; None where launches
            do not say it.
    """

    threads: int
    described: str
    is_exact: bool
    is_dynamic: bool = True
    is_of_instance: bool = False
    blocks: int | None = None
    source: BlockSource = "launch"
    dynamic_shared: int | None = None


def block_of(case: Case) -> Block | None:
    """The block of the launches in sight, else that of ``__launch_bounds__``.

    Launches are looked for in the kernel's own file, in the source that includes it, and in the
    headers that these quote; of a function that is compiled by itself, those of the kernels there
    that run it. None where nothing says it, or where a launch's block is not a constant that can
    be read there.
    """
    if case.facts.kind != "entry":
        return _of_runners(case)
    launched = None
    if case.facts.home is not None:
        launched = _launched(case, plain_name(case.facts.demangled), _own_arguments(case))
    bounds = case.facts.launch_bounds
    if launched is None and bounds is not None and bounds.max_threads:
        text = f"the {count(bounds.max_threads, 'thread')} of __launch_bounds__"
        is_instance = bool(_own_arguments(case))
        return Block(
            bounds.max_threads,
            text,
            is_exact=False,
            is_of_instance=is_instance,
            source="launch-bounds",
        )
    return launched


def block_of_kernel(facts: KernelFacts, sources: SourceText) -> Block | None:
    """As `block_of`, of a kernel whatever its findings."""
    return block_of(Case(facts, _NO_SHARE, None, (), sources))


def blocks_of_kernel(facts: KernelFacts, sources: SourceText) -> int | None:
    """The most blocks of a grid, where all launches in sight say it, whatever their threads."""
    case = Case(facts, _NO_SHARE, None, (), sources)
    launches = _launches(facts, sources, plain_name(facts.demangled), _own_arguments(case))
    return _blocks(case, launches) if launches else None


def occupancies(
    facts: Iterable[KernelFacts], arch: str, sources: SourceText
) -> tuple[KernelFacts, ...]:
    """Kernels with their occupancy, for the blocks that the program gives them or the best ones."""
    made = []
    for one in facts:
        block = block_of_kernel(one, sources) if one.kind == "entry" else None
        known = (block.threads, block.source) if block is not None else None
        dynamic = block.dynamic_shared if block is not None else None
        made.append(replace(one, occupancy=occupancy_of(one, arch, known, dynamic)))
    return tuple(made)


class _Launch(Struct, frozen=True):
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
    shared = _dynamic_shared(case.sources, launches)
    known = [size for size in sizes if size is not None]
    if not known or len(known) != len(sizes):
        return None
    text = f"the {count(max(known), 'thread')} it is launched with"
    chosen = any(one.given for one in launches)
    return Block(
        max(known),
        text,
        is_exact=True,
        is_dynamic=any(
            not one.shape or (len(one.shape) > 2 and one.shape[2].strip() != "0")
            for one in launches
        ),
        is_of_instance=chosen,
        blocks=_blocks(case, launches),
        dynamic_shared=shared,
    )


def _dynamic_shared(sources: SourceText, launches: Iterable[_Launch]) -> int | None:
    """The most bytes that launches ask for; None where one of them does not say it."""
    sizes = [
        None
        if not one.shape
        else number_given(one.shape[2], sources, one.place, one.given)
        if len(one.shape) > 2
        else 0
        for one in launches
    ]
    known = [size for size in sizes if size is not None]
    return max(known) if known and len(known) == len(sizes) else None


def _blocks(case: Case, launches: Iterable[_Launch]) -> int | None:
    """The most blocks of a grid that launches make; None where one of them does not say it."""
    counts = [threads_of(one.shape[0], case.sources, one.place, one.given) for one in launches]
    known = [number for number in counts if number is not None]
    return max(known) if known and len(known) == len(counts) else None


def sizes_in_sight(facts: KernelFacts, sources: SourceText) -> frozenset[int]:
    """Threads of blocks that launches in sight give a kernel, as far as they are known.

    Also where others may launch it.
    """
    if facts.kind != "entry":
        return frozenset()
    kernel, own = plain_name(facts.demangled), template_arguments(short_name(facts.demangled))
    found = launches_in(sources, files_of(facts, sources), kernel)
    sizes = _sizes(sources, _of_instance(found.written, own, sources))
    return frozenset(size for size in sizes if size is not None)


def every_block(facts: KernelFacts, sources: SourceText) -> frozenset[int] | None:
    """Threads of the blocks of all launches of a kernel that its files have.

    None where a launch's block is not known, where the kernel's address or its name in quotes goes
    to whoever launches it, and where nothing in sight launches it.
    """
    kernel, own = plain_name(facts.demangled), template_arguments(short_name(facts.demangled))
    launches = _launches(facts, sources, kernel, own)
    if not launches or any(sources.is_quoted(one, kernel) for one in files_of(facts, sources)):
        return None
    sizes = _sizes(sources, launches)
    known = frozenset(size for size in sizes if size is not None)
    return known if len(known) == len(sizes) else None


def shapes_in_sight(
    facts: Iterable[KernelFacts], sources: SourceText
) -> Mapping[str, frozenset[tuple[int, ...]]]:
    """Shapes of all blocks that launches in sight make, by kernel with local memory, where known.

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
    found = {one.name: _shapes(one, sources) for one in asking}
    return {name: shapes for name, shapes in found.items() if shapes}


def _shapes(facts: KernelFacts, sources: SourceText) -> frozenset[tuple[int, ...]]:
    """The same of one kernel; none where launches do not say it."""
    own = template_arguments(short_name(facts.demangled))
    launches = _launches(facts, sources, plain_name(facts.demangled), own)
    shapes = [
        extents_of(one.shape[1], sources, one.place, one.given) if one.shape[1:] else None
        for one in launches or ()
    ]
    known = frozenset(shape for shape in shapes if shape is not None)
    return known if None not in shapes else frozenset()


def _sizes(sources: SourceText, launches: Iterable[_Launch]) -> set[int | None]:
    """Threads of the blocks of launches; None among them for those that are not known."""
    return {
        size
        for one in launches
        for size in (
            threads_among(one.shape[1], sources, one.place, one.given) if one.shape[1:] else {None}
        )
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
            block = Block(one.bound, "", is_exact=False, source="launch-bounds")
        if block is None:
            return None
        found.append(block)
    if not found:
        return None
    most = max(block.threads for block in found)
    text = f"the {count(most, 'thread')} of the visible kernels that call it"
    return Block(most, text, is_exact=False, is_dynamic=any(block.is_dynamic for block in found))


def _own_arguments(case: Case) -> tuple[str, ...]:
    return template_arguments(short_name(case.facts.demangled))


def files_of(facts: KernelFacts, sources: SourceText) -> tuple[str, ...]:
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
    found = launches_in(sources, files_of(facts, sources), kernel)
    if not found.are_all:
        return None
    return _of_instance(found.written, own, sources)


def _of_instance(
    written: Iterable[WrittenLaunch], own: tuple[str, ...], sources: SourceText
) -> list[_Launch]:
    """Those that may launch an instance."""
    result = []
    for one in written:
        given = arguments_given(one.instance, own, sources, one.place)
        if given is not None:
            result.append(_Launch(one.shape, one.place, given))
    return result
