"""Kernels in Python files: CuPy's are compiled with NVRTC, Numba's in a child process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from msgspec.structs import asdict, replace

from lmemscope.errors import CompileError, InputError, ToolMissingError, UncompiledError
from lmemscope.files import read_input
from lmemscope.formats.ptx import PtxModule
from lmemscope.lowering import python_runs
from lmemscope.lowering.compile_cuda import instantiations
from lmemscope.lowering.kept import kept
from lmemscope.lowering.store import slot_of_text
from lmemscope.model import Artifacts, CompileOptions, Gap, Tool, Unit, Variable, base_name
from lmemscope.routes import Along, Asked, Expansion, per_arch
from lmemscope.sources.comment_targets import with_doubts_of_text
from lmemscope.sources.cuda import read_cuda_source
from lmemscope.sources.cupy import CupyProgram, cupy_options
from lmemscope.sources.cupy_generated import GeneratedKernel, ParameterError
from lmemscope.sources.encoding import decoded_python
from lmemscope.sources.numba import WAYS_OUT, NumbaKernel
from lmemscope.sources.python import (
    Survey,
    program_of,
    survey,
)
from lmemscope.sources.python_comments import comments_of
from lmemscope.sources.python_words import is_worth_parsing
from lmemscope.tools import cupy_templates, nvrtc, ptxas, python_child
from lmemscope.tools.toolchain import Toolchain

_NAMED = 5
_COMPUTED = (
    "make it a literal; or name with --run-python a file that makes the kernel when it is run: "
    "this one, or a script that calls the function that the call is in"
)
_NOT_MADE = (
    "running the file did not make this kernel: name with --run-python a script that calls the "
    "function that the call is in, or scan CuPy's cache after a run with "
    "CUPY_CACHE_SAVE_CUDA_SOURCE=1"
)
_DIALECT = "requires at least C++17"
_WHATEVER_TYPES = (_DIALECT, "cannot open source file")
"""Log messages of programs that would not compile with other types either."""


def is_walked(path: str, beside: frozenset[str]) -> bool:
    """Files that may define kernels, judging by a cheap scan: most Python files do not."""
    del beside
    try:
        # A file too large to parse is an input too; its reader reports the problem.
        return is_worth_parsing(os.path.abspath(path))
    except OSError:
        return True


def expand(unit: Unit, asked: Asked) -> Expansion:
    """One unit per program in the file and architecture.

    In a directory, a file is skipped if its kernels can be compiled only by running it.
    """
    surveyed = asked.surveys.get(unit.path) or survey(unit.path, unit.input)
    programs = surveyed.programs
    notes = tuple(_unread(unit, surveyed))
    # A script's kernels may depend on running it, and the user named this file.
    is_open = surveyed.is_open or (programs == () and not asked.walked)
    if unit.options.run_python and programs is not None and is_open:
        made, failure = python_runs.programs_of(unit)
        programs = tuple((one.name, False) for one in made)
        notes = (failure,) if failure is not None else ()
        if not made and failure is not None:
            return Expansion((), notes)
    if programs == () and (asked.walked or not unit.options.run_python):
        looked_at = Gap("read", f"{unit.input} holds no CuPy or Numba kernel", "note", unit.input)
        if not asked.walked and not notes:
            return Expansion((), (looked_at, looked_at.reason))
        # The file mentions the API but defines no readable kernel, and was not named by the user.
        return Expansion((), notes or ((looked_at,) if surveyed.reaches else ()))
    if programs and asked.walked and not unit.options.run_python:
        kept = tuple(program for program in programs if not program[1])
        if len(kept) < len(programs):
            reason = (
                f"{unit.input} holds kernels that only running it would compile, and was not run; "
                "name it with --run-python"
            )
            notes = (*notes, Gap("run", reason, "uninstantiated", unit.input))
        programs = kept
        if not programs:
            return Expansion((), notes)
    # Even a single program gets its name as variant: a baseline must not change when the file gets
    # a second one.
    parts = [replace(unit, program=name, variant=name) for name, _ in programs or ()] or [unit]
    return Expansion(tuple(one for part in parts for one in per_arch(part, asked).units), notes)


def _unread(unit: Unit, surveyed: Survey) -> Iterator[Gap]:
    """One gap for everything in a file that may make kernels but is not read."""
    listed = [f"line {one.line}: {one.form}" for one in surveyed.unread]
    if listed:
        more = f"; and {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
        reason = f"{unit.input} may hold kernels that are not read: {'; '.join(listed[:_NAMED])}"
        yield Gap("read", f"{reason}{more}", "evidence", unit.input)


def lower(unit: Unit, cache_directory: str | None, along: Along | None = None) -> Artifacts:
    """Compile a unit of a Python file.

    Raises:
        LmemscopeError: it has no such kernel, or the kernel cannot be compiled.
    """
    del along
    programs = python_runs.programs_of(unit)[0]
    program = program_of(unit, programs)
    if isinstance(program, NumbaKernel):
        artifacts, kernels = _numba(unit, program), [program.name]
    else:
        made_by = _jit if program.kind == "jit.rawkernel" else _cupy
        artifacts = made_by(unit, program, cache_directory)
        found = artifacts.source.kernels if artifacts.source is not None else ()
        kernels = [*dict.fromkeys(base_name(kernel.name) for kernel in found)]
    comments = comments_of(
        decoded_python(read_input(unit.path)),
        program.line,
        kernels,
        [other.line for other in programs],
    )
    return replace(artifacts, directives=comments)


def _cupy(unit: Unit, program: CupyProgram, cache_directory: str | None) -> Artifacts:
    if program.problem is not None:
        raise InputError(
            "read",
            f"{unit.input}: {program.kind} {program.name} at line {program.line}: "
            f"{program.problem}",
            hint=_NOT_MADE if unit.options.run_python else _COMPUTED,
        )
    gaps = (
        *(Gap("cupy", note) for note in program.notes),
        *(Gap("cupy", doubt, "evidence") for doubt in program.doubts),
    )
    signatures = _signatures(unit, program.name)
    if program.generated is not None:
        return _generated(unit, program, program.generated, signatures, gaps, cache_directory)
    if signatures:
        raise InputError(
            "cupy",
            f"{unit.input}: {program.name} is a {program.kind}: its source has its types, and it "
            "takes no --signature",
            hint="instances of templates are asked for by --instantiate",
        )
    assert program.source is not None
    names = program.name_expressions
    return compile_text(unit, program.source, program.options, names, gaps, cache_directory)


def _generated(
    unit: Unit,
    program: CupyProgram,
    kernel: GeneratedKernel,
    signatures: list[str],
    gaps: tuple[Gap, ...],
    cache_directory: str | None,
) -> Artifacts:
    """Compile a kernel that CuPy generates, for a signature's types or the first that compile."""
    around = cupy_templates.templates()
    try:
        assignments = [kernel.of_signature(one) for one in signatures[:1]] or kernel.assignments()
    except ParameterError as error:
        raise InputError("cupy", f"{unit.input}: --signature of {program.name}: {error}") from error
    first: CompileError | None = None
    tried = 0
    for chosen in assignments:
        tried += 1
        own = (Gap("cupy", chosen.note),) if chosen.note else ()
        try:
            source = kernel.program(chosen, around)
            gaps_of = (*gaps, *own)
            return compile_text(unit, source, program.options, (), gaps_of, cache_directory)
        except CompileError as error:
            first = first or error
            if any(one in (error.log or "") for one in _WHATEVER_TYPES):
                raise
    assert first is not None
    if tried > 1:
        first.hint = (
            f"tried with {tried} assignments of types to {', '.join(kernel.placeholders)}, first "
            f"float32; say those of a call: --signature '{program.name}(...)'"
        )
    raise first


