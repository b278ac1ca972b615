"""Assign the ptxas lines of one output stream to functions, as far as that is certain.

ptxas prints a function's figures on lines that do not name it. If compilations ran at the same time
and their lines are interleaved, a line may belong to several functions. It is used only if every
possible assignment gives the same figures; otherwise they are unknown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from lmemscope.formats.build_steps import Step, is_same_file
from lmemscope.formats.log_lines import (
    Announced,
    Event,
    Module,
    OtherReport,
    Properties,
    Stack,
    Trouble,
    Used,
)

_MOST_AT_ONCE = 300
"""Maximum number of functions waiting for their figures; each line is compared with all."""


@dataclass(slots=True)
class CompiledModule:
    """Functions that ptxas compiled together: they share an architecture.

    ``is_relocatable``: code that is linked later, whose functions have no kernel.
    """

    arch: str | None
    is_relocatable: bool = False


@dataclass(slots=True, eq=False)
class Compiled:
    """A function as reported by one compilation.

    Attributes:
        name: mangled, as printed.
        is_entry: whether it was announced as a kernel.
        arch, source: None if the log does not tell.
        owner: the kernel with which a function was compiled, or None.
        stack, used: the two lines of figures, or None.
        mixed_up: whether figures are missing because a line may belong to several functions.
    """

    name: str
    is_entry: bool
    arch: str | None
    source: str | None
    module: CompiledModule
    owner: Compiled | None = None
    stack: str | None = None
    used: str | None = None
    mixed_up: bool = False
    callees: list[Compiled] = field(default_factory=list)

    @property
    def is_relocatable(self) -> bool:
        """Whether it certainly is relocatable code."""
        return self.module.is_relocatable


class Links:
    """nvlink's lines; if two kernels wait, each gets both, so that neither line is certain."""

    def __init__(self, found: dict[tuple[str, str | None], list[str]]) -> None:
        self._found = found
        self.waiting: list[tuple[str, str | None]] = []
        self.loose: list[str] = []

    def take(self, text: str) -> None:
        """Process ``used …``, for a kernel named earlier."""
        self.loose.append(text)
        if len(self.loose) < len(self.waiting):
            return
        for key in self.waiting:
            self._found.setdefault(key, []).extend(self.loose)
        self.waiting.clear()
        self.loose.clear()


