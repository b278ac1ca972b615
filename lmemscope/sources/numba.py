"""Find Numba kernels in a Python file without running it.

Numba requires the shape of ``cuda.local.array`` to be a compile-time constant: an integer; a name
that is one in the module or an enclosing function when the kernel is compiled; a variable of the
kernel that was assigned an integer; or a tuple of these. An expression of names (``2 * N``) is not
accepted (measured with numba-cuda 0.30; its manual, "Memory management", says "simple constant
expressions").
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from lmemscope.sources.python_places import assigned
from lmemscope.sources.python_trees import nodes


class LocalArray(Struct, frozen=True):
    """A ``cuda.local.array`` call.

    Attributes:
        name: the variable it is assigned to, or an empty string.
        shape, dtype: as written.
        line: of the call.
        refusal: why Numba rejects the shape, or None if it is a compile-time constant.
    """

    name: str
    shape: str
    dtype: str
    line: int
    refusal: str | None


class NumbaKernel(Struct, frozen=True):
    """A ``@cuda.jit`` function that is not a device function.

    Attributes:
        name: of the function.
        line: of its ``def``.
        signatures: literal signatures in its decorator.
        arrays: its local arrays, and those of functions in the file that it calls.
    """

    name: str
    line: int
    signatures: tuple[str, ...]
    arrays: tuple[LocalArray, ...]


WAYS_OUT = """\
Three ways out:
1. Choose the constant before compiling: define the kernel in a function that takes the size, and
   keep one kernel for each size (functools.lru_cache). The frame is that size, no more.
       @functools.lru_cache
       def make(size):
           @cuda.jit
           def kernel(x, out):
               window = cuda.local.array(size, float32)
2. Two kernels: a first one computes the sizes, the host allocates one global array for all threads,
   the second works in it. No local memory; the layout, and so the coalescing, is yours.
