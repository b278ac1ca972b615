"""What a rewrite is, and what it is asked about."""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from lmemscope.model import Cause, Declined, Edit, Finding, KernelFacts, Rewriting, SourceLocation
from lmemscope.rewrites.meanings import Meanings
from lmemscope.rules.base import Case
from lmemscope.rules.launched import Block, block_of
from lmemscope.rules.remembered import Remembered
from lmemscope.sources.syntax import Declared, Syntax, is_broken

_LINE = re.compile(r"\bline (\d+)\b")
_MEANINGS: Remembered[tuple[frozenset[str], Syntax | None, tuple[str, ...]], Meanings] = (
    Remembered()
)


class DeclinedError(Exception):
    """A rewrite does not apply, and why, as the end of a sentence: ``it is passed to f``.

    A line that is the reason is said as ``line 12``.

    It says what stands in this rewrite's way, which may not be in a person's.
    """


class RuledOutError(DeclinedError):
    """A figure of the machine or a rule of the toolchain is against it, whoever writes it."""


def declined_by(error: DeclinedError, *names: str) -> Declined:
    """What an error says of the rewrites of these names."""
    reason = str(error)
    said = _LINE.search(reason)
    line = int(said[1]) if said is not None else None
    return Declined(reason, names, isinstance(error, RuledOutError), line)


class Hit(Struct, frozen=True):
    """One kernel's finding.

    Attributes:
        facts, finding, case: the kernel, and what was found of it.
        arch: that it is compiled for.
    """

    facts: KernelFacts
    finding: Finding
    case: Case
    arch: str = ""


class Target(Struct, frozen=True, dict=True):
    """What is to leave local memory: a variable, or what a line does, for the kernels that have it.

    Attributes:
        cause, name, type: of the findings; the name is None where there is no variable.
        place: the line of the first finding.
        declared_at: the line of the variable's declaration.
        path: absolute path of the file to edit: that of the declaration, else of the line.
        syntax: of that file.
        hits: the findings, one for each kernel and instance.
        asked_block: threads of a block, where the user says it.
        tree: gives the syntax of another file by its absolute path, or None.
        kernels: all of the input, those without a finding included.
        defines: macros that the command line defines, ``NAME`` or ``NAME=VALUE``.
    """

    cause: Cause
    name: str | None
    type: str | None
    place: SourceLocation | None
    declared_at: SourceLocation | None
    path: str
    syntax: Syntax
    hits: tuple[Hit, ...]
    asked_block: int | None = None
    tree: Callable[[str], Syntax | None] = lambda path: None
    kernels: tuple[KernelFacts, ...] = ()
    defines: tuple[str, ...] = ()

    @cached_property
    def declared(self) -> Declared | None:
        """The variable's declaration in the file; None where it is not there, or not readable."""
        if self.name is None or self.declared_at is None:
            return None
        found = self.syntax.declared(self.name, self.declared_at.line)
        if found is None or is_broken(found.function, self.name.encode()):
            return None
        return found

    @cached_property
    def block(self) -> Block | None:
        """The largest block of the kernels; None where one of them is not known.

        What the user says of it does not take back what a launch says.
        """
        found = [block_of(hit.case) for hit in self.hits]
        known = [block for block in found if block is not None]
        if self.asked_block is not None:
            known.append(Block(self.asked_block, "--block", is_exact=True, source="option"))
        elif not known or len(known) != len(found):
            return None
        grids = [block.blocks for block in known if block.blocks is not None]
        most = max(known, key=lambda block: block.threads)
        return replace(most, blocks=max(grids) if len(grids) == len(known) else None)

    @property
    def bounded(self) -> int | None:
        """Threads that no block of the kernels exceeds: all have ``__launch_bounds__``."""
        bounds = [hit.facts.launch_bounds for hit in self.hits]
        threads = [one.max_threads for one in bounds if one is not None and one.max_threads]
        return max(threads) if threads and len(threads) == len(bounds) else None

    @property
    def size(self) -> int:
        """Bytes of the object, in the kernel that has most of it."""
        return max(
            (hit.case.object.size for hit in self.hits if hit.case.object is not None), default=0
        )

    @cached_property
    def files(self) -> tuple[str, ...]:
        """The target's file, and the sources of its kernels with the headers that they quote."""
        found: dict[str, None] = {self.path: None}
        for hit in self.hits:
            sources = hit.case.sources
            for start in (hit.facts.home, sources.main):
                if start is not None:
                    found.update(dict.fromkeys((start, *sources.quoted(start, searched=True))))
        return tuple(found)

    @cached_property
    def meanings(self) -> Meanings:
        """What names mean in these files."""
        own = self.syntax if self.path.endswith(".py") else None  # One of its literals.
        key = (frozenset(self.files), own, self.defines)
        return _MEANINGS.of(self.hits[0].case.sources, key, self._meanings)

    def _meanings(self) -> Meanings:
        sources = self.hits[0].case.sources
        others = [one for one in self.files if one != self.path]
        given = (one if "=" in one else f"{one}=1" for one in self.defines)
        said = "".join(f"#define {one.replace('=', ' ', 1)}\n" for one in given).encode()
        return Meanings(
            (self.syntax.code, *(sources.code(one).encode() for one in others), said),
            (self.syntax.uncommented, *(sources.uncommented(one).encode() for one in others), said),
            is_all_device=sources.is_all_device,
        )

    def trees(self, *words: bytes) -> Iterator[tuple[str, Syntax]]:
        """Absolute paths and trees of those of the files that hold one of some words; of all files
        without words."""
        sources = self.hits[0].case.sources
        texts = [one.decode("latin-1") for one in words if one.isascii()]
        # A file may be known by two paths.
        for path, file in {os.path.abspath(one): one for one in self.files}.items():
            # Bytes of other letters follow from the file's encoding.
            may_hold = not texts or len(texts) < len(words) or sources.holds(file, *texts)
            syntax = self.syntax if path == self.path else self.tree(path) if may_hold else None
            if syntax is not None:
                yield path, syntax

    def edit(self, start: int, end: int, text: bytes) -> Edit:
        """An edit of the target's file."""
        return Edit(self.path, start, end, text)


