"""Rewrites as claims: edits of a source, and what compiling them showed."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from lmemscope.model.occupancy import BlockSource, Limiter
from lmemscope.model.request import Failure, SourceLocation, Tool
from lmemscope.model.sites import known_sum
from lmemscope.model.work import Cost

Applicability = Literal["safe", "unsafe"]
"""Whether the meaning of the program cannot change by it, or may."""

TrialVerdict = Literal["removed", "reduced", "no-effect", "worse", "failed"]
"""``removed``: no byte of the object is left in local memory. ``reduced``: fewer of its bytes are
left, or fewer of its accesses run. ``no-effect``: neither. ``worse``: some kernel has new spills or
more local memory than before, or one without the finding is modelled slower. ``failed``: it does
not compile, not in the time that it has, or lacks a kernel. `lmemscope.fixing.effect` decides."""


NOTICED = 1.03
"""Costs whose ratio is less are taken to be the same: what timing a kernel twice may differ by."""
WORTH = 1.05
"""Modelled speed-ups below it are no reason to change a kernel. Of 13 findings whose first fix is
modelled that little faster, two are 10% and 45% slower with it on an H200, and two more than 10%
faster; of the six between this and 1.1 none is slower (`benchmarks/model.py`)."""
UNSURE = 1.1
"""Modelled speed-ups that are nearer to 1 may be losses: half of all are off by more (docs/fix.md).
"""
CLEARLY = 1.5
"""How many times as fast something has to be modelled where it is chosen against better reason: the
model is off by so much, or by more, of a quarter of the fixes that were timed."""


class Edit(Struct, frozen=True, order=True):
    """Bytes of a file to put in the place of others.

    Attributes:
        file: path, absolute.
        start, end: byte offsets of what is replaced; equal where something is inserted.
        text: what is put there.
        counts: what several of one text are. ``file``: the file needs it once, wherever it is used,
            and the first counts. ``place``: one at each place. ``each``: every one, as closing
            parentheses. ``head``: one at each place, unless another edit begins there: what stands
            before a declaration that stays as it is.
        kept: what the text has of the bytes that it replaces: where it stands in the text, and the
            first and the last byte of it in the file. Edits of these bytes are made there, too.
    """

    file: str
    start: int
    end: int
    text: bytes
    counts: Literal["file", "place", "each", "head"] = "place"
    kept: tuple[tuple[int, int, int], ...] = ()


class ThreadRoom(Struct, frozen=True):
    """Shared memory with a part for each thread of a block.

    Attributes:
        threads: of a block, that it is for.
        kernels: mangled names of those that are taken to run what has it.
    """

    threads: int
    kernels: frozenset[str]


class Rewriting(Struct, frozen=True):
    """One rewrite at one place, not yet tried.

    Attributes:
        rewrite: the rewrite's name, or several joined by ``+``.
        applicability: whether it may change what the program does.
        edits: of the user's files; one lies within another only in what that keeps.
        summary: what it does there, in a few words that begin with a verb.
        caveat: of an unsafe one, what the user promises by taking it; None of a safe one.
        promises: which edits want one, where nothing else does: another rewriting that makes such
            an edit without a promise has shown that it needs none.
        base: the edits that remove the object, where others beside them are for the kernel's speed.
        version: of one that writes a version of a kernel for each number: the kernel's name, the
            number's, and the largest.
        takes: kernels' PTX parameters with the numbers that all launches pass: the original is
            compared as it runs with them.
        room: that it makes in shared memory for each thread of a block, or None.
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
    """A kernel's figures before or after a rewrite; None: not known.

    Attributes:
        registers: per thread.
        stack_frame: bytes per thread, of the kernel and of the functions in its section.
        spill_stores, spill_loads: bytes at sites, as ``ptxas -v`` says, of the same functions.
        shared: static shared memory in bytes per block.
        ldl, stl: sites of local loads and stores.
        code_bytes: of machine code, inlined functions included.
        occupancy: warps that a multiprocessor holds, of those that it could.
        block, block_from, limited_by: the block that this is of, and what limits it, as in
            `Occupancy`; absent in earlier documents.
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
    """What came of an advice that was compiled.

    Attributes:
        rewrite, applicability, verdict: as in `Trial`.
        before, after: the kernel's figures.
        speed_up: how many times faster the kernel is by the model, or None.
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
    """The best rewrite of a finding.

    Attributes:
        verified: what it is, and what it does to the kernel.
        summary: in a few words.
        caveat: what who takes it promises; None of a safe one.
        patch: unified diff, names relative to the working directory.
    """

    verified: Verified
    summary: str
    caveat: str | None
    patch: str


class ProgramRun(Struct, frozen=True):
    """The user's program on a copy of the tree, as it is and rewritten.

    Attributes:
        same: whether it printed the same and succeeded.
        seconds_before, seconds_after: wall-clock time of the whole command.
    """

    same: bool
    seconds_before: float
    seconds_after: float


