"""Follow the statements of a Python file without running them, to find how kernels are made.

The module's own statements are followed once. If a condition is unknown, both branches are
followed, and a name with different values after them becomes unknown. A function that makes kernels
is followed through the calls that lead to it; one that is never called in the file is followed with
unknown parameters, along each path through its conditions.
"""

from __future__ import annotations

import ast
import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence

from lmemscope.sources.python_evaluator import Evaluator
from lmemscope.sources.python_text import short, written
from lmemscope.sources.python_trees import nodes
from lmemscope.sources.python_values import (
    Class,
    Frame,
    Function,
    Instance,
    Module,
    Named,
    OpenFile,
    Pending,
    Unknown,
    Value,
    copied,
    elements,
    merged,
)

_WAYS = 32
"""Maximum number of paths followed through a function."""
_CALLS = 20
"""Maximum depth of calls that are followed."""
_KEEPING = frozenset("memoize lru_cache cache staticmethod classmethod wraps experimental".split())
"""Decorators that return the function unchanged."""
_CHANGING = frozenset("append extend insert update pop remove clear setdefault add sort".split())


class _ReturnError(Exception):
    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value


class _StopError(Exception):
    """A statement after which nothing is executed: raise, break or continue."""


class _RaiseError(_StopError):
    pass


class _BreakError(_StopError):
    pass


class _ContinueError(_StopError):
    pass


Importing = Callable[[str, int, str | None], "Value | None"]
"""Resolves an import, given a module's dotted name, the number of leading dots and a name in it, to
a value; None if the module is not the user's own."""


