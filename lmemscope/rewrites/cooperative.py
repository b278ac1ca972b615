"""Programs that depend on more than the code of a kernel: on occupancy, or on line numbers.

Of grids that have to be on the device all at once, occupancy decides whether they run; a program
may also ask how many blocks fit, and launch as many.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from msgspec.structs import replace

from lmemscope.formats.demangle import plain_name
from lmemscope.formats.words import last_word
from lmemscope.model import Rewriting
from lmemscope.rewrites.base import Target
from lmemscope.rewrites.grid_barriers import may_wait
from lmemscope.rewrites.line_numbers import follows_text
from lmemscope.rewrites.narrow_steps import narrow_step
from lmemscope.rewrites.reached import running
from lmemscope.rewrites.seen import is_library
from lmemscope.sources.own_name import SIGNATURES, line_decided_by_signature

_CODE = re.compile(
    rb"(?i:cooperative(?!_groups))|\bthis_(?:multi_)?grid\b|\b(?:multi_)?grid_group\b|\bcudaCG"
    rb"|\benable_cooperative_groups\b"
)
"""Grids that wait for themselves, and launches of such; the groups' namespace alone is none."""
_QUOTED = re.compile(rb"(?i:(?<=\w)cooperative(?!_groups)|cooperative(?!_groups)(?=\w))")
"""The same in quotes, where functions are looked up by name; the bare word is prose there."""
_OF_RUNTIME = re.compile(r"cu[A-Zd]\w*|[A-Z_0-9]+|")
"""Functions that hand no kernel on to another file: the runtime's, and macros."""
_GIVEN = 300
"""Characters of a statement in front of a kernel's name that are looked through."""
_ASKING = re.compile(
    rb"(?i:\bcu(?:da)?(?:Occupancy\w|(?:Func|Kernel)GetAttribute))|\bMaxSmOccupancy\b"
)
"""Questions of the runtime whose answers follow a kernel's registers and memory."""
_ASKED_IN_ASSEMBLY = re.compile(rb"(?:%|\bsreg_|_sreg_)\w*smem")
"""Special registers that say how much shared memory a kernel has."""
_TELLING = (
    *("cooperative", "this_grid", "this_multi_grid", "grid_group", "cudacg", "occupancy"),
    *("getattribute", "smem"),
)
"""What a text has, in small letters, that has one of these patterns."""
FITTING = "launched grids still fit the device with fewer resident blocks"
_WAITS = " ({} may wait for other blocks)"
_ASKED = "results do not depend on occupancy, which {} queries"
_SHARED = "results do not depend on how much shared memory the kernel has, which {} reads"
_SIGNATURES = "results do not depend on the text of a function's signature, which {} reads"
_NARROW = (
    "`{}` on line {}{} never wraps: nvcc compiles `++` and `--` of a signed number narrower than "
    "`int` as if it did not"
)
_LINES = "results do not depend on line numbers or on `__COUNTER__`"


class Program:
    """What a target's program shows of its kernels besides what they compute.

    Found out once for all rewritings of the target.

    Args:
        target: whose files are read, with those that launch its kernels.
    """

    def __init__(self, target: Target) -> None:
        self._target = target

    def promised(self, rewriting: Rewriting) -> Rewriting:
        """A rewriting, unsafe where more than a kernel's own code decides what the program does.

        Any rewrite may take registers or shared memory of a multiprocessor: a grid that just fits
        the device may fit no more, and the program may ask how many blocks do.
        """
        found = list(self._of_resources)
        if rewriting.edits and self._signatures is not None:
            found.append(_SIGNATURES.format(self._signatures))
        return self.as_compiled(_with(rewriting, found))

    def as_compiled(self, rewriting: Rewriting) -> Rewriting:
        """A rewriting, unsafe where a result may follow a line number, or how code is optimised."""
        found = [self._narrow] if self._narrow is not None else []
        if follows_text(rewriting, self._target):
            found.append(_LINES)
        return _with(rewriting, found)

    @cached_property
    def _files(self) -> tuple[str, ...]:
        """The target's files and those that launch it."""
        return tuple(dict.fromkeys((*self._target.files, *_launching(self._target))))

    @cached_property
    def _of_resources(self) -> tuple[str, ...]:
        """What is promised where the program follows what its kernels take of a multiprocessor."""
        sources = self._target.hits[0].case.sources
        telling = [
            (one, sources.code(one).encode(), sources.uncommented(one).encode())
            for one in self._files
            if any(word in text for text in [sources.text(one).lower()] for word in _TELLING)
        ]
        code = [(file, text) for file, text, _ in telling]
        uncommented = [(file, text) for file, _, text in telling]
        found = []
        place = self._place(_CODE, code) or self._place(_QUOTED, uncommented)
        waiting = _waiting(self._target) if place is None else place
        if waiting is not None:
            found.append(FITTING + (_WAITS.format(waiting) if waiting else ""))
        for said, pattern, texts in (
            (_ASKED, _ASKING, code),
            (_SHARED, _ASKED_IN_ASSEMBLY, uncommented),
        ):
            if (place := self._place(pattern, texts)) is not None:
                found.append(said.format(place))
        return tuple(found)

    def _place(self, pattern: re.Pattern[bytes], texts: Iterable[tuple[str, bytes]]) -> str | None:
        """Where one of some files first has a pattern, for a reader; None where none has it."""
        for file, text in texts:
            if (found := pattern.search(text)) is not None:
                return _shown(file, 1 + text.count(b"\n", 0, found.start()), self._target)
        return None

    @cached_property
    def _signatures(self) -> str | None:
        """Where the program reads a function's name or signature; None where it does not."""
        sources = self._target.hits[0].case.sources
        for one in self._files:
            line = None
            if sources.holds(one, *SIGNATURES):
                text = sources.code(one).encode()
                line = line_decided_by_signature(text, self._target.meanings.texts)
            if line is not None:
                return _shown(one, line, self._target)
        return None

    @cached_property
    def _narrow(self) -> str | None:
        """What is promised of the first step that may wrap; None where there is none."""
        narrow = narrow_step(self._target)
        if narrow is None:
            return None
        is_elsewhere = narrow.file != self._target.path
        where = f" of `{os.path.basename(narrow.file)}`" if is_elsewhere else ""
        return _NARROW.format(narrow.text, narrow.line, where)


