"""Whether an initializer is a constant expression, by the declarations in sight.

A static variable of device code needs one: nvcc initializes none of them at run time. A variable
that depends on the thread, a call or a class with a constructor does not compile there.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from lmemscope.rewrites.arrays import element_type, is_arithmetic, is_plain, words_of
from lmemscope.rewrites.base import Target
from lmemscope.rewrites.loops import is_spelled_as_constant
from lmemscope.rewrites.places import is_declared_name, local_named
from lmemscope.rewrites.settled import declarations
from lmemscope.rewrites.value_uses import VECTORS
from lmemscope.rules.launch_syntax import parameter_name
from lmemscope.sources.syntax import FUNCTIONS, Syntax, around, is_cast, outermost, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_NOT_COMPUTED = frozenset(
    ("sizeof_expression", "alignof_expression", "type_descriptor", "field_designator", "comment")
)
"""What holds names that are not read."""
_PARTS = ("field_expression", "subscript_expression")
_CLASSES = ("class_specifier", "struct_specifier", "union_specifier")
_CONSTEXPR = frozenset((b"constexpr", b"consteval"))
_WORD = re.compile(rb"(?<![.>\w])[A-Za-z_]\w*")
"""A name that is no member's."""
_POINTER = re.compile(rb"\*\s*const\s*$")


class _At(NamedTuple):
    """Where names are looked up: a node of a file's tree."""

    node: Node
    syntax: Syntax


def varying(value: Node, target: Target) -> str | None:
    """What an array's initializer has that is not constant, for a sentence.

    A name that nothing in sight declares is constant where it is spelled as constants are, or where
    the compiled kernels show that all values are.

    Args:
        value: the initializer.
        target: the array.

    Returns:
        The first such thing; None where all is constant.
    """
    reader = _Reader(target)
    if not is_plain(target) and not reader.is_literal_type(element_type(target)):
        return f"the class `{element_type(target).decode()}`, whose constructor may be run"
    return reader.first(value, target.syntax, _At(value, target.syntax))


