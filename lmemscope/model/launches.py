"""Device-side launches: parent, child, configuration, and pointers passed to the child."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from lmemscope.model.request import SourceLocation

LaunchStream = Literal["default", "tail", "fire-and-forget", "named", "unknown"]
"""The stream of a launch: the block's default, one of CUDA 12's two named streams
(``cudaStreamTailLaunch``, ``cudaStreamFireAndForget``), or one created by the program."""

LaunchEvidence = Literal["ptx", "cubin", "source"]
"""The evidence for a launch: calls in PTX, relocations in machine code, or only the source text."""

Dimensions = tuple[int | None, int | None, int | None]
"""x, y, z; None for a dimension that is not constant."""

UNKNOWN_DIMENSIONS: Dimensions = (None, None, None)


class HandedPointer(Struct, frozen=True):
    """A launch argument that points to memory which the child cannot access.

    Attributes:
        space: the memory: of the parent's thread (``local``) or block (``shared``).
        offset: where it is stored, in bytes from the start of the parameters.
        function: mangled name of the function that owns the variable.
        object, type: the variable, if known.
        declared: where it is declared.
        size: bytes of the variable in its function's frame; None for shared memory.
        ptx_line: the instruction that stores the pointer among the parameters.
        through: functions through which it is passed, outermost first, if the launch does not name
            the variable.
    """

    space: Literal["local", "shared"]
    offset: int
    function: str
    object: str | None
    type: str | None
    declared: SourceLocation | None
    size: int | None
    ptx_line: int | None
    through: tuple[str, ...] = ()


class Launch(Struct, frozen=True):
    """One launch in device code; if it may launch several kernels, there is an entry for each.

    Attributes:
        child: the kernel: mangled, or as written in the source if nothing else is known; None if
            unknown.
        demangled: as written in C++.
        location: of the launch, at the child's name.
        function: mangled name of the function that launches: the kernel itself, including inlined
            code, or a function it reaches.
        seen: the evidence.
        stream: the kind of stream.
        grid, block: blocks and threads, if constant.
        shared: bytes of dynamic shared memory; None if not constant.
        loop_depth: enclosing loops in its function, as far as the PTX shows.
        written: the configuration as written between the brackets.
        parents: for a launch seen only in the source, the kernels that reach it by name.
        handed: pointer arguments that the child cannot dereference.
        count: number of launches with the same child, configuration, stream and line, combined
            here. For calls in the code it is the number on the source line for each place where
            that is inlined, because loops are unrolled.
    """

    child: str | None
    demangled: str | None
    location: SourceLocation | None
    function: str
    seen: LaunchEvidence
    stream: LaunchStream
    grid: Dimensions = UNKNOWN_DIMENSIONS
    block: Dimensions = UNKNOWN_DIMENSIONS
    shared: int | None = None
    loop_depth: int = 0
    written: str | None = None
    parents: tuple[str, ...] = ()
    handed: tuple[HandedPointer, ...] = ()
    count: int = 1


class WrittenLaunch(Struct, frozen=True):
    """A launch as written in the source, in a device function.

    Attributes:
        function: unqualified name of the enclosing function.
        child: the text before ``<<<``: the name of a kernel or of a pointer.
        line, end_line: of the first word of the child's name, and of the end of the arguments.
        configuration: the text between the brackets.
        grid, block: if they follow from the text and the file's constants.
        shared: bytes of dynamic shared memory, likewise.
        stream: the kind of stream.
        kernels: names of kernels in the file that reach the function by name; the function itself
            if it is a kernel.
    """

    function: str
    child: str
    line: int
    end_line: int
    configuration: str
    grid: Dimensions
    block: Dimensions
    shared: int | None
    stream: LaunchStream
    kernels: tuple[str, ...]

    @property
    def base(self) -> str:
        """The child's unqualified name, without template arguments."""
        return self.child.partition("<")[0].rpartition("::")[2]

    def alone(self, file: str) -> Launch:
        """The launch as the text of a file alone shows it.

        Args:
            file: as displayed.
        """
        return Launch(
            child=self.base,
            demangled=self.child,
            location=SourceLocation(file, self.line),
            function=self.function,
            grid=self.grid,
            block=self.block,
            shared=self.shared,
            stream=self.stream,
            seen="source",
            written=self.configuration,
            parents=self.kernels,
        )


def total(dimensions: Dimensions) -> int | None:
    """The product of three dimensions; None if one is unknown."""
    product = 1
    for one in dimensions:
        if one is None:
            return None
        product *= one
    return product
