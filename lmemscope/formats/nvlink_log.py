"""Parse ``nvlink -v`` output: each kernel's figures, and errors that prevent linking.

Shapes of messages as nvlink 13.5 prints them (docs/linked.md lists what each was seen for):

    nvlink info    : Function properties for 'K':
    nvlink info    : used R registers, used B barriers, S stack, M bytes smem, …, L bytes lmem
    nvlink warning : Stack size for entry function 'K' cannot be statically determined
    nvlink warning : SM Arch ('sm_80') not found in 'a.o'
    nvlink error   : Undefined reference to 'f' in 'a.o'
    nvlink error   : Multiple definition of 'f' in 'b.o', first defined in 'a.o'
    nvlink fatal   : Input file 'a.o' arch does not match target 'sm_90'
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

ProblemKind = Literal["undefined", "duplicate", "no-arch", "wrong-arch", "other"]

_SAID = re.compile(r"^nvlink\s+(?P<level>info|warning|error|fatal)\s*:\s*(?P<text>.*)$")
_OF = re.compile(r"^Function properties for '(?P<name>[^']+)'")
_USED = re.compile(r"^used (?P<registers>\d{1,9}) registers\b(?P<rest>.*)$")
_STACK = re.compile(r", (\d{1,9}) stack\b")
_LOCAL = re.compile(r", (\d{1,9}) bytes lmem\b")
_SHARED = re.compile(r", (\d{1,9}) bytes smem\b")
_UNKNOWN = re.compile(r"^Stack size for entry function '([^']+)' cannot be statically determined")
_PROBLEMS: tuple[tuple[ProblemKind, re.Pattern[str]], ...] = (
    ("undefined", re.compile(r"^Undefined reference to '(?P<symbol>[^']+)' in '(?P<file>[^']+)'")),
    (
        "duplicate",
        re.compile(
            r"^Multiple definition of '(?P<symbol>[^']+)' in '(?P<file>[^']+)'"
            r"(?:, first defined in '(?P<first>[^']+)')?"
        ),
    ),
    ("no-arch", re.compile(r"^SM Arch \('(?P<symbol>[^']+)'\) not found in '(?P<file>[^']+)'")),
    ("wrong-arch", re.compile(r"^Input file '(?P<file>[^']+)'.* arch does not match")),
)


@dataclass(frozen=True, slots=True)
class LinkedFigures:
    """A kernel's figures after linking, in bytes per thread except for shared memory.

    Attributes:
        registers: maximum over the kernel and everything it may call.
        stack: of the deepest path; 0 if ``stack_known`` is False.
        local: local memory; 0 in everything nvlink 13 prints: frames are in the stack.
        shared: bytes per block.
        stack_known: False if nvlink warned that it is unknown.
    """

    registers: int
    stack: int | None
    local: int | None
    shared: int | None
    stack_known: bool


@dataclass(frozen=True, slots=True)
class LinkProblem:
    """Why there is no image, or why it is incomplete.

    Attributes:
        kind: of the problem.
        symbol: mangled; for ``no-arch``, the architecture.
        file: the input concerned, as passed to nvlink.
        first: for ``duplicate``, the input with the other definition.
        text: nvlink's message.
    """

    kind: ProblemKind
    symbol: str
    file: str
    first: str
    text: str


@dataclass(frozen=True, slots=True)
class NvlinkLog:
    """A complete log.

    Attributes:
        kernels: figures by mangled name.
        problems: errors, and warnings about inputs without code for the target.
        warnings: other warnings, in nvlink's words, except those about unknown stacks.
    """

    kernels: dict[str, LinkedFigures]
    problems: tuple[LinkProblem, ...]
    warnings: tuple[str, ...]


def parse_nvlink_log(text: str) -> NvlinkLog:
    """Parse nvlink's output; other lines are ignored."""
    used: dict[str, re.Match[str]] = {}
    unknown: set[str] = set()
    problems: list[LinkProblem] = []
    warnings: dict[str, None] = {}
    name = None
    for raw in text.splitlines():
        said = _SAID.match(raw.strip())
        if said is None:
            continue
        line = said["text"].strip()
        if (of := _OF.match(line)) is not None:
            name = of["name"]
        elif name is not None and (figures := _USED.match(line)) is not None:
            used[name], name = figures, None
        elif (entry := _UNKNOWN.match(line)) is not None:
            unknown.add(entry[1])
        elif said["level"] != "info":
            problem = _problem(line)
            if problem.kind == "other" and said["level"] == "warning":
                warnings[line] = None
            else:
                problems.append(problem)
    kernels = {
        kernel: LinkedFigures(
            registers=int(match["registers"]),
            stack=_number(_STACK, match["rest"]),
            local=_number(_LOCAL, match["rest"]),
            shared=_number(_SHARED, match["rest"]),
            stack_known=kernel not in unknown,
        )
        for kernel, match in used.items()
    }
    return NvlinkLog(kernels, tuple(problems), tuple(warnings))


def _problem(line: str) -> LinkProblem:
    for kind, pattern in _PROBLEMS:
        match = pattern.match(line)
        if match is not None:
            found = match.groupdict()
            symbol, first = found.get("symbol") or "", found.get("first") or ""
            return LinkProblem(kind, symbol, found["file"], first, line)
    return LinkProblem("other", "", "", "", line)


def _number(pattern: re.Pattern[str], text: str) -> int | None:
    match = pattern.search(text)
    return int(match[1]) if match is not None else None
