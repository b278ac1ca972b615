"""Build log inputs: only the compilers' reports are available, and nothing is compiled.

A log gives one unit per source file and architecture that it mentions. The parent process reads it
once, standard input included, and passes each unit its excerpt.
"""

from __future__ import annotations

import codecs
import sys
from collections.abc import Sequence

from msgspec.structs import replace

from lmemscope.errors import InputError
from lmemscope.files import open_regular
from lmemscope.formats.build_errors import failed_files, first_of
from lmemscope.formats.build_log import (
    BuildLog,
    LogPart,
    linked_line,
    parse_build_log,
    parts_of,
    report_of,
)
from lmemscope.formats.log_stream import Compiled
from lmemscope.lowering.log_sources import LogSources
from lmemscope.model import STANDARD_INPUT, Artifacts, Gap, LogExcerpt, Unit, listed
from lmemscope.routes import Along, Asked, Expansion

LIMIT = 256 << 20
"""Larger logs, in bytes, are refused."""

_WAY_OUT = "compile with -Xptxas -v (nvcc) and keep standard error: … 2>&1 | tee build.log"


def is_walked(path: str, beside: frozenset[str]) -> bool:
    """Never: a log found in a directory may belong to any build."""
    del path, beside
    return False


def expand(unit: Unit, asked: Asked) -> Expansion:
    """One unit per source file and architecture, limited to those requested."""
    try:
        log = parse_build_log(_text(unit))
        if not log.has_report:
            raise InputError(
                "read", f"{_name(unit)} holds no report of ptxas or nvlink", hint=_WAY_OUT
            )
    except InputError as error:
        problem = LogExcerpt("", problem=error.message, hint=error.hint)
        return Expansion((replace(unit, frontend="log", excerpt=problem),))
    parts = parts_of(log)
    known = tuple(dict.fromkeys(part.arch for part in parts if part.arch is not None))
    if asked.explicit:
        parts = tuple(part for part in parts if part.arch is None or part.arch in asked.archs)
    lacking = [arch for arch in asked.archs if asked.explicit and arch not in known]
    notes = [
        f"{_name(unit)} reports nothing for {arch}; it has {', '.join(known) or 'no architecture'}"
        for arch in lacking
    ]
    other = "".join(f"{line}\n" for line in log.other)
    sources = LogSources(log.sources, unit.path)
    units = [_unit(unit, part, log, sources) for part in parts] or [
        replace(unit, frontend="log", excerpt=LogExcerpt("", gaps=(_no_kernel(log, asked),)))
    ]
    first = units[0].excerpt
    assert first is not None
    units[0] = replace(units[0], excerpt=replace(first, text=other + first.text))
    if log.unreported and not log.errors:
        units.append(replace(unit, frontend="log", excerpt=LogExcerpt("", gaps=(_silent(log),))))
    if log.errors:
        # The failure belongs to the log itself, as do kernels of unknown files.
        failed = LogExcerpt("", gaps=(_failed(log),))
        units.append(replace(unit, frontend="log", excerpt=failed))
    return Expansion(tuple(units), tuple(notes))


def lower(unit: Unit, cache_directory: str | None, along: Along | None = None) -> Artifacts:
    """Always fails: there is nothing to compile.

    Raises:
        InputError: always; a log has no artefacts.
    """
    del along, cache_directory
    checked(unit)
    raise InputError(
        "read",
        f"{_name(unit)} is a build log: it holds neither PTX nor machine code",
        hint="name the source file instead",
    )


def checked(unit: Unit) -> LogExcerpt:
    """The unit's excerpt of its log.

    Raises:
        InputError: nothing could be read from the log.
    """
    excerpt = unit.excerpt if unit.excerpt is not None else LogExcerpt("")
    if excerpt.problem is not None:
        raise InputError("read", excerpt.problem, hint=excerpt.hint)
    return excerpt


def _text(unit: Unit) -> str:
    """The whole log, decoded."""
    try:
        if unit.path == STANDARD_INPUT:
            data = sys.stdin.buffer.read(LIMIT + 1)
        else:
            with open_regular(unit.path) as stream:
                data = stream.read(LIMIT + 1)
    except OSError as error:
        raise InputError("read", f"{_name(unit)} cannot be read: {error.strerror}") from error
    if len(data) > LIMIT:
        raise InputError(
            "read",
            f"{_name(unit)} is larger than {LIMIT >> 20} MiB",
            hint="keep the lines of ptxas: grep -E 'ptxas|nvlink|bytes stack frame|nvcc|\\.cu'",
        )
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")  # PowerShell redirects output as UTF-16
    data = data.removesuffix(b"\0")  # NVRTC ends its log with NUL
    if b"\0" in data:
        raise InputError(
            "read",
            f"{_name(unit)} is binary, not a build log (NUL byte at offset {data.index(0)})",
            hint="object files and executables are not read; name the log or the sources",
        )
    return data.decode("utf-8", "replace")