class Trial(Struct, frozen=True):
    """A rewriting of one object, tried, as it is for one kernel.

    Attributes:
        input, arch: as in `Unit`.
        kernel: demangled name.
        object: variable, where the finding has one.
        fingerprint: of the finding.
        cause: of the finding.
        place: the line of the finding.
        rewriting: what was tried.
        verdict: what came of it.
        rank: 1 for the best of those offered for this object and kernel; None of one not offered,
            and of one by which the kernel becomes slower.
        before, after: the kernel's figures; ``after`` is None where nothing was compiled.
        cost_before, cost_after: modelled (docs/fix.md), or None.
        patch: unified diff that ``git apply`` takes, or None where the file cannot be read.
        error: why it failed, the compiler's first error.
        modelled, made: what ``cost_before`` and ``cost_after`` are made of, or None.
        run: what the user's program did with it; None where it was not run.
        declared: the line of the variable's declaration, or None: findings of two variables of one
            name may be on one line, of a function that both are given to.
        is_slowing: whether all that is wrong with it is that a kernel without the finding becomes
            slower by the model.
        is_late: whether it failed because it was not compiled in the time that it had.
        rewritten: the variable that is rewritten, where that is another than the finding's.
        rewritten_at: the line of its declaration.
        rounding: whether results may round otherwise, because nvcc contracts other multiplications
            and additions of some kernel of the file; None where that is not known.
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
        """What it does, and to which variable where that is another than the finding's."""
        if self.rewritten is None:
            return self.rewriting.summary
        line = f" (line {self.rewritten_at.line})" if self.rewritten_at is not None else ""
        return f"by rewriting `{self.rewritten}`{line}: {self.rewriting.summary}"

    @property
    def is_offered(self) -> bool:
        """Whether it helps and harms no kernel."""
        return self.verdict in ("removed", "reduced")

    @property
    def speed_up(self) -> float | None:
        """How many times faster the kernel is by the model; None where that is not known."""
        if not self.cost_before or not self.cost_after:
            return None
        return self.cost_before / self.cost_after

    @property
    def is_worth(self) -> bool:
        """Whether the model makes the kernel faster by it, or does not know."""
        gained = self.speed_up
        return gained is None or gained >= WORTH

    @property
    def is_slower(self) -> bool:
        """Whether the model makes the kernel slower by it, however little."""
        gained = self.speed_up
        return gained is not None and gained < 1


class Declined(Struct, frozen=True):
    """Why rewrites do not apply to a finding.

    Attributes:
        reason: the end of a sentence.
        rewrites: their names; empty where the finding can be edited by none.
        is_ruled_out: whether a figure of the machine or a rule of the toolchain is against it,
            whoever writes it. Else it says what the rewrites do not read or do, and no more.
        line: of the target's file, where the reason names one.
    """

    reason: str
    rewrites: tuple[str, ...] = ()
    is_ruled_out: bool = False
    line: int | None = None


class Untried(Struct, frozen=True):
    """A finding for which no rewrite is known, and why.

    Attributes:
        input, arch, kernel, object, cause, place, declared: as in `Trial`.
        reason: all of it, for a person.
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
    """A rewrite that is tried on a finding's cause and has nothing to propose for the finding.

    Attributes:
        input, arch, kernel, object, cause, place, declared: as in `Trial`, of the finding's first
            kernel.
        rewrite: its name.
        reason: why not, as the end of a sentence.
        line: what the reason is about, else that of the declaration or of the finding; None where
            no line is known.
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


class Chosen(Struct, frozen=True):
    """Rewritings that are taken together, compiled once more as one patch.

    Attributes:
        rewritings: one for each target, safe ones only unless others were asked for.
        edits: of all of them.
        patch: unified diff that ``git apply`` takes; empty where there is nothing to change.
        left_out: names of objects whose rewriting harms in company, with the reason.
    """

    rewritings: tuple[Rewriting, ...]
    edits: tuple[Edit, ...]
    patch: str
    left_out: tuple[str, ...] = ()


class FileContent(Struct, frozen=True):
    """A file as it was read.

    Attributes:
        file: relative to the working directory, if it is below that; else absolute.
        sha256: of its bytes, in hexadecimal digits.
    """

    file: str
    sha256: str


class TriedUnit(Struct, frozen=True):
    """What trials of a unit's findings hold for: another program may be another thing.

    Attributes:
        input, arch: as in `Trial`.
        options: the effective compiler options.
        tools: that made the original.
        files: the user's files that it was compiled from; None where there may be others.
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
        failure: why.
    """

    input: str
    failure: Failure


class FixReport(Struct, frozen=True):
    """What was tried and what came of it.

    Attributes:
        version: of lmemscope.
        trials: by input, architecture, kernel and finding; the best first.
        untried: findings for which no rewrite is known.
        declined: of all findings, each rewrite of the cause that has nothing to propose.
        chosen: the patch that is offered.
        failures: inputs that could not be analysed.
        kernels: how many there are, and how many of them use local memory.
        notes: what was left out of the inputs, in sentences.
        default_arch: why an architecture was chosen, when none was asked for.
        units: what the trials hold for.
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
        """Findings of which every rewrite was given up on for lack of time."""
        came: dict[tuple[object, ...], bool] = {}
        for one in self.trials:
            key = one.input, one.cause, one.object, one.place, one.declared
            came[key] = came.get(key, True) and one.is_late
        return sum(came.values())