class _Reader:
    """Reads one initializer.

    Args:
        target: whose it is.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._seen: set[tuple[object, ...]] = set()
        self._types: set[bytes] = set()
        self._is_known = all(hit.finding.cause == "const-table" for hit in target.hits)

    def first(self, node: Node, syntax: Syntax, at: _At, *, is_part: bool = False) -> str | None:
        """The first thing of an expression that is not constant.

        Args:
            node, syntax: the expression, and what reads it.
            at: where its names stand; elsewhere where a macro makes it.
            is_part: whether a part of its value is taken, as of an array.
        """
        if node.type in _NOT_COMPUTED:
            return None
        if node.type == "lambda_expression":
            return "a lambda"
        if node.type == "call_expression":
            return self._call(node, syntax, at)
        if node.type == "compound_literal_expression":
            kind = node.child_by_field_name("type")
            if kind is not None and not self.is_literal_type(syntax.text(kind)):
                return f"a `{syntax.text(kind).decode()}`"
            return self._all(node.children_by_field_name("value"), syntax, at)
        if node.type in _PARTS:
            whole = node.child_by_field_name("argument")
            rest = [] if node.type == "field_expression" else node.children_by_field_name("indices")
            made = None if whole is None else self.first(whole, syntax, at, is_part=True)
            return made or self._all(rest, syntax, at)
        if node.type == "qualified_identifier":
            inner = node.child_by_field_name("name")
            return None if inner is None else self.first(inner, syntax, at, is_part=is_part)
        if node.type == "identifier":
            above = node.parent
            is_address = (
                above is not None
                and above.type == "pointer_expression"
                and syntax.text(above).startswith(b"&")
            )
            name = syntax.text(node)
            return self._named(name, at, is_part=is_part, is_address=is_address)
        return self._all(node.named_children, syntax, at, is_part=is_part)

    def _all(
        self, nodes: Iterable[Node], syntax: Syntax, at: _At, *, is_part: bool = False
    ) -> str | None:
        found = (self.first(one, syntax, at, is_part=is_part) for one in nodes)
        return next((one for one in found if one is not None), None)

    def _call(self, call: Node, syntax: Syntax, at: _At) -> str | None:
        """The same of a call: of a macro, a cast, a class or a ``constexpr`` function."""
        arguments = call.children_by_field_name("arguments")
        called = call.child_by_field_name("function")
        while called is not None and called.type in ("qualified_identifier", "template_function"):
            if is_cast(call):
                break
            called = called.child_by_field_name("name")
        if called is None:
            return "a call"
        name = syntax.text(called)
        made = None
        if self._target.meanings.macros(name):
            made = self._made_by(name, at)
        elif not is_cast(call) and not self._is_constexpr(name):
            is_value = self._target.meanings.is_type(name) and self.is_literal_type(name)
            made = None if is_value else f"a call of `{name.decode(errors='replace')}`"
        return made or self._all(arguments, syntax, at)

    def _made_by(self, name: bytes, at: _At) -> str | None:
        """What the definitions of a macro have that is not constant where it is used."""
        key = (name, at.node.start_byte, id(at.syntax))
        if key in self._seen:
            return None  # It names itself.
        self._seen.add(key)
        for given, body in self._target.meanings.macros(name):
            own = frozenset(re.findall(rb"\w+", given))
            # Its parameters stand for what is read where it is used.
            written = _WORD.sub(functools.partial(_but, own), body)
            syntax = Syntax(b"int lmem_value[] = {" + written + b"};")
            if syntax.root.has_error and not self._is_known:
                return f"`{name.decode(errors='replace')}`"
            for one in walk(syntax.root):
                value = one.child_by_field_name("value") if one.type == "init_declarator" else None
                if value is not None and (found := self.first(value, syntax, at)) is not None:
                    return found
        return None

    def _named(self, name: bytes, at: _At, *, is_part: bool, is_address: bool) -> str | None:
        key = (name, at.node.start_byte, id(at.syntax), is_part, is_address)
        if key in self._seen:
            return None
        self._seen.add(key)
        said = f"`{name.decode(errors='replace')}`"
        function = outermost(at.node, FUNCTIONS)
        if function is not None and _is_local(name, function, at.syntax):
            declared = local_named(name, at.node, at.syntax)
            if declared is None:
                is_parameter = name in _parameters(function, at.syntax)
                return f"the parameter {said}" if is_parameter else said
            head = at.syntax.code[declared.statement.start_byte : declared.name.start_byte]
            if declared.value is None or not _is_const(head, is_part=is_part):
                return said
            found = self.first(declared.value, at.syntax, _At(declared.name, at.syntax))
            return None if found is None else said
        if self._target.meanings.macros(name):
            return self._made_by(name, at)
        every = [one for one in declarations(name, self._target) if not _is_of_function(one[2])]
        if not every:
            is_constant = self._is_known or is_spelled_as_constant(name, *at)
        else:
            is_constant = all(
                is_address or self._is_constant(one, syntax, is_part=is_part)
                for _, syntax, one in every
            )
        return None if is_constant else said

    def _is_constant(self, name: Node, syntax: Syntax, *, is_part: bool) -> bool:
        """Whether what a namespace or a class declares is constant."""
        above, value = name.parent, None
        if above is None or above.type in ("enumerator", "function_declarator"):
            return True
        statement: Node | None = above
        while statement is not None and not statement.type.endswith("declaration"):
            value = value or statement.child_by_field_name("value")
            statement = statement.parent
        if statement is None or statement.type.endswith("parameter_declaration"):
            return True  # Of the template around it.
        value = value or statement.child_by_field_name("default_value")
        if above.type == "array_declarator" and not is_part:
            return True  # Where it begins.
        head = syntax.code[statement.start_byte : name.start_byte]
        return (
            value is not None
            and _is_const(head, is_part=is_part)
            and self.first(value, syntax, _At(value, syntax)) is None
        )

    def _is_constexpr(self, name: bytes) -> bool:
        """Whether every function of a name that is in sight is ``constexpr``, and there is one."""
        found = [
            syntax.code[one.start_byte : body.start_byte]
            for _, syntax in self._target.trees(name)
            for one in syntax.functions(name.decode(errors="replace"))
            if (body := one.child_by_field_name("body")) is not None
        ]
        return bool(found) and all(_CONSTEXPR & words_of([one]) for one in found)

    def is_literal_type(self, written: bytes) -> bool:
        """Whether a list makes a value of a type without running anything: a number, a vector, or
        a class in sight of such members, whose constructors are ``constexpr``."""
        type_ = self._target.meanings.spelled_out(written.strip())
        name = (re.findall(rb"\w+", type_.partition(b"<")[0]) or [b""])[-1]
        if type_.endswith(b"*") or is_arithmetic(type_.decode(errors="replace")):
            return True
        if VECTORS.fullmatch(name) is not None:
            return True
        if name not in self._target.meanings.classes:
            # A parameter of a template, or an enumeration; not what stands for a class of a header.
            return self._target.meanings.is_type(name)
        if name in self._types:
            return True
        self._types.add(name)
        bodies = [
            (body, syntax)
            for _, syntax in self._target.trees(name)
            for one in walk(syntax.root)
            if one.type in _CLASSES
            and (own := one.child_by_field_name("name")) is not None
            and syntax.text(own).partition(b"<")[0].strip() == name
            and (body := one.child_by_field_name("body")) is not None
        ]
        return bool(bodies) and all(self._is_literal(*one, name) for one in bodies)

    def _is_literal(self, body: Node, syntax: Syntax, name: bytes) -> bool:
        """Whether a class has no constructor that is run, and no member of a class that has one."""
        for one in walk(body):
            if one.type == "function_declarator":
                own, whole = one.child_by_field_name("declarator"), one.parent
                is_run = (
                    own is not None
                    and whole is not None
                    and syntax.text(own) == name
                    and not re.search(
                        rb"\bconstexpr\b|=\s*(?:default|delete)\b", syntax.text(whole)
                    )
                )
                if is_run:
                    return False
        members = (one for one in body.named_children if one.type == "field_declaration")
        kinds = (kind for one in members if (kind := one.child_by_field_name("type")) is not None)
        return all(
            kind.type in _CLASSES or self.is_literal_type(syntax.text(kind)) for kind in kinds
        )


def _but(names: frozenset[bytes], word: re.Match[bytes]) -> bytes:
    """A word, or a number for what is among some names."""
    return b"0" if word[0] in names else word[0]


def _is_of_function(name: Node) -> bool:
    """Whether a name is known in one function alone: its parameter, or a local variable."""
    return (
        outermost(name, FUNCTIONS) is not None
        or next(around(name, "parameter_list"), None) is not None
    )


def _parameters(function: Node, syntax: Syntax) -> frozenset[bytes]:
    """The names of a function's parameters."""
    return frozenset(
        parameter_name(syntax.text(one).decode(errors="replace")).encode()
        for one in syntax.parameters(function)
    )


def _is_const(declared: bytes, *, is_part: bool) -> bool:
    """Whether a variable is constant by what stands before its name: ``const float * const``.

    Of an array or a class ``constexpr`` is needed, for a part to be.
    """
    words = words_of([declared])
    if b"*" in declared:
        return b"constexpr" in words or (_POINTER.search(declared) is not None and not is_part)
    return b"constexpr" in words or (b"const" in words and not is_part)


def _is_local(name: bytes, function: Node, syntax: Syntax) -> bool:
    """Whether a function, with its lambdas, declares something of a name: a parameter as well."""
    return any(
        one.type == "identifier" and syntax.text(one) == name and is_declared_name(one)
        for one in walk(function)
    )