def _signatures(unit: Unit, name: str) -> list[str]:
    """The argument types that the user gave for a kernel, without its name and parentheses.

    ``module:kernel(...)`` applies only to that module's kernel and takes precedence.
    """
    stem = os.path.splitext(os.path.basename(unit.path))[0]
    of_module: list[str] = []
    of_any: list[str] = []
    for text in unit.options.signatures:
        called, _, types = text.partition("(")
        module, colon, own = called.strip().rpartition(":")
        is_here = module.rpartition(".")[2] == stem or unit.path.endswith(os.sep + module)
        if own.strip() == name and (not colon or is_here):
            (of_module if colon else of_any).append(types.rpartition(")")[0])
    return of_module or of_any


def compile_text(
    unit: Unit,
    source: str,
    options: tuple[str, ...],
    name_expressions: tuple[str, ...],
    gaps: tuple[Gap, ...],
    cache_directory: str | None,
) -> Artifacts:
    """Compile a text as CuPy does, or load the result of an earlier run.

    Args:
        unit: the unit of the text.
        source: CUDA C++.
        options: the program's own options.
        name_expressions: templates to instantiate.
        gaps: to attach to the result.
        cache_directory: the store, or None to compile always.

    Raises:
        CompileError, ToolMissingError: NVRTC rejects it, or is missing.
    """
    toolchain = Toolchain(unit.toolkit)
    if unit.options.std is not None:
        options = tuple(option for option in options if "-std=" not in option)
    # CuPy's own headers come before the toolkit's, which contain another version of CCCL.
    own = cupy_options(options, has_dialect=unit.options.std is not None)
    flags = nvrtc.options_for(unit.arch, unit.options, toolchain, first=own)
    names = (*name_expressions, *unit.options.instantiate)
    read = with_doubts_of_text(read_cuda_source(source), source, unit.options)

    def make() -> Artifacts:
        result = nvrtc.compile_program(source, unit.path, flags, names, toolchain)
        return Artifacts(
            unit=unit,
            frontend="cupy",
            options=(*flags, *instantiations(names)),
            ptx=result.ptx,
            ptxas_log=result.log,
            cubin=result.cubin,
            tools=(nvrtc.library(toolchain),),
            source=read,
            instantiated=names,
        )

    slot = slot_of_text(cache_directory, unit, source, options, flags, names)
    try:
        artifacts = kept(unit, slot, read, make)
    except CompileError as error:
        if _DIALECT in (error.log or ""):
            error.hint = (
                "CuPy refuses it, too: its headers need C++17, and the program asks for less; "
                "--std c++17 takes the place of the program's own dialect"
            )
        raise
    return replace(artifacts, gaps=gaps, program=source)


