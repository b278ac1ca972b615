"""Separate the reports of many compilations in one build log.

Ninja prints each step with its complete output, so the lines of a step belong together. make's
output is a single stream. It is read as sequential steps unless something in it shows that they
overlapped; then kernels are not assigned to files, nor called functions to kernels.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from lmemscope.formats.build_errors import BuildError
from lmemscope.formats.build_steps import Step
from lmemscope.formats.log_compilations import Compilations
from lmemscope.formats.log_lines import (
    Announced,
    Event,
    Linked,
    LinkedUsed,
    Module,
    OtherReport,
    Properties,
    Trouble,
    Warned,
    events,
)
from lmemscope.formats.log_stream import Compiled, CompiledModule, Links, LogStream


@dataclass(slots=True)
class BuildLog:
    """A parsed build log.

    Attributes:
        functions: kernels, and functions of unknown kernels, in order of appearance.
        linked: nvlink's lines by kernel and target; the target is None if it names none. Several
            different lines come from several links, or were mixed up.
        warnings: warnings of ptxas and nvlink that name a function, by function.
        other: further lines of ptxas and nvlink.
        sources: files that the build compiled, in order.
        is_parallel: whether the output of compilations was interleaved somewhere.
        has_report: whether ptxas or nvlink reported anything.
        archs: of the functions, by name.
        errors: lines that report a failure, in order.
        unreported: descriptions of compilations without a ptxas report.
    """

    functions: list[Compiled] = field(default_factory=list)
    linked: dict[tuple[str, str | None], list[str]] = field(default_factory=dict)
    warnings: dict[str, list[str]] = field(default_factory=dict)
    other: list[str] = field(default_factory=list)
    sources: tuple[str, ...] = ()
    is_parallel: bool = False
    has_report: bool = False
    archs: dict[str, set[str | None]] = field(default_factory=dict)
    errors: list[BuildError] = field(default_factory=list)
    unreported: tuple[str, ...] = ()


def parse_build_log(text: str) -> BuildLog:
    """Parse a build's output; any text is accepted, and most contain no report."""
    log = BuildLog()
    said = list(events(text))
    buffered = _is_buffered(said)
    stream = LogStream()
    links = Links(log.linked)
    sources: dict[str, None] = {}
    compilations = Compilations()
    for event in said:
        compilations.take(event)
        if isinstance(event, (OtherReport, Trouble)) and event.error is not None:
            log.errors.append(event.error)
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
                    _close(stream, log)
                    stream = LogStream()
                    links.waiting.clear()
                    links.loose.clear()
            stream.take(event)
        log.has_report |= not isinstance(event, (Step, Trouble))
    _close(stream, log)
    log.sources = tuple(sources)
    log.unreported = compilations.unreported(is_parallel=log.is_parallel)
    _add_named_elsewhere(log)
    _fill_architectures(log)
    for function in log.functions:
        log.archs.setdefault(function.name, set()).add(function.arch)
    return log


def _close(stream: LogStream, log: BuildLog) -> None:
    log.functions += stream.close()
    log.is_parallel |= stream.is_parallel


def _is_buffered(said: Sequence[Event]) -> bool:
    """Whether each counted step precedes its own output, as in ninja's log.

    A compilation with ``-v`` always prints a report, if only of 0 bytes of global memory. So two
    steps without a report between them were printed when they started.
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
    """Add functions that only nvlink or a warning names."""
    known = {one.name for f in log.functions for one in (f, *f.callees)}
    for name, arch in log.linked:
        if name not in known:
            log.functions.append(Compiled(name, True, arch, None, CompiledModule(arch)))
    known |= {name for name, _ in log.linked}
    for name in log.warnings:
        if name not in known:
            log.functions.append(Compiled(name, False, None, None, CompiledModule(None)))


def _fill_architectures(log: BuildLog) -> None:
    """Functions and links without an architecture, if the log names only one."""
    named = {f.arch for f in log.functions if f.arch} | {arch for _, arch in log.linked if arch}
    if len(named) == 1:
        (only,) = named
        for function in log.functions:
            function.arch = function.arch or only


@dataclass(frozen=True, slots=True)
class LogPart:
    """The functions of one source file and architecture, each once.

    Attributes:
        source, arch: None if the log does not tell.
        number: 2 for kernels compiled a second time with other figures, and so on.
        functions: kernels and functions, sorted by name.
    """

    source: str | None
    arch: str | None
    number: int
    functions: tuple[Compiled, ...]


def parts_of(log: BuildLog) -> tuple[LogPart, ...]:
    """The log split by source file and architecture; identical repetitions count once."""
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
    """The lines of ptxas and nvlink for some functions, as one compilation would print them."""
    chosen = list(functions)
    lines = [text for f in chosen for text in _warnings(f, log)]
    for function in sorted(chosen, key=lambda f: f.is_entry):
        if function.is_entry and function.arch is not None:
            lines.append(
                f"ptxas info    : Compiling entry function '{function.name}' for '{function.arch}'"
            )
        for one in (function, *function.callees):
            if one.is_entry and one.arch is None:
                continue  # only nvlink reports it
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
    """nvlink's line for a kernel; None if there is none, or several different ones."""
    found = log.linked.get((function.name, function.arch))
    if found is None:
        found = log.linked.get((function.name, None), [])
        if len(found) < len(log.archs.get(function.name, ())):
            return None
    return found[0] if len(set(found)) == 1 else None


def _warnings(function: Compiled, log: BuildLog) -> list[str]:
    names = (function.name, *(callee.name for callee in function.callees))
    return [text for name in dict.fromkeys(names) for text in log.warnings.get(name, ())]


def _figures(function: Compiled) -> tuple[object, ...]:
    callees = sorted((c.name, c.stack or "", c.used or "") for c in function.callees)
    return (function.is_entry, function.stack, function.used, function.mixed_up, tuple(callees))
