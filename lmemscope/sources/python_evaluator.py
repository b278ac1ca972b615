"""Evaluate Python expressions with bounded effort, without running user code.

Only operations without side effects are computed, on values that the text determines; subclasses
may follow calls to the user's functions. An unknown value is `Unknown`, with the name of what it
depends on.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from pathlib import PurePosixPath

from lmemscope.sources import python_calls
from lmemscope.sources.located_text import Text, at
from lmemscope.sources.python_comparing import compared
from lmemscope.sources.python_strings import (
    UnknownPartError,
    formatted,
    key_of,
    percent,
    repeated,
    sliced,
)
from lmemscope.sources.python_text import SourceTexts, short
from lmemscope.sources.python_values import (
    Class,
    Frame,
    Function,
    Held,
    Instance,
    Method,
    Module,
    Named,
    Unknown,
    Value,
    elements,
    is_large,
    plain,
    settled,
    spread,
    unknown_of,
)

_DEEPEST = 60
"""Maximum nesting of expressions, including those in functions that are followed."""
_REFUSED = (TypeError, ValueError, LookupError, ArithmeticError, StopIteration, AttributeError)
_BUILTINS = frozenset(dir(builtins))


class Evaluator:
    """Evaluates a file's expressions.

    Args:
        source: the file's text.
        path: its absolute path.

    Attributes:
        texts: its literals, and the files it reads.
    """

    def __init__(self, source: str, path: str) -> None:
        self._path = path
        self.texts = SourceTexts(source, path)
        self._depth = 0
        self._kinds: dict[type[ast.expr], Callable[..., Value]] = {
            ast.Constant: self._constant,
            ast.Name: self._name,
            ast.JoinedStr: self._joined_string,
            ast.BinOp: self._operation,
            ast.UnaryOp: self._unary,
            ast.BoolOp: self._boolean,
            ast.Compare: self._comparison,
            ast.IfExp: self._choice,
            ast.Call: self._call,
            ast.Attribute: self._attribute,
            ast.Subscript: self._subscript,
            ast.Tuple: self._sequence,
            ast.List: self._sequence,
            ast.Set: self._sequence,
            ast.Dict: self._dictionary,
            ast.ListComp: self._comprehension,
            ast.SetComp: self._comprehension,
            ast.GeneratorExp: self._comprehension,
            ast.DictComp: self._comprehension,
            ast.Lambda: self._function,
            ast.NamedExpr: self._assigned,
            ast.Starred: lambda node, frame: self.value(node.value, frame),
        }

    def value(self, node: ast.expr, frame: Frame) -> Value:
        """The value of an expression.

        Raises:
            BeyondError: the effort limit was reached.
        """
        self.texts.step()
        evaluate = self._kinds.get(type(node))
        if evaluate is None:
            self._inner(node, frame)
            return Unknown(f"`{short(node)}`")
        if self._depth > _DEEPEST:
            return Unknown(f"`{short(node)}`, which is nested too deeply")
        self._depth += 1
        try:
            found = evaluate(node, frame)
        except UnknownPartError as error:
            return Unknown(error.reason)
        except _REFUSED:
            return Unknown(f"`{short(node)}`")
        finally:
            self._depth -= 1
        if is_large(found):
            return Unknown(f"`{short(node)}`")
        if isinstance(found, Text):
            self.texts.step(len(found.value))
        return python_calls.place_of((self._path, node.lineno), found)

    def call_function(
        self, function: Function, arguments: list[Value], words: dict[str, Value], frame: Frame
    ) -> Value:
        """The result of a user's function; overridden by subclasses that follow functions."""
        del arguments, words, frame
        return Unknown(f"`{function.name}()`")

    def called(self, node: ast.Call, name: str, frame: Frame) -> Value | None:
        """Hook for subclasses: the value of a call, or None. The name is that of an import."""
        del node, name, frame
        return None

    def is_true(self, value: Value, node: ast.expr) -> bool | None:
        """Whether a condition holds; None if unknown."""
        del node
        if isinstance(value, Unknown | Named | Instance | Method):
            return None
        return bool(value.value if isinstance(value, Text) else value)

    def _inner(self, node: ast.AST, frame: Frame) -> None:
        """Visit the subexpressions of an unsupported expression, to find calls in them."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.value(child, frame)

    def _constant(self, node: ast.Constant, frame: Frame) -> Value:
        del frame
        if isinstance(node.value, bytes) or node.value is Ellipsis:
            return Unknown(f"`{short(node)}`")
        return self.texts.literal(node, node.value) if isinstance(node.value, str) else node.value

    def _name(self, node: ast.Name, frame: Frame) -> Value:
        found = frame.find(node.id)
        if isinstance(found, Held):
            return settled(found.value)
        if node.id == "__file__":
            return at(self._path, (self._path, node.lineno))
        if node.id in _BUILTINS:
            return Named(f"builtins.{node.id}")
        return Unknown(f"`{node.id}`")

    def _joined_string(self, node: ast.JoinedStr, frame: Frame) -> Value:
        values: list[str] = []
        inserted: list[Text] = []
        for part in node.values:
            if isinstance(part, ast.Constant):
                values.append(str(part.value))
                continue
            assert isinstance(part, ast.FormattedValue)
            value = self.value(part.value, frame)
            spec = self.value(part.format_spec, frame) if part.format_spec is not None else None
            if isinstance(spec, Unknown):
                return spec
            conversion = None if part.conversion < 0 else chr(part.conversion)
            place = (self._path, part.lineno)
            try:
                text = formatted(value, spec.value if spec else "", conversion, place)
            except UnknownPartError as error:
                named = error.reason if isinstance(value, Unknown) else f"`{short(part.value)}`"
                return Unknown(named)
            inserted.append(text)
            self.texts.step(len(text.value))
            values.append(text.value)
        value = "".join(values)
        self.texts.step(len(value))
        places = self.texts.places(node, iter(inserted))
        if len(places) != value.count("\n") + 1:
            return at(value, (self._path, node.lineno))
        return Text(value, tuple(places))

    def _operation(self, node: ast.BinOp, frame: Frame) -> Value:
        """A binary operation; sums may have thousands of terms, so left operands need a loop."""
        pending = [node]
        while isinstance(pending[-1].left, ast.BinOp):
            self.texts.step()
            pending.append(pending[-1].left)
        value = self.value(pending[-1].left, frame)
        for one in reversed(pending):
            right = self.value(one.right, frame)
            value = self.operate(type(one.op).__name__, value, right, one)
        return value

    def operate(self, kind: str, left: Value, right: Value, node: ast.AST) -> Value:
        """A binary operation."""
        if kind == "Mod" and isinstance(left, Text):
            return percent(left, right)
        unknown = next((one for one in (left, right) if isinstance(one, Unknown)), None)
        if unknown is not None:
            return unknown
        if isinstance(left, Text) and isinstance(right, Text) and kind == "Add":
            self.texts.step(len(left.value) + len(right.value))
            return left + right
        if kind == "Mult" and isinstance(left, Text) and isinstance(right, int):
            return repeated(left, right)
        if kind == "Mult" and isinstance(right, Text) and isinstance(left, int):
            return repeated(right, left)
        if kind == "Div" and isinstance(left, PurePosixPath):
            return left / str(plain(right))
        try:
            return python_calls.arithmetic(kind, left, right)
        except _REFUSED:
            return Unknown(f"`{short(node)}`")

    def _unary(self, node: ast.UnaryOp, frame: Frame) -> Value:
        value = self.value(node.operand, frame)
        if isinstance(node.op, ast.Not):
            known = self.is_true(value, node.operand)
            return Unknown(f"`{short(node)}`") if known is None else not known
        if isinstance(value, Unknown):
            return value
        if not isinstance(value, bool | int | float) or isinstance(node.op, ast.Invert):
            raise TypeError
        return -value if isinstance(node.op, ast.USub) else +value

    def _boolean(self, node: ast.BoolOp, frame: Frame) -> Value:
        value: Value = None
        for one in node.values:
            value = self.value(one, frame)
            known = self.is_true(value, one)
            if known is None:
                self._inner(node, frame)
                return value if isinstance(value, Unknown) else Unknown(f"`{short(node)}`")
            if known is isinstance(node.op, ast.Or):
                return value
        return value

    def _comparison(self, node: ast.Compare, frame: Frame) -> Value:
        left = self.value(node.left, frame)
        for comparison, one in zip(node.ops, node.comparators, strict=True):
            right = self.value(one, frame)
            holds = compared(comparison, left, right)
            if holds is None:
                return unknown_of((left, right)) or Unknown(f"`{short(node)}`")
            if not holds:
                return False
            left = right
        return True

    def _choice(self, node: ast.IfExp, frame: Frame) -> Value:
        condition = self.value(node.test, frame)
        holds = self.is_true(condition, node.test)
        if holds is None:
            self._inner(node, frame)
            return condition if isinstance(condition, Unknown) else Unknown(f"`{short(node)}`")
        return self.value(node.body if holds else node.orelse, frame)

    def _attribute(self, node: ast.Attribute, frame: Frame) -> Value:
        owner = self.value(node.value, frame)
        if isinstance(owner, Unknown):
            return owner
        if isinstance(owner, Module | Class | Instance):
            holder = owner.frame if not isinstance(owner, Instance) else owner.of.frame
            found = settled(holder.values.get(node.attr, Unknown(f"`{short(node)}`")))
            is_bound = isinstance(owner, Instance) and isinstance(found, Function)
            return Method(owner, node.attr) if is_bound else found
        known = python_calls.attribute(owner, node.attr)
        return Method(owner, node.attr) if known is None else known

    def _subscript(self, node: ast.Subscript, frame: Frame) -> Value:
        owner = self.value(node.value, frame)
        if isinstance(owner, Unknown):
            self._inner(node.slice, frame)
            return owner
        if isinstance(node.slice, ast.Slice):
            ends = (node.slice.lower, node.slice.upper, node.slice.step)
            given = [None if one is None else self.value(one, frame) for one in ends]
            if any(isinstance(one, Unknown) for one in given):
                return unknown_of(given)
            part = slice(*given)
            return sliced(owner, part) if isinstance(owner, Text) else owner[part]
        key = self.value(node.slice, frame)
        if isinstance(key, Unknown):
            return key
        if isinstance(owner, Text):
            return at(owner.value[key], (self._path, node.lineno))
        if isinstance(owner, dict):
            return owner[key_of(key)]
        return (
            owner[key] if isinstance(owner, tuple | list | range) else Unknown(f"`{short(node)}`")
        )

    def _sequence(self, node: ast.Tuple | ast.List | ast.Set, frame: Frame) -> Value:
        values: list[Value] = []
        for one in node.elts:
            value = self.value(one, frame)
            if isinstance(one, ast.Starred):
                if isinstance(value, Unknown):
                    return value
                values += elements(value, (self._path, node.lineno)) or [Unknown("`*`")]
            else:
                values.append(value)
        return tuple(values) if isinstance(node, ast.Tuple) else values

    def _dictionary(self, node: ast.Dict, frame: Frame) -> Value:
        found: dict[Value, Value] = {}
        for key, one in zip(node.keys, node.values, strict=True):
            value = self.value(one, frame)
            if key is None:
                if not isinstance(value, dict):
                    return value if isinstance(value, Unknown) else Unknown("`**`")
                found |= value
                continue
            found[key_of(self.value(key, frame))] = value
        return found

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, frame: Frame
    ) -> Value:
        inner = Frame(outer=frame)
        found: list[Value] = []
        made: dict[Value, Value] = {}

        def add() -> None:
            if isinstance(node, ast.DictComp):
                made[key_of(self.value(node.key, inner))] = self.value(node.value, inner)
            else:
                found.append(self.value(node.elt, inner))

        self._go_through([*node.generators], inner, add)
        return made if isinstance(node, ast.DictComp) else found

    def _go_through(
        self, loops: list[ast.comprehension], frame: Frame, add: Callable[[], None]
    ) -> None:
        if not loops:
            add()
            return
        first, *others = loops
        value = self.value(first.iter, frame)
        listed = elements(value, (self._path, first.iter.lineno))
        if listed is None:
            reason = value.reason if isinstance(value, Unknown) else f"`{short(first.iter)}`"
            self.bind(first.target, Unknown(reason), frame)
            self._go_through(others, frame, add)
            raise UnknownPartError(reason)
        for one in listed:
            self.texts.step()
            self.bind(first.target, one, frame)
            conditions = [(self.value(test, frame), test) for test in first.ifs]
            held = [self.is_true(condition, test) for condition, test in conditions]
            if None in held:
                raise UnknownPartError(f"`{short(first.ifs[held.index(None)])}`")
            if all(held):
                self._go_through(others, frame, add)

    def _function(self, node: ast.Lambda, frame: Frame) -> Value:
        return Function(node, frame, self.defaults(node.args, frame))

    def defaults(self, arguments: ast.arguments, frame: Frame) -> dict[str, Value]:
        """Default values of a function's parameters."""
        names = [one.arg for one in (*arguments.posonlyargs, *arguments.args)]
        count = len(arguments.defaults)
        pairs = [*zip(names[len(names) - count :], arguments.defaults, strict=True)]
        keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        pairs += [(one.arg, value) for one, value in keywords if value is not None]
        return {name: self.value(value, frame) for name, value in pairs}

    def _assigned(self, node: ast.NamedExpr, frame: Frame) -> Value:
        value = self.value(node.value, frame)
        self.bind(node.target, value, frame)
        return value

    def bind(self, target: ast.expr, value: Value, frame: Frame) -> None:
        """Assign a value to a target."""
        if isinstance(target, ast.Name):
            (frame.module if target.id in frame.globals else frame).values[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(target, value, frame)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, value, frame)
        elif isinstance(target, ast.Subscript):
            self._set_item(target, value, frame)
        elif isinstance(target, ast.Attribute):
            owner = self.value(target.value, frame)
            if isinstance(owner, Instance):
                # Another object of the class may have another value.
                owner.of.frame.values[target.attr] = Unknown(f"`{short(target)}`")
            elif isinstance(owner, Class | Module):
                owner.frame.values[target.attr] = value

    def _unpack(self, target: ast.Tuple | ast.List, value: Value, frame: Frame) -> None:
        listed = elements(value, (self._path, target.lineno))
        starred = [at for at, one in enumerate(target.elts) if isinstance(one, ast.Starred)]
        values = None if listed is None else spread([*listed], len(target.elts), starred[:1])
        if values is None:
            reason = value.reason if isinstance(value, Unknown) else f"`{short(target)}`"
            values = [Unknown(reason)] * len(target.elts)
        for one, own in zip(target.elts, values, strict=True):
            self.bind(one, own, frame)

    def _set_item(self, target: ast.Subscript, value: Value, frame: Frame) -> None:
        owner = self.value(target.value, frame)
        key = self.value(target.slice, frame) if not isinstance(target.slice, ast.Slice) else None
        if isinstance(owner, dict) and not isinstance(key, Unknown | type(None)):
            owner[key_of(key)] = value
        elif isinstance(owner, list) and type(key) is int and -len(owner) <= key < len(owner):
            owner[key] = value
        elif isinstance(owner, list | dict) and isinstance(target.value, ast.Name):
            self.bind(target.value, Unknown(f"`{short(target.value)}`"), frame)

    def _call(self, node: ast.Call, frame: Frame) -> Value:
        function = self.value(node.func, frame)
        name = function.name if isinstance(function, Named) else ""
        special = self.called(node, name, frame)
        if special is not None:
            return special
        arguments, words, unpacked = self.arguments(node, frame)
        if unpacked is not None:
            return unpacked
        if isinstance(function, Function):
            return self.call_function(function, arguments, words, frame)
        if isinstance(function, Class):
            return Instance(function)
        if isinstance(function, Unknown):
            return function
        computed = self._computed(function, node, arguments)
        if computed is None:
            return Unknown(f"`{short(node)}`")
        unknown = python_calls.known_arguments(arguments, words)
        is_lasting = isinstance(function, Method) and function.name in (
            "append",
            "insert",
            "format",
        )
        if unknown is not None and not is_lasting:
            return unknown
        return computed(*arguments, **words)

    def _computed(
        self, function: Value, node: ast.Call, arguments: list[Value]
    ) -> Callable[..., Value] | None:
        """A library function or method that is supported here."""
        if isinstance(function, Named):
            if function.name == "builtins.isinstance":
                return self._is_instance
            return python_calls.FUNCTIONS.get(function.name)
        if not isinstance(function, Method):
            return None
        if isinstance(function.owner, Instance):
            found = function.owner.of.frame.values[function.name]
            given = [function.owner, *arguments]
            return lambda *_, **words: self.call_function(found, given, words, Frame())
        if function.name in ("read", "read_text"):
            return lambda **_: self.texts.contents(function.owner, short(node))
        return python_calls.method(function.owner, function.name)

    def _is_instance(self, value: Value, kinds: Value) -> Value:
        named = kinds if isinstance(kinds, tuple) else (kinds,)
        types = [
            python_calls.TYPES.get(one.name) if isinstance(one, Named) else None for one in named
        ]
        if None in types:
            return Unknown("`isinstance`")
        return isinstance(value, tuple(one for found in types for one in found or ()))

    def arguments(
        self, node: ast.Call, frame: Frame
    ) -> tuple[list[Value], dict[str, Value], Unknown | None]:
        """A call's arguments, and why they are not all known by name, or None."""
        arguments: list[Value] = []
        words: dict[str, Value] = {}
        unpacked: Unknown | None = None
        for one in node.args:
            value = self.value(one, frame)
            if not isinstance(one, ast.Starred):
                arguments.append(value)
                continue
            listed = elements(value, (self._path, node.lineno))
            if listed is None:
                unpacked = unpacked or Unknown(f"`*{short(one.value)}`")
            else:
                arguments += listed
        for word in node.keywords:
            value = self.value(word.value, frame)
            if word.arg is not None:
                words[word.arg] = value
            elif isinstance(value, dict) and all(isinstance(key, str) for key in value):
                words |= value
            else:
                unpacked = unpacked or Unknown(f"`**{short(word.value)}`")
        return arguments, words, unpacked
