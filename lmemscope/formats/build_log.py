"""Build logs: the reports of many compilations in one text, taken apart again.

ptxas prints a function's figures in lines that do not name it. Where compilations ran at the same
time and their lines lie between each other's, a line may belong to several functions. It is then
taken only where every way of reading it gives the same figures; else they are not known.

Ninja prints each step with its whole output, so that a step's lines are its own. What make prints
is one stream; it is read as the steps one after another unless something in it shows that they
were not. Then no file is named for its kernels, and no kernel for a function that is called.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from lmemscope.formats.build_steps import Step
from lmemscope.formats.log_lines import (
    Announced,
    Event,
    Linked,
    LinkedUsed,
    Module,
    OtherReport,
    Properties,
    Stack,
    Trouble,
    Used,
    Warned,
    events,
)


@dataclass(slots=True)
class _Module:
    """Functions that ptxas compiled together: the architecture of one is that of all.

    ``is_relocatable``: code that is linked later, whose functions stand without a kernel.
    """

    arch: str | None
    is_relocatable: bool = False


@dataclass(slots=True, eq=False)
class Compiled:
    """One function as one compilation reported it.

    Attributes:
        name: mangled, as printed.
        is_entry: whether it was announced as a kernel.
        arch, source: None where the log does not tell.
        owner: the kernel that a function was compiled with, or None.
        stack, used: the two lines of figures, or None.
        mixed_up: figures are missing since several functions may own a line.
    """

    name: str
    is_entry: bool
    arch: str | None
    source: str | None
    module: _Module
    owner: Compiled | None = None
    stack: str | None = None
    used: str | None = None
    mixed_up: bool = False
    callees: list[Compiled] = field(default_factory=list)

    @property
    def is_relocatable(self) -> bool:
        """Whether it certainly is code that is linked later."""
        return self.module.is_relocatable


@dataclass(slots=True)
class BuildLog:
    """A build's output, taken apart.

    Attributes:
        functions: kernels, and functions of no known kernel, in order of appearance.
        linked: nvlink's lines by kernel and target; the target is None where it names none.
            Several that differ: of several links, or mixed up.
        warnings: ptxas's and nvlink's warnings that name a function, by function.
        other: further lines of ptxas and nvlink.
        sources: files that the build compiled, in order.
        is_parallel: somewhere, compilations printed between each other's lines.
        has_report: whether ptxas or nvlink reported anything at all.
    """

    functions: list[Compiled] = field(default_factory=list)
    linked: dict[tuple[str, str | None], list[str]] = field(default_factory=dict)
    warnings: dict[str, list[str]] = field(default_factory=dict)
    other: list[str] = field(default_factory=list)
    sources: tuple[str, ...] = ()
    is_parallel: bool = False
    has_report: bool = False


def parse_build_log(text: str) -> BuildLog:
    """Take a build's output apart; any text is one, most hold no report."""
    log = BuildLog()
    said = list(events(text))
    buffered = _is_buffered(said)
    stream = _Stream()
    links = _Links(log.linked)
    sources: dict[str, None] = {}
    for event in said:
        if isinstance(event, Linked):
            links.waiting.append((event.name, event.arch))
        elif isinstance(event, LinkedUsed):
            links.take(event.text)
        elif isinstance(event, Warned):
            kept = log.warnings.setdefault(event.name, [])
            kept += [event.text] if event.text not in kept else []
        elif isinstance(event, OtherReport):
            log.other.append(event.text)
            stream.take(event)
        else:
            if isinstance(event, Step):
                sources.update({event.source: None} if event.source is not None else {})
                if buffered and event.counted:
                    stream.close(log)
                    stream = _Stream()
                    links.waiting.clear()
                    links.loose.clear()
            stream.take(event)
        log.has_report |= not isinstance(event, (Step, Trouble))
    stream.close(log)
    log.sources = tuple(sources)
    _add_named_elsewhere(log)
    _fill_architectures(log)
    return log


def _is_buffered(said: Sequence[Event]) -> bool:
    """Whether each counted step stands before its own output, as ninja prints it.

    A compilation that asks for a report always prints one, if only of 0 bytes of global memory. So
    two steps without a report between them were printed as they started.
    """
    counted = silent = False
    source: str | None = None
    for event in said:
        if isinstance(event, Step):
            if event.counted and event.language == "CUDA":
                if silent and event.source != source:
                    return False
                counted = silent = True
                source = event.source
        elif isinstance(event, (Module, Announced, Properties, Trouble)):
            silent = False
    return counted


