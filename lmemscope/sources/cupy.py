"""Find CuPy kernels in a Python file without importing it.

`RawKernel` and `RawModule` contain complete CUDA C++. `ElementwiseKernel`, `ReductionKernel` and
the functions that create ufuncs contain expressions, around which CuPy generates a kernel when it
is called (`cupy_generated`).
"""

from __future__ import annotations

import ast
import importlib.util
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from lmemscope.sources.cupy_generated import GeneratedKernel, ParameterError, parameters
from lmemscope.sources.cupy_ufuncs import kernels_of
from lmemscope.sources.located_text import Text, at
from lmemscope.sources.python_followed import Met, follow
from lmemscope.sources.python_origins import Origins
from lmemscope.sources.python_trees import nodes
from lmemscope.sources.python_values import Unknown, Value, plain, unknown_of
from lmemscope.sources.tool_words import nvrtc_words

_CLASS = re.compile(
    r"cupy\.(?:_core\.(?:core\.|raw\.|_kernel\.|_reduction\.)?)?"
    r"(RawKernel|RawModule|ElementwiseKernel|ReductionKernel|create_ufunc|create_reduction_func)"
)
"""Functions that make kernels, by dotted name: CuPy's own packages use others than users do."""
_CHAINER = re.compile(r"chainer\.(?:backends\.)?cuda\.(cupy\.\w+|elementwise|reduce|raw)")
_OF_CHAINER = {
    "elementwise": "ElementwiseKernel",
    "reduce": "ReductionKernel",
    "raw": "RawKernel",
}
"""Chainer functions that create kernels of CuPy's classes, with the same arguments."""
_PARAMETERS = {
    "RawKernel": (
        *("code", "name", "options", "backend", "translate_cucomplex"),
        *("enable_cooperative_groups", "jitify"),
    ),
    "RawModule": ("code", "path", "options", "backend", "translate_cucomplex"),
    "ElementwiseKernel": (
        *("in_params", "out_params", "operation", "name", "reduce_dims", "preamble"),
        *("no_return", "return_tuple"),
    ),
    "ReductionKernel": (
        *("in_params", "out_params", "map_expr", "reduce_expr", "post_map_expr", "identity"),
        *("name", "reduce_type", "reduce_dims", "preamble", "options"),
    ),
    "create_ufunc": (
        *("name", "ops", "routine", "preamble", "doc", "default_casting", "loop_prep"),
        *("out_ops", "cutensor_op", "scatter_op", "promote_types"),
    ),
    "create_reduction_func": (
        *("name", "ops", "routine", "identity", "preamble", "sort_reduce_axis"),
    ),
}
_DECIDING = {
    "backend": "CuPy uses another compiler",
    "jitify": "CuPy preprocesses it with other headers",
    "translate_cucomplex": "CuPy replaces its headers",
}
"""Arguments that affect how CuPy compiles a program, with their effect."""
_JITIFY = "-DCUPY_USE_JITIFY"
_READ = {
    "RawKernel": {*_PARAMETERS["RawKernel"]},
    "RawModule": {
        *(*_PARAMETERS["RawModule"], "enable_cooperative_groups", "name_expressions", "jitify"),
    },
    "ElementwiseKernel": {
        *(*_PARAMETERS["ElementwiseKernel"], "doc", "loop_prep", "after_loop", "options"),
    },
    "ReductionKernel": {*_PARAMETERS["ReductionKernel"]},
    "create_ufunc": {*_PARAMETERS["create_ufunc"]},
    "create_reduction_func": {*_PARAMETERS["create_reduction_func"]},
}
"""Arguments of each class that are read, or that do not affect code."""
_EXPRESSIONS = {
    "ElementwiseKernel": (
        *("in_params", "out_params", "operation", "preamble", "loop_prep", "after_loop"),
    ),
    "ReductionKernel": (
        *("in_params", "out_params", "map_expr", "reduce_expr", "post_map_expr", "preamble"),
    ),
}
_DEFAULT_NAMES = {"ElementwiseKernel": "kernel", "ReductionKernel": "reduce_kernel"}
_BUNDLED = ("cub", "thrust", "libcudacxx")
"""CCCL libraries that CuPy bundles."""
_RUN_TIME = "its {what} depends on {reason}, which only running the file would tell"
_VARIANTS = 64
"""Maximum number of programs derived from one call."""


