"""Linked programs: functions, call paths and stack sizes in an image that nvlink made."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from lmemscope.model.facts import LinkDisagreement
from lmemscope.model.inputs import LinkInputKind
from lmemscope.model.option import Option
from lmemscope.model.request import Failure, Gap, KernelKind, Tool, Unit

CallKind = Literal["kernel", "direct", "indirect"]
"""How a path reaches a function: as its start, by a direct call, or through a pointer."""

IndirectKind = Literal["pointer", "virtual", "unknown"]
"""Where the addresses of an indirect call's candidates are stored: in variables or code, only in
virtual tables, or unknown because there are no candidates."""


class LinkGroup(Struct, frozen=True):
    """Inputs that the configuration declares to be one program."""

    name: Annotated[str, Option("The program's name in reports.", accepts="a name")]
    inputs: Annotated[
        tuple[str, ...],
        Option(
            "Its inputs, relative to the file: sources, relocatable cubins, .o and .a files.",
            accepts="a path or glob",
        ),
    ]
    depth: Annotated[
        tuple[tuple[str, int], ...],
        Option("Maximum recursion depth of a function: f=12.", check="depth"),
    ] = ()


class LinkRequest(Struct, frozen=True):
    """A link for a worker to perform.

    Attributes:
        name: the program's name in reports.
        arch: real architecture, such as ``sm_90``.
        units: inputs to compile to relocatable cubins, in order.
        binaries: host objects and archives to pass to nvlink: name in reports, and path.
        depths: maximum recursion depth stated by the user, by function.
        lto: whether to link again with link-time optimisation, and compare.
        toolkit: directory of the toolkit to use instead of the installed one, or None.
        origin: what declares that these inputs are one program, as text.
        cache: directory of stored outputs, or None.
        time_limit: for nvlink, in seconds, or None.
    """

    name: str
    arch: str
    units: tuple[Unit, ...]
    binaries: tuple[tuple[str, str], ...] = ()
    depths: tuple[tuple[str, int], ...] = ()
    lto: bool = False
    toolkit: str | None = None
    origin: str = ""
    cache: str | None = None
    time_limit: float | None = None


class LinkInput(Struct, frozen=True):
    """An input of a link; ``name`` is its name in the report."""

    name: str
    kind: LinkInputKind


class LinkedFunction(Struct, frozen=True):
    """A function in the linked image.

    Attributes:
        name: mangled; several static functions may have the same.
        demangled: as written in C++.
        kind: ``entry`` for kernels.
        input: the input that defines it, or None if unknown.
        library: whether it comes from CUDA's device runtime.
        registers: per thread; for a kernel, the maximum over itself and everything it may call.
        stack_frame: its own frame, in bytes per thread.
        load_sites, store_sites: ``LDL`` and ``STL`` instructions in its own code.
        from_object: registers per thread of its own code before linking; None if its object is
            unknown.
    """

    name: str
    demangled: str
    kind: KernelKind
    input: str | None
    library: bool
    registers: int | None
    stack_frame: int | None
    load_sites: int
    store_sites: int
    from_object: int | None = None


class PathStep(Struct, frozen=True):
    """A function on a call path.

    Attributes:
        name, demangled, input: of the function.
        stack_frame: bytes per thread added by each call.
        by: how the path reaches it.
    """

    name: str
    demangled: str
    input: str | None
    stack_frame: int
    by: CallKind


class CallChain(Struct, frozen=True):
    """The deepest call path below a kernel; ``bytes`` is the sum of its steps' frames.

    In a recursive cycle, each function appears once, or as often as the stated depth allows.
    """

    steps: tuple[PathStep, ...]
    bytes: int


class Candidate(Struct, frozen=True):
    """A function that an indirect call may reach.

    Attributes:
        name, demangled, input: of the function.
        stack_frame: bytes per thread.
        held_in: demangled names of variables, virtual tables and functions that hold its address,
            sorted.
    """

    name: str
    demangled: str
    input: str | None
    stack_frame: int | None
    held_in: tuple[str, ...] = ()


class IndirectCall(Struct, frozen=True):
    """A function's calls through pointers of one signature.

    Attributes:
        caller, demangled, input: the calling function.
        kind: where the candidates' addresses are stored.
        signature: as nvlink matches it: the sizes of the result and of the parameters (``#ili``: 4
            bytes from 8 and 4).
        candidates: functions with that signature whose address is taken, sorted by name.
    """

    caller: str
    demangled: str
    input: str | None
    kind: IndirectKind
    signature: str
    candidates: tuple[Candidate, ...]


class CycleCall(Struct, frozen=True):
    """One call in a recursive cycle: ``caller`` calls the caller of the next entry.

    Attributes:
        caller, demangled, input: of the function.
        stack_frame: bytes per thread at each level.
        kind: how it is called.
    """

    caller: str
    demangled: str
    input: str | None
    stack_frame: int
    kind: Literal["direct", "indirect"]


class UnknownStack(Struct, frozen=True):
    """A recursion that makes a kernel's stack size unknown.

    Attributes:
        cycle: the shortest cycle from one of the functions to itself.
        size: number of functions in the recursion, including those outside the cycle.
        depths: name and depth of the functions that the user bounded.
        bounded: whether the bounds cover every cycle.
    """

    cycle: tuple[CycleCall, ...]
    size: int
    depths: tuple[tuple[str, int], ...] = ()
    bounded: bool = False


class LinkedKernel(Struct, frozen=True):
    """A kernel in a linked program.

    Attributes:
        function: the kernel itself.
        linked_stack: bytes per thread of the deepest call path, as nvlink prints it; None if it
            says the size is not statically known.
        stack_known: whether that size is known.
        path: the deepest path in the image's call graph.
        least_stack: bytes per thread of the known part, with each function of a recursion once: a
            lower bound for ``cudaLimitStackSize``.
        bound: maximum bytes per thread, if the stated depths bound every recursion; else None.
        reaches: mangled names of functions with local memory that it may call, sorted.
        elsewhere: those of them that another input defines.
        indirect: mangled names of functions that call through pointers, among the kernel and all
            that it may call; sorted. `Link.indirect` has the calls.
        unknown: recursions it reaches; empty if the stack size is known.
        run_time_stack: mangled names of functions that allocate stack at run time (``alloca``),
            which nvlink does not count; only for inputs whose causes were analysed.
        disagreements: differences between nvlink's output, the image's records and the sum over the
            path.
        lto: the same kernel after link-time optimisation, or None if not requested.
    """

    function: LinkedFunction
    linked_stack: int | None
    stack_known: bool
    path: CallChain
    least_stack: int
    bound: int | None
    reaches: tuple[str, ...]
    elsewhere: tuple[str, ...]
    indirect: tuple[str, ...] = ()
    unknown: tuple[UnknownStack, ...] = ()
    run_time_stack: tuple[str, ...] = ()
    disagreements: tuple[LinkDisagreement, ...] = ()
    lto: LinkTimeFigures | None = None

    @property
    def stack(self) -> int | None:
        """Maximum bytes per thread: from nvlink, else from the stated depths."""
        if self.run_time_stack:
            return None
        return self.linked_stack if self.stack_known else self.bound


class LinkTimeFigures(Struct, frozen=True):
    """A kernel after link-time optimisation.

    Attributes:
        registers, linked_stack, stack_known: as for the kernel linked without it.
        stack_frame: of its own code, into which more functions may be inlined.
        load_sites, store_sites: of it and everything it may call.
    """

    registers: int | None
    stack_frame: int | None
    linked_stack: int | None
    stack_known: bool
    load_sites: int
    store_sites: int


class Link(Struct, frozen=True):
    """A linked program.

    Attributes:
        name, arch: as requested.
        origin: what declares that these inputs are one program: an option, a configuration, a
            build.
        inputs: in link order.
        kernels: sorted by name, without CUDA's own.
        functions: all functions in the image, including kernels but not CUDA's own; sorted by name.
        indirect: calls through pointers that kernels reach, sorted by caller and signature.
        library_kernels: number of kernels from the device runtime.
        messages: nvlink's warnings, as printed.
        failure: why there is no image, or None.
        gaps: what is unknown.
        tools: used for linking.
        command: nvlink's command, quoted for a shell.
    """

    name: str
    arch: str
    origin: str
    inputs: tuple[LinkInput, ...]
    kernels: tuple[LinkedKernel, ...] = ()
    functions: tuple[LinkedFunction, ...] = ()
    indirect: tuple[IndirectCall, ...] = ()
    library_kernels: int = 0
    messages: tuple[str, ...] = ()
    failure: Failure | None = None
    gaps: tuple[Gap, ...] = ()
    tools: tuple[Tool, ...] = ()
    command: str = ""
