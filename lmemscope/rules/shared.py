"""Advice to keep an array in shared memory: where it fits, and what its banks do there."""

from __future__ import annotations

import math
import re
from collections.abc import Collection

from msgspec.structs import replace

from lmemscope.analysis.occupancy import may_limit
from lmemscope.formats.demangle import plain_name, short_name
from lmemscope.model import Advice, count, is_library, traits_of
from lmemscope.rules.aliases import is_reinterpreted, namesakes
from lmemscope.rules.array_uses import whole_uses
from lmemscope.rules.base import Case
from lmemscope.rules.callers import Running, function_name, kernels_running
from lmemscope.rules.constants import number_of
from lmemscope.rules.declared import (
    Declaration,
    bytes_of,
    declaration_of,
    is_capture,
    is_copied_to_lambda,
    is_parameter,
)
from lmemscope.rules.enclosing import body_lines, function_head, says_host, varies_by_instance
from lmemscope.rules.launched import Block, block_of, has_flat_blocks
from lmemscope.rules.launched_elsewhere import largest_launch
from lmemscope.rules.trivial import is_trivial

STATIC_BYTES = 48 * 1024
"""Static shared memory of a block: CUDA C++ Programming Guide, "Compute Capabilities"; more must
be dynamic, and the host must opt in to it."""

_BLOCK = 128
"""Threads to compute with where the kernel does not say its own."""
_WARP = 32
DYNAMIC = r"\bextern\b(?:[^;{}()]|\([^;{}()]*\))*\b__shared__\b"
"""Its declaration: what ``extern "C"`` defines may have shared memory of another kind inside."""
_DYNAMIC = re.compile(DYNAMIC)
_PREFERS_L1 = re.compile(r"\b(?:cudaFuncCachePreferL1|cudaSharedmemCarveoutMaxL1)\b")
_FEW = 128
"""Threads of a block that most programs have at least: what does not fit so many is no advice."""
_UNION = re.compile(r"\bunion\b")
_BANKS = 32
_WORD = 4
_BITS = re.compile(r"\.[bsuf](8|16|32|64)$")
"""The type that a PTX opcode ends with."""
_ONE_THREAD = re.compile(
    r"(?:threadIdx\s*\.\s*x|\b\w*(?:id|lane|rank|thread)\w*(?:\(\))?)\s*(?:==\s*0|<\s*1)(?!\w)"
    r"|!\s*(?:threadIdx\s*\.\s*x|\w*tid)(?!\w)",
    re.IGNORECASE,
)
"""A condition that one thread of a block may alone meet."""
_LETTERS = "ijklmnopqrstuvw"
"""Names of indices in code; more dimensions than these no array has."""