@dataclass(frozen=True, slots=True)
class CupyProgram:
    """A kernel or module found in a file.

    Attributes:
        name: its name in the file, without line numbers.
        kind: the CuPy class, or ``jit.rawkernel``.
        line: of the call.
        source: CUDA C++ with ``#line`` directives; None if it is generated or has a problem.
        generated: the expressions from which CuPy generates a kernel, or None.
        options: for NVRTC, without CuPy's own.
        name_expressions: templates to instantiate.
        problem: why it cannot be compiled here, or None.
        notes: assumptions, in sentences.
        doubts: reasons why CuPy may compile different code, in sentences.
    """

    name: str
    kind: str
    line: int
    source: str | None
    generated: GeneratedKernel | None = None
    options: tuple[str, ...] = ()
    name_expressions: tuple[str, ...] = ()
    problem: str | None = None
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CupyPrograms:
    """What was read from a file.

    Attributes:
        programs: in order; equal names are numbered.
        recognised: the call functions and decorators that they were read from.
        texts: the literals that form their sources.
        files: absolute paths where the files they are read from were looked for.
    """

    programs: tuple[CupyProgram, ...]
    recognised: tuple[ast.expr, ...]
    texts: tuple[ast.expr, ...]
    files: tuple[str, ...] = ()


def read_programs(
    tree: ast.Module, source: str, path: str, origins: Origins | None = None
) -> CupyPrograms:
    """CuPy kernels in a parsed file, and what they were read from.

    Args:
        tree: of the file.
        source: its text.
        path: its absolute path.
        origins: of its values, to recognise CuPy names imported through the user's own modules.
    """
    imported = _Imports(tree, origins)
    found: list[CupyProgram] = []
    recognised: list[ast.expr] = []
    lines: set[int] = set()
    kinds = {call: kind for call in _calls(tree) if (kind := imported.class_of(call.func))}
    files: tuple[str, ...] = ()
    if kinds:
        followed = follow(tree, source, path, kinds, class_of_name)
        files = followed.files
        recognised += [call.func for call in kinds]
        targets = _targets(tree)
        for call in kinds:
            met = [one for one in followed.calls if one.node is call]
            programs, used = programs_of_call(met, targets.get(call), path)
            found += programs
            lines |= used
        if followed.unfollowed:
            found = [_with_doubt(one, followed.unfollowed, tree) for one in found]
    for function, decorator in _jit_kernels(tree, imported):
        recognised.append(decorator)
        problem = "CuPy translates it when it is called, for the types of that call"
        line = function.lineno
        found.append(CupyProgram(function.name, "jit.rawkernel", line, None, problem=problem))
    in_order = sorted(found, key=lambda program: program.line)
    return CupyPrograms(
        tuple(distinct(in_order)), tuple(recognised), tuple(_literals(tree, lines)), files
    )


def _calls(tree: ast.Module) -> list[ast.Call]:
    calls = [node for node in nodes(tree) if isinstance(node, ast.Call)]
    return sorted(calls, key=lambda node: (node.lineno, node.col_offset))


def _targets(tree: ast.Module) -> dict[ast.expr, str]:
    """Names to which calls are assigned."""
    return {
        node.value: node.targets[0].id
        for node in nodes(tree)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }


def _literals(tree: ast.Module, lines: set[int]) -> Iterator[ast.expr]:
    """String literals on the given lines, from which sources were read."""
    for node in nodes(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str | bytes):
            continue
        if not lines.isdisjoint(_lines(node)):
            yield node


