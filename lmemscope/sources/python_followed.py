"""Find calls to certain functions in a Python file, with their arguments.

A call is recorded each time the followed statements reach it: once per element of a literal list
that a loop iterates over, or per path through a function.
"""

from __future__ import annotations

import ast
import functools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lmemscope.files import read_input
from lmemscope.sources.encoding import decoded_python
from lmemscope.sources.python_execution import Executor
from lmemscope.sources.python_modules import module_file
from lmemscope.sources.python_text import BeyondError
from lmemscope.sources.python_trees import nodes, parsed
from lmemscope.sources.python_values import Frame, Function, Module, Unknown, Value, settled

_MODULES = 10
"""Maximum number of the user's modules followed from one file."""
_LARGEST = 1 << 20
"""Maximum size in bytes of a module that is followed."""
_FOREIGN = frozenset({"cupy", "numpy", "numba", "cupy_backends", "scipy", "torch"})
"""Packages whose names are taken as documented, wherever the package is found."""
_MOST = 400
"""Maximum number of recorded executions of one call."""


@dataclass(frozen=True, slots=True)
class Met:
    """An executed call.

    Attributes:
        node: the call.
        kind: what it makes, according to the caller of `follow`.
        arguments: by position.
        words: by name.
        unknown: why the arguments are unknown, or None.
    """

    node: ast.Call
    kind: str
    arguments: tuple[Value, ...]
    words: dict[str, Value]
    unknown: Unknown | None = None


@dataclass(frozen=True, slots=True)
class Followed:
    """The result of following a file.

    Attributes:
        calls: in file order, then in order of execution.
        files: absolute paths where other files were looked for.
        unfollowed: functions whose paths were not all followed.
    """

    calls: tuple[Met, ...]
    files: tuple[str, ...]
    unfollowed: tuple[str, ...]


def follow(
    tree: ast.Module,
    source: str,
    path: str,
    kinds: dict[ast.Call, str],
    kind_of: Callable[[str], str | None],
) -> Followed:
    """Follow a file's statements to the calls that its text contains.

    Args:
        tree: of the file.
        source: its text.
        path: its absolute path.
        kinds: the calls in the text, and what each makes.
        kind_of: what the function with a dotted name makes, or None.
    """
    return _Following(tree, source, path, kinds, kind_of).followed()


class _Recorder(Executor):
    """An executor that reports calls before their arguments are evaluated."""

    tell: Callable[[ast.Call, str, Frame], bool] = staticmethod(lambda *_: False)

    def called(self, node: ast.Call, name: str, frame: Frame) -> Value | None:
        """A kernel or a module of kernels, whose value is not needed further."""
        return Unknown(f"what `{name}` makes") if self.tell(node, name, frame) else None


