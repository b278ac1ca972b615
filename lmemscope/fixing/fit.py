"""Whether blocks that a kernel could be launched with still fit a multiprocessor.

A rewrite that keeps in registers, or in shared memory, what local memory held may leave room for
smaller blocks alone, and a launch of a larger one then fails. It is safe only where no launch has
such blocks: ``__launch_bounds__`` forbid them, or all launches are in sight and have fewer threads.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from lmemscope.analysis.block_occupancy import shared_of
from lmemscope.analysis.occupancy import LARGEST_BLOCK, resident_warps
from lmemscope.fixing.attempts import Attempt
from lmemscope.fixing.moved import moved_shared
from lmemscope.formats.demangle import plain_name, short_name
from lmemscope.formats.kernel_names import stable_name
from lmemscope.model import KernelFacts, Rewriting, SourceText, UnitReport, count
from lmemscope.rewrites.base import Target
from lmemscope.rewrites.dynamic import may_be_dynamic
from lmemscope.rules.launched import every_block, files_of, sizes_in_sight
from lmemscope.rules.launched_elsewhere import launch_sizes
from lmemscope.rules.shared import STATIC_BYTES
from lmemscope.sources.lines import from_disk
from lmemscope.sources.syntax import Syntax

_WARP = 32
_RENAMED = re.compile(r"#[ \t]*define[ \t]+main\b")
_STATIC = re.compile(r"\bstatic\b")
_INTERNAL = re.compile(r"_GLOBAL__N_|_INTERNAL_|__nv_static_|\A_ZL")


@dataclass(frozen=True, slots=True)
class Lost:
    """Blocks of a kernel that no longer fit.

    Attributes:
        kernel: its mangled name.
        most: threads of the largest block that still fits.
        text: what a user promises who takes the rewriting.
        unfit: what a launch in sight has that does not fit; None without such a launch.
    """

    kernel: str
    most: int
    text: str
    unfit: str | None


def largest_block(facts: KernelFacts, arch: str) -> int | None:
    """Threads of the largest block that registers and shared memory leave room for."""
    shared = shared_of(facts)
    if facts.registers is None:
        return None
    for threads in range(LARGEST_BLOCK, 0, -_WARP):
        warps = resident_warps(arch, threads, facts.registers, shared)
        if warps is None:
            return None
        if warps:
            return threads
    return 0


def lost_blocks(
    before: UnitReport, after: UnitReport, arch: str, sources: SourceText
) -> Iterator[Lost]:
    """The kernels of a unit whose larger blocks a rewriting leaves no room for.

    Args:
        before, after: the unit without and with it.
        arch: that they are compiled for.
        sources: the text of the unit's files, and of the project around them.
    """
    later = {stable_name(one.facts.name): one.facts for one in after.kernels}
    for was in (one.facts for one in before.kernels):
        made = later.get(stable_name(was.name))
        if was.kind != "entry" or made is None:
            continue
        could, can = largest_block(was, arch), largest_block(made, arch)
        if could is None or can is None:
            continue
        bounds = [one.launch_bounds for one in (was, made)]
        allowed = min([could, *(one.max_threads for one in bounds if one and one.max_threads)])
        if can >= allowed:
            continue
        blocks = every_block(was, sources)
        largest = max(blocks, default=None) if blocks else None
        if largest is not None and largest <= can and _is_closed(was, sources):
            continue
        text = f"no block of {short_name(was.demangled)} has more than {count(can, 'thread')}: "
        text += f"{_why(was, made)} leave no room for more, and a larger launch fails"
        # A launch of more than is allowed fails already.
        seen = (one for one in sizes_in_sight(was, sources) if can < one <= allowed)
        in_sight = max(seen, default=None)
        yield Lost(was.name, can, text, _blocks_of(in_sight))


def with_caveat(rewriting: Rewriting, promised: Iterable[str]) -> Rewriting:
    """A rewriting that promises what its trials ask for, where it has to."""
    said = dict.fromkeys(promised)
    if not said:
        return rewriting
    caveat = "; ".join([*([rewriting.caveat] if rewriting.caveat else []), *said])
    return replace(rewriting, applicability="unsafe", caveat=caveat, promises=())


def fitted(attempt: Attempt) -> tuple[Attempt, str | None]:
    """An attempt with what its rewriting promises of launches, and why it is worse, or None."""
    sources = attempt.target.hits[0].case.sources
    lost: list[Lost] = []
    moved: list[str] = []
    for (unit, report), outcome in zip(attempt.results, attempt.outcomes, strict=True):
        own = from_disk(None, unit.input, unit.options, sources.mentioning)
        if outcome.report is not None:
            moved += moved_shared(report, outcome.report)
            lost += lost_blocks(report, outcome.report, unit.arch, own)
            if isinstance(attempt.target, Target):
                lost += lost_shared(report, outcome.report, attempt.rewriting, attempt.target, own)
    unfit = next((one.unfit for one in lost if one.unfit is not None), None)
    why = f"a launch in sight has {unfit}, which do not fit with it" if unfit is not None else None
    said = (*(_promised(one, attempt.target.asked_block) for one in lost), *moved)
    return replace(attempt, rewriting=with_caveat(attempt.rewriting, said)), why


def _promised(lost: Lost, asked: int | None) -> str:
    """What a user promises; where they say how large blocks are, the rewriting may count on it."""
    is_about_blocks = lost.most < LARGEST_BLOCK
    if asked is None or lost.most <= asked or not is_about_blocks:
        return lost.text
    return f"no block has more than {count(asked, 'thread')}, as --block says"


def lost_shared(
    before: UnitReport,
    after: UnitReport,
    rewriting: Rewriting,
    target: Target,
    sources: SourceText,
) -> Iterator[Lost]:
    """What the kernels that have more static shared memory with a rewriting do not allow.

    It is made for those that a text says to run it. The machine code says which do: they may be
    called by another name, or be kernels that a macro defines.

    Args:
        before, after: the unit without and with it.
        rewriting: that is tried.
        target: what for.
        sources: the text of the unit's files, and of the project around them.
    """
    known = {hit.facts.name for hit in target.hits}
    if rewriting.room is not None:
        known |= rewriting.room.kernels
    later = {stable_name(one.facts.name): one.facts for one in after.kernels}
    for was in (one.facts for one in before.kernels):
        made = later.get(stable_name(was.name))
        if was.kind != "entry" or made is None or shared_of(made) <= shared_of(was):
            continue
        is_known = was.name in known
        if rewriting.room is not None:
            yield from _lost_threads(was, made, rewriting.room.threads, target, sources, is_known)
        # Who promises something of shared memory promises this of the kernels that are known.
        unfit = _asked_beside(was, made, target, sources)
        if unfit is not None:
            yield Lost(was.name, LARGEST_BLOCK, f"no launch has {unfit}", unfit)
        elif not (is_known and rewriting.applicability == "unsafe"):
            yield from _lost_dynamic(was, made, target, sources)


def _lost_threads(
    was: KernelFacts,
    made: KernelFacts,
    threads: int,
    target: Target,
    sources: SourceText,
    is_known: bool,
) -> Iterator[Lost]:
    """Blocks that have more threads than a rewriting has room for, which would share some of it.

    Args:
        was, made: a kernel without and with it.
        threads: that it has room for.
        target: what it is for.
        sources: the project's text.
        is_known: whether the rewriting is made for the kernel, by its bounds or with a promise.
    """
    bounds = made.launch_bounds
    most = bounds.max_threads if bounds is not None else None
    if most is not None and most <= threads:
        return
    name = short_name(was.demangled)
    sizes = launch_sizes(name, was.home, sources) if was.home is not None else ()
    in_sight = max((one for one in sizes if threads < one <= (most or one)), default=None)
    if in_sight is None:
        is_asked = most is None and target.asked_block is not None
        if is_known or is_asked or (every_block(was, sources) and _is_closed(was, sources)):
            return
    text = f"no block of {name} has more than {count(threads, 'thread')}, which its shared memory "
    yield Lost(was.name, threads, f"{text}is for", _blocks_of(in_sight))


def _blocks_of(threads: int | None) -> str | None:
    return f"blocks of {count(threads, 'thread')}" if threads is not None else None


def _asked_beside(
    was: KernelFacts, made: KernelFacts, target: Target, sources: SourceText
) -> str | None:
    """The dynamic shared memory that all launches in sight ask for, if it no longer fits.

    A program that sets attributes of functions may have more of it than others.
    """
    asked = was.occupancy.dynamic_shared if was.occupancy is not None else None
    if not asked or not asked + shared_of(was) <= STATIC_BYTES < asked + shared_of(made):
        return None
    files = (*target.files, *files_of(was, sources))
    if any("FuncSetAttribute" in sources.code(one) for one in files):
        return None
    return f"{count(asked, 'byte')} of dynamic shared memory"


def _lost_dynamic(
    was: KernelFacts, made: KernelFacts, target: Target, sources: SourceText
) -> Iterator[Lost]:
    """Dynamic shared memory that launches of a kernel may ask for, beside what is static."""
    if may_be_dynamic(was, sources, (*target.files, *files_of(was, sources))):
        taken = shared_of(made)
        text = (
            f"no launch of {short_name(was.demangled)} asks for more than {STATIC_BYTES - taken} "
        )
        text += f"bytes of dynamic shared memory: {count(taken, 'byte')} are static"
        yield Lost(was.name, LARGEST_BLOCK, text, None)


def loses_more(lost: Iterable[Lost], alone: Iterable[Lost]) -> Lost | None:
    """What several rewritings lose together that none of them loses alone; None if nothing."""
    known: dict[str, int] = {}
    for one in alone:
        known[one.kernel] = min(one.most, known.get(one.kernel, one.most))
    return next((one for one in lost if one.most < known.get(one.kernel, LARGEST_BLOCK + 1)), None)


def _why(was: KernelFacts, made: KernelFacts) -> str:
    said = []
    if (made.registers or 0) > (was.registers or 0):
        said.append(f"{count(made.registers or 0, 'register')} each ({was.registers} before)")
    shared = [shared_of(one) for one in (was, made)]
    if shared[1] > shared[0]:
        said.append(f"{count(shared[1], 'byte')} of shared memory ({shared[0]} before)")
    return " and ".join(said) or "its registers"


def _is_program(main: str, sources: SourceText) -> bool:
    """Whether a source defines the function that a program begins with, whatever is defined.

    Not a member or a function of a namespace, nor one in a branch that may be left out.
    """
    text = sources.code(main)
    if "main" not in text or _RENAMED.search(text) is not None or sources.given("main") is not None:
        return False
    syntax = Syntax(text.encode())
    return any(node.parent == syntax.root for node in syntax.functions("main"))


def _is_closed(facts: KernelFacts, sources: SourceText) -> bool:
    """Whether nothing but the files in sight can launch a kernel.

    It is internal to its unit, or the unit is a program of its own and no other source of the
    project has the kernel's name; and no other source includes the file that defines it.
    """
    home, name = facts.home, plain_name(facts.demangled)
    if home is None:
        return False
    main = sources.main or home
    own = {main, home, *sources.quoted(main, searched=True), *sources.quoted(home, searched=True)}
    known = {os.path.abspath(one) for one in own}
    if any(one not in known for one in sources.including(home)):
        return False
    if any(map(sources.computes_includes, own)):
        return False
    if _INTERNAL.search(facts.name) is not None:
        return True
    head = re.compile(rf"(?<![^;{{}}])[^;{{}}]*\b{re.escape(name)}\s*\(")
    heads = [found[0] for found in head.finditer(sources.code(home)) if "__global__" in found[0]]
    if main.endswith(".cu") and heads and all(_STATIC.search(one) for one in heads):
        return True
    if not _is_program(main, sources):
        return False
    return all(one in known for one in sources.mentioning(os.path.abspath(main), name))