def _jit(unit: Unit, program: CupyProgram, cache_directory: str | None) -> Artifacts:
    if not unit.options.run_python:
        raise UncompiledError(
            "cupy",
            f"{unit.input}: jit.rawkernel {program.name} at line {program.line}: {program.problem}",
            hint="--run-python translates it here; it needs "
            f"--signature '{program.name}(float32[:], int32)' with the types of your call",
        )
    answer = _ask_child(unit, "jit.rawkernel", program.name, program.line, [])
    options = ("-DCUPY_JIT_MODE",)
    gap = Gap("lines", "lines are those of the CUDA C++ that CuPy makes of the function")
    return compile_text(unit, answer["source"], options, (), (gap,), cache_directory)


def _numba(unit: Unit, kernel: NumbaKernel) -> Artifacts:
    refused = [array for array in kernel.arrays if array.refusal is not None]
    if refused:
        listed = "; ".join(
            f"line {array.line}: cuda.local.array({array.shape}, …): {array.refusal}"
            for array in refused
        )
        raise CompileError(
            "numba",
            f"{unit.input}: {kernel.name}: Numba refuses a local array whose shape is no "
            f"compile-time constant ({listed})",
            hint="docs/questions/numba-array-size.md shows each way with its cost",
            log=WAYS_OUT,
        )
    if not unit.options.run_python:
        raise UncompiledError(
            "numba",
            f"{unit.input}: {kernel.name} at line {kernel.line}: to compile a Numba kernel, its "
            "file has to be run, and that was not asked for",
            hint="--run-python runs it, in a process of its own",
        )
    arrays = [asdict(array) for array in kernel.arrays]
    answer = _ask_child(unit, "numba", kernel.name, kernel.line, arrays)
    ptx = str(answer["ptx"]).encode()
    options = unit.options
    if answer["registers"] and options.maxrregcount is None:
        options = CompileOptions(
            maxrregcount=int(answer["registers"]), ptxas_args=options.ptxas_args
        )
    flags = ptxas.options_for(unit.arch, options)
    assembled = ptxas.assemble(ptx, unit.input, flags, Toolchain(unit.toolkit))
    gaps: tuple[Gap, ...] = ()
    if answer["others"]:
        ending = "" if answer["others"] == 1 else "s"
        more = (
            f"{answer['others']} more signature{ending}; {answer['signature']} was compiled, "
            "--signature names another"
        )
        gaps = (Gap("numba", more, "evidence"),)
    if answer["namesakes"]:
        ending = "" if answer["namesakes"] == 1 else "s"
        more = f"{answer['namesakes']} more kernel{ending} of this name; the first was compiled"
        gaps = (*gaps, Gap("numba", more, "evidence"))
    if answer["ended"] is not None:
        reason = f"running {unit.input} ended with {answer['ended']}, after the kernel was made"
        gaps = (*gaps, Gap("numba", reason))
    return Artifacts(
        unit=unit,
        frontend="numba",
        options=(*flags, f"--signature={answer['signature']}"),
        ptx=ptx,
        ptxas_log=assembled.log,
        cubin=assembled.cubin,
        tools=(assembled.tool, _numba_version()),
        gaps=gaps,
        variables=(
            *_variables(unit, kernel, ptx, answer["arrays"]),
            *_parameters(unit, kernel, ptx, answer["parameters"]),
        ),
    )


