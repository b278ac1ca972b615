"""What differs between two reports."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Change = Literal["added", "removed", "worse", "better", "changed"]


class KernelDifference(Struct, frozen=True):
    """One kernel that is not the same in both reports.

    Attributes:
        kernel: name, shortened; ``input`` and ``arch`` of the newer side, else of the older.
        change: what happened on the whole.
        figures: name, before, after of those that differ; None where not known or not there.
        appeared, vanished: causes with their object, in words.
        why: the finding's sentence for each cause that appeared.
    """

    kernel: str
    input: str
    arch: str
    change: Change
    figures: tuple[tuple[str, int | None, int | None], ...]
    appeared: tuple[str, ...]
    vanished: tuple[str, ...]
    why: tuple[str, ...]


class ToolChange(Struct, frozen=True):
    """A tool that has another version on the newer side.

    Attributes:
        name: of the tool.
        before, after: versions on the older and on the newer side; None where not known.
    """

    name: str
    before: str | None
    after: str | None


class NotCompared(Struct, frozen=True):
    """An input that could not be analysed on a side, so that none of its kernels is compared.

    Attributes:
        input, arch: as of kernels.
        before, after: why not, on the older and on the newer side; None where it was analysed, or
            is not there.
    """

    input: str
    arch: str
    before: str | None
    after: str | None


class Difference(Struct, frozen=True, tag_field="schema", tag="lmemscope.diff/1"):
    """Two reports compared.

    Attributes:
        schema: of the document.
        toolchain: tools of both sides whose versions differ, by name.
        kernels: those that differ, worst first.
        not_compared: inputs that a side could not analyse.
    """

    toolchain: tuple[ToolChange, ...]
    kernels: tuple[KernelDifference, ...]
    not_compared: tuple[NotCompared, ...] = ()