def _add_named_elsewhere(log: BuildLog) -> None:
    """Functions that only nvlink or a warning names."""
    known = {one.name for f in log.functions for one in (f, *f.callees)}
    for name, arch in log.linked:
        if name not in known:
            log.functions.append(Compiled(name, True, arch, None, _Module(arch)))
    known |= {name for name, _ in log.linked}
    for name in log.warnings:
        if name not in known:
            log.functions.append(Compiled(name, False, None, None, _Module(None)))


def _fill_architectures(log: BuildLog) -> None:
    """Functions and links that name no architecture, in a log that names only one."""
    named = {f.arch for f in log.functions if f.arch} | {arch for _, arch in log.linked if arch}
    if len(named) == 1:
        (only,) = named
        for function in log.functions:
            function.arch = function.arch or only


class _Links:
    """nvlink's lines: of two kernels that wait, both get both, for neither is surely one's."""

    def __init__(self, found: dict[tuple[str, str | None], list[str]]) -> None:
        self._found = found
        self.waiting: list[tuple[str, str | None]] = []
        self.loose: list[str] = []

    def take(self, text: str) -> None:
        """``used …``, of a kernel that was named before."""
        self.loose.append(text)
        if len(self.loose) < len(self.waiting):
            return
        for key in self.waiting:
            self._found.setdefault(key, []).extend(self.loose)
        self.waiting.clear()
        self.loose.clear()


class _Stream:
    """Lines that may belong together: of one ninja step, or of all that is not ninja's."""

    def __init__(self) -> None:
        self._found: list[Compiled] = []
        self._announced: list[Compiled] = []
        self._twins: dict[str, list[Compiled]] = defaultdict(list)
        self._stacks = _Pool()
        self._useds = _Pool()
        self._module = _Module(None)
        self._entry: Compiled | None = None
        self._step: Step | None = None
        self._is_silent = False
        self._parallel = False

    def take(self, event: Event) -> None:
        """Read one more event."""
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
            self._module, self._entry = _Module(only, step.relocatable), None
        elif isinstance(event, Announced):
            self._reported(begins=True)
            self._announce(event)
        elif isinstance(event, Properties):
            self._reported(begins=False)
            self._name(event.name)
        elif isinstance(event, Stack):
            self._stacks.take(event.text, self._stacks.waiting, "stack")
        elif isinstance(event, Used):
            self._use(event.text)

    def close(self, log: BuildLog) -> None:
        """Settle what is open, and hand over what was found."""
        for pool in (self._stacks, self._useds):
            pool.give_up()
        for name, twins in self._twins.items():
            _settle_twins(twins, [f for f in self._announced if f.name == name])
        parallel = self._parallel or self._stacks.was_shared or self._useds.was_shared
        for function in self._found:
            if parallel:
                function.source = function.owner = None
                function.module = _Module(function.arch)
            if not function.is_entry:
                function.arch = function.arch or function.module.arch
            if function.owner is not None:
                function.owner.callees.append(function)
            else:
                log.functions.append(function)
        log.is_parallel |= parallel

    def _begin(self, step: Step) -> None:
        again = self._step is not None and _is_same_file(self._step.source, step.source)
        if self._is_silent and not again:
            self._parallel = True
        self._step = step
        self._is_silent = step.language == "CUDA"

    def _reported(self, *, begins: bool) -> None:
        """A line of ptxas; one that begins something while something else is open tells a lot."""
        self._is_silent = False
        open_ = self._announced or self._stacks.waiting or self._useds.waiting
        elsewhere = self._step is not None and self._step.language not in (None, "CUDA")
        if (begins and open_) or elsewhere:
            self._parallel = True

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

    def _use(self, text: str) -> None:
        """``Used …`` comes after the stack line; lines may lack, and very old ones have neither."""
        waiting, stacks = self._useds.waiting, self._stacks
        ready = [f for f in waiting if f not in stacks.waiting or stacks.loose]
        if not waiting and self._announced:
            self._useds.waiting = waiting = self._announced
            self._announced = []
        owner = self._useds.take(text, ready or list(waiting), "used")
        if owner is not None and owner in stacks.waiting and not stacks.loose:
            stacks.waiting.remove(owner)


def _is_same_file(one: str | None, other: str | None) -> bool:
    """Whether two spellings may be of one file: a build's message shortens a command's path."""
    if one is None or other is None:
        return False
    shorter, longer = sorted((PurePath(one).parts, PurePath(other).parts), key=len)
    return longer[len(longer) - len(shorter) :] == shorter