def _variables(
    unit: Unit, kernel: NumbaKernel, ptx: bytes, arrays: list[dict[str, Any]]
) -> list[Variable]:
    """The local arrays, in the form in which a debug compilation reports variables."""
    functions = [function.name for function in PtxModule(ptx).functions]
    return [
        Variable(
            function=function,
            name=array.name or f"line {array.line}",
            type=found["type"],
            size=found["bytes"] or 0,
            file=unit.path,
            line=array.line,
            is_parameter=False,
            members=(),
            order=order,
        )
        for function in functions
        for order, (array, found) in enumerate(zip(kernel.arrays, arrays, strict=True))
    ]


def _parameters(
    unit: Unit, kernel: NumbaKernel, ptx: bytes, names: list[str] | None
) -> Iterator[Variable]:
    """The kernel's parameters, which PTX splits up; empty if the counts do not match."""
    for function in PtxModule(ptx).functions:
        if names is not None and len(function.parameters) == len(names):
            for order, name in enumerate(names):
                yield Variable(
                    function=function.name,
                    name=name,
                    type="",
                    size=0,
                    file=unit.path,
                    line=kernel.line,
                    is_parameter=True,
                    members=(),
                    order=order,
                )


def _ask_child(
    unit: Unit, kind: str, name: str, line: int, arrays: list[dict[str, Any]]
) -> dict[str, Any]:
    """Run the user's file in a separate process and compile one kernel there."""
    given = _signatures(unit, name)
    spelled = "void({})" if kind == "numba" else f"{name}({{}})"
    signatures = [spelled.format(types) for types in given]
    request = {
        "kind": kind,
        "path": unit.path,
        "name": name,
        "arch": unit.arch,
        "signatures": signatures,
        "arrays": arrays,
    }
    answer, output = python_runs.ask(
        python_child.__file__, request, unit.input, python_runs.time_limit(unit)
    )
    if answer.get("missing") == "signature":
        raise InputError(
            kind.partition(".")[0],
            f"{unit.input}: {name} at line {line} has no signature",
            hint=f"say the types of a call: --signature '{name}(float32[::1], int32)'",
        )
    if "error" in answer:
        raise _child_error(unit, name, str(answer["error"]), output)
    return answer


def _child_error(unit: Unit, name: str, said: str, output: str) -> CompileError | ToolMissingError:
    if said.startswith("ModuleNotFoundError: No module named 'numba"):
        return ToolMissingError(
            "numba",
            f"{unit.input}: {said}",
            hint="install Numba for CUDA with: pip install 'lmemscope[numba]'",
        )
    hint = None
    if said.startswith("ModuleNotFoundError"):
        hint = "what the file imports has to be installed where lmemscope is"
    first = said.strip().splitlines()[0]
    log = f"{said}\n{output}".strip()
    return CompileError("run", f"{unit.input}: {name}: {first}", hint=hint, log=log)


def _numba_version() -> Tool:
    from importlib import metadata

    try:
        version = metadata.version("numba-cuda")
    except metadata.PackageNotFoundError:
        version = None
    return Tool("numba-cuda", version, None)