class LogStream:
    """Lines that may belong together: those of one ninja step, or everything outside ninja's steps.

    Attributes:
        is_parallel: whether the output of compilations is interleaved.
    """

    def __init__(self) -> None:
        self._found: list[Compiled] = []
        self._announced: list[Compiled] = []
        self._twins: dict[str, list[Compiled]] = defaultdict(list)
        self._stacks = _Pool()
        self._useds = _Pool()
        self._module = CompiledModule(None)
        self._entry: Compiled | None = None
        self._step: Step | None = None
        self._is_silent = False
        self.is_parallel = False

    def take(self, event: Event) -> None:
        """Process one event."""
        if max(map(len, (self._announced, *self._waiting))) > _MOST_AT_ONCE:
            self._give_up()
        if isinstance(event, Step):
            self._begin(event)
        elif isinstance(event, Trouble):
            self._is_silent = False
        elif isinstance(event, OtherReport):
            if "fatal" in event.text and len(self._announced) == 1:
                self._announced.clear()
        elif isinstance(event, Module):
            self._reported(begins=True)
            step = self._step or Step(None)
            only = step.archs[0] if len(step.archs) == 1 else None
            self._module, self._entry = CompiledModule(only, step.relocatable), None
        elif isinstance(event, Announced):
            self._reported(begins=True)
            self._announce(event)
        elif isinstance(event, Properties):
            self._reported(begins=False)
            self._name(event.name)
        elif isinstance(event, Stack):
            if not self._stacks.waiting:
                self._doubt("stack")
            self._stacks.take(event.text, self._stacks.waiting, "stack")
        elif isinstance(event, Used):
            self._use(event.text)

    @property
    def _waiting(self) -> tuple[list[Compiled], list[Compiled]]:
        return self._stacks.waiting, self._useds.waiting

    def _give_up(self) -> None:
        """No machine runs so many compilations at once: lines are missing; assign nothing."""
        self.is_parallel = True
        for waiting in (self._announced, *self._waiting):
            for function in waiting:
                function.mixed_up = True
            waiting.clear()
        self._stacks.loose.clear()
        self._useds.loose.clear()

    def close(self) -> list[Compiled]:
        """Settle everything pending.

        Returns:
            Kernels, each with its callees, and functions of unknown kernels.
        """
        own: list[Compiled] = []
        for pool in (self._stacks, self._useds):
            pool.give_up()
        for name, twins in self._twins.items():
            _settle_twins(twins, [f for f in self._announced if f.name == name])
        parallel = self.is_parallel or self._stacks.was_shared or self._useds.was_shared
        for function in self._found:
            if parallel:
                function.source = function.owner = None
                function.module = CompiledModule(function.arch)
            if not function.is_entry:
                function.arch = function.arch or function.module.arch
            if function.owner is not None:
                function.owner.callees.append(function)
            else:
                own.append(function)
        self.is_parallel = parallel
        return own

    def _begin(self, step: Step) -> None:
        again = self._step is not None and is_same_file(self._step.source, step.source)
        if self._is_silent and not again:
            self.is_parallel = True
        self._step = step
        self._is_silent = step.language == "CUDA"

    def _reported(self, *, begins: bool) -> None:
        """A ptxas line; one that starts something while another is pending shows an overlap."""
        self._is_silent = False
        open_ = self._announced or self._stacks.waiting or self._useds.waiting
        elsewhere = self._step is not None and self._step.language not in (None, "CUDA")
        if (begins and open_) or elsewhere:
            self.is_parallel = True

    def _announce(self, event: Announced) -> None:
        self._module.arch = event.arch
        source = self._step.source if self._step is not None else None
        entry = Compiled(event.name, True, event.arch, source, self._module)
        self._announced.append(entry)
        self._found.append(entry)
        self._entry = entry

    def _name(self, name: str) -> None:
        alike = [entry for entry in self._announced if entry.name == name]
        if len({(entry.arch, entry.source) for entry in alike}) == 1:
            function = alike[0]
            self._announced.remove(function)
        elif alike:
            function = Compiled(name, True, None, None, self._module)
            self._twins[name].append(function)
        else:
            source = self._step.source if self._step is not None else None
            owner = self._entry
            self._module.is_relocatable |= owner is None
            function = Compiled(name, False, None, source, self._module, owner)
            self._found.append(function)
        self._stacks.waiting.append(function)
        if function.is_entry:
            self._useds.waiting.append(function)

    def _doubt(self, which: str) -> None:
        """A line without a waiting function: the log starts late, or an earlier line went wrong.

        It is unknown which, so no earlier assignment is trusted.
        """
        given = (self._stacks if which == "stack" else self._useds).given
        for function in given:
            setattr(function, which, None)
            function.mixed_up = True
        given.clear()

    def _use(self, text: str) -> None:
        """``Used …`` follows the stack line; lines may be missing, and old logs have neither."""
        waiting, stacks = self._useds.waiting, self._stacks
        ready = [f for f in waiting if f not in stacks.waiting or stacks.loose]
        if not waiting and self._announced:
            self._useds.waiting = waiting = self._announced
            self._announced = []
        if not waiting:
            self._doubt("used")
        owner = self._useds.take(text, ready or list(waiting), "used")
        if owner is not None and owner in stacks.waiting and not stacks.loose:
            stacks.waiting.remove(owner)


class _Pool:
    """Lines without a name, and the functions that wait for one.

    If one function waits, the line is its own. If several wait, lines are collected until there are
    as many as functions; if they are all equal, it does not matter which is whose.
    """

    def __init__(self) -> None:
        self.waiting: list[Compiled] = []
        self.loose: list[str] = []
        self.given: list[Compiled] = []
        """Functions that received a line since lines were last doubted."""
        self.was_shared = False

    def take(self, text: str, candidates: list[Compiled], which: str) -> Compiled | None:
        """Add a line; return the function to which it certainly belongs."""
        if not candidates:
            return None
        self.loose.append(text)
        if len(self.loose) < len(candidates):
            self.was_shared = True
            return None
        owners = list(candidates)
        for owner in owners:
            self.waiting.remove(owner)
            if len(set(self.loose)) == 1:
                setattr(owner, which, self.loose[0])
                self.given.append(owner)
            else:
                owner.mixed_up = True
        self.loose = []
        return owners[0] if len(owners) == 1 else None

    def give_up(self) -> None:
        """The end: functions still waiting while lines are unassigned get none."""
        for owner in self.waiting:
            owner.mixed_up |= bool(self.loose)


def _settle_twins(twins: Sequence[Compiled], announced: Sequence[Compiled]) -> None:
    """One kernel announced for several architectures at once: keep its figures if all are equal."""
    complete = len(twins) == len(announced)
    for which in ("stack", "used"):
        lines = {getattr(twin, which) for twin in twins}
        for entry in announced:
            if complete and len(lines) == 1 and None not in lines:
                setattr(entry, which, next(iter(lines)))
            else:
                entry.mixed_up = True
