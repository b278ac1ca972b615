"""Find code in a Python file that may make kernels in forms that are not supported.

The readers recognise calls and decorators by the names under which a file imports them. Any other
use of these names may make a kernel too: giving one another name, taking it from a module by a
string, executing text. The same holds for CUDA C++ in a string that no recognised call takes, and
for a function passed to something that only running the file would name. All of it is reported,
because a gate must not pass what was not checked.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from lmemscope.sources.jit_packages import PACKAGES
from lmemscope.sources.python_origins import UNBOUND, UNKNOWN, Origins
from lmemscope.sources.python_trees import nodes
from lmemscope.sources.python_words import MAKERS

_KERNEL = re.compile(r"\b__global__\b[^;{}]*?\bvoid\b")
_BEGINNING = re.compile(r"\b__global__\b")
_OTHER_JITS = frozenset(PACKAGES).union(
    "numba jax jaxlib flax haiku equinox torch llvmlite thunder brainpy brainstate".split()
)
"""Packages whose ``jit`` is known; Numba's CUDA kernels are found by other names."""
_PACKAGES = frozenset({"cupy", "cupyx", "cupy_backends", "numba", "pycuda"})
_LIBRARY = re.compile(r"cupy_backends\.cuda\.libs\.(?!nvrtc\b)\w+(?:\..*)?")
"""CuPy's bindings of libraries that contain precompiled kernels."""
_COMPILERS = _PACKAGES | {"cuda", "nvrtc", "numba_cuda", "pynvrtc", "pynvjitlink"}
_MAKING = re.compile(
    rf"(?:.*\.)?(?:{'|'.join(MAKERS)})"
    r"|numba(?:_cuda)?\.(?:.*\.)?cuda\.(?:.*\.)?(?:jit|[Rr]educe|compile\w*|CUDADispatcher|CUDAKernel)"
    r"|cupy\.(?:fuse|vectorize|_core\.(?:.*\.)?(?:fusion|fuse|_\w*(?:compile|kernel|function)\w*)"
    r"|cuda\.(?:compiler\.\w*(?:[Cc]ompile|Program)\w*|function\..*))"
    r"|(?:cupy_backends\.cuda\.(?:libs|api)|cupy\.cuda)\.(?:nvrtc\.\w+Program|driver\.(?:module|link)\w+)"
    r"|cuda\.core\..*\b(?:Program|Linker|ObjectCode\.from_\w+)"
    r"|cuda\.(?:bindings\.)?(?:nvrtc|nvvm|nvjitlink|nvfatbin)\.\w+|(?:pynvrtc|pynvjitlink)\..*"
    r"|mxnet\.(?:.*\.)?rtc\..*|torch\.utils\.cpp_extension\.load|torch\.cuda\._compile_kernel"
)
"""Functions that make kernels, by the dotted names of imports."""
_RUN = frozenset({"exec", "eval", "compile"})
_WORDS = re.compile(r"\b(?:" + "|".join(MAKERS) + r"|cuda\s*\.\s*jit|__global__)\b")
_OF_A_TEST = frozenset({"isinstance", "issubclass", "hasattr"})
_OF_BUILTINS = frozenset(
    name for kind in (str, bytes, list, tuple, dict, set) for name in dir(kind) if name[0] != "_"
)
"""Methods that never make a kernel, whatever object they are called on."""
_ASSEMBLED = (ast.JoinedStr, ast.BinOp, ast.Attribute, ast.FormattedValue)
_ARGUMENTS = (ast.Call, ast.Subscript)


@dataclass(frozen=True, slots=True, order=True)
class UnreadKernel:
    """Code that may make a kernel.

    Attributes:
        line: its line.
        form: a description for people.
    """

    line: int
    form: str


def find_unread(
    tree: ast.Module,
    recognised: Collection[ast.expr],
    texts: Collection[ast.expr],
    origins: Origins,
) -> tuple[UnreadKernel, ...]:
    """Code that may make kernels in a parsed file and was not read.

    Args:
        tree: of the file.
        recognised: call functions and decorators from which kernels were read, or that make none.
        texts: literals that are part of what was read.
        origins: of the file's values.
    """
    read = {id(one) for one in recognised}
    found = set(_Finder(tree, read, {id(one) for one in texts}).find())
    lines = {one.line for one in found}
    followed = _by_origin(tree, read, origins, reaches=True)
    found |= {one for one in followed if one.line not in lines}
    return tuple(sorted(found))


