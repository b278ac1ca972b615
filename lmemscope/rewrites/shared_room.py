"""Shared memory for what each thread has of its own: how many threads, and what is promised."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lmemscope.analysis.occupancy import LARGEST_BLOCK
from lmemscope.formats.demangle import plain_name, short_name
from lmemscope.model import Edit, KernelFacts, ThreadRoom, count
from lmemscope.rewrites.address_space import check_address_space
from lmemscope.rewrites.arrays import LocalArray, is_for_device, is_for_host, is_plain
from lmemscope.rewrites.base import DeclinedError, RuledOutError, Target
from lmemscope.rewrites.classes import initialised_on, listed_values
from lmemscope.rewrites.dynamic import BESIDE_DYNAMIC, may_be_dynamic
from lmemscope.rewrites.fixed_bounds import has_fixed_bounds
from lmemscope.rewrites.places import is_declared_name
from lmemscope.rewrites.reached import running
from lmemscope.rewrites.recursion import may_call_itself
from lmemscope.rewrites.run_elsewhere import RunElsewhere, run_elsewhere
from lmemscope.rewrites.written import declarators, in_file, kernels, register_caps
from lmemscope.rules.indexing import listed
from lmemscope.rules.launched_elsewhere import largest_launch
from lmemscope.rules.register_cap import blocks_leaving, option_limit
from lmemscope.rules.shared import STATIC_BYTES
from lmemscope.sources.syntax import BRANCHES, Declared, around, walk

if TYPE_CHECKING:
    from tree_sitter import Node

LANE = b"threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)"
"""A thread's number in its block."""
_BLOCKS = ("compound_statement", "case_statement")
_LANE_MACRO = re.compile(rb"#[ \t]*define[ \t]+(?:threadIdx|blockDim)\b")
_LAMBDA = re.compile(rb"\]\s*(?:__host__\s*)?__device__\b")
_WARP = 32
_SHOWN = 3
"""Kernels that are named, at most."""
_USUAL = (256, 128, 64)
"""Threads of a block where nothing says how many there are: the most that find room."""


@dataclass(frozen=True, slots=True)
class Room:
    """Shared memory for a variable of each thread.

    Attributes:
        threads: of the largest block that may run.
        edits: that make it the largest.
        caveat: what is promised by whoever takes it; None where nothing has to be.
        kernels: mangled names of those that are taken to run what has the variable.
    """

    threads: int
    edits: tuple[Edit, ...]
    caveat: str | None
    kernels: frozenset[str]

    @property
    def claimed(self) -> ThreadRoom:
        """What a trial compares with the kernels that it shows to have the room."""
        return ThreadRoom(self.threads, self.kernels)


def for_threads(number: int) -> str:
    """Whose room it is, in a sentence."""
    return "for the one thread of a block" if number == 1 else f"for each of {number} threads"


