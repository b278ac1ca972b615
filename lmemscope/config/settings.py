"""Flags, file and arguments of the API turned into one frozen `Configuration`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from lmemscope.config.cache_directory import default_directory
from lmemscope.config.gate_options import LIMIT
from lmemscope.config.kinds import Place, shown
from lmemscope.config.option import Option
from lmemscope.config.options import OPTIONS, Settings
from lmemscope.model import Allowance, CompileOptions, Limit, LinkGroup, Policy, View, count

if TYPE_CHECKING:
    from lmemscope.config.file import ConfigurationFile

__all__ = ["Configuration", "Settings", "available_cpus", "from_arguments", "from_flags"]

Admit = Callable[[str, tuple[str, ...]], tuple[tuple[str, ...], tuple[str, ...]]]
"""Of an option's arguments to a tool, by its name: those that can do no harm, and the others."""

_COMPILE_OPTIONS = frozenset(own.name for own in fields(CompileOptions))
_VIEW = frozenset(own.name for own in fields(View))
_SETTINGS = frozenset(own.name for own in fields(Settings)) - {
    "jobs",
    "cache",
    "left_out",
    "link",
    "arguments_as_written",
}


@dataclass(frozen=True, slots=True)
class Configuration:
    """Everything that a command was told, read once.

    Attributes:
        settings: what to analyse and how.
        policy: limits and allowances; those in sources come with the report.
        baseline: path of the file of known findings, or None where none is named.
        tolerance: bytes by which a known finding may grow.
        toolchain_tolerance: percent by which it may grow where the toolchain changed.
        file: the configuration file, or None without one.
        written: what that file says, by the option's name; flags may say otherwise.
    """

    settings: Settings = field(default_factory=Settings)
    policy: Policy = field(default_factory=Policy)
    baseline: str | None = None
    tolerance: int = 0
    toolchain_tolerance: int = 50
    file: str | None = None
    written: Mapping[str, Any] = field(default_factory=dict)


def from_flags(
    flags: Mapping[str, Any], start: str = ".", admit: Admit | None = None
) -> Configuration:
    """Combine flags with the nearest configuration file.

    Args:
        flags: checked values of the flags that were given, by the option's name; a flag that was
            not given is missing, so that one given with its default's value still wins.
        start: directory where the search for the file begins.
        admit: judges arguments to tools that the file holds; without it, none is taken that is not
            trusted.

    Raises:
        UsageError: the file is not to be read, or says what is not accepted.
    """
    # Neither ``--help`` nor the API reads a file.
    from lmemscope.config import file

    found = file.read(start)
    written, refused = dict(found.values), []
    arguments = [word for name in ("nvcc_args", "nvrtc_args") for word in written.get(name, ())]
    if not flags.get("trust_build"):
        refused = list(_leave_out(written, flags, admit))
    over = tuple(_beyond_cpus(found.path, written, flags))
    values = {row.name: _combined(row, flags, written) for row in OPTIONS}
    return Configuration(
        settings=replace(
            _settings(values, os.path.abspath(found.directory)),
            narrowed=tuple(_narrowed(flags)),
            left_out=(*_in_vain(found.path, refused), *over),
            arguments_as_written=tuple(arguments),
        ),
        policy=_policy(values, flags, found),
        baseline=values["baseline"],
        tolerance=values["tolerance"],
        toolchain_tolerance=values["toolchain_tolerance"],
        file=found.path,
        written=found.values,
    )


def _leave_out(
    written: dict[str, Any], flags: Mapping[str, Any], admit: Admit | None
) -> Iterator[str]:
    """Take out of a file's values what nobody trusted it with; names it."""
    for row in OPTIONS:
        if not row.guarded or row.name not in written:
            continue
        value = written.pop(row.name)
        if row.kind.shape == "many":
            written[row.name], refused = admit(row.name, value) if admit else ((), value)
            yield from (f"{row.key} {word}" for word in refused)
        elif row.name not in flags:
            yield f"{row.key} = {shown(value)}"


def _in_vain(path: str | None, refused: list[str]) -> Iterator[str]:
    if refused:
        yield (
            f"{path}: left out, because it could run a program, load a library or write a file: "
            f"{', '.join(refused)}; --trust-build takes it"
        )


def _beyond_cpus(
    path: str | None, written: dict[str, Any], flags: Mapping[str, Any]
) -> Iterator[str]:
    """Hold a file's ``jobs`` to the CPUs: it comes with the sources, and processes take memory."""
    cpus = available_cpus()
    if "jobs" not in flags and written.get("jobs", 1) > cpus:
        yield (
            f"{path}: jobs is {written['jobs']}, and there are {count(cpus, 'CPU')}: "
            f"{cpus} at a time; --jobs takes more"
        )
        written["jobs"] = cpus


def from_arguments(arguments: Mapping[str, object]) -> Settings:
    """The settings of a call of `lmemscope.scan`; None stands for "not given".

    Raises:
        UsageError: a value that its option does not take.
    """
    values = {row.name: row.default for row in OPTIONS}
    for row in OPTIONS:
        value = arguments.get(row.name)
        if row.api and value is not None:
            values[row.name] = row.kind.check(value, Place(f"scan: {row.name}"))
    return _settings(values, os.getcwd())


def _narrowed(flags: Mapping[str, Any]) -> Iterator[str]:
    """Flags that leave files out."""
    for name in ("include", "exclude"):
        yield from (f"--{name} {glob}" for glob in flags.get(name, ()))


def available_cpus() -> int:
    """CPUs this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _combined(row: Option, flags: Mapping[str, Any], written: Mapping[str, Any]) -> Any:
    if row.name not in flags:
        return written.get(row.name, row.default)
    if row.merge == "replace" or row.name not in written:
        return flags[row.name]
    first, second = flags[row.name], written[row.name]
    return (*first, *second) if row.merge == "before" else (*second, *first)


def _settings(values: Mapping[str, Any], root: str) -> Settings:
    """Each value in the field of its option's name; five of them mean something more."""
    compiling = {name: values[name] for name in values if name in _COMPILE_OPTIONS}
    return Settings(
        archs=values["arch"],
        options=CompileOptions(**compiling, time_limit=values["timeout"]),
        jobs=values["jobs"] or available_cpus(),
        cache=default_directory() if values["cache"] else None,
        root=root,
        link=tuple(LinkGroup(**table) for table in values["link"]),
        view=View(**{name: values[name] for name in values if name in _VIEW}),
        **{name: values[name] for name in values if name in _SETTINGS},
    )


def _policy(
    values: Mapping[str, Any], flags: Mapping[str, Any], found: ConfigurationFile
) -> Policy:
    limits = [Limit(**table) for table in values["limits"]]
    said = {row.name: flags[row.name] for row in LIMIT if row.flags and row.name in flags}
    if said:
        limits.append(Limit(**said))
    allowances = (Allowance(**table, place=found.path or "") for table in values["allowances"])
    return Policy(tuple(limits), tuple(allowances), values["uninstantiated"], values["external"])
