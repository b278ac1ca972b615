"""Combine flags, the configuration file and API arguments into one frozen `Configuration`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from lmemscope.config.cache_directory import default_directory
from lmemscope.config.kinds import Place, shown
from lmemscope.config.options import LIMIT, OPTIONS, Configuration, Row, Settings, filled
from lmemscope.model import Allowance, Limit, LinkGroup, Policy, count

__all__ = ["Configuration", "Settings", "available_cpus", "from_arguments", "from_flags"]

Admit = Callable[[str, tuple[str, ...]], tuple[tuple[str, ...], tuple[str, ...]]]
"""Splits a tool's arguments, given the option's name, into harmless ones and others."""


def from_flags(flags: Mapping[str, Any], admit: Admit | None = None) -> Configuration:
    """Combine flags with the nearest configuration file.

    Args:
        flags: checked values of the flags that were given, by option name; a flag that was not
            given is absent, so that a flag given with its default value still takes precedence.
        admit: judges tool arguments in the file; without it, none are accepted without trust.

    Raises:
        UsageError: the file is unreadable or invalid.
    """
    # Imported late: ``--help`` and the API read no file.
    from lmemscope.config import file

    found = file.read()
    written, refused = dict(found.values), []
    arguments = [word for name in ("nvcc_args", "nvrtc_args") for word in written.get(name, ())]
    if not flags.get("trust_build"):
        refused = list(_leave_out(written, flags, admit))
    over = tuple(_beyond_cpus(found.path, written, flags))
    values = {row.name: _combined(row, flags, written) for row in OPTIONS}
    settings = replace(
        _settings(values, os.path.abspath(found.directory)),
        narrowed=tuple(
            f"--{name} {glob}" for name in ("include", "exclude") for glob in flags.get(name, ())
        ),
        left_out=(*_in_vain(found.path, refused), *over),
        arguments_as_written=tuple(arguments),
    )
    return filled(
        Configuration,
        values,
        settings=settings,
        policy=_policy(values, flags, found.path or ""),
        file=found.path,
        written=found.values,
    )


def _leave_out(
    written: dict[str, Any], flags: Mapping[str, Any], admit: Admit | None
) -> Iterator[str]:
    """Remove untrusted settings from a file's values; yield their names."""
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
    """Limit a file's ``jobs`` to the CPUs: it comes with the sources, and processes take memory."""
    cpus = available_cpus()
    if "jobs" not in flags and written.get("jobs", 1) > cpus:
        yield (
            f"{path}: jobs is {written['jobs']}, and there are {count(cpus, 'CPU')}: "
            f"{cpus} at a time; --jobs takes more"
        )
        written["jobs"] = cpus


def from_arguments(arguments: Mapping[str, object]) -> Settings:
    """The settings of a call to `lmemscope.scan`; None stands for "not given".

    Raises:
        UsageError: an option does not accept its value.
    """
    values = {row.name: row.default for row in OPTIONS}
    for row in OPTIONS:
        value = arguments.get(row.name)
        if row.api and value is not None:
            values[row.name] = row.kind.check(value, Place(f"scan: {row.name}"))
    return _settings(values, os.getcwd())


def available_cpus() -> int:
    """Number of CPUs this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _combined(row: Row, flags: Mapping[str, Any], written: Mapping[str, Any]) -> Any:
    if row.name not in flags:
        return written.get(row.name, row.default)
    if row.merge == "replace" or row.name not in written:
        return flags[row.name]
    first, second = flags[row.name], written[row.name]
    return (*first, *second) if row.merge == "before" else (*second, *first)


def _settings(values: Mapping[str, Any], root: str) -> Settings:
    """The settings; four values need conversion."""
    made = filled(
        Settings,
        values,
        jobs=values["jobs"] or available_cpus(),
        cache=default_directory() if values["cache"] else None,
        link=tuple(LinkGroup(**table) for table in values["link"]),
        root=root,
    )
    options = replace(made.options, time_limit=made.timeout, max_file_size=made.max_file_size)
    return replace(made, options=options)


def _policy(values: Mapping[str, Any], flags: Mapping[str, Any], place: str) -> Policy:
    limits = [Limit(**table) for table in values["limits"]]
    said = {row.name: flags[row.name] for row in LIMIT if row.flags and row.name in flags}
    if said:
        limits.append(Limit(**said))
    allowances = tuple(Allowance(**table, place=place) for table in values["allowances"])
    return filled(Policy, values, limits=tuple(limits), allowances=allowances)
