"""Whether what a saved document proves holds here: the same files, options, tools and kernels.

A trial says what the compiler makes of certain bytes. Of other bytes, or of the same for another
architecture, it says nothing; so what does not fit is left out, and said.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from lmemscope.analysis.cost import DEFAULT_BLOCK, Grid
from lmemscope.files import read_input
from lmemscope.fixing.kernel_figures import figures
from lmemscope.formats.demangle import short_name
from lmemscope.model import (
    Figures,
    FileContent,
    Finding,
    FixReport,
    KernelReport,
    Report,
    Tool,
    Trial,
    TriedUnit,
    Unit,
    UnitReport,
    count,
    traits_of,
)

_PATCHED = re.compile(r"^\+\+\+ b/([^\t\n]*)", re.MULTILINE)


def tried_unit(unit: Unit, report: UnitReport, files: Collection[str] | None) -> TriedUnit:
    """What trials of a unit's findings hold for.

    Args:
        unit: that was compiled.
        report: of it.
        files: absolute paths of the user's files that it was compiled from; None where there may
            be more of them.
    """
    contents = None
    if files is not None:
        contents = tuple(_content(file) for file in sorted(files))
    known = contents is not None and None not in contents
    return TriedUnit(
        input=unit.name,
        arch=unit.arch,
        options=report.options,
        tools=report.tools,
        files=tuple(one for one in contents or () if one is not None) if known else None,
    )


def that_holds(saved: FixReport, report: Report) -> tuple[FixReport, tuple[str, ...]]:
    """Of saved trials those that are of a report's findings, and why others are not.

    Args:
        saved: what a document says.
        report: of the inputs as they are.

    Returns:
        The trials that hold, and sentences on the rest, without a full stop.
    """
    tried = {(one.input, one.arch): one for one in saved.units}
    kept: list[Trial] = []
    said: list[str] = []
    inputs = set()
    for unit in report.units:
        if unit.failure is not None or not unit.kernels:
            continue
        why = _why_other(unit, tried, saved)
        if why is not None:
            said.append(why)
            continue
        inputs.add(unit.input)
        own = [one for one in saved.trials if (one.input, one.arch) == (unit.input, unit.arch)]
        holding, reasons = _that_hold(own, unit, tried[unit.input, unit.arch])
        kept += holding
        said += reasons
        said += _unspoken(unit, saved)
    untried = tuple(one for one in saved.untried if one.input in inputs)
    declined = tuple(one for one in saved.declined if one.input in inputs)
    made = replace(saved, trials=tuple(kept), untried=untried, declined=declined)
    return made, tuple(dict.fromkeys(said))


def _content(file: str) -> FileContent | None:
    """A file as it is now; None where it cannot be read."""
    try:
        digest = hashlib.sha256(read_input(file)).hexdigest()
    except OSError:
        return None
    name = os.path.relpath(file)
    return FileContent(file if name.startswith(os.pardir) else name, digest)


def _why_other(
    unit: UnitReport, tried: Mapping[tuple[str, str], TriedUnit], saved: FixReport
) -> str | None:
    """Why nothing that was tried is of a unit, or None."""
    found = tried.get((unit.input, unit.arch))
    if found is None:
        archs = sorted({one.arch for one in saved.units if one.input == unit.input})
        if archs:
            return f"it was tried for {', '.join(archs)}, and {unit.input} is for {unit.arch} here"
        if any(one.input == unit.input for one in saved.trials):
            return f"it does not say which content of {unit.input} was tried"
        return f"it holds nothing on {unit.input}"
    if found.files is None:
        return f"it does not know all files that {unit.input} is compiled from"
    for file in found.files:
        now = _content(os.path.abspath(file.file))
        if now is None:
            return f"{file.file}, which {unit.input} was compiled from, cannot be read"
        if now.sha256 != file.sha256:
            return f"{file.file} has changed since {unit.input} was tried"
    if _options(found.options) != _options(unit.options):
        return f"{unit.input} was tried with other options ({_other(found, unit)})"
    then, here = _versions(found.tools), _versions(unit.tools)
    for name in sorted({*then, *here}):
        if then.get(name) != here.get(name):
            versions = f"{then.get(name) or 'none'}, and now by {here.get(name) or 'none'}"
            return f"{unit.input} was compiled by {name} {versions}"
    return None


def _that_hold(
    trials: Sequence[Trial], unit: UnitReport, tried: TriedUnit
) -> tuple[list[Trial], list[str]]:
    """The trials whose kernel and finding are there as they were, and why others are not."""
    files = [f"/{os.path.abspath(one.file)}" for one in tried.files or ()]
    kernels: dict[str, KernelReport] = {one.facts.demangled: one for one in unit.kernels}
    kept, said = [], []
    gone: set[tuple[str, str]] = set()
    for trial in trials:
        name = short_name(trial.kernel)
        kernel = kernels.get(trial.kernel)
        if kernel is None:
            # Kernels that the user left out are nobody's loss.
            if name not in unit.others:
                said.append(f"{unit.input} has no kernel {name} any more")
        elif trial.fingerprint not in {one.fingerprint for one in kernel.findings}:
            gone.add((trial.kernel, trial.fingerprint))
        elif not _is_as_before(trial.before, kernel, unit.arch):
            said.append(f"{name} in {unit.input} has other figures than when it was tried")
        elif not all(any(file.endswith(f"/{one}") for file in files) for one in _patched(trial)):
            said.append(f"a patch for {name} is of files that {unit.input} was not compiled from")
        else:
            kept.append(trial)
    if gone:
        said.append(f"{count(len(gone), 'finding')} that it has of {unit.input} is not there")
    return kept, said


def _unspoken(unit: UnitReport, saved: FixReport) -> Iterator[str]:
    """That a document says nothing of some findings, such as one made with ``--object``."""
    known = {
        *((one.input, one.cause, one.object) for one in saved.trials),
        *((one.input, one.cause, one.object) for one in saved.untried),
    }
    missing: list[Finding] = [
        finding
        for kernel in unit.kernels
        for finding in kernel.findings
        if traits_of(finding.cause).verdict != "promoted"
        and (unit.input, finding.cause, finding.object) not in known
    ]
    if missing:
        names = dict.fromkeys(one.object or one.cause for one in missing)
        yield f"it says nothing of {', '.join(names)} in {unit.input}"


def _is_as_before(before: Figures, kernel: KernelReport, arch: str) -> bool:
    """Whether a kernel is what was tried, as far as figures tell; occupancy is for some block."""
    now = figures(kernel.facts, arch, Grid(DEFAULT_BLOCK))
    unset = {"occupancy": None, "block": None, "block_from": None, "limited_by": ()}
    return replace(before, **unset) == replace(now, **unset)


def _patched(trial: Trial) -> list[str]:
    return _PATCHED.findall(trial.patch or "")


def _options(options: Iterable[str]) -> tuple[str, ...]:
    """Options but for directories of headers: what is read from these is compared by itself."""
    return tuple(one for one in options if not one.startswith("-I"))


def _other(tried: TriedUnit, unit: UnitReport) -> str:
    """The options that only one side has."""
    before, now = _options(tried.options), _options(unit.options)
    lost = [f"then {one}" for one in before if one not in now]
    new = [f"now {one}" for one in now if one not in before]
    return ", ".join((*lost, *new)) or "in another order"


def _versions(tools: Iterable[Tool]) -> Mapping[str, str | None]:
    return {one.name: one.version for one in tools}
