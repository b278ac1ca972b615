"""Rewrites of the source, and what compiling each of them showed."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from lmemscope.model.occupancy import BlockSource, Limiter
from lmemscope.model.request import Failure, SourceLocation, Tool
from lmemscope.model.sites import known_sum
from lmemscope.model.work import Cost

Applicability = Literal["safe", "unsafe"]
"""Whether the program's meaning is certainly unchanged (safe) or may change (unsafe)."""

TrialVerdict = Literal["removed", "reduced", "no-effect", "worse", "failed"]
"""The outcome of a trial, decided by `lmemscope.fixing.effect`.

``removed``: none of the object's bytes are left in local memory. ``reduced``: fewer bytes are left,
or fewer accesses run. ``no-effect``: neither. ``worse``: a kernel has new spills or more local
memory than before, or a kernel without the finding is modelled slower. ``failed``: it does not
compile, exceeds the time limit, or lacks a kernel.
"""


NOTICED = 1.03
"""Costs whose ratio is below this are considered equal: two timings of one kernel may differ as
much."""
WORTH = 1.05
"""Modelled speed-ups below this are no reason to change a kernel. Of 13 findings whose first fix is
modelled to gain less, two are 10% and 45% slower with it on an H200, and two more than 10% faster;
of the six between this and 1.1 none is slower (`benchmarks/model.py`)."""
UNSURE = 1.1
"""Modelled speed-ups closer to 1 may be slowdowns: half of all predictions are off by more
(docs/fix.md)."""
CLEARLY = 1.5
"""The modelled speed-up needed to choose something despite a better argument against it: for a
quarter of the fixes that were timed, the model is off by this factor or more."""


class Edit(Struct, frozen=True, order=True):
    """A replacement of a range of bytes in a file.

    Attributes:
        file: absolute path.
        start, end: byte offsets of the replaced range; equal for an insertion.
        text: the replacement.
        counts: how identical edits combine. ``file``: needed once per file; the first is kept.
            ``place``: once at each place. ``each``: every one, such as closing parentheses.
            ``head``: once at each place unless another edit starts there, for text before an
            otherwise unchanged declaration.
        kept: which of the replaced bytes the replacement retains: their position in the text, and
            their first and last position in the file. Edits to these bytes are applied there too.
    """

    file: str
    start: int
    end: int
    text: bytes
    counts: Literal["file", "place", "each", "head"] = "place"
    kept: tuple[tuple[int, int, int], ...] = ()


class ThreadRoom(Struct, frozen=True):
    """Shared memory with a slot for each thread of a block.

    Attributes:
        threads: the number of threads per block.
        kernels: mangled names of the kernels assumed to run the code that uses it.
    """

    threads: int
    kernels: frozenset[str]


class Rewriting(Struct, frozen=True):
    """A rewrite of one place, not yet tried.

    Attributes:
        rewrite: the rewrite's name, or several joined by ``+``.
        applicability: whether it may change the program's meaning.
        edits: to the user's files; an edit may lie inside another only in the part that the other
            keeps.
        summary: what it does, in a few words beginning with a verb.
        caveat: for an unsafe rewrite, what the user has to guarantee; None for a safe one.
        promises: which edits need that guarantee, where no other reason does: another rewriting
            that makes such an edit without it has shown that it is not needed.
        base: the edits that remove the object, if others only make the kernel faster.
        version: if it generates a version of the kernel for each value of a number: the kernel's
            name, the number's name, and the largest value.
        takes: parameters in a kernel's PTX, with the numbers that all launches pass; the original
            is compared as it runs with these.
        room: the per-thread shared memory it adds, or None.
    """

    rewrite: str
    applicability: Applicability
    edits: tuple[Edit, ...]
    summary: str
    caveat: str | None = None
    promises: tuple[tuple[Edit, str], ...] = ()
    version: tuple[str, str, int] | None = None
    base: tuple[Edit, ...] | None = None
    takes: tuple[tuple[str, str, int], ...] = ()
    room: ThreadRoom | None = None