def shared_memory(case: Case) -> tuple[Advice, ...]:
    """The array in shared memory, one element of each index beside that of the next thread.

    Only for what fits: its size times the block, beside what the kernel has there already. The
    block is that of the launches or of ``__launch_bounds__``; of others the text says up to which
    it holds. What is accessed as
    another type, or in a library, too, cannot be laid out by threads, and of several variables of
    one name nobody knows which is meant.
    """
    found = case.object
    if found is None or found.name is None or found.confidence == "possible" or not found.size:
        return ()
    if is_reinterpreted(case, but_for_name=True) or namesakes(case):
        return ()
    if is_capture(case) or is_parameter(case) or _is_recursive(case):
        return ()
    lines = (access.chain[0].location for access in (*case.accesses, *case.generic) if access.chain)
    if any(is_library(line.file) for line in lines):
        return ()  # A library takes a pointer to elements that follow each other.
    taken, made = _taken(case), declaration_of(case)
    # What has all of it leaves nothing for what launches ask for there themselves.
    room = STATIC_BYTES - taken - has_dynamic(case)
    size = found.size
    if made is not None and made.extents and made.element_bytes is not None:
        size = made.elements * made.element_bytes
    known = block_of(case)
    usual = _usual(case, known)
    if known is not None and usual > known.threads:
        known = None
    threads = known.threads if known is not None else max(usual, _BLOCK)
    fits = size * threads <= room
    if not fits and (known is not None or size * usual > room):
        return ()  # A launch in sight, or __launch_bounds__, has more threads than fit.
    if not fits:
        threads = room // size // _WARP * _WARP
    if threads <= 0 or (known is None and threads < _FEW):
        return ()
    beside = f" in addition to {_amount(taken)} that the kernel already uses" if taken else ""
    amount = f"{_amount(size * threads)} of 48 KB{beside}"
    if known is not None:
        text = (
            f"Keep {case.name} in shared memory, one copy per thread: {size} bytes × "
            f"{known.described} = {amount}."
        )
    else:
        more = "more do not fit" if not fits else "a larger block takes more"
        text = (
            f"If no block has more than {count(threads, 'thread')}, keep {case.name} in shared "
            f"memory, one copy per thread: {size} bytes × {threads} threads = {amount}; {more}."
        )
    if has_dynamic(case) and not (known is not None and known.is_exact and not known.is_dynamic):
        text += " Dynamic shared memory of the launch comes on top."
    grid = known.blocks if known is not None and known.is_exact else None
    if may_limit(threads, taken + size * threads, grid):
        text += " This can lower occupancy."
    if size * threads + _others(case) * threads > room:
        text += " The kernel's local arrays do not all fit there at once."
    if case.alternatives:
        others = (f"`{one.name}`" if one.name else "the other object" for one in case.alternatives)
        text += f" Move {' and '.join(dict.fromkeys(others))} too: one pointer can point to either."
    if made is None:
        return (Advice(text, rewrite="shared-memory"),)
    code = None
    trivial = is_trivial(case, made)
    if trivial is False:
        return ()
    if trivial and made.element is not None and (not made.is_member or _stands_alone(case, made)):
        code = _code(made, threads, _thread(case))
    text = " ".join(
        one for one in (text, _banks(made, threads, _scalar_widths(case)), _start(made)) if one
    )
    if trivial is None:
        text += " Its type must have no constructor, or one that does nothing."
    text += f"{_in_instances(case, made, taken)}{_of_callers(case)}{_of_host(case)}"
    whole = whole_uses(case, made)
    if "pointer" in whole:
        text += " Functions that receive a pointer to it must use that layout too."
    if "copy" in whole:
        text += " Replace each `memset` or `memcpy` of it with a loop over its elements."
    if "range" in whole:
        text += " Replace each range-based `for` over it with a counted loop."
    if is_copied_to_lambda(case):
        text += " A lambda cannot capture it by copy then: declare its copy in the lambda."
    return (Advice(text, code, rewrite="shared-memory"),)


def _usual(case: Case, known: Block | None) -> int:
    """Threads that the project launches at least, where launches in sight do not say how many.

    Of an array that a function has, its other kernels' count, too: each gets a copy per thread.
    Zero where that is no more than is known.
    """
    home, most = case.facts.home, 0
    if home is not None and not (known is not None and known.is_exact):
        most = largest_launch((short_name(case.facts.demangled),), home, case.sources) or 0
        bounds = case.facts.launch_bounds
        if bounds is not None and bounds.max_threads:
            most = min(most, bounds.max_threads)  # A launch of more fails.
    others = _others_running(case)
    if others:
        assert case.object is not None
        assert case.object.declared is not None
        names, file = [one.name for one in others], case.object.declared.file
        launched = largest_launch(names, file, case.sources) or 0
        most = max(most, launched, *(one.bound or 0 for one in others))
    return most if known is None or not known.is_exact or most > known.threads else 0


def _others_running(case: Case) -> tuple[Running, ...]:
    """Other kernels in sight that call the function whose array it is."""
    declared = case.object.declared if case.object is not None else None
    head = function_head(case.sources, declared) if declared is not None else None
    if declared is None or head is None or "__global__" in head.text:
        return ()
    own = plain_name(case.facts.demangled)
    named = function_name(head.text)
    found = kernels_running(named, declared.file, case.sources) if named is not None else ()
    return tuple(one for one in found if one.name != own)


def _taken(case: Case) -> int:
    """Bytes of static shared memory that the kernel has already."""
    return (case.facts.ptxas.shared if case.facts.ptxas is not None else None) or 0


def has_dynamic(case: Case) -> bool:
    """Whether the kernel's file has shared memory whose size the launch gives."""
    home = case.facts.home
    return home is not None and bool(case.sources.matching(home, _DYNAMIC))


def prefers_l1(case: Case) -> bool:
    """Whether the program asks for as much L1 cache, and as little shared memory, as can be.

    Then what a block takes of shared memory may leave room for few blocks.
    """
    files = {case.facts.home, case.sources.main} - {None}
    return any(case.sources.matching(file, _PREFERS_L1) for file in files if file is not None)