def _with(rewriting: Rewriting, caveats: Sequence[str]) -> Rewriting:
    """A rewriting with further caveats; itself without any."""
    if not caveats:
        return rewriting
    own = [rewriting.caveat] if rewriting.caveat else []
    caveat = "; ".join((*own, *caveats))
    return replace(rewriting, applicability="unsafe", caveat=caveat, promises=())


def _waiting(target: Target) -> str | None:
    """What waits for other blocks, in the files of the kernels; empty where it has no one place.

    A group of the grid, or a loop of the program's own; None where nothing does.
    """
    meanings = target.meanings
    if meanings.has(_CODE) or meanings.has(_QUOTED, in_quotes=True):
        return ""
    sources, read = target.hits[0].case.sources, [(one, target.tree(one)) for one in target.files]
    trees = [(file, tree) for file, tree in read if tree is not None]
    unparsed = tuple(sources.code(file).encode() for file, tree in read if tree is None)
    found = may_wait(tuple(tree for _, tree in trees), unparsed, meanings)
    if found is None:
        return None
    if found.file is None or found.line is None:
        return ""
    return _shown(trees[found.file][0], found.line, target)


def _shown(file: str, line: int, target: Target) -> str:
    """A line, with its file as seen from where the target's is."""
    own, other = os.path.abspath(target.path), os.path.abspath(file)
    if own == other:
        return f"line {line}"
    return f"`{os.path.relpath(other, os.path.commonpath((own, other)))}:{line}`"


def _launching(target: Target) -> Iterator[str]:
    """The other files of the project that may launch one of the kernels, with their headers.

    Those that name it, and those that define a function which gets it as an argument.
    """
    sources, own = target.hits[0].case.sources, {*map(os.path.abspath, target.files)}
    declared = target.declared
    run = running(target, declared.function) if declared is not None else None
    kernels = {
        (one.home, plain_name(one.demangled))
        for one in (*(hit.facts for hit in target.hits), *(run or ()))
        if one.kind == "entry" and one.home is not None
    }
    for home, kernel in kernels:
        naming = [file for file in sources.mentioning(home, kernel) if file not in own]
        telling = (file for file in (*target.files, *naming) if sources.names(file, kernel))
        texts = [sources.code(file) for file in telling]
        found = dict.fromkeys(one for one in naming if sources.names(one, kernel))
        for function in {name for text in texts for name in _getting(kernel, text)}:
            defined = re.compile(rf"\b{function}\s*+\([^;{{}}]{{0,600}}\)\s*+\{{")
            others = (file for file in sources.mentioning(home, function) if file not in own)
            found.update(
                (one, None)
                for one in others
                if sources.names(one, function) and defined.search(sources.code(one))
            )
        for file in found:
            yield from (file, *sources.quoted(file, searched=True))


def _getting(kernel: str, text: str) -> Iterator[str]:
    """Functions of the program that a text gives a kernel to."""
    for named in re.finditer(rf"(?<!\w){re.escape(kernel)}(?!\w)", text):
        depth = 0
        for at in range(named.start() - 1, max(-1, named.start() - _GIVEN), -1):
            if text[at] in ";{}":
                break
            depth += (text[at] == ")") - (text[at] == "(")
            if depth < 0:
                depth, function = 0, last_word(text, at)
                if _OF_RUNTIME.fullmatch(function) is None and not is_library(function.encode()):
                    yield function