class Figures(Struct, frozen=True):
    """A kernel's figures before or after a rewrite; None if unknown.

    Attributes:
        registers: per thread.
        stack_frame: bytes per thread, of the kernel and the functions in its section.
        spill_stores, spill_loads: bytes at sites as in ``ptxas -v``, for the same functions.
        shared: static shared memory in bytes per block.
        ldl, stl: number of local load and store sites.
        code_bytes: machine code size, including functions that are not inlined.
        occupancy: resident warps per multiprocessor, as a fraction of the maximum.
        block, block_from, limited_by: the block size assumed, its origin, and the limiter, as in
            `Occupancy`; absent in documents of earlier versions.
    """

    registers: int | None
    stack_frame: int | None
    spill_stores: int | None
    spill_loads: int | None
    shared: int | None
    ldl: int | None
    stl: int | None
    code_bytes: int | None
    occupancy: float | None
    block: int | None = None
    block_from: BlockSource | None = None
    limited_by: tuple[Limiter, ...] = ()

    @property
    def sites(self) -> int | None:
        """Local loads and stores together."""
        return known_sum(self.ldl, self.stl)

    @property
    def spills(self) -> int | None:
        """Bytes of spill stores and loads together."""
        return known_sum(self.spill_stores, self.spill_loads)


class Verified(Struct, frozen=True):
    """The result of advice that was compiled.

    Attributes:
        rewrite, applicability, verdict: as in `Trial`.
        before, after: the kernel's figures.
        speed_up: modelled speed-up, or None.
        rounding: as in `Trial`.
    """

    rewrite: str
    applicability: Applicability
    verdict: TrialVerdict
    before: Figures
    after: Figures
    speed_up: float | None = None
    rounding: bool | None = None


class ProvenFix(Struct, frozen=True):
    """The best rewrite for a finding.

    Attributes:
        verified: the rewrite, and its effect on the kernel.
        summary: a short description.
        caveat: what the user has to guarantee; None for a safe rewrite.
        patch: unified diff with paths relative to the working directory.
    """

    verified: Verified
    summary: str
    caveat: str | None
    patch: str


class ProgramRun(Struct, frozen=True):
    """A run of the user's program on a copy of the tree, original and rewritten.

    Attributes:
        same: whether it printed the same output and succeeded.
        seconds_before, seconds_after: wall-clock time of the whole command.
    """

    same: bool
    seconds_before: float
    seconds_after: float


class Trial(Struct, frozen=True):
    """The result of trying a rewriting of one object, for one kernel.

    Attributes:
        input, arch: as in `Unit`.
        kernel: demangled name.
        object: the variable, if the finding has one.
        fingerprint: of the finding.
        cause: of the finding.
        place: line of the finding.
        rewriting: what was tried.
        verdict: the outcome.
        rank: 1 for the best one offered for this object and kernel; None if not offered, or if the
            kernel becomes slower.
        before, after: the kernel's figures; ``after`` is None if nothing was compiled.
        cost_before, cost_after: modelled (docs/fix.md), or None.
        patch: unified diff for ``git apply``, or None if the file cannot be read.
        error: the compiler's first error, if it failed.
        modelled, made: components of ``cost_before`` and ``cost_after``, or None.
        run: the result of the user's program; None if it was not run.
        declared: line of the variable's declaration, or None. It separates findings of two
            variables with one name on one line, such as in a function that receives both.
        is_slowing: whether its only fault is that a kernel without the finding becomes slower by
            the model.
        is_late: whether it failed because the time limit was reached before it was compiled.
        rewritten: the variable that is rewritten, if different from the finding's.
        rewritten_at: line of its declaration.
        rounding: whether results may round differently, because nvcc contracts other
            multiplications and additions in some kernel of the file; None if unknown.
    """

    input: str
    arch: str
    kernel: str
    object: str | None
    fingerprint: str
    cause: str
    place: SourceLocation | None
    rewriting: Rewriting
    verdict: TrialVerdict
    rank: int | None
    before: Figures
    after: Figures | None
    cost_before: float | None
    cost_after: float | None
    patch: str | None
    error: str | None = None
    modelled: Cost | None = None
    made: Cost | None = None
    run: ProgramRun | None = None
    declared: SourceLocation | None = None
    is_slowing: bool = False
    is_late: bool = False
    rewritten: str | None = None
    rewritten_at: SourceLocation | None = None
    rounding: bool | None = None

    @property
    def summary(self) -> str:
        """What it does, and to which variable if that differs from the finding's."""
        if self.rewritten is None:
            return self.rewriting.summary
        line = f" (line {self.rewritten_at.line})" if self.rewritten_at is not None else ""
        return f"by rewriting `{self.rewritten}`{line}: {self.rewriting.summary}"

    @property
    def is_offered(self) -> bool:
        """Whether it helps this kernel and harms none."""
        return self.verdict in ("removed", "reduced")

    @property
    def speed_up(self) -> float | None:
        """Modelled speed-up; None if unknown."""
        if not self.cost_before or not self.cost_after:
            return None
        return self.cost_before / self.cost_after

    @property
    def is_worth(self) -> bool:
        """Whether the model predicts a relevant speed-up, or predicts nothing."""
        gained = self.speed_up
        return gained is None or gained >= WORTH

    @property
    def is_slower(self) -> bool:
        """Whether the model predicts any slowdown."""
        gained = self.speed_up
        return gained is not None and gained < 1


