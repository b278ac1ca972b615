"""Run Nsight Compute's command line profiler (ncu): find it, profile a program, print its pages."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lmemscope.errors import InputError, ToolMissingError
from lmemscope.model import Tool
from lmemscope.tools import process
from lmemscope.tools.driver import present_gpu

_HINT = (
    "nothing else counts what another program's kernels access: install Nsight Compute, or name it "
    "with --ncu; or profile on another machine and read the "
    "result here: lmemscope measure --import FILE.ncu-rep, or --import FILE.csv"
)
_VERSION = re.compile(r"^Version (\S{1,40})", re.MULTILINE)
_PLACES = (
    "{cuda}/bin/ncu",
    "{cuda}/nsight-compute*/ncu",
    "/usr/local/cuda/bin/ncu",
    "/usr/local/cuda/nsight-compute*/ncu",
    "/opt/nvidia/nsight-compute/*/ncu",
    "/usr/local/NVIDIA-Nsight-Compute*/ncu",
)
"""Default install locations (Nsight Compute, Release Notes and installation)."""
_RAW = ("--csv", "--page", "raw", "--print-units", "base")
_MANGLED = ("--print-kernel-base", "mangled")
_SOURCE = ("--csv", "--page", "source", "--print-units", "base")
_READING = 600.0
"""Time limit in seconds for reading a profile."""
_APPLICATION_ERROR = re.compile(r"==ERROR== The application returned an error code \(-?\d+\)")
_ERROR = re.compile(r"^==ERROR== (.*)$", re.MULTILINE)
_LARGEST_LOG = 1 << 20


@dataclass(frozen=True, slots=True)
class Asked:
    """What to profile.

    Attributes:
        metrics, section: to collect.
        names: a regular expression over mangled names; empty for all kernels.
        skip: launches of each kernel to skip.
        count: launches of each kernel to profile after those.
        most: maximum number of launches to profile in total.
        seconds: time limit for the program; None for none.
    """

    metrics: Sequence[str]
    section: str
    names: str
    skip: int
    count: int
    most: int
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Ran:
    """The result of profiling a program.

    Attributes:
        status: its exit status; None if it reached the time limit.
        log: ncu's output.
        report: ncu's report file; None if nothing was profiled.
    """

    status: int | None
    log: str
    report: str | None


def find(named: str | None) -> str:
    """Path of ncu.

    Args:
        named: the path given by the user, or None.

    Raises:
        ToolMissingError: it was not found.
    """
    if named is not None:
        path = shutil.which(named)
        if path is None:
            raise ToolMissingError(
                "ncu", f"{named} is no program", hint="name the file: --ncu /path/to/ncu"
            )
        return path
    path = shutil.which("ncu")
    return path if path is not None else _installed()


def is_there() -> bool:
    """Whether an ncu is found without the user naming one."""
    try:
        find(None)
    except ToolMissingError:
        return False
    return True


def _installed() -> str:
    cuda = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or "/usr/local/cuda"
    for place in _PLACES:
        pattern = place.format(cuda=glob.escape(cuda))
        found = [
            one for one in glob.glob(pattern) if os.path.isabs(one) and os.access(one, os.X_OK)
        ]
        if found:
            return max(found, key=_numbers)
    gpu = "" if present_gpu() is not None else ", and there is no GPU here"
    raise ToolMissingError("ncu", f"Nsight Compute's ncu was not found{gpu}", hint=_HINT)


def _numbers(path: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d{1,9}", path)]


def tool(path: str) -> Tool:
    """ncu with its version."""
    done = process.run([path, "--version"], timeout=60.0)
    found = _VERSION.search(done.output)
    return Tool("ncu", found[1] if found is not None else None, path)


def profile(
    path: str, command: Sequence[str], env: Mapping[str, str], asked: Asked, directory: str
) -> Ran:
    """Run a program under ncu, with this process's standard input, output and error.

    Args:
        path: of ncu.
        command: program and arguments.
        env: the program's environment.
        asked: what to profile.
        directory: for ncu's files.

    Raises:
        ToolMissingError: ncu cannot be started.
        InputError: the program cannot be started, or ncu cannot profile; the log says why.
    """
    report, log = (os.path.join(directory, name) for name in ("profile.ncu-rep", "ncu.log"))
    words = [path, *_options(asked), "--log-file", log, "-f", "-o", report, *command]
    status = process.attend(words, env, seconds=asked.seconds)
    said = _read_log(log)
    errors = [one for one in _ERROR.findall(_APPLICATION_ERROR.sub("", said)) if one.strip()]
    made = report if os.path.exists(report) else None
    if made is None and errors:
        raise InputError(
            "ncu",
            f"{command[0]} was not profiled: {errors[0].rstrip('.')}",
            hint=_advice(errors[0]),
            log=said,
        )
    return Ran(status, said, made)


def _options(asked: Asked) -> Iterator[str]:
    yield from ("--clock-control", "none", "--target-processes", "all")
    yield from ("--section", asked.section, "--metrics", ",".join(asked.metrics))
    yield from ("--kernel-name-base", "mangled", "--launch-count", str(asked.most))
    numbers = "|".join(str(n) for n in range(asked.skip + 1, asked.skip + asked.count + 1))
    name = f"regex:{asked.names}" if asked.names else ""
    yield from ("--kernel-id", f"::{name}:^({numbers})$")


def _advice(error: str) -> str | None:
    if "ERR_NVGPUCTRPERM" in error or "permission" in error:
        return (
            "the driver reserves performance counters for administrators: run as root, or set "
            "NVreg_RestrictProfilingToAdminUsers=0"
        )
    return None


def _read_log(path: str) -> str:
    with contextlib.suppress(OSError), open(path, "rb") as stream:
        return stream.read(_LARGEST_LOG).decode("utf-8", "replace")
    return ""


@dataclass(frozen=True, slots=True)
class Pages:
    """ncu's printed pages of a profile.

    Attributes:
        raw: the raw page.
        source: the file with the source page, which may be large; None if there is none.
    """

    raw: str
    source: str | None


def pages(path: str, report: str, directory: str) -> Pages:
    """The pages of a profile.

    Args:
        path: of ncu.
        report: a file written by ncu.
        directory: for the source page.

    Raises:
        InputError: ncu cannot read it.
        StageTimeoutError: it takes too long.
    """
    raw = _raw(path, report, (*_RAW, *_MANGLED))
    if raw.returncode != 0 and "--print-kernel-base" in raw.output:
        raw = _raw(path, report, _RAW)
    if raw.returncode != 0 or raw.output.lstrip().startswith("==ERROR=="):
        raise InputError(
            "ncu",
            f"{report} is no profile that this ncu reads",
            hint="read it with the version of Nsight Compute that wrote it, or a newer one: "
            "--ncu PATH",
            command=raw.command_line,
            log=raw.output[-2000:],
        )
    source = os.path.join(directory, "source.csv")
    command = [path, "--import", report, *_SOURCE]
    is_there = process.record(command, source, timeout=_READING) == 0
    return Pages(raw.output, source if is_there else None)


def _raw(path: str, report: str, options: Sequence[str]) -> process.Completed:
    return process.run([path, "--import", report, *options], timeout=_READING)
