"""Trace values in a Python file to the imports they come from, as dotted names.

Names are followed through assignments, containers, functions in the file and the user's own
modules, wherever in the file they occur. A value that only running the file would reveal is
`UNKNOWN`: the result of a namespace lookup with a computed key, an import of a computed name, or
executed text. A computed attribute of a module is the module's name followed by `UNKNOWN`.
"""

from __future__ import annotations

import ast
import builtins
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator

from lmemscope.files import cached_while_unchanged
from lmemscope.sources.python_modules import find_module
from lmemscope.sources.python_trees import nodes, parsed

UNKNOWN = "?"
UNBOUND = "!"
"""Origin of a name to which the file gives no meaning."""

_NAMESPACES = frozenset({"builtins.globals", "builtins.locals", "sys.modules", "builtins.vars"})
_READERS = frozenset(
    "builtins.eval pickle.load marshal.loads marshal.load dill.load "
    "cloudpickle.load runpy.run_path runpy.run_module gc.get_objects "
    "inspect.currentframe inspect.stack sys._getframe pydoc.locate pkgutil.resolve_name "
    "importlib.util.module_from_spec importlib.reload types.FunctionType types.ModuleType".split()
)
"""Functions whose result has no name in the file."""
_IMPORTERS = frozenset({"builtins.__import__", "importlib.import_module", "importlib.__import__"})
_ATTRIBUTE_OF = frozenset({"builtins.getattr", "inspect.getattr_static", "object.__getattribute__"})
_MEMBERS_OF = frozenset({"builtins.vars", "inspect.getmembers", "inspect.getmembers_static"})
_GETTERS = frozenset({"operator.attrgetter", "operator.methodcaller", "operator.itemgetter"})
_HANDING_ON = frozenset(
    "builtins." + name
    for name in "dict list tuple set frozenset iter next reversed sorted zip enumerate filter map "
    "staticmethod classmethod property".split()
) | {"functools.partial", "functools.partialmethod", "types.MappingProxyType"}
_OF_CONTAINERS = frozenset("get pop setdefault values items __getitem__ copy".split())
_PICKLERS = frozenset({"pickle.dumps", "dill.dumps", "cloudpickle.dumps"})
_UNPICKLERS = frozenset({"pickle.loads", "dill.loads", "cloudpickle.loads"})
_PICKLED = "pickle()"
"""Marker for values that the file itself pickled: unpickling returns what was pickled."""
_REFLECTING = frozenset(
    "__dict__ __getattribute__ __getattr__ __globals__ __builtins__ f_globals f_locals "
    "__subclasses__ __loader__".split()
)
_BUILTINS = frozenset(dir(builtins))
_FOLLOWED = frozenset(
    "cupy cupyx cupy_backends numba numba_cuda pycuda cuda nvrtc pynvrtc pynvjitlink mxnet torch "
    "builtins sys importlib operator inspect pickle marshal dill cloudpickle runpy gc pydoc "
    "pkgutil types functools".split()
)
"""Packages whose names are traced: those that make kernels, and those that return unnamed values.
"""
_TEXTS = frozenset({"code", "source", "operation", "map_expr", "in_params"})
"""Names of parameters that take a kernel's text, or its beginning."""
_NAME, _ATTRIBUTE, _RETURNED = "name", "attribute", "returned"
_PASSES = 6
_MOST = 32
"""Maximum number of origins of one name."""
_DEPTH = 60

Kinds = frozenset[str]
_NOTHING: Kinds = frozenset()


