"""Flags and configuration turned into one frozen `Settings`; flags win."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lmemscope.errors import UsageError
from lmemscope.model import CompileOptions, Frontend, Quote
from lmemscope.running.warmth import default_directory

FRONTENDS = ("auto", "nvrtc", "nvcc", "both")


@dataclass(frozen=True, slots=True)
class Settings:
    """What a command was asked to do, beyond its inputs.

    Attributes:
        archs: architectures asked for; empty means "choose".
        frontend: route from CUDA C++ to PTX.
        options: how to compile.
        kernels: globs over kernel names; empty means all.
        jobs: compilations at a time.
        timeout: seconds that one unit may take, or None.
        causes: whether to look for causes and names, or to stop at the facts.
        quotes: lines of the artefacts that reports hold beside findings.
        cache: directory where compilers' outputs are kept between runs, or None.
        toolkit: directory of the toolkit to use instead of the installed one, or None.
        executor: where units run (``dask://host:port``), or None for this machine.
        include, exclude: globs over files of directories and builds, relative to ``root``.
        root: directory of the configuration, absolute.
        build_database: whether a project's build database says how its files are compiled.
    """

    archs: tuple[str, ...] = ()
    frontend: Frontend = "auto"
    options: CompileOptions = field(default_factory=CompileOptions)
    kernels: tuple[str, ...] = ()
    jobs: int = 1
    timeout: float | None = None
    causes: bool = True
    quotes: tuple[Quote, ...] = ()
    cache: str | None = None
    toolkit: str | None = None
    executor: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    root: str = "/"
    build_database: bool = True


def settings_from_flags(
    flags: Mapping[str, Any], section: Mapping[str, Any] | None = None, directory: str = "."
) -> Settings:
    """Build settings from click's values; what no flag says comes from the configuration.

    Args:
        flags: as click parsed them.
        section: ``[tool.lmemscope]``, or None.
        directory: where relative include directories of the section start.

    Raises:
        UsageError: a value of the section has the wrong type.
    """
    own = _Section(section or {})
    includes = [os.path.join(directory, path) for path in own.texts("include-dirs")]
    frontend = flags["frontend"]
    return Settings(
        archs=tuple(flags["arch"]) or own.texts("arch"),
        frontend=own.choice("frontend", FRONTENDS, frontend) if frontend == "auto" else frontend,
        options=CompileOptions(
            include_dirs=tuple(
                os.path.abspath(path) for path in (*flags["include_dirs"], *includes)
            ),
            defines=(*own.texts("defines"), *flags["defines"]),
            std=flags["std"] or own.text("std"),
            maxrregcount=flags["maxrregcount"] or own.number("maxrregcount"),
            use_fast_math=flags["use_fast_math"] or own.flag("use-fast-math"),
            instantiate=(*own.texts("instantiate"), *flags["instantiate"]),
            nvrtc_args=(*own.texts("nvrtc-args"), *flags["nvrtc_args"]),
            nvcc_args=(*own.texts("nvcc-args"), *flags["nvcc_args"]),
            ptxas_args=(*own.texts("ptxas-args"), *flags["ptxas_args"]),
            signatures=(*flags["signatures"], *own.texts("signatures")),
            run_python=flags["run_python"],
            time_limit=flags["timeout"] or own.number("timeout"),
        ),
        kernels=tuple(flags["kernels"]) or own.texts("kernels"),
        jobs=flags["jobs"] or own.number("jobs") or available_cpus(),
        timeout=flags["timeout"] or own.number("timeout"),
        cache=default_directory() if flags["use_cache"] else None,
        executor=flags["executor"] or own.text("executor"),
        include=own.texts("include"),
        exclude=own.texts("exclude"),
        root=os.path.abspath(directory),
        build_database=flags.get("build_database", True),
        toolkit=checked_toolkit(flags.get("toolkit"), own.text("toolkit"), directory),
    )


def checked_toolkit(
    flag: str | None, configured: str | None = None, directory: str = "."
) -> str | None:
    """The toolkit's directory as an absolute path: the flag's, else the configuration's.

    Raises:
        UsageError: it is no directory.
    """
    chosen = flag or (os.path.join(directory, configured) if configured else None)
    if chosen is None:
        return None
    path = os.path.abspath(chosen)
    if not os.path.isdir(path):
        raise UsageError(
            "toolkit",
            f"{chosen} is no directory",
            hint="name a CUDA installation, or a directory that CUDA wheels are installed in",
        )
    return path


class _Section:
    """Typed access to a configuration section; a wrong type is the user's error."""

    def __init__(self, section: Mapping[str, Any]) -> None:
        self._section = section

    def texts(self, key: str) -> tuple[str, ...]:
        value = self._section.get(key, [])
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise _wrong(key, "a list of strings", value)
        return tuple(value)

    def text(self, key: str) -> str | None:
        value = self._section.get(key)
        if value is not None and not isinstance(value, str):
            raise _wrong(key, "a string", value)
        return value

    def number(self, key: str) -> int | None:
        value = self._section.get(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise _wrong(key, "a whole number", value)
        return value

    def flag(self, key: str) -> bool:
        value = self._section.get(key, False)
        if not isinstance(value, bool):
            raise _wrong(key, "true or false", value)
        return value

    def choice(self, key: str, choices: Sequence[str], default: str) -> Any:
        value = self._section.get(key, default)
        if value not in choices:
            raise _wrong(key, f"one of {', '.join(choices)}", value)
        return value


def _wrong(key: str, wanted: str, value: object) -> UsageError:
    return UsageError("configuration", f"{key} is not {wanted}: {value!r}")


def available_cpus() -> int:
    """CPUs this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
