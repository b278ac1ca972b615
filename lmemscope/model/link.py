"""Linked programs: what nvlink makes of relocatable objects, and who calls whom across them."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from lmemscope.model.facts import LinkDisagreement
from lmemscope.model.inputs import LinkInputKind
from lmemscope.model.option import Option
from lmemscope.model.request import Failure, Gap, KernelKind, Tool, Unit

CallKind = Literal["kernel", "direct", "indirect"]
"""How a path comes to a function: it begins there, by a call, or through a pointer."""

IndirectKind = Literal["pointer", "virtual", "unknown"]
"""Where those that an indirect call may reach have their addresses: in variables or code, in
virtual tables alone, or nowhere, because there are none."""


class LinkGroup(Struct, frozen=True):
    """Inputs that a configuration calls one program."""

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
        Option("Most calls of a recursive function on the stack at a time: f=12.", check="depth"),
    ] = ()


class LinkRequest(Struct, frozen=True):
    """A link to make, for a worker.

    Attributes:
        name: of the program in reports.
        arch: real architecture, such as ``sm_90``.
        units: inputs that are lowered to a relocatable cubin, in order.
        binaries: host objects and archives, as nvlink takes them: name in reports and path.
        depths: by function, how deep the user says that its recursion goes at most.
        lto: link once more with link-time optimisation, and compare.
        toolkit: directory of the toolkit to use instead of the installed one, or None.
        origin: what says that these inputs are one program, in words.
        cache: directory where compilers' outputs are kept, or None.
        time_limit: seconds that nvlink may take, or None.
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
    """An input of a link; ``name`` is what the report calls it."""

    name: str
    kind: LinkInputKind


class LinkedFunction(Struct, frozen=True):
    """A function of the linked image.

    Attributes:
        name: mangled; several static functions may have the same.
        demangled: as C++ writes it.
        kind: ``entry`` for kernels.
        input: that defines it, or None where that cannot be told.
        library: whether CUDA's device runtime brought it.
        registers: per thread; of a kernel the most of itself and of all that it may call.
        stack_frame: its own, in bytes per thread.
        load_sites, store_sites: ``LDL`` and ``STL`` instructions of its own code.
        from_object: registers per thread of its code alone, before linking; None where its object
            is not known.
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
    """A function on a path of calls.

    Attributes:
        name, demangled, input: of the function.
        stack_frame: bytes per thread that it adds each time.
        by: how the path comes to it.
    """

    name: str
    demangled: str
    input: str | None
    stack_frame: int
    by: CallKind


class CallChain(Struct, frozen=True):
    """The deepest path of calls below a kernel; ``bytes`` is the sum of its steps' frames.

    In a recursion's cycle each function stands once, or as often as the stated depth allows.
    """

    steps: tuple[PathStep, ...]
    bytes: int


class Candidate(Struct, frozen=True):
    """A function that an indirect call may reach.

    Attributes:
        name, demangled, input: of the function.
        stack_frame: bytes per thread.
        held_in: variables, virtual tables and functions that hold its address, demangled, sorted.
    """

    name: str
    demangled: str
    input: str | None
    stack_frame: int | None
    held_in: tuple[str, ...] = ()


class IndirectCall(Struct, frozen=True):
    """Calls of one function through pointers of one signature.

    Attributes:
        caller, demangled, input: the function that calls.
        kind: where the candidates' addresses are.
        signature: as nvlink matches it, the result and the parameters by their size alone
            (``#ili``: 4 bytes from 8 and 4).
        candidates: functions of that signature whose address is taken, sorted by name.
    """

    caller: str
    demangled: str
    input: str | None
    kind: IndirectKind
    signature: str
    candidates: tuple[Candidate, ...]


class CycleCall(Struct, frozen=True):
    """One call of a recursion's cycle: ``caller`` calls the next entry's caller.

    Attributes:
        caller, demangled, input: of the function.
        stack_frame: bytes per thread of each level.
        kind: of its call.
    """

    caller: str
    demangled: str
    input: str | None
    stack_frame: int
    kind: Literal["direct", "indirect"]


class UnknownStack(Struct, frozen=True):
    """What makes a kernel's stack unknown: functions that reach themselves.

    Attributes:
        cycle: the shortest way around, from one of the functions to itself.
        size: functions of the recursion, those beside the cycle too.
        depths: of those that the user bounded, name and depth.
        bounded: whether the bounds hold for every way around.
    """

    cycle: tuple[CycleCall, ...]
    size: int
    depths: tuple[tuple[str, int], ...] = ()
    bounded: bool = False


class LinkedKernel(Struct, frozen=True):
    """A kernel of a linked program.

    Attributes:
        function: the kernel itself.
        linked_stack: bytes per thread of the deepest path of calls, as nvlink prints it; None where
            it says that this is not statically known.
        stack_known: whether it is known.
        path: the deepest path, from the image's own call graph.
        least_stack: bytes per thread that the known part needs: with each function of a recursion
            once. The least ``cudaLimitStackSize`` that can be enough.
        bound: bytes per thread at most, where the depths that the user states bound every
            recursion; else None.
        reaches: mangled names of the functions that it may call, with local memory, sorted.
        elsewhere: those of them that another input defines.
        indirect: mangled names of functions that call through pointers, of the kernel and of all
            that it may call; sorted. The program's `Link.indirect` has the calls.
        unknown: recursions that it reaches; empty where the stack is known.
        run_time_stack: mangled names of functions that take stack at run time (``alloca``), which
            nvlink does not count; only of inputs whose causes were looked for.
        disagreements: what nvlink printed, what the image records and what the path adds up to,
            where these differ.
        lto: the same kernel after link-time optimisation, or None where that was not asked for.
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
        """Bytes per thread at most: as nvlink says, else as the stated depths bound it."""
        if self.run_time_stack:
            return None
        return self.linked_stack if self.stack_known else self.bound


class LinkTimeFigures(Struct, frozen=True):
    """A kernel after link-time optimisation.

    Attributes:
        registers, linked_stack, stack_known: as of the kernel linked without it.
        stack_frame: of its own code, into which more may be inlined.
        load_sites, store_sites: of it and of all that it may call.
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
        name, arch: as asked for.
        origin: what says that these inputs are one program: an option, a configuration, a build.
        inputs: in the order of the link.
        kernels: sorted by name; CUDA's own aside.
        functions: all functions of the image, kernels included, CUDA's own aside; sorted by name.
        indirect: calls through pointers that kernels reach, sorted by caller and signature.
        library_kernels: how many kernels the device runtime brought.
        messages: warnings of nvlink, as it prints them.
        failure: why there is no image, or None.
        gaps: what is not known.
        tools: that linked.
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