def _lines(node: ast.expr | ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def programs_of_call(
    met: Sequence[Met], target: str | None, path: str
) -> tuple[list[CupyProgram], set[int]]:
    """Programs made by one call, and the lines of the file that their sources come from."""
    programs: list[CupyProgram] = []
    lines: set[int] = set()
    for one in met:
        reader = _Reader(one, path)
        programs += [made for made in reader.read(target) if made not in programs]
        # If a call is rejected for several reasons, the first is enough.
        refused = [made for made in programs if made.problem is not None]
        programs = [made for made in programs if made not in refused[1:]]
        lines |= reader.lines
    if len(programs) > _VARIANTS:
        rest = len(programs) - _VARIANTS
        problem = f"{rest} more programs of this call are not read"
        programs = [*programs[:_VARIANTS], replace(programs[0], source=None, problem=problem)]
    return programs, lines


def _with_doubt(program: CupyProgram, unfollowed: Sequence[str], tree: ast.Module) -> CupyProgram:
    """The program, with a doubt if it is in a function whose paths were not all followed."""
    for node in nodes(tree) if program.problem is None else ():
        if not isinstance(node, ast.FunctionDef) or node.name not in unfollowed:
            continue
        if program.line in _lines(node):
            doubt = f"more ways through {node.name} than are followed may make other kernels"
            return replace(program, doubts=(*program.doubts, doubt))
    return program


def class_of_name(name: str) -> str | None:
    """What the function with a dotted name makes, or None."""
    by_chainer = _CHAINER.fullmatch(name)
    if by_chainer is not None:
        name = by_chainer[1]
        if name in _OF_CHAINER:
            return _OF_CHAINER[name]
    found = _CLASS.fullmatch(name)
    return found[1] if found is not None else None


class _Imports:
    """Names by which a file knows CuPy and its classes."""

    def __init__(self, tree: ast.Module, origins: Origins | None) -> None:
        self._origins = origins
        self._modules: dict[str, str] = {}
        self._names: dict[str, str] = {}
        for node in nodes(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    own = alias.asname or alias.name.partition(".")[0]
                    self._modules[own] = alias.name if alias.asname else own
            elif isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    self._names[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    def class_of(self, node: ast.expr) -> str | None:
        found = class_of_name(self.full_name(node))
        is_attribute = isinstance(node, ast.Attribute) and node.attr in _PARAMETERS
        if found is not None or self._origins is None or not is_attribute:
            return found
        # A module of the user's own is also tracked under its own name, which reveals nothing.
        kinds = {class_of_name(name) for name in self._origins.of(node)} - {None}
        return kinds.pop() if len(kinds) == 1 else None

    def is_rawkernel(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Call):
            node = node.func
        return self.full_name(node) == "cupyx.jit.rawkernel"

    def full_name(self, node: ast.expr) -> str:
        if isinstance(node, ast.Attribute):
            return f"{self.full_name(node.value)}.{node.attr}"
        if not isinstance(node, ast.Name):
            return ""
        return self._names.get(node.id) or self._modules.get(node.id, "")


class _ProblemError(Exception):
    """Why a call is not a program that can be compiled here, as a sentence."""


class _Reader:
    """Reads one call.

    Attributes:
        lines: of the file that the sources come from.
    """

    def __init__(self, met: Met, path: str) -> None:
        self._kind, self._met, self._path = met.kind, met, path
        names = _PARAMETERS[met.kind]
        self._arguments: dict[str, Value] = dict(zip(names, met.arguments, strict=False))
        self._arguments |= met.words
        given = [one for one in self._arguments.values() if isinstance(one, Text)]
        self.lines = {line for text in given for file, line in text.places if file == path}

    def read(self, target: str | None) -> list[CupyProgram]:
        """The programs it makes: one, or for a ufunc one per routine."""
        name = self._name(target)
        empty = CupyProgram(name, self._kind, self._met.node.lineno, None)
        try:
            if self._met.unknown is not None:
                raise _ProblemError(self._run_time("argument list", self._met.unknown))
            given = self._strings("options")
            options, left_out = nvrtc_words(given)
            base = replace(
                empty,
                options=options,
                name_expressions=self._strings("name_expressions"),
                doubts=tuple(self._doubts(given, left_out)),
            )
            if self._kind.startswith("Raw"):
                return [replace(base, source=self._raw().as_program())]
            if self._kind.startswith("create"):
                return [
                    replace(base, name=made.name, generated=made, notes=(note,) if note else ())
                    for made, note in self._ufunc()
                ]
            return [replace(base, generated=self._generated())]
        except _ProblemError as error:
            return [replace(empty, problem=str(error))]
        except ParameterError as error:
            return [replace(empty, problem=f"CuPy would refuse it: {error}")]

    def _name(self, target: str | None) -> str:
        given = self._arguments.get("name")
        if self._kind != "RawModule" and isinstance(given, Text):
            return given.value
        return target or self._kind

    def _run_time(self, what: str, unknown: Unknown) -> str:
        named = what if what in ("source", "argument list") else f"argument {what}"
        return _RUN_TIME.format(what=named, reason=unknown.reason)

    def _doubts(self, options: Sequence[str], left_out: Sequence[str]) -> Iterator[str]:
        """Parts of a call that affect how CuPy compiles the program and are not reproduced here."""
        for option in left_out:
            yield f"compiled without its option {option}, which lmemscope does not pass on"
        for name, effect in _DECIDING.items():
            if name not in self._arguments:
                continue
            value = plain(self._arguments[name])
            if value in (None, False, "nvrtc"):
                continue
            if isinstance(value, bool | str):
                yield f"compiled by NVRTC as it is, but {name}={value!r}: {effect}"
            else:
                yield f"compiled by NVRTC as it is, but {name} is computed at run time"
        if _JITIFY in options:
            yield f"compiled by NVRTC as it is, but {_JITIFY}: {_DECIDING['jitify']}"
        for name in sorted(set(self._arguments) - _READ[self._kind]):
            yield f"compiled without its argument {name}, which lmemscope does not know"

    def _strings(self, what: str) -> tuple[str, ...]:
        value = self._arguments.get(what)
        if value is None:
            return ()
        unknown = unknown_of((value,))
        if unknown is not None:
            raise _ProblemError(self._run_time(what, unknown))
        if not isinstance(value, tuple | list) or not all(isinstance(o, Text) for o in value):
            raise _ProblemError(f"its argument {what} is no sequence of strings")
        return tuple(one.value for one in value)

    def _raw(self) -> Text:
        code = self._arguments.get("code")
        if code is None and self._kind == "RawModule":
            path = self._arguments.get("path")
            named = plain(path) if not isinstance(path, Unknown) else f"of {path.reason}"
            raise _ProblemError(
                f"it loads the file {named}, which other tools compiled: scan that file"
            )
        return self._text("code", "source")

    def _text(self, name: str, what: str | None = None) -> Text:
        if name not in self._arguments:
            return at("", (self._path, self._met.node.lineno))
        value = self._arguments[name]
        if isinstance(value, Unknown):
            raise _ProblemError(self._run_time(what or name, value))
        if not isinstance(value, Text):
            raise _ProblemError(f"its {what or name} is no string")
        if not _is_compilable(value.value):
            raise _ProblemError("its source is no text that can be written to a file")
        return value

    def _generated(self) -> GeneratedKernel:
        texts = {name: self._text(name) for name in _EXPRESSIONS[self._kind]}
        texts = {name: self._text(name) for name in ("loop_prep", "after_loop")} | texts
        inputs = parameters(texts["in_params"].value, is_input=True)
        outputs = parameters(texts["out_params"].value, is_input=False)
        place = (self._path, self._met.node.lineno)
        name = plain(self._arguments.get("name", _DEFAULT_NAMES[self._kind]))
        if isinstance(name, Unknown):
            name = _DEFAULT_NAMES[self._kind]
        if self._kind == "ElementwiseKernel":
            return GeneratedKernel(str(name), inputs, outputs, texts, place)
        if not outputs:
            raise ParameterError("it has no output")
        identity, reduce_type = (self._arguments.get(n) for n in ("identity", "reduce_type"))
        for what, value in (("identity", identity), ("reduce_type", reduce_type)):
            if isinstance(value, Unknown):
                raise _ProblemError(self._run_time(what, value))
        spelled = "" if identity is None else str(plain(identity))
        kind = outputs[0].type if reduce_type is None else str(plain(reduce_type))
        return GeneratedKernel(str(name), inputs, outputs, texts, place, spelled, kind)

    def _ufunc(self) -> list[tuple[GeneratedKernel, str]]:
        arguments: Mapping[str, Value] = self._arguments
        for what in ("name", "ops", "routine", "preamble", "loop_prep", "identity"):
            unknown = unknown_of((arguments.get(what),))
            if unknown is not None:
                raise _ProblemError(self._run_time(what, unknown))
        texts = {name: self._text(name) for name in ("preamble", "loop_prep")}
        place = (self._path, self._met.node.lineno)
        made = kernels_of(self._kind, arguments, texts, place)
        for kernel, _ in made:
            for text in kernel.texts.values():
                self.lines |= {line for file, line in text.places if file == self._path}
        return made


def _is_compilable(text: str) -> bool:
    """Whether a Python string can be encoded: it may contain NUL or half a surrogate pair."""
    try:
        return b"\0" not in text.encode("utf-8")
    except UnicodeEncodeError:
        return False


def cupy_options(given: Sequence[str], *, has_dialect: bool = False) -> tuple[str, ...]:
    """A program's options, completed with those that CuPy 14 adds.

    These follow `assemble_cupy_compiler_options` of `cupy._core.core` and `cupy.cuda.compiler`.

    Args:
        given: the program's options.
        has_dialect: whether a dialect is specified elsewhere; otherwise it defaults to C++17.
    """
    found = importlib.util.find_spec("cupy")
    assert found is not None
    assert found.origin is not None
    include = os.path.join(os.path.dirname(found.origin), "_core", "include")
    bundled = [os.path.join(include, "cupy", "_cccl", one) for one in _BUNDLED]
    has_dialect = has_dialect or any("-std=" in option for option in given)
    dialect = () if has_dialect else ("--std=c++17",)
    return (
        *(f"-I{one}" for one in bundled if os.path.isdir(one)),
        *(*given, *dialect, f"-I{include}", "-ftz=true", "--device-as-default-execution-space"),
    )


def _jit_kernels(
    tree: ast.Module, imported: _Imports
) -> Iterator[tuple[ast.FunctionDef, ast.expr]]:
    """Functions that CuPy translates, each with its decorator without arguments."""
    for node in nodes(tree):
        if isinstance(node, ast.FunctionDef):
            marks = [one for one in node.decorator_list if imported.is_rawkernel(one)]
            if marks:
                yield node, marks[0].func if isinstance(marks[0], ast.Call) else marks[0]


def distinct(programs: list[CupyProgram]) -> Iterator[CupyProgram]:
    """Programs, with equal names numbered."""
    seen: dict[str, int] = {}
    for program in programs:
        seen[program.name] = seen.get(program.name, 0) + 1
        count = seen[program.name]
        yield program if count == 1 else replace(program, name=f"{program.name}#{count}")
