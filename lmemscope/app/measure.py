"""Profile a program with Nsight Compute, or read saved profiles, and join them with an analysis."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from lmemscope import __version__
from lmemscope.analysis import counters
from lmemscope.analysis.measuring import arch_of, measured_kernels
from lmemscope.app.gathered import gathered
from lmemscope.app.session import Session
from lmemscope.config.settings import Settings
from lmemscope.errors import FormatError, InputError, LmemscopeError, ToolMissingError
from lmemscope.files import open_regular, read_input
from lmemscope.formats import ncu_csv
from lmemscope.formats.demangle import demangle
from lmemscope.formats.kernel_names import matches
from lmemscope.model import (
    Measurement,
    Profile,
    ProfiledLaunch,
    ProfiledSource,
    Report,
    Tool,
    count,
)
from lmemscope.tools import ncu, ncu_report

_MOST = 5000
"""Maximum number of launches to profile in total."""
_NONE = Profile(())
_REPORT_ENDING = ".ncu-rep"
_ELF = b"\x7fELF"
_READERS = (
    "install Nsight Compute, or pip install 'lmemscope[ncu]'; or write CSV where it is installed: "
    "ncu --import FILE.ncu-rep --csv --page raw, and the same with --page source"
)
_WORD = re.compile(r"[A-Za-z_0-9]+")
_OWN_TEMPORARY = "lmemscope-tmp-"


@dataclass(frozen=True, slots=True)
class Asked:
    """How to run a program under the profiler.

    Attributes:
        command: program and arguments.
        ncu: the profiler that the user named, or None.
        skip: launches of each kernel to skip.
        count: launches of each kernel to profile after those.
        seconds: time limit for the program; None for none.
    """

    command: tuple[str, ...]
    ncu: str | None = None
    skip: int = 0
    count: int = 5
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Taken:
    """A profile and its origin.

    Attributes:
        profile: of the requested kernels.
        tool: the profiler, where known.
        status: the program's exit status; None if none was run or it timed out.
        notes: remarks for the reader.
        problem: why there is no profile; None if there is one.
    """

    profile: Profile
    tool: Tool | None = None
    status: int | None = None
    notes: tuple[str, ...] = ()
    problem: LmemscopeError | None = None

    @property
    def archs(self) -> tuple[str, ...]:
        """The architectures that the kernels ran on, sorted."""
        return tuple(sorted({a for one in self.profile.launches if (a := arch_of(one))}))


def run(asked: Asked, settings: Settings) -> Taken:
    """Run a program under Nsight Compute.

    Raises:
        ToolMissingError: ncu was not found or cannot be started.
        InputError: ncu cannot profile the program.
    """
    path = ncu.find(asked.ncu)
    tool = ncu.tool(path)
    how = ncu.Asked(
        counters.METRICS,
        counters.SECTION,
        _names(settings.kernels),
        asked.skip,
        asked.count,
        _MOST,
        asked.seconds,
    )
    with tempfile.TemporaryDirectory() as directory:
        ran = ncu.profile(path, asked.command, _environment(), how, directory)
        if ran.report is None:
            return Taken(_NONE, tool, ran.status, problem=_nothing(asked, ran, settings))
        taken = _read_report(path, ran.report, tool)
    notes = list(taken.notes)
    if ran.status is None and asked.seconds is not None:
        notes.append(
            f"the program was ended after {asked.seconds:g} s; what ran until then is reported"
        )
    launches = taken.profile.launches
    if len(launches) >= _MOST:
        notes.append(f"the first {_MOST} launches were profiled, and no more")
    elif _is_cut(launches, asked):
        after = f" after the first {asked.skip}" if asked.skip else ""
        most = count(asked.count, "launch")
        notes.append(f"up to {most} of each kernel{after} were profiled (--launch-count)")
    profile = _limited(taken.profile, settings.kernels)
    if not profile.launches:
        return Taken(_NONE, tool, ran.status, problem=_nothing(asked, ran, settings))
    return Taken(profile, tool, ran.status, tuple(notes))


def _is_cut(launches: Sequence[ProfiledLaunch], asked: Asked) -> bool:
    numbers: dict[tuple[str, str | None], int] = {}
    for one in launches:
        key = one.kernel, one.process
        numbers[key] = numbers.get(key, 0) + 1
    return bool(asked.skip) or any(number >= asked.count for number in numbers.values())


def _nothing(asked: Asked, ran: ncu.Ran, settings: Settings) -> InputError:
    wanted = f" that matches {', '.join(settings.kernels)}" if settings.kernels else ""
    ended = "was ended at its time limit" if ran.status is None else f"ended with {ran.status}"
    return InputError(
        "measure",
        f"{asked.command[0]} {ended} and launched no kernel{wanted}",
        hint="name a program that launches kernels; after --launch-skip N there may be none left",
        log=ran.log or None,
    )


def read(paths: Sequence[str], settings: Settings, ncu_path: str | None) -> Taken:
    """Read Nsight Compute's output: ``.ncu-rep`` files, or CSV of the raw and source pages.

    Raises:
        InputError: a file cannot be read, or is neither.
        ToolMissingError: nothing installed here reads ``.ncu-rep`` files.
    """
    texts: list[str] = []
    parts: list[Taken] = []
    for path in paths:
        if path.endswith(_REPORT_ENDING):
            parts.append(_saved_report(path, ncu_path))
        else:
            texts.append(_text(path, settings))
    if texts:
        parts.append(_from_texts(texts, " and ".join(_csv(paths))))
    launches = tuple(one for part in parts for one in part.profile.launches)
    sources = tuple(one for part in parts for one in _sources(part.profile))
    profile = _limited(Profile(launches, sources), settings.kernels)
    if not profile.launches:
        named = ", ".join(settings.kernels)
        raise InputError(
            "measure",
            f"{', '.join(paths)} has no launch of a kernel that matches {named}",
            hint=f"it has {', '.join(sorted({one.kernel for one in launches})[:5])}",
        )
    notes = tuple(dict.fromkeys(note for part in parts for note in part.notes))
    tool = next((part.tool for part in parts if part.tool is not None), None)
    return Taken(profile, tool, None, notes)


def _sources(profile: Profile) -> tuple[ProfiledSource, ...]:
    """The instructions of each launch; empty if the profile has none."""
    return profile.sources or tuple(ProfiledSource(one.kernel, ()) for one in profile.launches)


def _saved_report(path: str, named: str | None) -> Taken:
    try:
        with open_regular(path):
            pass
    except OSError as error:
        raise _unreadable(path, error) from error
    has_package = named is None and ncu_report.is_there()
    try:
        program = ncu.find(named)
        return _read_report(program, path, ncu.tool(program))
    except ToolMissingError as error:
        if has_package or named is not None:
            problem: LmemscopeError = error
        else:
            raise ToolMissingError("ncu", f"nothing here reads {path}", hint=_READERS) from error
    except InputError as error:
        problem = error
    if not has_package:
        raise problem
    return Taken(ncu_report.read(path), ncu_report.tool())


def _csv(paths: Sequence[str]) -> list[str]:
    return [path for path in paths if not path.endswith(_REPORT_ENDING)]


def _read_report(path: str, report: str, tool: Tool) -> Taken:
    with tempfile.TemporaryDirectory() as directory:
        found = ncu.pages(path, report, directory)
        if found.source is None:
            return _from_pages([found.raw], [], report, tool)
        with open(found.source, encoding="utf-8", errors="replace") as source:
            if not source.readline().startswith('"'):
                return _from_pages([found.raw], [], report, tool)
            source.seek(0)
            return _from_pages([found.raw], [source], report, tool)


def _from_texts(texts: Sequence[str], name: str) -> Taken:
    try:
        source = [text for text in texts if ncu_csv.is_source_page(text)]
    except FormatError as error:
        raise _no_export(name, error) from error
    return _from_pages([text for text in texts if text not in source], source, name, None)


def _from_pages(
    pages: Sequence[ncu_csv.Page], source: Sequence[ncu_csv.Page], name: str, tool: Tool | None
) -> Taken:
    try:
        profile, fits = ncu_csv.profile(pages, source, counters.NAMES)
    except FormatError as error:
        raise _no_export(name, error) from error
    notes = (
        () if fits else (f"the source page in {name} does not match its launches and is ignored",)
    )
    return Taken(profile, tool, None, notes)


def _no_export(name: str, error: FormatError) -> InputError:
    return InputError(
        "import",
        f"{name} is no export of Nsight Compute: {error.message}",
        hint=error.hint
        or "write it with: ncu --import FILE.ncu-rep --csv --page raw > FILE.csv, and the same "
        "with --page source",
    )


def _text(path: str, settings: Settings) -> str:
    try:
        data = read_input(path, settings.max_file_size)
    except OSError as error:
        raise _unreadable(path, error) from error
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    return data.decode(encoding, "replace")


def _unreadable(path: str, error: OSError) -> InputError:
    reason = error.strerror or str(error)
    return InputError("import", f"{path} cannot be read: {reason}", hint="check the path")


def _limited(profile: Profile, globs: Sequence[str]) -> Profile:
    """The launches of kernels that match the globs."""
    kept = [
        n
        for n, one in enumerate(profile.launches)
        if matches(globs, one.kernel, demangle(one.kernel))
    ]
    sources = profile.sources
    return Profile(
        tuple(profile.launches[n] for n in kept),
        tuple(sources[n] for n in kept) if sources else (),
    )


def measurement(
    taken: Taken,
    asked: Asked | None,
    paths: Sequence[str],
    sources: Sequence[str],
    session: Session,
) -> tuple[Measurement, tuple[Report, ...]]:
    """Join a profile with the analysis of given sources, or of the program's own code.

    Args:
        taken: the profile.
        asked: what was run, or None.
        paths: the files read instead of running a program.
        sources: inputs or saved reports that explain the local memory.
        session: how to analyse them; its settings hold the profile's architectures.

    Returns:
        The document, and the report of the sources, if any.

    Raises:
        LmemscopeError: as `gathered`.
    """
    report = gathered(sources, session) if sources else None
    units = report.units if report is not None else ()
    kernels = measured_kernels(taken.profile, units)
    program = executable(asked.command[0]) if asked is not None else None
    if program is not None and any(one.joined != "instructions" for one in kernels):
        own = gathered([program], session)
        kernels = measured_kernels(taken.profile, (*units, *own.units))
    found = Measurement(
        version=__version__,
        profiler=taken.tool,
        command=asked.command if asked is not None else (),
        exit_status=taken.status,
        profiles=tuple(paths),
        kernels=kernels,
        notes=(*taken.notes, *_without_counters(taken.profile.launches)),
    )
    return found, () if report is None else (report,)


def _without_counters(launches: Sequence[ProfiledLaunch]) -> tuple[str, ...]:
    known = counters.traffic(launches)
    if known.local_sectors is not None and known.sectors is not None:
        return ()
    return (
        "the profile lacks counters of local memory; collect them with: ncu --section "
        f"{counters.SECTION} --metrics {','.join(counters.METRICS)}",
    )


def settings_for(taken: Taken, settings: Settings) -> Settings:
    """The settings, with the architectures that the kernels ran on unless the user named some."""
    return settings if settings.archs or not taken.archs else replace(settings, archs=taken.archs)


def executable(program: str) -> str | None:
    """Path of a program if it is a native executable, not a script: it may contain device code."""
    path = shutil.which(program)
    if path is None:
        return None
    try:
        with open_regular(path) as stream:
            return path if stream.read(len(_ELF)) == _ELF else None
    except OSError:
        return None


def _environment() -> Mapping[str, str]:
    """This process's environment, with the user's own directory for temporary files."""
    found = dict(os.environ)
    directory = found.get("TMPDIR", "")
    if os.path.basename(directory).startswith(_OWN_TEMPORARY):
        found["TMPDIR"] = os.path.dirname(directory)
    return found


def _names(globs: Sequence[str]) -> str:
    """A regular expression that matches at least the mangled names of the kernels that globs match.

    Identifiers appear literally in mangled names; template arguments and parameters do not.
    """
    found = []
    for glob in globs:
        plain = re.split(r"[<(]", glob.replace("std::", "*"), maxsplit=1)[0]
        words = _WORD.findall(re.sub(r"\[[^][]*\]", "*", plain.rpartition(" ")[2]))
        if not words:
            return ""
        found.append(".*".join(words))
    return (
        "|".join(dict.fromkeys(found)) if len(found) < 2 else f"({'|'.join(dict.fromkeys(found))})"
    )