class Executor(Evaluator):
    """Follows the statements of one file.

    Args:
        tree: of the file.
        source: its text.
        path: its absolute path.
        importing: resolves imports of the user's own modules.
        owner_of: returns the executor of the file that defines a function.
    """

    def __init__(
        self,
        tree: ast.Module,
        source: str,
        path: str,
        importing: Importing,
        owner_of: Callable[[str], Executor],
    ) -> None:
        super().__init__(source, path)
        self._tree, self._importing, self._owner_of = tree, importing, owner_of
        self.frame = Frame(path=path)
        self.functions: dict[ast.AST, Function] = {}
        self._executed: set[ast.AST] = set()
        self._active: list[ast.AST] = []
        self._decisions: list[bool] | None = None
        self._position = 0
        self._answered: dict[tuple[int, str], bool] = {}
        self._returns: list[list[Value]] = []
        self._unsure: list[bool] = []

    def execute(self) -> None:
        """Follow the module's own statements.

        Raises:
            BeyondError: it takes too long.
        """
        with contextlib.suppress(_StopError, _ReturnError):
            self._block(self._tree.body, self.frame)
        for node in nodes(self._tree):
            if isinstance(node, ast.Global):
                for name in node.names:
                    self.frame.values[name] = Unknown(f"`{name}`, which a function assigns")

    def execute_alone(self, function: Function) -> bool:
        """Follow a function with unknown parameters; return whether every path was followed."""
        decisions: list[bool] = []
        for _ in range(_WAYS):
            self._decisions, self._position, self._answered = decisions, 0, {}
            try:
                self._enter(function, self._unknown_parameters(function))
            except _RaiseError:
                pass
            finally:
                self._decisions = None
            del decisions[self._position :]
            while decisions and not decisions[-1]:
                decisions.pop()
            if not decisions:
                return True
            decisions[-1] = False
        return False

    def is_executed(self, node: ast.AST) -> bool:
        """Whether a function has been followed."""
        return node in self._executed

    def call_function(
        self, function: Function, arguments: list[Value], words: dict[str, Value], frame: Frame
    ) -> Value:
        """The result of a user's function for given arguments."""
        owner = self._owner_of(function.outer.module.path)
        if owner is not self:
            return owner.call_function(function, arguments, words, frame)
        if len(self._active) >= _CALLS or self._active.count(function.node) > 2:
            return Unknown(f"`{function.name}()`, which calls itself")
        given = _parameters(function, arguments, words)
        value = self._enter(function, given)
        if function.decorator:
            return Unknown(f"`{function.name}()`, which {function.decorator} decorates")
        return value

    def _enter(self, function: Function, values: dict[str, Value]) -> Value:
        node = function.node
        self._executed.add(node)
        self._active.append(node)
        self._returns.append([])
        frame = Frame(values, function.outer)
        try:
            if isinstance(node, ast.Lambda):
                return self.value(node.body, frame)
            self._block(node.body, frame)
            value = None
        except _ReturnError as returned:
            value = returned.value
        except (_BreakError, _ContinueError):
            value = None
        finally:
            self._active.pop()
            returns = self._returns.pop()
        if not isinstance(node, ast.Lambda) and _is_generator(node):
            return Unknown(f"`{function.name}()`")
        return merged([*returns, value], f"`{function.name}()`")

    def _unknown_parameters(self, function: Function) -> dict[str, Value]:
        arguments = function.node.args
        named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        named += [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
        values: dict[str, Value] = {
            one.arg: Unknown(f"`{one.arg}`, a parameter of `{function.name}`") for one in named
        }
        if function.owner is not None and named and not _is_static(function.node):
            values[named[0].arg] = Instance(function.owner)
        return values

    def _decide(self, node: ast.expr | None, frame: Frame) -> bool:
        """The branch to take for an unknown condition, on the current path."""
        assert self._decisions is not None
        key = (id(frame), "" if node is None else written(node))
        if node is not None and key in self._answered:
            return self._answered[key]
        if self._position == len(self._decisions):
            self._decisions.append(True)
        answer = self._decisions[self._position]
        self._position += 1
        self._answered[key] = answer
        return answer

    def _block(self, statements: Sequence[ast.stmt], frame: Frame) -> None:
        for statement in statements:
            self.texts.step()
            follow = getattr(self, f"_do_{type(statement).__name__.lower()}", None)
            if follow is not None:
                follow(statement, frame)
            else:
                self._each_inner(statement, frame)

    def _each_inner(self, statement: ast.stmt, frame: Frame) -> None:
        """Visit a statement that assigns no known value."""
        for child in ast.iter_child_nodes(statement):
            if isinstance(child, ast.expr):
                self.value(child, frame)
            elif isinstance(child, ast.match_case):
                self._alternatives([child.body, []], frame)

    def _do_assign(self, node: ast.Assign, frame: Frame) -> None:
        value = self.value(node.value, frame)
        for target in node.targets:
            self.bind(target, value, frame)

    def _do_annassign(self, node: ast.AnnAssign, frame: Frame) -> None:
        if node.value is not None:
            self.bind(node.target, self.value(node.value, frame), frame)

    def _do_augassign(self, node: ast.AugAssign, frame: Frame) -> None:
        source = ast.copy_location(ast.BinOp(_loaded(node.target), node.op, node.value), node)
        self.bind(node.target, self.value(source, frame), frame)

    def _do_return(self, node: ast.Return, frame: Frame) -> None:
        raise _ReturnError(None if node.value is None else self.value(node.value, frame))

    def _do_raise(self, node: ast.Raise, frame: Frame) -> None:
        self._each_inner(node, frame)
        raise _RaiseError

    def _do_break(self, node: ast.Break, frame: Frame) -> None:
        raise _BreakError

    def _do_continue(self, node: ast.Continue, frame: Frame) -> None:
        raise _ContinueError

    def _do_global(self, node: ast.Global, frame: Frame) -> None:
        frame.globals |= set(node.names)

    def _do_nonlocal(self, node: ast.Nonlocal, frame: Frame) -> None:
        for name in node.names:
            frame.values[name] = Unknown(f"`{name}`, of another function")

    def _do_import(self, node: ast.Import, frame: Frame) -> None:
        for alias in node.names:
            own = alias.asname or alias.name.partition(".")[0]
            full = alias.name if alias.asname else own
            frame.values[own] = Pending(functools.partial(self._imported, full, 0, None))

    def _do_importfrom(self, node: ast.ImportFrom, frame: Frame) -> None:
        module = node.module or ""
        for alias in node.names:
            if alias.name == "*":
                found = self._importing(module, node.level, None)
                if isinstance(found, Module):
                    frame.values |= found.frame.values
                continue
            pending = Pending(functools.partial(self._imported, module, node.level, alias.name))
            frame.values[alias.asname or alias.name] = pending

    def _imported(self, module: str, level: int, name: str | None) -> Value:
        found = self._importing(module, level, name)
        if found is not None:
            return found
        if level:
            return Unknown(f"`{name}`, of a module that is not here")
        return Named(module if name is None else f"{module}.{name}")

    def _do_functiondef(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, frame: Frame, owner: Class | None = None
    ) -> None:
        for one in node.decorator_list:
            self.value(one, frame)
        unknown = [short(one) for one in node.decorator_list if _last_name(one) not in _KEEPING]
        function = Function(
            node, frame, self.defaults(node.args, frame), unknown[0] if unknown else "", owner
        )
        self.functions[node] = function
        frame.values[node.name] = function

    _do_asyncfunctiondef = _do_functiondef

    def _do_classdef(self, node: ast.ClassDef, frame: Frame) -> None:
        for one in (*node.decorator_list, *node.bases):
            self.value(one, frame)
        inner = Frame(outer=frame)
        made = Class(node.name, inner)
        for statement in node.body:
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                self._do_functiondef(statement, inner, made)
                # Names in a class body are not visible in its methods.
                method = inner.values[statement.name]
                outside = Function(method.node, frame, method.defaults, method.decorator, made)
                inner.values[statement.name] = self.functions[statement] = outside
            else:
                self._block([statement], inner)
        frame.values[node.name] = made

    def _do_if(self, node: ast.If, frame: Frame) -> None:
        condition = self.value(node.test, frame)
        holds = self.is_true(condition, node.test)
        if holds is None and self._decisions is not None:
            holds = self._decide(node.test, frame)
        if holds is None:
            self._alternatives([node.body, node.orelse], frame)
        else:
            self._block(node.body if holds else node.orelse, frame)

    def _alternatives(self, blocks: Sequence[Sequence[ast.stmt]], frame: Frame) -> None:
        """Follow alternative blocks, and keep the values on which they agree."""
        before = copied(frame.values)
        ends: list[dict[str, Value]] = []
        returned: list[Value] = []
        for block in blocks:
            frame.values = copied(before)
            try:
                self._block(block, frame)
                ends.append(frame.values)
            except _ReturnError as result:
                returned.append(result.value)
            except (_BreakError, _ContinueError):
                if self._unsure:
                    self._unsure[-1] = True
            except _RaiseError:
                pass
        if not ends:
            frame.values = before
            if returned:
                raise _ReturnError(merged(returned, "a condition"))
            raise _RaiseError
        if self._returns:
            self._returns[-1] += returned
        frame.values = {
            name: merged([end[name] for end in ends if name in end], f"`{name}`")
            for name in dict.fromkeys(name for end in ends for name in end)
        }

    def _do_for(self, node: ast.For | ast.AsyncFor, frame: Frame) -> None:
        value = self.value(node.iter, frame)
        listed = elements(value, (self._path, node.lineno))
        if listed is None:
            reason = value.reason if isinstance(value, Unknown) else f"`{short(node.iter)}`"
            self._unsure_loop(node, node.target, reason, frame)
            return
        self._unsure.append(False)
        try:
            for one in listed:
                self.texts.step()
                self.bind(node.target, one, frame)
                try:
                    self._block(node.body, frame)
                except _ContinueError:
                    continue
            self._block(node.orelse, frame)
        except _BreakError:
            pass
        finally:
            is_unsure = self._unsure.pop()
        if is_unsure:
            self._forget(node, "a condition", frame)

    _do_asyncfor = _do_for

    def _do_while(self, node: ast.While, frame: Frame) -> None:
        self._unsure.append(False)
        try:
            while True:
                self.texts.step()
                holds = self.is_true(self.value(node.test, frame), node.test)
                if holds is None or self._unsure[-1]:
                    self._unsure_loop(node, None, f"`{short(node.test)}`", frame)
                    return
                if not holds:
                    self._block(node.orelse, frame)
                    return
                try:
                    self._block(node.body, frame)
                except _ContinueError:
                    continue
        except _BreakError:
            pass
        finally:
            self._unsure.pop()

    def _unsure_loop(
        self,
        node: ast.For | ast.AsyncFor | ast.While,
        target: ast.expr | None,
        reason: str,
        frame: Frame,
    ) -> None:
        """Follow a loop with an unknown number of iterations once; what it changes is unknown."""
        if self._decisions is not None and not self._decide(None, frame):
            return
        self._forget(node, reason, frame)
        if target is not None:
            self.bind(target, Unknown(reason), frame)
        with contextlib.suppress(_BreakError, _ContinueError):
            self._block(node.body, frame)
        self._forget(node, reason, frame)

    def _forget(self, node: ast.AST, reason: str, frame: Frame) -> None:
        for name in _changed(node):
            frame.values[name] = Unknown(f"`{name}`, which a loop over {reason} changes")

    def _do_with(self, node: ast.With | ast.AsyncWith, frame: Frame) -> None:
        for item in node.items:
            value = self.value(item.context_expr, frame)
            if item.optional_vars is not None:
                known = value if isinstance(value, OpenFile) else None
                reason = f"`{short(item.optional_vars)}`"
                self.bind(item.optional_vars, known or Unknown(reason), frame)
        self._block(node.body, frame)

    _do_asyncwith = _do_with

    def _do_try(self, node: ast.Try, frame: Frame) -> None:
        try:
            self._block([*node.body, *node.orelse], frame)
        except _RaiseError:
            self._alternatives([one.body for one in node.handlers] or [[]], frame)
        else:
            # Code after an error is followed too, for kernels that are made there.
            after = frame.values
            for handler in node.handlers:
                frame.values = copied(after)
                with contextlib.suppress(_StopError, _ReturnError):
                    self._block(handler.body, frame)
            frame.values = after
        self._block(node.finalbody, frame)

    _do_trystar = _do_try


def _parameters(
    function: Function, arguments: Sequence[Value], words: dict[str, Value]
) -> dict[str, Value]:
    """The values of a function's parameters in a call."""
    own = function.node.args
    positional = [one.arg for one in (*own.posonlyargs, *own.args)]
    values: dict[str, Value] = dict(zip(positional, arguments, strict=False))
    if own.vararg is not None:
        values[own.vararg.arg] = tuple(arguments[len(positional) :])
    names = {*positional, *(one.arg for one in own.kwonlyargs)}
    values |= {name: value for name, value in words.items() if name in names}
    if own.kwarg is not None:
        values[own.kwarg.arg] = {n: value for n, value in words.items() if n not in names}
    missing = Unknown(f"a parameter of `{function.name}` that is not given")
    return {name: function.defaults.get(name, missing) for name in names} | values


def _changed(node: ast.AST) -> Iterable[str]:
    """Names that the statements below a node may assign, or whose object they may change."""
    found: dict[str, None] = {}
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load):
            found[one.id] = None
        elif isinstance(one, ast.Subscript) and not isinstance(one.ctx, ast.Load):
            found.update(dict.fromkeys(_names(one.value)))
        elif isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute):
            names = _names(one.func.value) if one.func.attr in _CHANGING else ()
            found.update(dict.fromkeys(names))
    return found


def _names(node: ast.expr) -> Iterator[str]:
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id


def _loaded(target: ast.expr) -> ast.expr:
    """An assignment target as an expression to read."""
    if isinstance(target, ast.Name):
        return ast.copy_location(ast.Name(target.id, ast.Load()), target)
    return target


@functools.lru_cache(maxsize=512)
def _is_generator(node: ast.AST) -> bool:
    return any(isinstance(one, ast.Yield | ast.YieldFrom) for one in ast.walk(node))


def _is_static(node: ast.AST) -> bool:
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return any(_last_name(one) == "staticmethod" for one in decorators)


def _last_name(node: ast.expr) -> str:
    while isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
