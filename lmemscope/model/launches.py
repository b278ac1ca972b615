"""Device-side launches: who launches whom, with how many threads, and what is handed over."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from lmemscope.model.request import SourceLocation

LaunchStream = Literal["default", "tail", "fire-and-forget", "named", "unknown"]
"""Which stream a grid goes into: the block's default one, one of CUDA 12's two named by constants
(``cudaStreamTailLaunch``, ``cudaStreamFireAndForget``), or one that the program makes."""

LaunchEvidence = Literal["ptx", "cubin", "source"]
"""What shows a launch: calls in PTX, relocations of machine code, or the source's text alone."""

Dimensions = tuple[int | None, int | None, int | None]
"""x, y, z; None where a dimension is not a constant."""

UNKNOWN_DIMENSIONS: Dimensions = (None, None, None)


class HandedPointer(Struct, frozen=True):
    """A pointer to memory that the child cannot see, among the arguments of a launch.

    Attributes:
        space: whose memory it is: of the parent's thread (``local``), or of its block (``shared``).
        offset: bytes from the start of the parameters to where it is stored.
        function: mangled name of the function whose variable it points to.
        object, type: the variable, where known.
        declared: where it is declared.
        size: bytes of the variable in its function's frame; None of shared memory.
        ptx_line: of the instruction that stores the pointer among the parameters.
        through: how it gets there, where the launch does not name the variable itself: functions
            it is passed through, outermost first.
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
    """One launch in device code; one of several kernels it may launch has an entry for each.

    Attributes:
        child: the kernel: mangled, or as the source spells it where that is all there is; None
            where nothing tells.
        demangled: as C++ writes it.
        location: of the launch, at the child's name.
        function: mangled name of the function that makes it: the kernel's own, with what is inlined
            in it, or a function that the kernel reaches.
        seen: what shows it.
        stream: which kind.
        grid, block: blocks and threads, where they are constants.
        shared: bytes of dynamic shared memory; None where not a constant.
        loop_depth: loops around it in its function, as far as PTX shows.
        written: the configuration as the source has it, between the brackets.
        parents: of launches that only the source shows, the kernels that reach it by name.
        handed: pointers among its arguments that mean nothing in the child.
        count: launches with the same child, configuration, stream and line that are told as this
            one; of calls that the code has, as many as the line's text has launches, since loops
            are unrolled, for each place that the line is inlined at.
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
    """A launch as the text of a source has it, in a function that runs on the device.

    Attributes:
        function: name of the function around it, unqualified.
        child: what stands before ``<<<``: a kernel's name, or a pointer's.
        line, end_line: of the first word of the child's name, and of what ends the arguments.
        configuration: the text between the brackets.
        grid, block: where the text, with the constants of the file, tells them.
        shared: bytes of dynamic shared memory, likewise.
        stream: which kind.
        kernels: names of the file's kernels that reach the function by name; the function itself,
            where it is one.
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
        """The launch as nothing but the text of a file shows it.

        Args:
            file: as a reader knows it.
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
    """The product of three dimensions; None where one is not known."""
    product = 1
    for one in dimensions:
        if one is None:
            return None
        product *= one
    return product