def _whole_warps(threads: int) -> int:
    """Threads of a block's warps, where there are several lanes."""
    return threads if threads == 1 else -(-threads // _WARP) * _WARP


def room_for(variable: LocalArray, target: Target, part: int = 1) -> Room:
    """Room for a variable in the blocks of the kernels, or for a part of its bytes.

    Where nothing says how large they are, the kernels are given launch bounds: a launch of more
    threads then fails, and does not write where another thread's variable is.

    Raises:
        DeclinedError: there is none, or a thread may have two of the variable at a time, or its
            declaration stands where none of shared memory can.
    """
    declared = variable.declared
    parent = declared.statement.parent
    while parent is not None and parent.type in BRANCHES:
        parent = parent.parent
    if variable.is_const or variable.is_volatile:
        raise DeclinedError("it is volatile" if variable.is_volatile else "it is const")
    if _is_recursive(target):
        raise DeclinedError("its function is recursive")
    if may_call_itself(target, declared.statement):
        raise DeclinedError("by their names, what its function calls may lead back to it")
    check_address_space(target)
    if parent is None or parent.type not in _BLOCKS:
        raise DeclinedError("its declaration stands in no block")
    if has_own_lanes(target):
        raise DeclinedError("`threadIdx` or `blockDim` is something of the program's own")
    size = max(hit.finding.type_bytes or hit.finding.bytes for hit in target.hits)
    size = -(-size // part)
    block, run = target.block, _run_by(target, declared)
    names = frozenset(one.name for one in run)
    is_dynamic = _is_dynamic(target, run)
    elsewhere = run_elsewhere(target, declared.function)
    launched = max(_launched(target, run) or 0, elsewhere.threads or 0) or None
    if block is not None:
        if block.is_of_instance and target.hits[0].case.sources.is_elsewhere(target.path):
            raise DeclinedError("a template's argument says how large its blocks are")
        most = block.threads
        if target.asked_block is None:
            bounds = (one.launch_bounds for one in run)
            most = max(most, *(one.max_threads or 0 for one in bounds if one is not None), 0)
        # A launch in sight is a fact, also where --block says less.
        most = _whole_warps(launched) if launched is not None and launched > most else most
        if size * most > _free(run, is_dynamic=is_dynamic):
            raise RuledOutError(
                f"{size} bytes for each of {count(most, 'thread')} do not fit{_beside(run)}"
            )
        _check_host(target, declared)
        caveat = _caveat(target, declared, most, elsewhere, is_dynamic=is_dynamic)
        return Room(most, (), caveat, names)
    # The kernel's other variables may follow it, and one bound serves all of them.
    frame = max(size, *(hit.facts.stack_frame or 0 for hit in target.hits))
    blocks = (_whole_warps(launched),) if launched is not None else _USUAL
    room = _free(run, is_dynamic=is_dynamic)
    fitting = [one for whole in (frame, size) for one in blocks if whole * one <= room]
    if not fitting:
        which = f"{_USUAL[-1]} threads" if launched is None else f"the {blocks[0]} threads"
        launches = " that the project launches it with, by whole warps," if launched else ""
        raise RuledOutError(f"{size} bytes for each of {which}{launches} do not fit{_beside(run)}")
    _check_host(target, declared)
    threads, edits = _first_bounded(target, fitting, run, is_launched=launched is not None)
    said = [f"no launch has more than {count(threads, 'thread')} in a block"]
    if edits:
        limits = sorted({limit for one in run if (limit := option_limit(one)) is not None})
        replaced = f"the limit of {listed([*map(str, limits)])} registers"
        leaving = f"; launch bounds replace {replaced}, and leave no more" if limits else ""
        said[0] += f" (a larger one fails{leaving})"
    if running(target, declared.function) is None:
        # Kernels of other sources get no bounds.
        header = os.path.basename(target.path)
        said.append(
            f"no kernel of another source that uses `{header}` has more (nothing enforces this)"
            + _unknown(elsewhere)
        )
    if is_dynamic:
        said.append(BESIDE_DYNAMIC)
    return Room(threads, edits, "; ".join(said), names)


def _check_host(target: Target, declared: Declared) -> None:
    """Decline what host code may run as well: it has no shared memory."""
    if not is_for_host(target, declared):
        return
    before = target.syntax.code[declared.function.start_byte : declared.statement.start_byte]
    if _LAMBDA.search(before) is not None:
        raise DeclinedError("it may stand in a lambda, which is not read completely")
    raise DeclinedError("host code may call its function, too")


def _free(run: Iterable[KernelFacts], *, is_dynamic: bool) -> int:
    """Bytes of static shared memory that kernels leave, at most.

    How many a launch asks for on top is not known, but none is no request: what has all 48 KB
    leaves it no byte without ``cudaFuncSetAttribute``.
    """
    return STATIC_BYTES - _taken(run) - is_dynamic


def _taken(run: Iterable[KernelFacts]) -> int:
    """Bytes of it that one of some kernels uses already, at most."""
    figures = (one.ptxas for one in run)
    return max((one.shared or 0 for one in figures if one is not None), default=0)


def _beside(run: Iterable[KernelFacts]) -> str:
    taken = _taken(run)
    beside = f" beside the {count(taken, 'byte')} that its kernel has there" if taken else ""
    return f" {STATIC_BYTES >> 10} KB of static shared memory{beside}"


def _is_dynamic(target: Target, run: Iterable[KernelFacts]) -> bool:
    """Whether a launch of one of some kernels may ask for dynamic shared memory."""
    sources = target.hits[0].case.sources
    return any(may_be_dynamic(one, sources, target.files) for one in run)


def has_own_lanes(target: Target) -> bool:
    """Whether the file has variables or macros that are called as a thread's number is.

    What a function for the host alone declares in its body is not seen elsewhere.
    """
    return target.meanings.has(_LANE_MACRO) or any(
        node.type == "identifier"
        and target.syntax.text(node) in (b"threadIdx", b"blockDim")
        and is_declared_name(node)
        and not _is_in_host(node, target)
        for node in walk(target.syntax.root)
    )


def _is_in_host(node: Node, target: Target) -> bool:
    """Whether a node is in the body of a function that does not say that it is the device's."""
    return any(
        (body := function.child_by_field_name("body")) is not None
        and body.start_byte <= node.start_byte < body.end_byte
        and not is_for_device(function, target.syntax)
        for function in around(node, "function_definition")
    )


def _caveat(
    target: Target, declared: Declared, threads: int, elsewhere: RunElsewhere, *, is_dynamic: bool
) -> str | None:
    said = [_of_blocks(target, declared, threads)]
    if said[0] is not None:
        said[0] += _unknown(elsewhere)
    if is_dynamic:
        said.append(BESIDE_DYNAMIC)
    return "; ".join(one for one in said if one is not None) or None


def _unknown(elsewhere: RunElsewhere) -> str:
    """Kernels of other sources whose blocks are not known, for the end of a promise."""
    if not elsewhere.unknown:
        return ""
    shown = elsewhere.unknown[:_SHOWN]
    more = [f"{len(elsewhere.unknown) - _SHOWN} more"] if elsewhere.unknown[_SHOWN:] else []
    return f" (nothing in sight says how many those of {listed([*shown, *more])} have)"


def _of_blocks(target: Target, declared: Declared, threads: int) -> str | None:
    """What blocks must not exceed; None where they cannot."""
    if target.asked_block == threads:
        return None
    others = running(target, declared.function)
    bounds = [one.launch_bounds for one in others or ()]
    largest = [one.max_threads if one is not None else None for one in bounds]
    # A kernel that keeps it in registers today has no finding, and may have larger blocks.
    is_bounded = all(one is not None and one <= threads for one in largest)
    if target.bounded == threads and others is not None and is_bounded:
        own = (hit.facts for hit in target.hits)
        if has_fixed_bounds({one.name: one for one in (*own, *others)}.values(), target):
            return None
    return f"no block that runs it has more than {count(threads, 'thread')}"


def _run_by(target: Target, declared: Declared) -> tuple[KernelFacts, ...]:
    """The kernels that have the findings, and others of the input that run the function.

    A kernel that keeps the variable in registers, or was not asked for, gets the edit as well.
    """
    others = running(target, declared.function) or ()
    own = {(one.location, one.name): one for one in (*(h.facts for h in target.hits), *others)}
    return tuple(own.values())


def _launched(target: Target, run: Iterable[KernelFacts]) -> int | None:
    """Threads of the largest block that the project launches one of some kernels with.

    A launch of more than a kernel's ``__launch_bounds__`` fails.
    """
    sources = target.hits[0].case.sources
    most = 0
    for one in run:
        bound = one.launch_bounds.max_threads if one.launch_bounds is not None else None
        names = (short_name(one.demangled),)
        size = largest_launch(names, one.home, sources, target.files) if one.home else None
        most = max(most, min(size or 0, bound or LARGEST_BLOCK))
    return most or None


def _first_bounded(
    target: Target, fitting: Iterable[int], run: Iterable[KernelFacts], *, is_launched: bool
) -> tuple[int, tuple[Edit, ...]]:
    """The first number of threads that kernels can be bounded by, and the edits that do it.

    No edits where launches in sight say the number and bounds would lift a limit of registers.

    Raises:
        DeclinedError: kernels cannot be bounded.
    """
    lifted: DeclinedError | None = None
    for threads in fitting:
        try:
            return threads, _bounded(target, threads, run)
        except _LiftedError as error:
            lifted = error
            if is_launched:
                return threads, ()
    assert lifted is not None
    raise lifted


class _LiftedError(DeclinedError):
    """Launch bounds would lift a limit of registers, or cannot stand beside it."""


_NO_BLOCK = "nothing says how many threads a block has (--block says it)"


def _bounded(target: Target, threads: int, run: Iterable[KernelFacts]) -> tuple[Edit, ...]:
    """Launch bounds for the definitions of kernels.

    Raises:
        DeclinedError: one is not to be edited.
    """
    found: dict[Edit, None] = {}
    for facts in run:
        bounds = facts.launch_bounds
        if bounds is not None and bounds.max_threads and bounds.max_threads <= threads:
            continue
        place = facts.location
        home = in_file(target, place.file) if place is not None else None
        own = kernels(home, (facts,)) if home is not None else None
        at = _name_of(own[0]) if own else None
        if home is None or at is None:
            raise DeclinedError(_NO_BLOCK)
        if any(register_caps(home, plain_name(facts.demangled).encode())):
            raise _LiftedError(f"{_NO_BLOCK}, and launch bounds exclude `__maxnreg__`")
        blocks = _minimum(facts, threads, {hit.arch for hit in target.hits})
        found[home.edit(at, at, b"__launch_bounds__(%d, %d) " % (threads, blocks))] = None
    return tuple(found)


def _minimum(facts: KernelFacts, threads: int, archs: Iterable[str]) -> int:
    """Blocks in new launch bounds of a kernel.

    One: without a minimum ptxas may leave registers for two, and spill. Where the compiler was
    given a limit of registers, which any launch bounds override, as many as leave it.

    Raises:
        DeclinedError: none do.
    """
    limit = option_limit(facts)
    if limit is None:
        return 1
    found = {blocks_leaving(limit, threads, arch) for arch in archs}
    blocks = found.pop() if len(found) == 1 else None
    if blocks is None:
        raise _LiftedError(
            f"{_NO_BLOCK}, and launch bounds would lift the limit of {limit} registers"
        )
    return blocks


def _name_of(function: Node) -> int | None:
    """Where a function's name begins, of one whose bounds nothing says."""
    if any(one.type == "launch_bounds" for one in function.children):
        return None
    for one in declarators(function):
        if one.type == "function_declarator":
            return one.start_byte
    return None


def fill_of(array: LocalArray, end: bytes) -> bytes:
    """What follows an array's declaration so that its elements have their values.

    Args:
        array: whose elements can be assigned.
        end: the end of a line, and the indent of the next.

    Raises:
        DeclinedError: its initializer cannot be written as assignments.
    """
    if array.declared.value is None:
        return b""
    if not is_plain(array.target) and array.target.meanings.copies_otherwise():
        line = initialised_on(array)
        raise DeclinedError(f"its initializer on line {line} is not the same as assignments")
    values = listed_values(array)
    if len(array.extents) > 1 and [*values] not in ([], [b"0"]):
        raise DeclinedError(f"its initializer on line {initialised_on(array)} lists rows")
    if not values or [*values] == [b"0"]:
        return b";" + end + _cleared(array, 0)
    stores = [
        b"%s[%d] = %s" % (array.name, position, value) for position, value in enumerate(values)
    ]
    # Another instance may have another size than the one that was compiled.
    if array.extents != (str(len(values)).encode(),):
        stores.append(_cleared(array, len(values)))
    return b"".join(b";" + end + one for one in stores)


def _cleared(array: LocalArray, first: int) -> bytes:
    """Loops that give the elements from one on the value that an initializer leaves them."""
    loops, inner = b"", b""
    for counter, extent in zip(b"klm", array.extents, strict=False):
        name = b"lmem_%c" % counter
        loops += b"for (int %s = %d; %s < %s; ++%s) " % (name, first, name, extent, name)
        inner += b"[%s]" % name
    return loops + array.name + inner + b" = {}"


def _is_recursive(target: Target) -> bool:
    return any(
        hit.case.object is not None
        and hit.facts.calls is not None
        and hit.case.object.function in hit.facts.calls.recursive
        for hit in target.hits
    )