class _Following:
    def __init__(
        self,
        tree: ast.Module,
        source: str,
        path: str,
        kinds: dict[ast.Call, str],
        kind_of: Callable[[str], str | None],
    ) -> None:
        self._kinds, self._kind_of = kinds, kind_of
        self._executors: dict[str, Executor] = {}
        self._files: dict[str, None] = {}
        self._resolving: set[tuple[int, str]] = set()
        self._met: dict[ast.Call, list[Met]] = {call: [] for call in kinds}
        self._main = _Recorder(
            tree, source, path, self._importing(path), self._executors.__getitem__
        )
        self._main.tell = self._tell
        self._executors[path] = self._main
        self._tree = tree
        self._holding = {
            node
            for node in nodes(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            and any(one in kinds for one in ast.walk(node))
        }

    def followed(self) -> Followed:
        unfollowed: list[str] = []
        beyond = Unknown("more than is followed of the file")
        reason = Unknown("statements that are not followed")
        try:
            self._main.execute()
        except BeyondError:
            reason = beyond
        except RecursionError:
            reason = Unknown("what is nested too deeply to be followed")
        for function in self._alone():
            if not self._is_followed(function):
                unfollowed.append(function.name)
        for function in self._missed():
            self._is_followed(function)
        if self._main.texts.is_spent:
            reason = beyond
        for call, kind in self._kinds.items():
            if not self._met[call]:
                self._met[call].append(Met(call, kind, (), {}, reason))
        for executor in self._executors.values():
            self._files |= executor.texts.files
        calls = [one for call in self._kinds for one in self._met[call]]
        return Followed(tuple(calls), tuple(self._files), tuple(unfollowed))

    def _is_followed(self, function: Function) -> bool:
        """Follow a function; return whether every path was followed."""
        self._main.texts.begin()
        try:
            return self._main.execute_alone(function)
        except (BeyondError, RecursionError):
            return False

    def _tell(self, node: ast.Call, name: str, frame: Frame) -> bool:
        kind = self._kinds.get(node)
        if kind is None:
            return self._kind_of(name) is not None
        arguments, words, unpacked = self._main.arguments(node, frame)
        met = Met(node, kind, tuple(arguments), words, unpacked)
        if len(self._met[node]) < _MOST and not any(_is_same(met, one) for one in self._met[node]):
            self._met[node].append(met)
        return True

    def _alone(self) -> Iterator[Function]:
        """Functions that lead to kernels and were never called, callers first."""
        done: set[ast.AST] = set()
        while True:
            waiting = [
                function
                for node, function in self._main.functions.items()
                if node not in done and not self._main.is_executed(node)
            ]
            leading = self._leading(waiting)
            if not leading:
                return
            named = {
                name for function in leading for name in _mentioned(function.node) - {function.name}
            }
            first = next((one for one in leading if one.name not in named), leading[0])
            done.add(first.node)
            yield first

    def _missed(self) -> list[Function]:
        """Functions with kernels that no followed path has reached."""
        missed = {call for call in self._kinds if not self._met[call]}
        return [
            function
            for node, function in self._main.functions.items()
            if any(one in missed for one in ast.walk(node))
        ]

    def _leading(self, functions: list[Function]) -> list[Function]:
        """Those of some functions that make kernels, or mention one that does.

        The latter may have been followed already: another caller passes other arguments.
        """
        found = {
            function.node: function for function in functions if function.node in self._holding
        }
        names = {
            function.name
            for node, function in self._main.functions.items()
            if node in self._holding
        }
        while True:
            more = [
                function
                for function in functions
                if function.node not in found and _mentioned(function.node) & names
            ]
            if not more:
                return [function for function in functions if function.node in found]
            found |= {function.node: function for function in more}
            names |= {function.name for function in more}

    def _importing(self, importer: str) -> Callable[[str, int, str | None], Value | None]:
        def importing(module: str, level: int, name: str | None) -> Value | None:
            if not level and module.partition(".")[0] in _FOREIGN:
                return None
            if name is not None and (not module or level):
                whole = self._module(f"{module}.{name}" if module else name, level, importer)
                if whole is not None:
                    return whole
            found = self._module(module, level, importer)
            if name is None or found is None:
                return found
            value = self._bound(found, name)
            if value is None:
                value = self._module(f"{module}.{name}", level, importer)
            if value is None or isinstance(value, Unknown):
                # For a library's module, the documented name says more than its text.
                return value if level else None
            return value

        return importing

    def _bound(self, module: Module, name: str) -> Value:
        """The value of a name in a module; None if there is none, or if it is being imported.

        In a package whose ``__init__`` has ``from package import part``, this means the file.
        """
        key = (id(module.frame), name)
        if key in self._resolving:
            return None
        self._resolving.add(key)
        try:
            return settled(module.frame.values.get(name))
        finally:
            self._resolving.discard(key)

    def _module(self, module: str, level: int, importer: str) -> Module | None:
        path = module_file(module, level, importer)
        if path is None:
            return None
        known = self._executors.get(path)
        if known is None:
            if len(self._executors) > _MODULES:
                return None
            self._files[path] = None
            try:
                if os.path.getsize(path) > _LARGEST:
                    return None
                source, tree = decoded_python(read_input(path)), parsed(path)
            except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
                return None
            known = Executor(tree, source, path, self._importing(path), self._executors.__getitem__)
            self._executors[path] = known
            known.execute()
        return Module(known.frame)


def _is_same(one: Met, other: Met) -> bool:
    return (one.arguments, one.words, one.unknown) == (other.arguments, other.words, other.unknown)


@functools.lru_cache(maxsize=512)
def _mentioned(node: ast.AST) -> frozenset[str]:
    """Names in a node; cached by the node itself."""
    return frozenset(one.id for one in ast.walk(node) if isinstance(one, ast.Name))
