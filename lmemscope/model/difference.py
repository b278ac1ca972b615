"""The difference between two reports."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Change = Literal["added", "removed", "worse", "better", "changed"]


class KernelDifference(Struct, frozen=True):
    """A kernel that differs between the reports.

    Attributes:
        kernel: shortened name; ``input`` and ``arch`` are those of the newer report if present,
            else of the older.
        change: the overall change.
        figures: name, before and after of each figure that differs; None if unknown or absent.
        appeared, vanished: causes with their object, as text.
        why: the finding's message for each cause that appeared.
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
    """A tool whose version differs between the reports.

    Attributes:
        name: of the tool.
        before, after: versions in the older and the newer report; None if unknown.
    """

    name: str
    before: str | None
    after: str | None


class NotCompared(Struct, frozen=True):
    """An input that could not be analysed in a report, so that its kernels are not compared.

    Attributes:
        input, arch: as for kernels.
        before, after: the reason in the older and in the newer report; None if it was analysed or
            is absent.
    """

    input: str
    arch: str
    before: str | None
    after: str | None


class Difference(Struct, frozen=True, tag_field="schema", tag="lmemscope.diff/1"):
    """The comparison of two reports.

    Attributes:
        schema: of the document.
        toolchain: tools whose versions differ, by name.
        kernels: kernels that differ, worst first.
        not_compared: inputs that could not be analysed in one of the reports.
    """

    toolchain: tuple[ToolChange, ...]
    kernels: tuple[KernelDifference, ...]
    not_compared: tuple[NotCompared, ...] = ()
