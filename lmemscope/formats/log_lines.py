"""Interpret build output line by line, whatever a terminal or CI system adds to it.

Builds print in colour and overwrite lines, and CI systems prepend times, job names and step
numbers. ptxas writes each message in one piece, so its text is searched for within a line rather
than at the start.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lmemscope.formats.build_errors import BuildError, error_in
from lmemscope.formats.build_steps import Step, step_in
from lmemscope.formats.ptxas_log import (
    COMPILING,
    FRAME,
    MODULE,
    PROPERTIES,
    SPILLED,
    STACK,
    UNKNOWN_STACK,
    USED,
)

_ESCAPE = re.compile(r"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9])")
_STAMP = re.compile(
    r"^(?:[^\t]*\t[^\t]*\t)?"  # gh run view --log: job, step
    r"(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]? ?"
    r"(?:\d\d[OE]\+? ?)?"  # GitLab: stream
    r"|\[?\d\d:\d\d:\d\d(?:[.,]\d+)?\]? +"
    r"|#\d+ +\d+\.\d+ "  # docker build: step, seconds
    r"|\d+>)?"  # msbuild: project
)
_TOOL = re.compile(r"\b(?P<tool>ptxas|nvlink) +(?:info|warning|warn|fatal|error) *: *(?P<said>.*)")
_STACK_LINE = re.compile(
    r"(?<!\d)\d+ bytes stack frame, \d+ bytes spill stores, \d+ bytes spill loads"
)
_TARGET = re.compile(r" \(target: (sm_\w+)\)\s*$")
_LONGEST = 1 << 18
"""Number of characters of a line that are examined; commands that link thousands of objects are
long."""
_TROUBLE = re.compile(r"\berror(?:\s*:| [A-Z]*\d| #)|\*\*\*|^FAILED:", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Module:
    """``N bytes gmem``: ptxas starts to report a module."""


@dataclass(frozen=True, slots=True)
class Announced:
    """``Compiling entry function``."""

    name: str
    arch: str


@dataclass(frozen=True, slots=True)
class Properties:
    """``Function properties for`` from ptxas; its stack line follows."""

    name: str


@dataclass(frozen=True, slots=True)
class Stack:
    """``N bytes stack frame, …``, for the function named before it."""

    text: str


@dataclass(frozen=True, slots=True)
class Used:
    """``Used N registers, …``."""

    text: str


@dataclass(frozen=True, slots=True)
class Linked:
    """``Function properties for`` from nvlink, with its target if it names one."""

    name: str
    arch: str | None


@dataclass(frozen=True, slots=True)
class LinkedUsed:
    """``used N registers, …`` from nvlink."""

    text: str


@dataclass(frozen=True, slots=True)
class Warned:
    """A warning that names its function: spills, a frame, or a stack of unknown depth."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class OtherReport:
    """Another line from ptxas or nvlink, unchanged; ``error`` if it is one."""

    text: str
    error: BuildError | None = None


@dataclass(frozen=True, slots=True)
class Trouble:
    """A line that may report an error: a compilation may end without a report.

    ``error``: it certainly is one.
    """

    error: BuildError | None = None


Event = (
    Module
    | Announced
    | Properties
    | Stack
    | Used
    | Linked
    | LinkedUsed
    | Warned
    | OtherReport
    | Step
    | Trouble
)


def events(text: str) -> Iterator[Event]:
    """The events in a build's output, in order; other lines are skipped."""
    for raw in text.split("\n"):
        if "ptxas" not in raw and "nvlink" not in raw and "bytes" not in raw:
            event = _of_build(plain(raw))
        else:
            event = _of_tool(plain(raw))
        if event is not None:
            yield event


def plain(raw: str) -> str:
    """A line without colours and without what CI systems prepend, as a terminal shows it."""
    raw = raw[:_LONGEST]
    line = _ESCAPE.sub("", raw) if "\x1b" in raw else raw
    line = line.rstrip("\r\n\0")
    if "\r" in line:
        line = line[line.rindex("\r") + 1 :]
    return _STAMP.sub("", line.lstrip("\ufeff"), count=1)


def _of_build(line: str) -> Event | None:
    error = error_in(line)
    if error is not None:
        return Trouble(error)
    step = step_in(line) if line.strip() else None
    if step is not None:
        return step
    return Trouble() if _TROUBLE.search(line) else None


def _of_tool(line: str) -> Event | None:
    match = _TOOL.search(line)
    if match is None:
        stack = _STACK_LINE.search(line)
        return Stack(stack.group()) if stack is not None else _of_build(line)
    said = match["said"].strip()
    if match["tool"] == "nvlink":
        return _of_nvlink(line[match.start() :].strip(), said)
    if found := COMPILING.match(said):
        return Announced(found.group(1), found.group(2))
    if found := PROPERTIES.match(said):
        return Properties(found.group(1))
    if STACK.match(said):
        return Stack(said)
    if USED.match(said):
        return Used(said)
    if MODULE.match(said):
        return Module()
    for shape in (UNKNOWN_STACK, SPILLED, FRAME):
        if found := shape.search(said):
            return Warned(found.group(1), line[match.start() :].strip())
    return _other(line[match.start() :].strip())


def _other(text: str) -> OtherReport:
    return OtherReport(text, error_in(text))


def _of_nvlink(line: str, said: str) -> Event | None:
    if found := PROPERTIES.match(said):
        return Linked(found.group(1), found.group(2))
    if USED.match(said):
        return LinkedUsed(_TARGET.sub("", said))
    if found := UNKNOWN_STACK.search(said):
        return Warned(found.group(1), line)
    return None if MODULE.match(said) else _other(line)