class Origins:
    """The origins of a file's names.

    Args:
        tree: of the file.
        path: absolute, to find the modules it imports.
        follow: maximum length of an import chain that is read.

    Attributes:
        bound: names to which the file gives a meaning.
    """

    def __init__(self, tree: ast.Module, path: str, follow: int = 3) -> None:
        self._path, self._follow = path, follow
        self._values: dict[tuple[str, str], list[ast.expr]] = defaultdict(list)
        self._kinds: dict[tuple[str, str], set[str]] = defaultdict(set)
        self._known: dict[str, set[str]] = defaultdict(set)
        self._definitions: dict[str, ast.AST] = {}
        self._imported: dict[str, list[tuple[Origins, str]]] = defaultdict(list)
        self._imported_modules: dict[str, list[Origins]] = defaultdict(list)
        self._files: set[str] = set()
        self.bound: set[str] = set(_BUILTINS) | {"__file__", "__name__", "__class__"}
        self._has_star = False
        self._stars: list[str] = []
        self._depth = 0
        for node in nodes(tree):
            self._bind(node)
        for _ in range(_PASSES):
            if not self._propagate():
                break

    def files(self) -> frozenset[str]:
        """Paths of the modules into which names were followed."""
        return frozenset(self._files)

    def of(self, node: ast.expr) -> Kinds:
        """Dotted names of the possible values of an expression."""
        if self._depth > _DEPTH:
            return frozenset({UNKNOWN})
        self._depth += 1
        try:
            found = self._of(node)
            return frozenset(found if len(found) <= _MOST else {UNKNOWN})
        finally:
            self._depth -= 1

    def exported(self, name: str) -> Kinds:
        """The same for a name in the module."""
        return frozenset(self._known[name]) if name in self._known else _NOTHING

    def names(self) -> Iterator[str]:
        """Names in the module that have a meaning."""
        yield from self._known

    def called_by_import(self, name: str) -> Kinds:
        """What a function or class that the file imports from a user's module calls."""
        return frozenset(
            kind for other, own in self._imported.get(name, ()) for kind in other.called_by(own)
        )

    def called_by(self, name: str) -> Kinds:
        """What a function or class of the module, or one that it imports, calls."""
        node = self._definitions.get(name)
        if node is None:
            return self.called_by_import(name)
        calls = (one for one in ast.walk(node) if isinstance(one, ast.Call))
        return frozenset(kind for call in calls for kind in self.of(call.func))

    def handed_to(self, called: ast.expr) -> Kinds:
        """What a function in another of the user's modules passes its text argument to."""
        if isinstance(called, ast.Name):
            found = self._imported.get(called.id, [])
        elif isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
            modules = self._imported_modules.get(called.value.id, ())
            found = [(other, called.attr) for other in modules]
        else:
            return _NOTHING
        return frozenset(kind for other, own in found for kind in other.hands_to(own))

    def hands_to(self, name: str) -> Kinds:
        """The same for a function that the module defines or imports."""
        node = self._definitions.get(name)
        if not isinstance(node, ast.FunctionDef):
            imported = self._imported.get(name, ())
            return frozenset(kind for other, own in imported for kind in other.hands_to(own))
        given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        given += [node.args.vararg] if node.args.vararg is not None else []
        names = {one.arg for one in given}
        calls = (one for one in ast.walk(node) if isinstance(one, ast.Call))
        return frozenset(
            kind for call in calls if _text_of(call) in names for kind in self.of(call.func)
        )

    def is_module(self, name: str) -> bool:
        """Whether the file is the module or package of a given name."""
        directory, file = os.path.split(self._path)
        return name == (os.path.basename(directory) if file == "__init__.py" else file[:-3])

    def text(self, node: ast.expr | None) -> str | None:
        """The string value of an expression made of literals; None if it is computed."""
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = self.text(node.left), self.text(node.right)
            return None if left is None or right is None else left + right
        return None

    def _bind(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                own = alias.asname or alias.name.partition(".")[0]
                full = alias.name if alias.asname else own
                self.bound.add(own)
                self._import(own, full)
                self._add_local(own, full, None, 0)
        elif isinstance(node, ast.ImportFrom):
            self._bind_from(node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            self.bound.add(node.name)
            self._definitions[node.name] = node
            self._bind_definition(node)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self._assign(target, node.value)
        elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value:
            self._assign(node.target, node.value)
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            self._assign(node.target, node.iter)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            self._assign(node.optional_vars, node.context_expr)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            self.bound.add(node.id)
        elif isinstance(node, ast.arg):
            self.bound.add(node.arg)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            self.bound.add(node.name)

    def _bind_from(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        for alias in node.names:
            if alias.name == "*":
                known = self._star(module, node.level)
                self._has_star |= not known
                self._stars += [module] if module.partition(".")[0] in _FOLLOWED else []
                continue
            own = alias.asname or alias.name
            self.bound.add(own)
            if not node.level:
                self._import(own, f"{module}.{alias.name}")
            self._add_local(own, module, alias.name, node.level)

    def _import(self, own: str, full: str) -> None:
        if full.partition(".")[0] in _FOLLOWED:
            self._known[own].add(full)

    def _star(self, module: str, level: int) -> bool:
        """Import all names of a user's module; return whether it is one."""
        found = self._modules(module, (), level)
        for other in found:
            for name in other.names():
                self.bound.add(name)
                self._known[name] |= other.exported(name)
        if found:
            self.bound |= {name for other in found for name in other.bound}
        return bool(found)

    def _add_local(self, own: str, module: str, name: str | None, level: int) -> None:
        """Record a name that comes from a user's module."""
        for other in self._modules(module, (name,) if name else (), level):
            if name is not None and not other.is_module(name):
                self._known[own] |= other.exported(name)
                self._imported[own].append((other, name))
            else:
                self._imported_modules[own].append(other)
                self._known[own].add(own)
                for one in other.names():
                    self._known[f"{own}.{one}"] |= other.exported(one)

    def _modules(self, module: str, names: tuple[str, ...], level: int) -> list[Origins]:
        if not self._follow:
            return []
        files = [one for one in find_module(module, names, level, self._path) if one != self._path]
        found = [_of_file(file, self._follow - 1) for file in files]
        self._files.update(files, *(one.files() for one in found if one is not None))
        return [one for one in found if one is not None]

    def _bind_definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        if isinstance(node, ast.ClassDef):
            for statement in node.body:
                if isinstance(statement, ast.Assign):
                    for target in statement.targets:
                        if isinstance(target, ast.Name):
                            self._values[_ATTRIBUTE, target.id].append(statement.value)
            return
        for inner in ast.walk(node):
            if isinstance(inner, ast.Return | ast.Yield) and inner.value is not None:
                self._values[_RETURNED, node.name].append(inner.value)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self._values[_NAME, target.id].append(value)
        elif isinstance(target, ast.Attribute):
            self._values[_ATTRIBUTE, target.attr].append(value)
        elif isinstance(target, ast.Subscript):
            self._assign(target.value, value)
        elif isinstance(target, ast.Tuple | ast.List):
            parts = target.elts
            given = value.elts if isinstance(value, ast.Tuple | ast.List) else None
            pairs = zip(parts, given, strict=False) if given else ((one, value) for one in parts)
            for one, own in pairs:
                self._assign(one, own)
        elif isinstance(target, ast.Starred):
            self._assign(target.value, value)

    def _propagate(self) -> bool:
        """Propagate once from values to names; return whether anything changed."""
        has_changed = False
        for (role, name), values in self._values.items():
            known = self._known[name] if role == _NAME else self._kinds[role, name]
            new = self._all(values) - known
            if new and len(known) <= _MOST:
                known |= new
                has_changed = True
        return has_changed

    def _all(self, nodes: Iterable[ast.expr | None]) -> set[str]:
        return {kind for node in nodes if node is not None for kind in self.of(node)}

    def _of(self, node: ast.expr) -> set[str]:
        if isinstance(node, ast.Name):
            return self._name(node)
        if isinstance(node, ast.Attribute):
            own = self._classes(node.value) if node.attr == "__class__" else set()
            return own | self._attribute(self.of(node.value), node.attr)
        if isinstance(node, ast.Call):
            return self._calls(self.of(node.func), node)
        if isinstance(node, ast.Subscript):
            return self._subscript(node)
        if isinstance(node, ast.IfExp):
            return self._all((node.body, node.orelse))
        if isinstance(node, ast.BoolOp):
            return self._all(node.values)
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            return self._all(node.elts)
        if isinstance(node, ast.Dict):
            return self._all(node.values)
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            return self._all((node.elt,))
        if isinstance(node, ast.NamedExpr | ast.Starred | ast.Await):
            return set(self.of(node.value))
        if isinstance(node, ast.Lambda):
            return {f"(){kind}" for kind in self.of(node.body)}
        return set()

    def _name(self, node: ast.Name) -> set[str]:
        found = set(self._known.get(node.id, ()))
        found |= {f"(){kind}" for kind in self._kinds.get((_RETURNED, node.id), ())}
        if not found and node.id in _BUILTINS:
            return {f"builtins.{node.id}"}
        if node.id not in self.bound and not self._has_star:
            return {UNBOUND}
        return found | {f"{module}.{node.id}" for module in self._stars}

    def _attribute(self, owners: Iterable[str], name: str) -> set[str]:
        found: set[str] = set()
        for owner in owners:
            if owner.endswith(UNKNOWN):
                found.add(owner)
            elif name in _REFLECTING:
                found.add(f"{owner}.{UNKNOWN}")
            else:
                found.add(f"{owner}.{name}")
                found |= self._known.get(f"{owner}.{name}", set())
            if name in _OF_CONTAINERS:
                found.add(f"(){owner}")
        if name in ("f_globals", "f_locals", "__globals__", "__builtins__"):
            found.add(UNKNOWN)
        return found | self._kinds.get((_ATTRIBUTE, name), set())

    def _classes(self, node: ast.expr) -> set[str]:
        """Origins of the functions whose result a value is: it may have their type."""
        values = [node]
        if isinstance(node, ast.Name):
            values = self._values.get((_NAME, node.id), [])
        elif isinstance(node, ast.Attribute):
            values = self._values.get((_ATTRIBUTE, node.attr), [])
        return self._all(one.func for one in values if isinstance(one, ast.Call))

    def _calls(self, called: Kinds, node: ast.Call) -> set[str]:
        if not called:
            return set()
        first = node.args[0] if node.args else None
        given = self.of(first) if first is not None else _NOTHING
        return {kind for one in called for kind in self._call(one, node, given)}

    def _call(self, called: str, node: ast.Call, given: Kinds) -> set[str]:
        first = node.args[0] if node.args else None
        if called.endswith(UNKNOWN):
            return {called.removeprefix("()")}
        if called.startswith("()"):
            return {called[2:]}
        if called in _IMPORTERS:
            name = self.text(first)
            return {UNKNOWN if name is None else name}
        if called in _ATTRIBUTE_OF and len(node.args) > 1:
            name = self.text(node.args[1])
            return _unknown_of(given) if name is None else self._attribute(given, name)
        if called in _MEMBERS_OF and node.args:
            return _unknown_of(given)
        if called in _NAMESPACES:
            return {f"{called}()"}
        if called == "builtins.type" and first is not None and len(node.args) == 1:
            return self._classes(first)
        if called in _READERS:
            return {UNKNOWN}
        if called in _PICKLERS:
            return {*given, _PICKLED}
        if called in _UNPICKLERS:
            return set(given) - {_PICKLED} if _PICKLED in given else {UNKNOWN}
        if called in _GETTERS:
            names = [self.text(one) for one in node.args]
            return {f"[{name or UNKNOWN}]" for name in names}
        if called.startswith("[") and called.endswith("]"):
            name = called[1:-1]
            return _unknown_of(given) if name == UNKNOWN else self._attribute(given, name)
        return set(given) | self._all(node.args[1:]) if called in _HANDING_ON else set()

    def _subscript(self, node: ast.Subscript) -> set[str]:
        found: set[str] = set()
        key = self.text(node.slice)
        for owner in self.of(node.value):
            if owner == "sys.modules":
                own = isinstance(node.slice, ast.Name) and node.slice.id == "__name__"
                found |= set() if own else {UNKNOWN if key is None else key}
            elif owner.removesuffix("()") in _NAMESPACES:
                is_known = key is not None and key in self.bound
                found |= set(self._known.get(key or "", ())) if is_known else {UNKNOWN}
            else:
                found.add(owner)
        return found


def _text_of(call: ast.Call) -> str | None:
    """The name passed as a kernel's text to what makes the kernel, if it is a name."""
    texts = [word.value for word in call.keywords if word.arg in _TEXTS]
    text = call.args[0] if call.args else texts[0] if texts else None
    text = text.value if isinstance(text, ast.Starred) else text
    return text.id if isinstance(text, ast.Name) else None


def _unknown_of(owners: Iterable[str]) -> set[str]:
    """Computed attributes of some values."""
    return {one if one.endswith(UNKNOWN) else f"{one}.{UNKNOWN}" for one in owners}


def _of_file(path: str, follow: int) -> Origins | None:
    try:
        return _read(path, follow)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@cached_while_unchanged(512, reads=Origins.files)
def _read(path: str, follow: int) -> Origins:
    return Origins(parsed(path), path, follow)
