"""CuPy kernels in a Python file, found without importing it.

`RawKernel` and `RawModule` hold CUDA C++ as it is. `ElementwiseKernel` and `ReductionKernel` hold
expressions, around which CuPy generates a kernel when it is called (CuPy user guide, "User-Defined
Kernels"); a kernel of the same form is generated here, for contiguous one-dimensional arrays, with
CuPy's own ``cupy/carray.cuh``.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from lmemscope.sources.located_text import Text, at
from lmemscope.sources.python_text import Scope
from lmemscope.sources.tool_words import nvrtc_words

CLASSES = ("RawKernel", "RawModule", "ElementwiseKernel", "ReductionKernel")
_PARAMETERS = {
    "RawKernel": ("code", "name", "options", "backend", "translate_cucomplex"),
    "RawModule": ("code", "path", "options", "backend"),
    "ElementwiseKernel": (
        "in_params",
        "out_params",
        "operation",
        "name",
        "reduce_dims",
        "preamble",
    ),
    "ReductionKernel": (
        *("in_params", "out_params", "map_expr", "reduce_expr", "post_map_expr", "identity"),
        *("name", "reduce_type", "reduce_dims", "preamble", "options"),
    ),
}
_C_TYPES = {
    "float16": "float16",
    "float32": "float",
    "float64": "double",
    "bool": "bool",
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "long long",
    "uint8": "unsigned char",
    "uint16": "unsigned short",
    "uint32": "unsigned int",
    "uint64": "unsigned long long",
    "complex64": "complex<float>",
    "complex128": "complex<double>",
}
_DECIDING = {
    "backend": "CuPy uses another compiler",
    "jitify": "CuPy preprocesses it with other headers",
    "translate_cucomplex": "CuPy replaces its headers",
}
"""Arguments that decide how CuPy compiles a program, and their effect."""
_JITIFY = "-DCUPY_USE_JITIFY"
_READ = {
    "RawKernel": {*_PARAMETERS["RawKernel"], *_DECIDING, "enable_cooperative_groups"},
    "RawModule": {
        *(*_PARAMETERS["RawModule"], *_DECIDING, "enable_cooperative_groups", "name_expressions"),
    },
    "ElementwiseKernel": {
        *(*_PARAMETERS["ElementwiseKernel"], "no_return", "return_tuple", "doc"),
        *("loop_prep", "after_loop", "options"),
    },
    "ReductionKernel": {*_PARAMETERS["ReductionKernel"]},
}
"""Arguments of each class that are read, or change no code."""
_TYPE_OF_PLACEHOLDER = "float"
_RUN_TIME = "its {what} is computed at run time"


@dataclass(frozen=True, slots=True)
class CupyProgram:
    """A kernel or module found in a file.

    Attributes:
        name: what it is known by in the file, without line numbers.
        kind: the CuPy class, or ``jit.rawkernel``.
        line: of the call.
        source: CUDA C++ with ``#line`` directives, or None (see ``problem``).
        options: for NVRTC, CuPy's own included.
        name_expressions: templates to instantiate.
        problem: why it cannot be compiled from here, or None.
        notes: what was assumed, in sentences.
        doubts: why CuPy may compile other code, in sentences.
    """

    name: str
    kind: str
    line: int
    source: str | None
    options: tuple[str, ...] = ()
    name_expressions: tuple[str, ...] = ()
    problem: str | None = None
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CupyPrograms:
    """What was read of a file.

    Attributes:
        programs: in order; equal names are told apart by a number.
        recognised: the functions of the calls, and the decorators, that they were read from.
        texts: the literals that their sources are made of.
        files: absolute paths under which the files that they are read from were looked for.
    """

    programs: tuple[CupyProgram, ...]
    recognised: tuple[ast.expr, ...]
    texts: tuple[ast.expr, ...]
    files: tuple[str, ...] = ()


def find_programs(tree: ast.Module, source: str, path: str) -> list[CupyProgram]:
    """CuPy kernels in a parsed file, in order; equal names are told apart by a number."""
    return list(read_programs(tree, source, path).programs)


def read_programs(tree: ast.Module, source: str, path: str) -> CupyPrograms:
    """CuPy kernels in a parsed file, and what they were read from."""
    scope = Scope(tree, source, path)
    imported = _Imports(tree)
    found: list[CupyProgram] = []
    recognised: list[ast.expr] = []
    targets = {
        id(node.value): node.targets[0].id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    for call in sorted(calls, key=lambda node: (node.lineno, node.col_offset)):
        kind = imported.class_of(call.func)
        if kind is not None:
            recognised.append(call.func)
            found.append(_Reader(kind, call, scope, path).read(targets.get(id(call))))
    for function, decorator in _jit_kernels(tree, imported):
        recognised.append(decorator)
        problem = "CuPy translates it when it is called, for the types of that call"
        line = function.lineno
        found.append(CupyProgram(function.name, "jit.rawkernel", line, None, problem=problem))
    programs = tuple(_distinct(sorted(found, key=lambda program: program.line)))
    return CupyPrograms(programs, tuple(recognised), tuple(scope.texts), tuple(scope.files))


class _Imports:
    """Names under which the file knows CuPy and its classes."""

    def __init__(self, tree: ast.Module) -> None:
        self._modules: dict[str, str] = {}
        self._names: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    own = alias.asname or alias.name.partition(".")[0]
                    self._modules[own] = alias.name if alias.asname else own
            elif isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    self._names[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    def class_of(self, node: ast.expr) -> str | None:
        full = self.full_name(node)
        root, _, rest = full.partition(".")
        return rest if root == "cupy" and rest in CLASSES else None

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


class _Reader:
    def __init__(self, kind: str, call: ast.Call, scope: Scope, path: str) -> None:
        self._kind, self._call, self._scope, self._path = kind, call, scope, path
        names = _PARAMETERS[kind]
        self._arguments: dict[str, ast.expr] = dict(zip(names, call.args, strict=False))
        self._arguments |= {word.arg: word.value for word in call.keywords if word.arg}
        self._notes: list[str] = []

    def read(self, target: str | None) -> CupyProgram:
        given = self._scope.constant(self._arguments.get("name"))
        name = given if isinstance(given, str) else target or self._kind
        if self._kind == "RawModule":
            name = target or self._kind
        empty = CupyProgram(name, self._kind, self._call.lineno, None)
        if self._is_unpacked():
            return replace(empty, problem=_RUN_TIME.format(what="argument list"))
        for what in ("options", "name_expressions"):
            if what in self._arguments and not self._strings(what):
                value = self._scope.constant(self._arguments[what])
                if value not in ((), None):
                    return replace(empty, problem=_RUN_TIME.format(what=what))
        if self._kind.startswith("Raw"):
            text, missing = self._raw()
        elif self._kind == "ElementwiseKernel":
            text, missing = self._elementwise(name)
        else:
            text, missing = self._reduction(name)
        if text is None:
            return replace(empty, problem=_RUN_TIME.format(what=missing))
        if not _is_compilable(text.value):
            return replace(empty, problem="its source is no text that can be written to a file")
        given = self._strings("options")
        options, left_out = nvrtc_words(given)
        return replace(
            empty,
            source=text.as_program(),
            options=(*options, *cupy_options(given)),
            name_expressions=self._strings("name_expressions"),
            notes=tuple(self._notes),
            doubts=tuple(self._doubts(given, left_out)),
        )

    def _is_unpacked(self) -> bool:
        """Whether the call has arguments by ``*`` or ``**``, which could be any."""
        starred = any(isinstance(one, ast.Starred) for one in self._call.args)
        return starred or any(word.arg is None for word in self._call.keywords)

    def _doubts(self, options: Sequence[str], left_out: Sequence[str]) -> Iterator[str]:
        """What of a call decides how CuPy compiles the program, and is not done here."""
        for option in left_out:
            yield f"compiled without its option {option}, which lmemscope does not pass on"
        for name, effect in _DECIDING.items():
            if name not in self._arguments:
                continue
            value = self._scope.constant(self._arguments[name])
            if value is ...:
                yield f"compiled by NVRTC as it is, but {name} is computed at run time"
            elif value not in (None, False, "nvrtc"):
                yield f"compiled by NVRTC as it is, but {name}={value!r}: {effect}"
        if _JITIFY in options:
            yield f"compiled by NVRTC as it is, but {_JITIFY}: {_DECIDING['jitify']}"
        for name in sorted(set(self._arguments) - _READ[self._kind]):
            yield f"compiled without its argument {name}, which lmemscope does not know"

    def _strings(self, what: str) -> tuple[str, ...]:
        value = self._scope.constant(self._arguments.get(what))
        if not isinstance(value, tuple):
            return ()
        return tuple(item for item in value if isinstance(item, str))

    def _raw(self) -> tuple[Text | None, str]:
        if self._arguments.get("code") is not None:
            return self._scope.text(self._arguments["code"]), "source"
        path = self._scope.path(self._arguments.get("path"))
        if path is None:
            return None, "source"
        return self._scope.file(self._arguments["path"]), "source"

    def _text_of(self, what: str) -> Text | None:
        if what not in self._arguments:
            return at("", (self._path, self._call.lineno))
        return self._scope.text(self._arguments[what])

    def _elementwise(self, name: str) -> tuple[Text | None, str]:
        texts = {}
        for what in ("in_params", "out_params", "operation", "preamble", "loop_prep", "after_loop"):
            text = self._text_of(what)
            if text is None:
                return None, what
            texts[what] = text
        inputs = _parameters(texts["in_params"].value)
        outputs = _parameters(texts["out_params"].value)
        # What the code around the loop uses is a scalar: an array has no element there yet.
        around = set(re.findall(r"\w+", texts["loop_prep"].value + texts["after_loop"].value))
        inputs = tuple(replace(p, scalar=not p.raw and p.name in around) for p in inputs)
        own = (self._path, self._call.lineno)
        head = [*_PRELUDE, *self._types((*inputs, *outputs))]
        arguments = [*(_argument(p, False) for p in inputs), *(_argument(p, True) for p in outputs)]
        opening = [
            f'extern "C" __global__ void {_identifier(name)}({", ".join(arguments)}, '
            "CIndexer<1, true> _ind) {"
        ]
        bindings = [_binding(p, False) for p in inputs if not p.raw and not p.scalar]
        bindings += [_binding(p, True) for p in outputs if not p.raw]
        text = at("\n".join(head) + "\n", own) + texts["preamble"]
        text += at("\n" + "\n".join(opening) + "\n", own) + texts["loop_prep"]
        text += at(
            ";\nCUPY_FOR(i, _ind.size()) {\n_ind.set(i);\n" + "\n".join(bindings) + "\n", own
        )
        text += texts["operation"] + at(";\n}\n", own) + texts["after_loop"] + at(";\n}\n", own)
        return text, ""

    def _reduction(self, name: str) -> tuple[Text | None, str]:
        texts = {}
        wanted = ("in_params", "out_params", "map_expr", "reduce_expr", "post_map_expr", "preamble")
        for what in wanted:
            text = self._text_of(what)
            if text is None:
                return None, what
            texts[what] = text
        inputs = _parameters(texts["in_params"].value)
        outputs = _parameters(texts["out_params"].value)
        if not outputs:
            return None, "out_params"
        identity = self._scope.constant(self._arguments.get("identity"))
        given = self._scope.constant(self._arguments.get("reduce_type"))
        reduced = str(given) if isinstance(given, str) else outputs[0].type
        own = (self._path, self._call.lineno)
        arguments = [*(_argument(p, False) for p in inputs), *(_argument(p, True) for p in outputs)]
        head = [
            *_PRELUDE,
            *self._types((*inputs, *outputs)),
            f"typedef {_C_TYPES.get(reduced, reduced)} _reduced;",
        ]
        signature = (
            f'\nextern "C" __global__ void {_identifier(name)}({", ".join(arguments)}, '
            "CIndexer<1, true> _in_ind, CIndexer<1, true> _out_ind) {\n"
            "__shared__ _reduced _partial[512];\n"
            "for (int _o = blockIdx.x; _o < _out_ind.size(); _o += gridDim.x) {\n"
            f"_reduced _sum = _reduced({identity if identity not in (None, ...) else ''});\n"
            "for (int _j = threadIdx.x; _j < _in_ind.size(); _j += 512) {\n"
            "_in_ind.set(_j);\n" + "\n".join(_binding(p, False, "_in_ind") for p in inputs) + "\n"
            "{ _reduced a = _sum, b = static_cast<_reduced>("
        )
        text = at("\n".join(head) + "\n", own) + texts["preamble"] + at(signature, own)
        text += texts["map_expr"] + at("); _sum = (", own) + texts["reduce_expr"]
        text += at("); }\n}\n_partial[threadIdx.x] = _sum;\n__syncthreads();\n", own)
        text += at(
            "for (int _half = 256; _half > 0; _half /= 2) {\nif (threadIdx.x < _half) {\n"
            "_reduced a = _partial[threadIdx.x], b = _partial[threadIdx.x + _half];\n"
            "_partial[threadIdx.x] = (",
            own,
        )
        text += texts["reduce_expr"] + at(");\n}\n__syncthreads();\n}\n", own)
        text += at("if (threadIdx.x == 0) {\n_out_ind.set(_o);\n_reduced a = _partial[0];\n", own)
        text += at("\n".join(_binding(p, True, "_out_ind") for p in outputs) + "\n", own)
        post = texts["post_map_expr"]
        text += post if post.value.strip() else at(f"{outputs[0].name} = a", own)
        return text + at(";\n}\n}\n}\n", own), ""

    def _types(self, parameters: tuple[_Parameter, ...]) -> list[str]:
        """Type definitions of CuPy's placeholders, and the note that says what they were taken for.

        A placeholder is decided by the arrays of a call, which is not known here.
        """
        placeholders = sorted({p.type for p in parameters if re.fullmatch("[A-Z]", p.type)})
        if placeholders:
            listed = ", ".join(placeholders)
            self._notes.append(f"{listed} taken as float32, contiguous, for want of a call")
        head = [f"typedef {_TYPE_OF_PLACEHOLDER} {name};" for name in placeholders]
        # Its functions have names that users like to give to kernels.
        if any("complex" in p.type for p in parameters):
            head.insert(0, "#include <cupy/complex.cuh>")
        return head


@dataclass(frozen=True, slots=True)
class _Parameter:
    type: str
    name: str
    raw: bool
    scalar: bool = False


_PRELUDE = (
    "#include <cupy/carray.cuh>",
    "#include <cupy/float16.cuh>",
)


def _parameters(text: str) -> tuple[_Parameter, ...]:
    found = []
    for part in text.split(","):
        words = part.split()
        if len(words) >= 2:
            found.append(_Parameter(words[-2], words[-1], "raw" in words[:-2]))
    return tuple(found)


def _c_type(parameter: _Parameter) -> str:
    return _C_TYPES.get(parameter.type, parameter.type)


def _argument(parameter: _Parameter, output: bool) -> str:
    kind = _c_type(parameter) if output else f"const {_c_type(parameter)}"
    if parameter.scalar:
        return f"{kind} {parameter.name}"
    name = parameter.name if parameter.raw else f"_raw_{parameter.name}"
    return f"CArray<{kind}, 1, true, true> {name}"


def _binding(parameter: _Parameter, output: bool, index: str = "_ind") -> str:
    kind = _c_type(parameter) if output else f"const {_c_type(parameter)}"
    return f"{kind} &{parameter.name} = _raw_{parameter.name}[{index}.get()];"


def _is_compilable(text: str) -> bool:
    """Whether a string of Python's has bytes: it may hold half of a surrogate pair, or NUL."""
    try:
        return b"\0" not in text.encode("utf-8")
    except UnicodeEncodeError:
        return False


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name)


def cupy_options(given: tuple[str, ...]) -> tuple[str, ...]:
    """The options that CuPy adds behind the user's; C++17 only if they name no dialect."""
    found = importlib.util.find_spec("cupy")
    assert found is not None
    assert found.origin is not None
    include = os.path.join(os.path.dirname(found.origin), "_core", "include")
    dialect = () if any(re.match("--?std", option) for option in given) else ("--std=c++17",)
    return (f"-I{include}", *dialect, "-ftz=true", "--device-as-default-execution-space")


def _jit_kernels(
    tree: ast.Module, imported: _Imports
) -> Iterator[tuple[ast.FunctionDef, ast.expr]]:
    """Functions that CuPy translates, each with its decorator, less the decorator's arguments."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            marks = [one for one in node.decorator_list if imported.is_rawkernel(one)]
            if marks:
                yield node, marks[0].func if isinstance(marks[0], ast.Call) else marks[0]


def _distinct(programs: list[CupyProgram]) -> Iterator[CupyProgram]:
    seen: dict[str, int] = {}
    for program in programs:
        seen[program.name] = seen.get(program.name, 0) + 1
        count = seen[program.name]
        yield program if count == 1 else replace(program, name=f"{program.name}#{count}")