def find_unnamed(tree: ast.Module, origins: Origins) -> tuple[UnreadKernel, ...]:
    """Code that may make kernels in a file that neither names nor imports what does.

    Args:
        tree: of the file.
        origins: of the file's values.
    """
    return tuple(sorted(set(_by_origin(tree, set(), origins, reaches=False))))


def _by_origin(
    tree: ast.Module, read: set[int], origins: Origins, *, reaches: bool
) -> Iterator[UnreadKernel]:
    """What is called, or passed a function, and may make kernels, judging by its origin."""
    functions = {
        node.name
        for node in nodes(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    for node in nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for decorator in node.decorator_list:
                is_call = isinstance(decorator, ast.Call) and id(decorator.func) in read
                if not is_call and id(decorator) not in read:
                    yield from _doubtful(decorator, origins, is_given=True, reaches=reaches)
                    yield from _of_users(decorator, origins)
        elif isinstance(node, ast.Call) and id(node.func) not in read:
            is_given = any(
                isinstance(one, ast.Lambda) or (isinstance(one, ast.Name) and one.id in functions)
                for one in node.args
            )
            yield from _doubtful(node.func, origins, is_given=is_given, reaches=reaches)
            making = sorted(filter(_MAKING.fullmatch, origins.handed_to(node.func)))
            if making:
                spelled = ast.unparse(node.func)[:60]
                form = f"a kernel by {spelled}, which hands its text to {making[0]}"
                yield UnreadKernel(node.lineno, form)


def _of_users(decorator: ast.expr, origins: Origins) -> Iterator[UnreadKernel]:
    """A kernel made by an imported decorator of the user's own that calls what makes kernels."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    if not isinstance(called, ast.Name):
        return
    making = sorted(filter(_MAKING.fullmatch, origins.called_by_import(called.id)))
    if making:
        form = f"a kernel by {called.id}, which calls {making[0]}"
        yield UnreadKernel(called.lineno, form)


def _doubtful(
    called: ast.expr, origins: Origins, *, is_given: bool, reaches: bool
) -> Iterator[UnreadKernel]:
    """Why something that is called may make a kernel, if it may.

    Args:
        called: the call's function, or a decorator.
        origins: of the file's values.
        is_given: whether a function of the file is passed to it.
        reaches: whether the file reaches what makes kernels.
    """
    if isinstance(called, ast.Attribute) and called.attr in _OF_BUILTINS and not is_given:
        return
    spelled = ast.unparse(called)[:60]
    for name in sorted(origins.of(called)):
        if _MAKING.fullmatch(name) is not None:
            yield UnreadKernel(called.lineno, f"a kernel by {spelled}, which is {name}")
        elif _LIBRARY.fullmatch(name) is not None:
            continue
        elif name.endswith(f".{UNKNOWN}") and name.partition(".")[0] in _COMPILERS:
            origin = name.removesuffix(f".{UNKNOWN}")
            form = f"what may be a kernel by {spelled}, a computed name of {origin}"
            yield UnreadKernel(called.lineno, form)
        elif name.startswith("runpy.run_") and reaches:
            yield UnreadKernel(called.lineno, f"a program that {name} runs")
        elif (name == UNKNOWN and (is_given or reaches)) or (name[0] == UNBOUND and is_given):
            form = f"what may be a kernel by {spelled}, which only running the file names"
            yield UnreadKernel(called.lineno, form)


class _Finder:
    def __init__(self, tree: ast.Module, recognised: set[int], texts: set[int]) -> None:
        self._nodes = nodes(tree)
        self._texts = texts
        self._modules = _modules(self._nodes)
        self._functions = _functions(self._nodes)
        self._imported = _imported(self._nodes)
        # Annotations and type tests make no kernel, nor do docstrings.
        self._passed_over = recognised | set(map(id, _of_types(self._nodes)))
        self._docstrings = set(map(id, _docstrings(self._nodes)))
        self._parents = {
            id(child): node for node in self._nodes for child in ast.iter_child_nodes(node)
        }

    def find(self) -> Iterator[UnreadKernel]:
        """The findings, in no particular order."""
        for node in self._nodes:
            if id(node) in self._passed_over:
                continue
            form = None
            if isinstance(node, ast.Attribute):
                form = self._attribute(node)
            elif isinstance(node, ast.Name):
                form = self._name(node)
            elif isinstance(node, ast.Constant):
                form = self._text(node)
            elif isinstance(node, ast.Call):
                form = self._call(node)
            if form is not None and isinstance(node, ast.expr):
                yield UnreadKernel(node.lineno, form)

    def _attribute(self, node: ast.Attribute) -> str | None:
        spelled = ast.unparse(node)[:60]
        if node.attr in MAKERS:
            return f"{MAKERS[node.attr]} by {spelled} in a form that is not read"
        if node.attr == "jit" and _last(node.value) == "cuda":
            return f"a Numba kernel by {spelled} in a form that is not read"
        if node.attr == "jit" and self._is_of_others(node) and self._decorates(node):
            return f"what may be a Numba kernel by {spelled}, which comes from an import"
        is_local = isinstance(node.value, ast.Attribute) and node.value.attr == "local"
        if node.attr == "array" and is_local and _root(node) not in self._modules:
            return f"what may be a Numba kernel with {spelled}"
        root = self._modules.get(_root(node), "")
        if node.attr == "__dict__" and root:
            return f"names out of {spelled}"
        if node.attr == "cuda" and root == "numba" and not self._is_base(node):
            return f"{spelled} under another name"
        return None

    def _name(self, node: ast.Name) -> str | None:
        if not isinstance(node.ctx, ast.Load):
            return None
        if node.id in self._functions or node.id in MAKERS:
            maker = self._functions.get(node.id) or MAKERS[node.id]
            return f"{maker} by {node.id} in a form that is not read"
        origin = self._imported.get(node.id, "")
        if origin.endswith(".jit") and self._is_of_others(node) and self._decorates(node):
            return f"what may be a Numba kernel by {node.id}, which is {origin.lstrip('.')}"
        if self._modules.get(node.id) == "numba.cuda" and not self._is_base(node):
            return f"numba.cuda, here {node.id}, under another name"
        return None

    def _is_of_others(self, node: ast.expr) -> bool:
        """Whether a name is an import that may make anything."""
        package = self._imported.get(_root(node))
        return package is not None and package.partition(".")[0] not in _OTHER_JITS

    def _decorates(self, node: ast.expr) -> bool:
        """Whether something is called or used as a decorator; a flag may have the same name."""
        parent = self._parents.get(id(node))
        if isinstance(parent, ast.Call):
            return node is parent.func or _last(parent.func) == "partial"
        return isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)

    def _runs(self, called: ast.expr) -> str | None:
        """The built-in function that executes text, under any name."""
        if isinstance(called, ast.Name):
            full = self._imported.get(called.id, "")
            name = full.removeprefix("builtins.") if full.startswith("builtins.") else called.id
            return name if name in _RUN else None
        root = _root(called)
        is_builtin = root == "__builtins__" or self._imported.get(root) == "builtins"
        return _last(called) if is_builtin and _last(called) in _RUN else None

    def _is_base(self, node: ast.expr) -> bool:
        return isinstance(self._parents.get(id(node)), ast.Attribute)

    def _text(self, node: ast.Constant) -> str | None:
        if id(node) in self._texts or id(node) in self._docstrings:
            return None
        value = node.value.decode("latin-1") if isinstance(node.value, bytes) else node.value
        if not isinstance(value, str):
            return None
        parent = self._parents.get(id(node))
        if value in MAKERS and isinstance(parent, _ARGUMENTS):
            return f"{MAKERS[value]} by the string {value!r}"
        is_part = isinstance(parent, _ASSEMBLED) and isinstance(node.value, str)
        if (_BEGINNING if is_part else _KERNEL).search(value):
            return "CUDA C++ in a string that nothing here is known to compile"
        return None

    def _call(self, node: ast.Call) -> str | None:
        called = _last(node.func)
        given = node.args[0] if node.args else None
        text = given.value if isinstance(given, ast.Constant) else None
        run = self._runs(node.func)
        if run is not None:
            if isinstance(text, str):
                return f"{run} of text with kernels" if _WORDS.search(text) else None
            return f"{run} of text that is computed" if self._packages else None
        if self._imported.get(called) == "importlib.import_module":
            called = "import_module"
        package = text.partition(".")[0] if isinstance(text, str) else ""
        if called in ("import_module", "__import__") and package in _PACKAGES:
            return f"an import of {package} by {called}"
        if called == "vars" and given is not None and _root(given) in self._modules:
            return f"names out of {ast.unparse(node)[:60]}"
        computed = len(node.args) > 1 and not isinstance(node.args[1], ast.Constant)
        if called == "getattr" and computed and _root(node.args[0]) in self._modules:
            return f"getattr of a computed name of {ast.unparse(node.args[0])[:60]}"
        vectorizes = called in ("vectorize", "guvectorize") and "numba" in self._packages
        for word in node.keywords:
            is_computed = word.arg in (None, "target") and not isinstance(word.value, ast.Constant)
            if vectorizes and is_computed:
                return f"what may be a Numba kernel by {called} with a computed target"
            is_cuda = isinstance(word.value, ast.Constant) and word.value.value == "cuda"
            if word.arg in ("target", "target_backend") and is_cuda and "numba" in self._packages:
                return f"a Numba kernel by {ast.unparse(node.func)[:60]} with {word.arg}='cuda'"
        return None

    @property
    def _packages(self) -> set[str]:
        return {name.partition(".")[0] for name in self._modules.values()}


def _modules(nodes: Collection[ast.AST]) -> dict[str, str]:
    """Modules that can make kernels, by the names under which the file knows them."""
    found: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                own = alias.asname or alias.name.partition(".")[0]
                full = alias.name if alias.asname else own
                if full.partition(".")[0] in _PACKAGES:
                    found[own] = full
        elif isinstance(node, ast.ImportFrom) and not node.level:
            module = node.module or ""
            for alias in node.names if module.partition(".")[0] in _PACKAGES else ():
                found[alias.asname or alias.name] = f"{module}.{alias.name}"
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            for target in node.targets:
                if isinstance(target, ast.Name) and node.value.id in found:
                    found.setdefault(target.id, found[node.value.id])
    return {own: full for own, full in found.items() if _LIBRARY.fullmatch(full) is None}


def _imported(nodes: Collection[ast.AST]) -> dict[str, str]:
    """Everything that the file imports, by the names under which it knows it."""
    found: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                own = alias.asname or alias.name.partition(".")[0]
                found[own] = alias.name if alias.asname else own
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            for alias in node.names:
                found[alias.asname or alias.name] = f"{module}.{alias.name}"
    return found


def _functions(nodes: Collection[ast.AST]) -> dict[str, str]:
    """Functions that make kernels, by the other names under which the file imports them."""
    found = {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                own = alias.asname or alias.name
                if alias.name in MAKERS:
                    of_pycuda = (node.module or "").partition(".")[0] == "pycuda"
                    found[own] = "a PyCUDA kernel" if of_pycuda else MAKERS[alias.name]
                elif alias.name == "jit" and node.module == "numba.cuda":
                    found[own] = "a Numba kernel"
                elif alias.name == "Program" and (node.module or "").startswith("cuda.core"):
                    found[own] = "an NVRTC program"
    return found


def _of_types(nodes: Collection[ast.AST]) -> Iterator[ast.AST]:
    """Everything in annotations, and in the arguments of `isinstance`."""
    for node in nodes:
        given: list[ast.expr | None] = []
        if isinstance(node, ast.arg | ast.AnnAssign):
            given = [node.annotation]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = [node.returns]
        elif isinstance(node, ast.Call) and _last(node.func) in _OF_A_TEST:
            given = [*node.args[1:]]
        for one in given:
            if one is not None:
                yield from ast.walk(one)


def _docstrings(nodes: Collection[ast.AST]) -> Iterator[ast.AST]:
    """Strings that are statements."""
    return (node.value for node in nodes if isinstance(node, ast.Expr))


def _last(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