def _name(unit: Unit) -> str:
    return f"{STANDARD_INPUT} (standard input)" if unit.input == STANDARD_INPUT else unit.input


def _unit(unit: Unit, part: LogPart, log: BuildLog, sources: LogSources) -> Unit:
    variant = part.source or ""
    if part.number > 1:
        variant = f"{variant}, {part.number}" if variant else f"{part.number}"
    excerpt = LogExcerpt(
        report_of(part.functions, log),
        tuple(
            (function.name, path)
            for function in part.functions
            if (path := _explaining(function, part, sources)) is not None
        ),
        _gaps(part, log),
    )
    return replace(unit, frontend="log", arch=part.arch or "", variant=variant, excerpt=excerpt)


def _explaining(function: Compiled, part: LogPart, sources: LogSources) -> str | None:
    """The file to pass to `explain`: the compiled one, else the one that defines the kernel."""
    if part.source is not None:
        return sources.here(part.source)
    return sources.defining(function.name) if function.is_entry else None


def _no_kernel(log: BuildLog, asked: Asked) -> Gap:
    if log.functions:
        asked_for = ", ".join(asked.archs)
        return Gap("kernels", f"the log reports no kernel for {asked_for}", "evidence")
    return Gap("kernels", "the log reports no kernel", "evidence")


def _failed(log: BuildLog) -> Gap:
    """A gap for a failed build: sources that it did not compile are not in the log."""
    files = failed_files(log.errors)
    named = f" at {_few(files)}" if files else ""
    said = f"the build failed{named}, so its log may lack kernels: {first_of(log.errors).text}"
    return Gap("compile", said, "evidence")


def _silent(log: BuildLog) -> Gap:
    said = f"the log compiles {_few(log.unreported)}, without a report of ptxas (-Xptxas -v)"
    return Gap("log", said, "evidence")


def _gaps(part: LogPart, log: BuildLog) -> tuple[Gap, ...]:
    """What is unknown about an excerpt, and why; only missing figures count as missing evidence."""
    found = [
        Gap(
            "log",
            "a build log holds ptxas's figures alone: no machine code and no PTX, so causes are "
            "not known",
        )
    ]
    every = [one for function in part.functions for one in (function, *function.callees)]
    mixed = [one for one in every if one.mixed_up]
    lacking = [one for one in every if _lacks_figures(one, log) and not one.mixed_up]
    if mixed:
        found.append(
            Gap(
                "ptxas",
                f"figures of {_listed(mixed)} are not known: lines of compilations that ran at "
                "the same time are mixed up (ninja or make --output-sync keep them apart)",
                "evidence",
            )
        )
    if lacking:
        reason = "the log is filtered or cut off"
        said = f"figures of {_listed(lacking)} are not all there: {reason}"
        found.append(Gap("ptxas", said, "evidence"))
    if part.arch is None:
        found.append(Gap("log", f"the log does not say for which architecture: {_listed(every)}"))
    if part.source is None and log.is_parallel and len(log.sources) > 0:
        files = _few(log.sources)
        found.append(Gap("log", f"which file they are of is not known ({files}): {_PARALLEL}"))
    loose = [function for function in part.functions if not function.is_entry]
    if loose and log.is_parallel:
        found.append(
            Gap(
                "log",
                f"which kernel calls {_listed(loose)} is not known: {_PARALLEL}; each is listed "
                "on its own",
            )
        )
    known = {
        f.name for f in part.functions if {(f.name, f.arch), (f.name, None)} & log.linked.keys()
    }
    unclear = [f for f in part.functions if f.name in known and linked_line(f, log) is None]
    if unclear:
        found.append(
            Gap(
                "link",
                f"nvlink reports {_listed(unclear)} more than once, and not which is this one",
            )
        )
    apart = [f for f in part.functions if f.is_entry and f.is_relocatable and f.name not in known]
    if apart:
        found.append(
            Gap(
                "link",
                "relocatable code: what functions of other objects add to the stack is not known "
                "(-Xnvlink -v reports it)",
            )
        )
    if part.number > 1:
        found.append(Gap("log", "compiled more than once, with other figures each time"))
    return tuple(found)


_PARALLEL = "their compilations ran at the same time"


def _lacks_figures(function: Compiled, log: BuildLog) -> bool:
    """Whether a line is missing that ptxas prints for such a function."""
    if function.stack is None and function.name not in log.warnings:
        return linked_line(function, log) is None or function.used is not None
    return function.is_entry and function.used is None and linked_line(function, log) is None


def _listed(functions: Sequence[Compiled]) -> str:
    return _few([function.name for function in functions])


def _few(names: Sequence[str]) -> str:
    return listed(list(dict.fromkeys(names)))