class Rewrite(Struct, frozen=True):
    """A way to rewrite a program.

    Attributes:
        name: of the contract.
        causes: whose findings it is tried on.
        propose: edits that may help a target, likeliest first; none where it does not apply.
        module: whose docstring is the rewrite's page.
        nothing: why it does not apply where `propose` ends without an edit and without a reason of
            its own: what it looks for, as the end of a sentence.
        instead_of: name of a rewrite before it in the order, where it only stands in for that: if
            that has nothing to propose, or what it proposed does not compile.
        suits: whether the facts of a case leave it a chance to remove the object alone; elsewhere
            it may still help beside another.
    """

    name: str
    causes: frozenset[Cause]
    propose: Callable[[Target], Iterator[Rewriting]]
    module: str
    nothing: str
    instead_of: str | None = None
    suits: Callable[[Case], bool] = lambda case: True

    @property
    def page(self) -> str:
        """What it does, why it is safe, or what its user promises."""
        return _page(self.module)


class Addition(Struct, frozen=True):
    """What is done beside a rewrite that removes an object, for its speed.

    Attributes:
        name: of the contract.
        causes: whose findings it is tried on.
        beside: what is added to a target's rewriting with some edits; None where there is nothing.
        module: whose docstring is its page.
    """

    name: str
    causes: frozenset[Cause]
    beside: Callable[[Target, Sequence[Edit]], Rewriting | None]
    module: str

    @property
    def page(self) -> str:
        """What it does, and why it is safe."""
        return _page(self.module)


def _page(module: str) -> str:
    return inspect.cleandoc(sys.modules[module].__doc__ or "")