3. One maximal array, and the size as a loop bound. Every thread has the maximum as its frame,
   whatever it uses."""


def find_kernels(tree: ast.Module) -> list[NumbaKernel]:
    """The Numba kernels in a parsed file, by line."""
    names = _cuda_names(tree)
    called = {function: maker for _, maker, function in _calls(tree, names) if function}
    found = []
    for function in nodes(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        decorator = next((d for d in function.decorator_list if _is_jit(d, names)), None)
        maker = decorator if decorator is not None else called.get(function)
        if maker is None or _is_device(maker):
            continue
        arrays = (*_local_arrays(function, names), *_called_arrays(function, tree, names))
        given = tuple(_signatures(maker))
        found.append(NumbaKernel(function.name, function.lineno, given, arrays))
    return sorted(found, key=lambda kernel: kernel.line)


def local_arrays(function: ast.FunctionDef, tree: ast.Module) -> tuple[LocalArray, ...]:
    """The local arrays created in one function of a file."""
    return tuple(_local_arrays(function, _cuda_names(tree)))


def _called_arrays(
    kernel: ast.FunctionDef, tree: ast.Module, names: tuple[set[str], set[str]]
) -> Iterator[LocalArray]:
    """Local arrays in functions of a file that a kernel calls, directly or indirectly.

    If several functions share a name, each may be the one called. Shapes are left to Numba: an
    inlined parameter is a constant.
    """
    functions: dict[str, list[ast.FunctionDef]] = defaultdict(list)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            functions[node.name].append(node)
    reached, pending = [kernel], [kernel]
    while pending:
        called = (node.func for node in ast.walk(pending.pop()) if isinstance(node, ast.Call))
        for callee in called:
            for function in functions[callee.id] if isinstance(callee, ast.Name) else ():
                if function not in reached:
                    reached.append(function)
                    pending.append(function)
    for function in reached[1:]:
        for array in _local_arrays(function, names):
            yield replace(array, refusal=None)


def _calls(
    tree: ast.Module, names: tuple[set[str], set[str]]
) -> Iterator[tuple[ast.expr, ast.expr, ast.FunctionDef | None]]:
    """Calls that make a function of the file a kernel: ``cuda.jit(f)`` and ``cuda.jit(...)(f)``.

    Calls that make any other function a device function are included.

    Yields:     The expression of ``cuda.jit``, the call with its arguments, and the file's
    function.
    """
    functions: dict[str, list[ast.FunctionDef]] = defaultdict(list)
    for node in nodes(tree):
        if isinstance(node, ast.FunctionDef):
            functions[node.name].append(node)
    for node in nodes(tree):
        if not isinstance(node, ast.Call) or len(node.args) != 1:
            continue
        given, maker = node.args[0], node.func
        if not _is_jit(maker, names):
            continue
        named = functions[given.id] if isinstance(given, ast.Name) else []
        jit = maker.func if isinstance(maker, ast.Call) else maker
        arguments = maker if isinstance(maker, ast.Call) else node
        # If several functions share a name, only running the file tells which one it is.
        if len(named) == 1:
            yield jit, arguments, named[0]
        elif _is_device(arguments):
            yield jit, arguments, None


def decorators(tree: ast.Module) -> list[ast.expr]:
    """``cuda.jit`` for every function it is applied to, device functions too; without arguments."""
    names = _cuda_names(tree)
    called = [jit for jit, _, _ in _calls(tree, names)]
    return called + [
        decorator.func if isinstance(decorator, ast.Call) else decorator
        for function in nodes(tree)
        if isinstance(function, ast.FunctionDef)
        for decorator in function.decorator_list
        if _is_jit(decorator, names)
    ]


def _cuda_names(tree: ast.Module) -> tuple[set[str], set[str]]:
    """Names of the module ``numba.cuda``, and of its ``jit``."""
    modules, functions = set(), set()
    for node in nodes(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "numba":
            modules |= {a.asname or a.name for a in node.names if a.name == "cuda"}
        elif isinstance(node, ast.ImportFrom) and node.module == "numba.cuda":
            functions |= {a.asname or a.name for a in node.names if a.name == "jit"}
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "numba.cuda":
                    modules.add(alias.asname or "numba.cuda")
                elif alias.name == "numba":
                    modules.add(f"{alias.asname or 'numba'}.cuda")
    return modules, functions


def _is_jit(decorator: ast.expr, names: tuple[set[str], set[str]]) -> bool:
    call = decorator.func if isinstance(decorator, ast.Call) else decorator
    modules, functions = names
    text = ast.unparse(call)
    return text in functions or any(text == f"{module}.jit" for module in modules)


def _is_device(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Call) and any(
        word.arg == "device" and isinstance(word.value, ast.Constant) and word.value.value is True
        for word in decorator.keywords
    )


def _signatures(decorator: ast.expr) -> Iterator[str]:
    if not isinstance(decorator, ast.Call):
        return
    given = decorator.args[:1] + [w.value for w in decorator.keywords if w.arg == "func_or_sig"]
    for node in given:
        parts = node.elts if isinstance(node, ast.List) else [node]
        for part in parts:
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield part.value
            elif isinstance(part, ast.Call | ast.Tuple):
                yield ast.unparse(part)


def _local_arrays(
    function: ast.FunctionDef,
    names: tuple[set[str], set[str]],
) -> Iterator[LocalArray]:
    own = _Own(function)
    spelled = {f"{module}.local.array" for module in names[0]}
    targets = {
        id(value): name for node in ast.walk(function) for name, value in assigned(node) if value
    }
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in spelled:
            words = {word.arg: word.value for word in node.keywords}
            shape = node.args[0] if node.args else words.get("shape")
            dtype = node.args[1] if len(node.args) > 1 else words.get("dtype")
            if shape is None:
                continue
            yield LocalArray(
                targets.get(id(node), ""),
                ast.unparse(shape),
                ast.unparse(dtype) if dtype is not None else "",
                node.lineno,
                _refusal(shape, own),
            )


class _Own:
    """Variables that a kernel assigns, and which of them are known only at run time.

    Numba treats a variable assigned a constant as a constant, and types each assignment separately.
    So a variable that is also assigned something else is not reported.

    Args:
        function: the kernel.
    """

    def __init__(self, function: ast.FunctionDef) -> None:
        arguments = function.args
        self._parameters = {
            one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        }
        self._given: dict[str, list[ast.expr | None]] = defaultdict(list)
        for node in ast.walk(function):
            for name, value in assigned(node):
                self._given[name].append(value)
        self._asked: set[str] = set()

    def refusal(self, name: str) -> str | None:
        """Why a name cannot be a constant; None if it may be one."""
        given = self._given.get(name)
        if not given:
            return "a parameter" if name in self._parameters else None
        if name in self._asked or name in self._parameters:
            return None
        self._asked.add(name)
        is_open = all(value is None or self.is_open(value) for value in given)
        self._asked.discard(name)
        return "a variable of the kernel" if is_open else None

    def is_open(self, value: ast.expr) -> bool:
        """Whether an expression contains values known only at run time."""
        return self.open_name(value) is not None

    def open_name(self, value: ast.expr) -> str | None:
        """The first name in an expression that is known only at run time.

        An array's number of dimensions and a tuple's length are known from Numba's types.
        """
        pending: list[ast.AST] = [value]
        while pending:
            node = pending.pop(0)
            if isinstance(node, ast.Name) and self.refusal(node.id) is not None:
                return node.id
            told = isinstance(node, ast.Attribute) and node.attr == "ndim"
            told = told or (isinstance(node, ast.Call) and ast.unparse(node.func) == "len")
            pending += () if told else ast.iter_child_nodes(node)
        return None


def _refusal(shape: ast.expr, own: _Own) -> str | None:
    if isinstance(shape, ast.Tuple | ast.List):
        reasons = (_refusal(part, own) for part in shape.elts)
        return next((reason for reason in reasons if reason is not None), None)
    text = ast.unparse(shape)
    name = own.open_name(shape)
    if name is not None:
        why, known = own.refusal(name), "known only when the kernel runs"
        if isinstance(shape, ast.Name):
            return f"{text} is {why}, {known}"
        return f"{text} follows from {name}, {why}, {known}"
    is_named = any(isinstance(node, ast.Name) for node in ast.walk(shape))
    if is_named and isinstance(shape, ast.BinOp | ast.UnaryOp):
        return (
            f"{text} is an expression, and Numba takes a name or an integer: give it a name first"
        )
    return None