def _others(case: Case) -> int:
    """Bytes per thread of the kernel's other objects that are indexed at run time."""
    return sum(
        one.size
        for one in case.facts.objects
        if one is not case.object and traits_of(one.cause).indexed
    )


def too_large(case: Case) -> str:
    """Why shared memory is not offered, as a sentence; empty where that is not known."""
    if case.object is None or not case.object.size:
        return ""
    known, size = block_of(case), case.object.size
    usual = _usual(case, known)
    is_exact = known is not None and known.is_exact
    launched = is_exact or usual > 0
    threads = usual or (known.threads if known is not None and is_exact else _FEW)
    room = STATIC_BYTES - (_taken(case) if launched else 0)
    if size * threads <= room:
        return ""
    by_whom = "it is launched with" if is_exact and not usual else "the project may launch"
    free = "" if room == STATIC_BYTES else f", of which {_amount(room)} are free"
    whose = count(threads, "thread")
    alone = ""
    if size <= room and threads > 1 and _may_be_alone(case):
        alone = (
            f" If only one thread per block needs it, a single copy takes {_amount(size)} there."
        )
    return (
        " Shared memory cannot hold one copy per thread: that takes "
        f"{_amount(size * threads)} for {f'the {whose} {by_whom}' if launched else whose}, "
        f"and a block has 48 KB{free} (more only as dynamic shared memory, on request).{alone}"
    )


def _may_be_alone(case: Case) -> bool:
    """Whether the kernel's text, or that of the object's function, asks for a thread's number."""
    declared = case.object.declared if case.object is not None else None
    head = function_head(case.sources, declared) if declared is not None else None
    begins = [] if declared is None or head is None else [replace(declared, line=head.line)]
    return any(
        _ONE_THREAD.search(text) is not None
        for place in (*begins, case.facts.location)
        if place is not None
        for _, text in body_lines(case.sources, place)
    )


def shared_room(case: Case) -> str:
    """What one copy per thread takes of shared memory, as a sentence, where it fits."""
    size = case.object.size if case.object is not None else 0
    known = block_of(case)
    threads = known.threads if known is not None else max(_usual(case, known), _BLOCK)
    if not size or is_capture(case) or size * threads > STATIC_BYTES - _taken(case):
        return ""
    return (
        f" One copy per thread in shared memory takes {_amount(size * threads)} for "
        f"{count(threads, 'thread')}."
    )


def _stands_alone(case: Case, made: Declaration) -> bool:
    """Whether a member can be a variable of its own: reached by its whole path, in no union."""
    place, declared = case.location, case.object.declared if case.object is not None else None
    if place is None or declared is None:
        return False
    used = case.sources.line(place.file, place.line)
    return made.path in used and not case.sources.matching(declared.file, _UNION)


_THREADS = {
    1: "threadIdx.x",
    2: "threadIdx.y * blockDim.x + threadIdx.x",
    3: "(threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x",
}
"""The thread's number in its block, by the dimensions that a kernel asks for."""


def _thread(case: Case) -> str:
    """The thread's number; with all dimensions where a launch has more than the kernel asks for."""
    if not has_flat_blocks(case):
        return _THREADS[3]
    return _THREADS[case.facts.ptx.thread_dimensions if case.facts.ptx is not None else 1]


def _code(made: Declaration, threads: int, thread: str) -> str:
    """The declaration, and how an element is then reached."""
    name = made.path.replace("->", "_").replace(".", "_")
    index = "".join(f"[{letter}]" for letter, _ in zip(_LETTERS, made.extents, strict=False))
    extents = "".join(f"[{extent}]" for extent in made.written)
    use = f"{name}{index}[{thread}]"
    if made.is_member or not made.extents:
        use = f"{made.path}{index} becomes {use}"
    return f"__shared__ {made.spelled(name)}{extents}[{threads}];  // {use}"


