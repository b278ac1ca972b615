"""Leave the kernel more registers

`__launch_bounds__(N, M)` becomes `__launch_bounds__(N)` or asks for fewer blocks, and
`__maxnreg__(R)` goes: the compiler may then give each thread more registers, and spills fewer or
none. Bounds without a minimum of blocks get one of 1, since ptxas may otherwise spare registers for
several.

It is safe: the words bound what is compiled, and no launch that was allowed before is refused. It
is unsafe where the file launches cooperatively or waits for the whole grid: fewer blocks are on the
device at a time then, and a grid that just fitted does not. It costs occupancy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lmemscope.model import Edit, Rewriting
from lmemscope.rewrites.base import Rewrite, Target
from lmemscope.rewrites.written import kernels, said_of
from lmemscope.rules.register_cap import registers_for

if TYPE_CHECKING:
    from tree_sitter import Node

_CAP = re.compile(rb"__maxnreg__\s*\([^()]*\)\s*")
_WHOLE_GRID = (
    b"this_grid",
    b"grid_group",
    b"cudaLaunchCooperativeKernel",
    b"cuLaunchCooperativeKernel",
    b"cudaLaunchAttributeCooperative",
)
_CAVEAT = "the grids that are launched still fit the device with fewer blocks on a multiprocessor"
_VARIANTS = 2


def propose(target: Target) -> Iterator[Rewriting]:
    """Looser bounds in every declaration of the kernels."""
    found = kernels(target)
    if not found:
        return
    said = [node for kernel in found for node in said_of(kernel, target)]
    bounds = [one for node in said for one in node.children if one.type == "launch_bounds"]
    caps = [edit for kernel in found for edit in _caps(target, kernel)]
    if caps:
        yield _rewriting(target, caps, "without `__maxnreg__`")
    arguments = [_arguments(one) for one in bounds]
    if not bounds or any(not 1 <= len(one) <= 3 for one in arguments):
        return
    minimum = [one[1] for one in arguments if len(one) > 1]
    if not minimum:
        edits = [target.edit(one[0].end_byte, one[0].end_byte, b", 1") for one in arguments]
        yield _rewriting(target, edits, "for one block on a multiprocessor")
        return
    if any(len(one) == 3 for one in arguments):
        yield _with(target, minimum, 1)  # What is behind it needs it.
        return
    edits = [
        target.edit(one[0].end_byte, one[1].end_byte, b"") for one in arguments if len(one) > 1
    ]
    yield _rewriting(target, edits, "without a minimum of blocks")
    for blocks in _fewer(target, minimum):
        yield _with(target, minimum, blocks)


def _fewer(target: Target, minimum: list[Node]) -> Iterator[int]:
    """Fewer blocks than now that leave more registers, the most first, and one."""
    found = {
        (one.max_threads, one.min_blocks)
        for hit in target.hits
        for one in [hit.facts.launch_bounds]
        if one is not None
    }
    written = {target.syntax.text(one) for one in minimum}
    if len(found) != 1 or len(written) != 1:
        yield 1
        return
    ((threads, blocks),) = found
    if not threads or not blocks:
        return
    left, given = registers_for(threads, blocks), 0
    for fewer in range(blocks - 1, 0, -1):
        more = registers_for(threads, fewer)
        if more > left and (given < _VARIANTS or fewer == 1):
            left, given = more, given + 1
            yield fewer


def _with(target: Target, minimum: list[Node], blocks: int) -> Rewriting:
    edits = [
        target.edit(one.start_byte, one.end_byte, str(blocks).encode())
        for one in minimum
        if target.syntax.text(one) != str(blocks).encode()
    ]
    return _rewriting(target, edits, f"for at least {blocks} on a multiprocessor")


def _arguments(bounds: Node) -> list[Node]:
    return [
        one for one in bounds.named_children if one.type not in ("comment", "__launch_bounds__")
    ]


def _caps(target: Target, kernel: Node) -> Iterator[Edit]:
    """The words that cap a kernel's registers, wherever a declaration of it has them.

    The grammar does not know them, and reads what is around them in many ways.
    """
    name = target.syntax.function_name(kernel)
    data = target.syntax.data
    for found in _CAP.finditer(data):
        begin = max(data.rfind(mark, 0, found.start()) for mark in (b";", b"{", b"}", b"\n#"))
        ends = [data.find(mark, found.end()) for mark in (b";", b"{")]
        end = min((one for one in ends if one >= 0), default=len(data))
        head = data[begin + 1 : end]
        if name is None or b"//" in head or b"/*" in head or b"__global__" not in head:
            continue
        if re.search(rb"\b" + re.escape(name) + rb"\s*\(", head) is not None:
            yield target.edit(found.start(), found.end(), b"")


def _rewriting(target: Target, edits: list[Edit], how: str) -> Rewriting:
    is_whole = any(word in target.syntax.words() for word in _WHOLE_GRID)
    return Rewriting(
        "launch-bounds",
        "unsafe" if is_whole else "safe",
        tuple(dict.fromkeys(edits)),
        f"compile the kernel {how}",
        _CAVEAT if is_whole else None,
    )


REWRITE = Rewrite("launch-bounds", frozenset({"register-spill"}), propose, __name__)