class Declined(Struct, frozen=True):
    """Why rewrites do not apply to a finding.

    Attributes:
        reason: the end of a sentence.
        rewrites: their names; empty if no rewrite can edit the finding.
        is_ruled_out: whether a hardware limit or toolchain rule forbids it in any implementation.
            Otherwise it is only a limitation of the rewrites.
        line: in the target's file, if the reason refers to one.
        is_absent: whether the text has nothing of what the rewrites look for, so that nothing is in
            their way.
    """

    reason: str
    rewrites: tuple[str, ...] = ()
    is_ruled_out: bool = False
    line: int | None = None
    is_absent: bool = False


class Untried(Struct, frozen=True):
    """A finding without any applicable rewrite, and why.

    Attributes:
        input, arch, kernel, object, cause, place, declared: as in `Trial`.
        reason: the complete text.
        declined: by reason; empty in the earliest documents.
    """

    input: str
    arch: str
    kernel: str
    object: str | None
    cause: str
    place: SourceLocation | None
    reason: str
    declared: SourceLocation | None = None
    declined: tuple[Declined, ...] = ()


class DeclinedRewrite(Struct, frozen=True):
    """A rewrite that applies to a finding's cause but proposes nothing for the finding.

    Attributes:
        input, arch, kernel, object, cause, place, declared: as in `Trial`, for the finding's first
            kernel.
        rewrite: its name.
        reason: why not, as the end of a sentence.
        line: the line the reason refers to, else that of the declaration or the finding; None if
            unknown.
        is_absent: as of `Declined`.
    """

    input: str
    arch: str
    kernel: str
    object: str | None
    cause: str
    place: SourceLocation | None
    declared: SourceLocation | None
    rewrite: str
    reason: str
    line: int | None
    is_absent: bool = False


class Chosen(Struct, frozen=True):
    """Rewritings selected to be applied together, compiled again as one patch.

    Attributes:
        rewritings: one per target; safe ones only, unless unsafe ones were requested.
        edits: of all of them.
        patch: unified diff for ``git apply``; empty if nothing changes.
        left_out: names of objects whose rewriting does harm in combination with others, with the
            reason.
    """

    rewritings: tuple[Rewriting, ...]
    edits: tuple[Edit, ...]
    patch: str
    left_out: tuple[str, ...] = ()


class FileContent(Struct, frozen=True):
    """A file at the time it was read.

    Attributes:
        file: relative to the working directory if below it; else absolute.
        sha256: of its bytes, in hexadecimal.
    """

    file: str
    sha256: str


class TriedUnit(Struct, frozen=True):
    """The compilation for which a unit's trials are valid.

    Attributes:
        input, arch: as in `Trial`.
        options: the effective compiler options.
        tools: that compiled the original.
        files: the user's files that it was compiled from; None if there may be others.
    """

    input: str
    arch: str
    options: tuple[str, ...]
    tools: tuple[Tool, ...]
    files: tuple[FileContent, ...] | None


class FailedInput(Struct, frozen=True):
    """An input that could not be analysed.

    Attributes:
        input: its path as typed.
        failure: the reason.
    """

    input: str
    failure: Failure


class FixReport(Struct, frozen=True):
    """All trials and their results.

    Attributes:
        version: of lmemscope.
        trials: by input, architecture, kernel and finding, the best first.
        untried: findings without an applicable rewrite.
        declined: for each finding, the rewrites for its cause that propose nothing.
        chosen: the patch that is offered.
        failures: inputs that could not be analysed.
        kernels: the number of kernels, and of those that use local memory.
        notes: sentences about what was left out of the inputs.
        default_arch: why an architecture was chosen when none was requested.
        units: the compilations for which the trials are valid.
    """

    version: str
    trials: tuple[Trial, ...]
    untried: tuple[Untried, ...]
    chosen: Chosen
    failures: tuple[FailedInput, ...] = ()
    kernels: tuple[int, int] = (0, 0)
    notes: tuple[str, ...] = ()
    default_arch: str | None = None
    units: tuple[TriedUnit, ...] = ()
    declined: tuple[DeclinedRewrite, ...] = ()

    @property
    def undecided(self) -> int:
        """Number of findings for which every rewrite ran out of time."""
        came: dict[tuple[object, ...], bool] = {}
        for one in self.trials:
            key = one.input, one.cause, one.object, one.place, one.declared
            came[key] = came.get(key, True) and one.is_late
        return sum(came.values())