def _banks(made: Declaration, threads: int, widths: Collection[int]) -> str:
    """What lanes of a warp do to each other; a bank is 4 bytes wide.

    Args:
        made: the array.
        threads: of a block.
        widths: bytes of the numbers that an element has, as far as they are accessed.
    """
    size = made.element_bytes
    if threads == 1:
        return ""
    if threads % _WARP:
        is_wide = size == 4 or (made.is_wide and size not in (1, 2))
        return "Lanes use different banks if their indices are equal." if is_wide else ""
    if size in (1, 2):
        lanes = 4 // size
        return (
            f"{lanes} neighbouring lanes share a bank: there is no conflict if their indices "
            f"are equal, and up to {lanes} passes if they differ."
        )
    if size == 4:
        return "Each lane then has its own bank, whatever the index."
    if size in (8, 16) and made.is_wide:
        passes = size // 4
        return f"Lanes do not conflict, whatever the index; an access takes {passes} passes."
    if size is not None and size % 4 == 0:
        share = max((_sharing(size, width) for width in widths), default=0)
        if share == 1:
            return "Lanes that access the same member use different banks, whatever the index."
        if share:
            return (
                f"Up to {share} lanes that access the same member share a bank; a separate "
                "array for each member has fewer conflicts."
            )
    return ""


def _sharing(stride: int, width: int) -> int:
    """Lanes of one pass that use one bank, where each accesses a member of its own structure.

    Banks serve 128 bytes in a pass: all lanes of members of up to 4 bytes, half of the warp of 8.

    Args:
        stride: bytes of the structure.
        width: bytes of the member.
    """
    unit = max(width, _WORD)
    return math.gcd(stride // unit, _BANKS * _WORD // unit)


def _scalar_widths(case: Case) -> frozenset[int]:
    """Bytes of the numbers that PTX accesses the object by: those of its members."""
    opcodes = (
        one.opcode
        for access in (*case.accesses, *case.generic)
        for one in access.evidence_facts
        if one.kind == "ptx-instruction" and one.opcode is not None
    )
    bits = (_BITS.search(opcode) for opcode in opcodes)
    return frozenset(int(found[1]) // 8 for found in bits if found is not None)


def _in_instances(case: Case, made: Declaration, taken: int) -> str:
    """What holds of the template's other instances, where their arrays may have another size."""
    declared = case.object.declared if case.object is not None else None
    if declared is None:
        return ""
    sized = all(number_of(one, case.sources, declared) is not None for one in made.written)
    if sized and bytes_of(made.element or "") is not None:
        return ""
    words = set(re.findall(r"\w+", " ".join((made.element or "", *made.written))))
    varies = varies_by_instance(words, case.sources, declared)
    if varies is False and made.element is not None:
        return ""
    if varies is None and "<" not in short_name(case.facts.demangled):
        return ""
    beside = f" in addition to {_amount(taken)} that this one already uses" if taken else ""
    return (
        " Other instances of the template have other sizes: in each compiled instance, "
        f"elements × bytes × threads must fit in 48 KB{beside}, or ptxas rejects it."
    )


def _of_callers(case: Case) -> str:
    """What holds where the array is not the kernel's own, but a function's that it calls."""
    declared = case.object.declared if case.object is not None else None
    head = function_head(case.sources, declared) if declared is not None else None
    words = re.findall(r"\w+", head.text) if head is not None else []
    if "__device__" not in words or "__global__" in words:
        return ""
    if declared is not None and _is_all_in_sight(case, declared.file):
        return ""
    return " No other kernel that calls this function may use larger blocks."


def _is_all_in_sight(case: Case, file: str) -> bool:
    """Whether no kernel but this one can call the functions of a file that this one calls."""
    is_own = case.sources.main == file and not case.sources.is_relocatable
    named = plain_name(case.facts.demangled)
    declared = case.object.declared if case.object is not None else None
    head = function_head(case.sources, declared) if declared is not None else None
    name = function_name(head.text) if head is not None else None
    if not is_own or name is None:
        return False
    return {one.name for one in kernels_running(name, file, case.sources)} == {named}


def _is_recursive(case: Case) -> bool:
    """Whether the array's function calls itself: each call has an array of its own."""
    calls, found = case.facts.calls, case.object
    return calls is not None and found is not None and found.function in calls.recursive


def _of_host(case: Case) -> str:
    """What holds where the array's function is compiled for the host too."""
    declared = case.object.declared if case.object is not None else None
    if declared is None or not says_host(case.sources, declared):
        return ""
    return (
        " Its function is also compiled for the host, where `__shared__` is an error: make a "
        "device-only copy of the function."
    )


def _start(made: Declaration) -> str:
    """What the declaration in shared memory cannot do."""
    return (
        ("A `__shared__` array cannot have an initialiser: assign the values.")
        if made.has_initialiser
        else ""
    )


def _amount(size: int) -> str:
    shown = ".4g" if size < 1 << 20 else ",.0f"
    return f"{size / 1024:{shown}} KB" if size >= 1024 else f"{size} bytes"