class _Pool:
    """Lines without a name, and the functions that wait for one.

    With one function waiting, the line is its own. With several, lines are kept until there are
    as many as functions: then all have theirs, and if the lines are equal, it does not matter
    which is whose.
    """

    def __init__(self) -> None:
        self.waiting: list[Compiled] = []
        self.loose: list[str] = []
        self.was_shared = False

    def take(self, text: str, candidates: list[Compiled], which: str) -> Compiled | None:
        """A line; returns the function that it certainly belongs to."""
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
            else:
                owner.mixed_up = True
        self.loose = []
        return owners[0] if len(owners) == 1 else None

    def give_up(self) -> None:
        """Nothing follows: who still waits while lines are loose cannot have one."""
        for owner in self.waiting:
            owner.mixed_up |= bool(self.loose)


def _settle_twins(twins: Sequence[Compiled], announced: Sequence[Compiled]) -> None:
    """One kernel announced for several architectures at once: its figures if all are equal."""
    complete = len(twins) == len(announced)
    for which in ("stack", "used"):
        lines = {getattr(twin, which) for twin in twins}
        for entry in announced:
            if complete and len(lines) == 1 and None not in lines:
                setattr(entry, which, next(iter(lines)))
            else:
                entry.mixed_up = True


@dataclass(frozen=True, slots=True)
class LogPart:
    """The functions of one source file and architecture, each once.

    Attributes:
        source, arch: None where the log does not tell.
        number: 2 where kernels were compiled a second time with other figures, and so on.
        functions: kernels and functions, sorted by name.
    """

    source: str | None
    arch: str | None
    number: int
    functions: tuple[Compiled, ...]


def parts_of(log: BuildLog) -> tuple[LogPart, ...]:
    """The log by source file and architecture; equal repetitions count once."""
    versions: dict[tuple[str | None, str | None, str], list[Compiled]] = defaultdict(list)
    for function in log.functions:
        known = versions[function.source, function.arch, function.name]
        if not any(_figures(function) == _figures(other) for other in known):
            known.append(function)
    parts: dict[tuple[str | None, str | None, int], list[Compiled]] = {}
    for (source, arch, _), found in versions.items():
        for number, function in enumerate(found, start=1):
            parts.setdefault((source, arch, number), []).append(function)
    return tuple(
        LogPart(source, arch, number, tuple(sorted(found, key=lambda f: f.name)))
        for (source, arch, number), found in parts.items()
    )


def report_of(functions: Iterable[Compiled], log: BuildLog) -> str:
    """ptxas's and nvlink's lines on some functions as one compilation alone would print them."""
    chosen = list(functions)
    lines = [text for f in chosen for text in _warnings(f, log)]
    for function in sorted(chosen, key=lambda f: f.is_entry):
        if function.is_entry and function.arch is not None:
            lines.append(
                f"ptxas info    : Compiling entry function '{function.name}' for '{function.arch}'"
            )
        for one in (function, *function.callees):
            if one.is_entry and one.arch is None:
                continue  # only nvlink knows it
            lines.append(f"ptxas info    : Function properties for {one.name}")
            lines += [f"    {one.stack}"] if one.stack is not None else []
            lines += [f"ptxas info    : {one.used}"] if one.used is not None else []
    for function in chosen:
        linked = linked_line(function, log)
        if linked is not None:
            lines.append(f"nvlink info    : Function properties for '{function.name}':")
            lines.append(f"nvlink info    : {linked}")
    return "".join(f"{line}\n" for line in lines)


def linked_line(function: Compiled, log: BuildLog) -> str | None:
    """What nvlink says of a kernel, or None where it says nothing, or several things."""
    found = log.linked.get((function.name, function.arch))
    if found is None:
        found = log.linked.get((function.name, None), [])
        archs = {f.arch for f in log.functions if f.name == function.name}
        if len(found) < len(archs):
            return None
    return found[0] if len(set(found)) == 1 else None


def _warnings(function: Compiled, log: BuildLog) -> list[str]:
    names = (function.name, *(callee.name for callee in function.callees))
    return [text for name in dict.fromkeys(names) for text in log.warnings.get(name, ())]


def _figures(function: Compiled) -> tuple[object, ...]:
    callees = sorted((c.name, c.stack or "", c.used or "") for c in function.callees)
    return (function.is_entry, function.stack, function.used, function.mixed_up, tuple(callees))
