"""A link from its inputs to its figures: compile → nvlink → image → call graph → paths.

A worker's half, like `lmemscope.pipeline`: one program's trouble is that program's `Failure`, and
the other inputs and links go on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from lmemscope.analysis.linked import ObjectFunctions, describe, with_link_time_figures
from lmemscope.errors import InternalError, LmemscopeError
from lmemscope.formats.demangle import demangle, short_name
from lmemscope.formats.linked_image import read_image
from lmemscope.formats.nvlink_log import LinkProblem, NvlinkLog, parse_nvlink_log
from lmemscope.lowering.link import LinkedArtifacts, link, optimised
from lmemscope.model import Failure, Gap, Link, LinkInput, LinkRequest
from lmemscope.tools.toolchain import wheel_of

_DEVICE_RUNTIME = re.compile(r"cudaCDP|cudaLaunchDevice|cudaGetParameterBuffer|^cudaDevice")
_NEWER = re.compile(r"newer than toolkit")
_LISTED = 3
"""Problems that a message names; the log has all."""


def link_program(request: LinkRequest) -> Link:
    """Link a program and describe it; never raises for what is wrong with the program."""
    try:
        return _linked(request)
    except LmemscopeError as error:
        return failed(request, error)
    except Exception as error:  # noqa: BLE001 - a mistake of ours, and of this link alone
        return failed(request, InternalError.of(error, f"linking {request.name}"))


def failed(request: LinkRequest, error: LmemscopeError) -> Link:
    """A link that there is not, and why."""
    names = (*(unit.name for unit in request.units), *(name for name, _ in request.binaries))
    return Link(
        name=request.name,
        arch=request.arch,
        origin=request.origin,
        inputs=tuple(LinkInput(name, "source") for name in names),
        failure=Failure("link", error.message, error.hint, error.command, error.log),
    )


def _linked(request: LinkRequest) -> Link:
    made = link(request)
    request = replace(request, arch=made.arch)
    log = parse_nvlink_log(made.log)
    result = Link(
        name=request.name,
        arch=request.arch,
        origin=request.origin,
        inputs=made.inputs,
        messages=log.warnings,
        tools=made.tools,
        command=made.command,
    )
    gaps = [
        Gap("link", f"which functions {name} defines is not known: {why}")
        for name, why in made.unread
    ]
    problems = [one for one in log.problems if one.kind != "no-arch"]
    if made.image is None or problems:
        return replace(result, gaps=tuple(gaps), failure=refusal(made, log))
    objects = list(objects_of(made))
    depths = {**dict(made.depths), **dict(request.depths)}
    described = describe(read_image(made.image), log.kernels, objects, depths)
    gaps += [Gap("link", f"{place}: not a depth: {said}", "evidence") for place, said in made.odd]
    gaps += [Gap("link", _absent(one), "evidence") for one in log.problems]
    gaps += [
        Gap("link", f"depth {name}: the program has no function of that name")
        for name in described.unused_depths
    ]
    if not described.kernels:
        gaps.append(Gap("link", "the linked program has no kernel"))
    kernels, tools = described.kernels, made.tools
    if request.lto:
        try:
            image, tool = optimised(request)
            kernels = with_link_time_figures(kernels, read_image(image))
            tools = (*tools, tool)
        except LmemscopeError as error:
            hint = f"; {error.hint}" if error.hint else ""
            why = f"not optimised while linking: {error.message}{hint}"
            gaps.append(Gap("lto", why, "evidence"))
    return replace(
        result,
        kernels=kernels,
        functions=described.functions,
        indirect=described.indirect,
        library_kernels=described.library_kernels,
        gaps=tuple(gaps),
        tools=tools,
    )


def objects_of(made: LinkedArtifacts) -> Iterator[ObjectFunctions]:
    """What each input defines; nothing of one whose code cannot be read."""
    for one in made.code:
        registers: dict[str, int | None] = {}
        for cubin in one.cubins:
            for function in read_image(cubin).functions.values():
                if function.is_defined:
                    known = None if one.is_other else function.registers
                    registers.setdefault(function.name, known)
        yield ObjectFunctions(one.input, registers)


def refusal(made: LinkedArtifacts, log: NvlinkLog) -> Failure:
    """Why there is no image: the first kind of problem in words, the rest in the log."""
    problems = [one for one in log.problems if one.kind != "no-arch"]
    absent = [one for one in log.problems if one.kind == "no-arch"]
    if not problems:
        last = made.log.strip().splitlines()
        said = last[-1] if last else "nvlink wrote no image and said nothing"
        return Failure("link", said, None, made.command, made.log)
    # Of a duplicate, nvlink goes on to say that merging failed: the first says why.
    kind = problems[0].kind
    same = [one for one in problems if one.kind == kind]
    parts = list(dict.fromkeys(map(_in_words, same)))
    more = f"; and {len(parts) - _LISTED} more" if len(parts) > _LISTED else ""
    message = f"nvlink: {'; '.join(parts[:_LISTED])}{more}"
    return Failure(
        "link", message, _way_out(same, made, absent), made.command, _without_figures(made.log)
    )


def _without_figures(log: str) -> str:
    """What nvlink complained of; figures of kernels that were not linked mean nothing."""
    return "\n".join(one for one in log.strip().splitlines() if "nvlink info" not in one)


def _in_words(problem: LinkProblem) -> str:
    name = short_name(demangle(problem.symbol))
    if problem.kind == "undefined":
        return f"{problem.file} uses {name}, which no input defines"
    if problem.kind == "duplicate":
        first = f" and {problem.first}" if problem.first else ""
        return f"{name} is defined by {problem.file}{first}"
    return problem.text


def _absent(problem: LinkProblem) -> str:
    return f"{problem.file} holds no code for {problem.symbol}"


def _way_out(
    problems: Sequence[LinkProblem], made: LinkedArtifacts, absent: Sequence[LinkProblem]
) -> str | None:
    """The flag, or the change of the source, that helps."""
    kind = problems[0].kind
    if kind == "undefined":
        if any(_DEVICE_RUNTIME.search(one.symbol) for one in problems):
            wheel = wheel_of("cuda headers")
            return f"libcudadevrt.a, which device-side launches need, is not found: {wheel} has it"
        whole = [one.input for one in made.code if one.is_whole]
        if whole:
            listed = ", ".join(whole)
            return (
                f"{listed}: compiled as a whole program, which defines nothing for others; compile "
                "it with nvcc -rdc=true (CMake: CUDA_SEPARABLE_COMPILATION)"
            )
        if absent:
            # What it would have defined is not there: nvlink warns, and goes on without it.
            listed = "; ".join(dict.fromkeys(map(_absent, absent)))
            return (
                f"{listed}: compile it for that architecture as well, or link for its own (--arch)"
            )
        return "name the input that defines it as well: a .cu, a .cubin or .o of -rdc=true, or a .a"
    if kind == "duplicate":
        return (
            "leave one of the two inputs out; or, where a header that both include defines it, "
            "make it static or inline"
        )
    if _NEWER.search(problems[0].text):
        return "compile and link with the same toolkit: lmemscope doctor shows which there are"
    if kind == "wrong-arch":
        return "link for the architecture that the input was compiled for, with --arch"
    # What nvlink cannot read it does not name; no code is found there here either.
    empty = [one.input for one in made.code if not one.cubins]
    if empty:
        return f"no device code can be read in {', '.join(empty)}: build it again, or leave it out"
    return None
