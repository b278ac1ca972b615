"""Leave the kernel more registers

`__launch_bounds__(N, M)` becomes `__launch_bounds__(N)` or asks for fewer blocks, and
`__maxnreg__(R)` goes. Bounds without a minimum of blocks get a minimum of 1, because ptxas may
otherwise save registers for several. If a full block leaves no more registers, the bounds become
those of half a block.

Safe: no launch that was allowed is refused. Unsafe if `__maxnreg__` goes, which does not limit the
block: a block of 1024 threads with more than 64 registers each cannot start. Also unsafe for
cooperative launches and grid synchronisation (fewer blocks are resident), and with half a block
(launches, and code that depends on the block size, must change). It costs occupancy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lmemscope.formats.demangle import plain_name
from lmemscope.formats.statements import parts_of
from lmemscope.model import Edit, Rewriting, count
from lmemscope.rewrites.arrays import words_of
from lmemscope.rewrites.base import Rewrite, Target
from lmemscope.rewrites.written import is_here, kernels, register_caps, said_of
from lmemscope.rules.register_cap import cap_of, registers_for, smaller_block
from lmemscope.sources.syntax import walk

if TYPE_CHECKING:
    from tree_sitter import Node

_CAVEAT = "no block has so many threads that more registers for each do not fit"
_VARIANTS = 2


@dataclass(frozen=True, slots=True)
class _Argument:
    """An argument of launch bounds: where it is, and as written."""

    start: int
    end: int
    text: bytes


def propose(target: Target) -> Iterator[Rewriting]:
    """Looser bounds in every declaration of the kernels."""
    if not all(is_here(target, hit.facts.location) for hit in target.hits):
        return
    names = dict.fromkeys(plain_name(hit.facts.demangled).encode() for hit in target.hits)
    caps = [edit for name in names for edit in register_caps(target, name)]
    if caps:
        one = _rewriting(caps, "without `__maxnreg__`")
        yield replace(one, applicability="unsafe", caveat=_CAVEAT)
    said = [node for name in names for node in said_of(name, target)] if kernels(target) else []
    bounds = [one for node in said for one in node.children if one.type == "launch_bounds"]
    arguments = [_arguments(target, one) for one in bounds]
    if not bounds or any(not 1 <= len(one) <= 3 for one in arguments):
        return
    minimum = [one[1] for one in arguments if len(one) > 1]
    if not minimum:
        edits = [target.edit(one[0].end, one[0].end, b", 1") for one in arguments]
        yield _rewriting(edits, "for one block on a multiprocessor")
        yield from _halved(target, arguments)
        return
    if any(len(one) == 3 for one in arguments):
        yield _with(target, minimum, 1)  # What is behind it needs it.
        return
    if all(one.text == b"1" for one in minimum):
        yield from _halved(target, arguments)
        return
    edits = [target.edit(one[0].end, one[1].end, b"") for one in arguments if len(one) > 1]
    yield _rewriting(edits, "without a minimum of blocks")
    for blocks in _fewer(target, minimum):
        yield _with(target, minimum, blocks)


def _fewer(target: Target, minimum: list[_Argument]) -> Iterator[int]:
    """Fewer blocks than now that leave more registers, the most first, and one."""
    found = {
        (one.max_threads, one.min_blocks)
        for hit in target.hits
        for one in [hit.facts.launch_bounds]
        if one is not None
    }
    written = {one.text for one in minimum}
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


def _halved(target: Target, arguments: list[list[_Argument]]) -> Iterator[Rewriting]:
    """Bounds of half a block, where a whole one leaves a thread no more registers than it has."""
    bounds = {hit.facts.launch_bounds for hit in target.hits}
    threads = {one.max_threads for one in bounds if one is not None}
    block = target.block
    if len(threads) != 1 or any(cap_of(hit.facts).kind != "launch-bounds" for hit in target.hits):
        return
    if not _is_one_number(target, arguments):
        return
    (whole,) = threads
    half = smaller_block(whole, registers_for(whole, 1)) if whole else None
    if half is None or (block is not None and block.is_exact and block.threads > half):
        return
    edits = [target.edit(one[0].start, one[-1].end, f"{half}, 1".encode()) for one in arguments]
    one = _rewriting(edits, f"for blocks of {half} threads")
    caveat = f"launches, and whatever else counts on blocks of {whole} threads, are changed with it"
    yield replace(one, applicability="unsafe", caveat=caveat)


def _is_one_number(target: Target, arguments: list[list[_Argument]]) -> bool:
    """Whether the bounds are one number of threads wherever they stand, in any instance.

    What depends on a template's parameter, or is another in another declaration, may be the bounds
    of kernels that the promise says nothing of.
    """
    texts = {one[0].text for one in arguments}
    words = words_of(texts)
    return (
        len(texts) == 1
        and not target.meanings.is_redefined(words)
        and not any(
            target.syntax.text(one) in words
            for template in walk(target.syntax.root)
            if template.type == "template_parameter_list"
            for one in walk(template)
            if one.type in ("identifier", "type_identifier")
        )
    )


def _with(target: Target, minimum: list[_Argument], blocks: int) -> Rewriting:
    edits = [
        target.edit(one.start, one.end, str(blocks).encode())
        for one in minimum
        if one.text != str(blocks).encode()
    ]
    return _rewriting(edits, f"for at least {count(blocks, 'block')} on a multiprocessor")


def _arguments(target: Target, bounds: Node) -> list[_Argument]:
    """The arguments. The grammar knows no third."""
    text = target.syntax.text(bounds)
    opened = text.find(b"(")
    if opened < 0 or not text.endswith(b")"):
        return []
    found, at = [], opened + 1
    for part in parts_of(text[opened + 1 : -1].decode("latin-1")):
        bare = part.strip().encode("latin-1")
        start = bounds.start_byte + text.index(bare, at)
        found.append(_Argument(start, start + len(bare), bare))
        at = start - bounds.start_byte + len(bare)
    return found


def _rewriting(edits: list[Edit], how: str) -> Rewriting:
    return Rewriting(
        "launch-bounds", "safe", tuple(dict.fromkeys(edits)), f"compile the kernel {how}"
    )


REWRITE = Rewrite(
    "launch-bounds",
    frozenset({"register-spill"}),
    propose,
    __name__,
    nothing="the file shows no launch bounds of its kernels that could be looser",
)
