"""A local array as the source writes it: its type, its extents, and every use of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from lmemscope.model import Edit
from lmemscope.rewrites.base import DeclinedError, Target
from lmemscope.rewrites.meanings import Meanings
from lmemscope.rewrites.places import is_freed
from lmemscope.rewrites.unevaluated import is_sized
from lmemscope.sources.syntax import Declared, Syntax, around, is_cast, walk

if TYPE_CHECKING:
    from tree_sitter import Node

UseKind = Literal["read", "assign", "update", "increment", "size", "passed", "other"]
"""``update``: a compound assignment. ``increment``: ``++`` and ``--``. ``size``: it, or an
element, is all that a ``sizeof`` asks of.
``passed``: the array is an argument of a call. ``other``: not of a whole element, such as a pointer
into the array."""

_QUALIFIERS = (
    b"static",
    b"extern",
    b"__shared__",
    b"__constant__",
    b"__device__",
    b"__managed__",
    b"thread_local",
    b"constexpr",
)
_NAMING = (
    "declaration",
    "parameter_declaration",
    "lambda_capture_specifier",
    "labeled_statement",
    "template_argument_list",
)
_LISTS = ("argument_list", "initializer_list")
_SPLIT = re.compile(rb"[A-Za-z_]\w*")
_WORDS = (
    r"(?:un)?signed|char|short|int|long|bool|_Bool|__int128|wchar_t|char8_t|char16_t|char32_t"
    r"|u?int(?:_fast|_least)?\d+_t|u?intptr_t|u?intmax_t|size_t|ptrdiff_t|ssize_t"
)
_WHOLE = re.compile(rf"(?:(?:{_WORDS})\b\s*)+")
"""Types of whole numbers, as C++ and its headers call them."""
_PLAIN = re.compile(rf"(?:(?:const|float|double|{_WORDS})\b\s*)+|.*\*")
_HOST = re.compile(rb"\b__host__\b")
_NESTED = re.compile(rb"<[^<>]*>|\([^()]*\)|\[[^\[\]]*\]")
_SCOPED = re.compile(rb"\b\w+\s*::")
_SPECIFIERS = frozenset(
    b"__device__ __global__ __forceinline__ __noinline__ __inline__ __inline inline static extern "
    b"constexpr consteval const volatile virtual explicit friend template typename class struct "
    b"union enum operator requires __launch_bounds__ __maxnreg__ __cluster_dims__ __restrict__ "
    b"__attribute__ __block_size__ alignas __align__ noexcept decltype nodiscard".split()
)
"""Words before a function's name that say nothing of the host."""
_TYPE_WORD = re.compile(rf"(?:{_WORDS}|void|float|double|auto)".encode())
_ALIGNED = re.compile(rb"(?:\b__align__|\balignas|\b__attribute__)\s*\([^;{}]*$")
_HIDING = {
    "an alignment or an attribute": (b"(", b"[["),
    "a comment": (b"/*", b"//"),
    "a type of its own": (b"{",),
}
"""What may stand before a declaration's names that a rewriting does not carry on."""


@dataclass(frozen=True, slots=True)
class Use:
    """A use of an array.

    Attributes:
        name: the array's name there.
        element: the subscripts' outermost expression, where each extent has one.
        indices: these.
        kind: what is done to the element.
        whole: the expression that does it: the assignment, the increment, the call, or the
            element.
    """

    name: Node
    element: Node | None
    indices: tuple[Node, ...]
    kind: UseKind
    whole: Node


@dataclass(frozen=True, slots=True)
class Elements:
    """A name by which a function knows an array's elements: a variable, or a parameter.

    Attributes:
        path: of the file, absolute.
        syntax: of the file.
        name: of the array there.
        dimensions: how many subscripts an element has.
        is_const: whether elements may be written.
        uses: in order.
    """

    path: str
    syntax: Syntax
    name: bytes
    dimensions: int
    is_const: bool
    uses: tuple[Use, ...]

    def edit(self, start: int, end: int, text: bytes) -> Edit:
        """An edit of the file."""
        return Edit(self.path, start, end, text)


def elements(
    path: str, syntax: Syntax, name: Node, scope: Node, dimensions: int, *, is_const: bool
) -> Elements:
    """The uses of an array in the scope of its name.

    Raises:
        DeclinedError: a macro uses it, or another variable of the scope has its name.
    """
    text = syntax.text(name)
    if text in syntax.macros:
        raise DeclinedError("a macro uses it")
    if _is_hidden(name, scope, syntax):
        raise DeclinedError(f"`{text.decode()}` has another meaning, too, in its scope")
    for node in walk(scope):
        if node.type == "type_identifier" and syntax.text(node) == text:
            # `View v(a[i]);` reads as a function that takes an `a`.
            raise DeclinedError(f"line {node.start_point.row + 1} reads as if it were a type")
    uses = tuple(_use(node, dimensions, syntax) for node in syntax.uses(name, scope))
    for use in uses:
        if use.whole.has_error:
            # The grammar's `(a[i] = 3, b)`, behind an operator, assigns b.
            raise DeclinedError(f"line {use.name.start_point.row + 1} is not read completely")
    return Elements(path, syntax, text, dimensions, is_const, uses)


@dataclass(frozen=True)
class LocalArray:
    """A local array that a rewrite may declare otherwise.

    Attributes:
        target: whose declaration it is.
        declared: where.
        element: its elements' type as written, without qualifiers.
        is_const, is_volatile: whether they are.
        extents: as written; from the variable's type where a declaration leaves one open.
        alignment: what stands in front of its statement, for all that this declares.
    """

    target: Target
    declared: Declared
    element: bytes
    is_const: bool
    is_volatile: bool
    extents: tuple[bytes, ...]
    alignment: bytes = b""

    @cached_property
    def elements(self) -> Elements:
        """Its uses.

        Raises:
            DeclinedError: a macro may use it, or there is another of its name further in.
        """
        function = self.syntax.code_of(self.declared.function)
        if self.target.meanings.may_name(words_of([function]), self.name):
            raise DeclinedError("a macro may use it")
        return elements(
            self.target.path,
            self.syntax,
            self.declared.name,
            self.declared.scope,
            len(self.extents),
            is_const=self.is_const,
        )

    @property
    def uses(self) -> tuple[Use, ...]:
        """All of its uses, in order."""
        return self.elements.uses

    @property
    def syntax(self) -> Syntax:
        """Of the file that declares it."""
        return self.target.syntax

    @property
    def name(self) -> bytes:
        """Its name."""
        return self.syntax.text(self.declared.name)

    @property
    def numbers(self) -> tuple[int, ...] | None:
        """Its extents in the compiled kernels, where the variable's type has them."""
        return _numbers(self.target.type)

    @property
    def values(self) -> tuple[bytes, ...] | None:
        """The initializer's elements, of an array of one dimension; None without such a list."""
        value = self.declared.value
        if value is None or value.type != "initializer_list" or _has_directives(value, self.syntax):
            return None
        return tuple(self.syntax.text(one) for one in value.named_children if one.type != "comment")


def local_array(target: Target, *, aligned: bool = False) -> LocalArray:
    """The array that a target declares.

    Args:
        target: whose declaration it is.
        aligned: whether one with an alignment in front (``__align__(16)``) will do.

    Raises:
        DeclinedError: it is none, or its declaration hides something: attributes or another
            storage.
    """
    declared = target.declared
    if declared is not None and declared.array is None:
        is_array = "[" in (target.type or "")
        raise DeclinedError(
            "its type is that of an array by another name" if is_array else "it is no array"
        )
    return local_variable(target, aligned=aligned)


def local_variable(target: Target, *, aligned: bool = False) -> LocalArray:
    """The variable that a target declares; one that is no array has no extents.

    Args:
        target, aligned: as of `local_array`.

    Raises:
        DeclinedError: its declaration hides something: attributes or another storage; or the
            program frees it.
    """
    declared, syntax = target.declared, target.syntax
    if declared is None:
        raise DeclinedError(why_not_declared(target))
    for use in syntax.uses(declared.name, declared.scope):
        if is_freed(use, syntax):
            line = use.start_point.row + 1
            raise DeclinedError(
                f"line {line} frees it, and what is no memory of the heap must not be"
            )
    head = syntax.data[declared.statement.start_byte : declared.first.start_byte]
    head = head.replace(b"[[maybe_unused]]", b"")
    words = _SPLIT.findall(head)
    line = declared.declarator.start_point.row + 1
    form = f"line {line} declares it in a form that is not rewritten"
    for what, marks in _HIDING.items():
        if any(mark in head for mark in marks):
            raise DeclinedError(f"{form}: with {what}")
    if b"auto" in words:
        raise DeclinedError(f"{form}: as `auto`")
    if any(word in _QUALIFIERS for word in words):
        raise DeclinedError("it is not of automatic storage")
    alignment = alignment_of(declared, syntax)
    if alignment and not aligned:
        raise DeclinedError(f"its declaration on line {line} asks for an alignment")
    element = re.sub(rb"\b(?:const|volatile|register)\b", b" ", head)
    stars = syntax.code[declared.declarator.start_byte : declared.name.start_byte]
    if stars.replace(b"*", b"").strip():
        raise DeclinedError(f"{form}: as a pointer or a reference")
    if b"*" in stars and len(words) and (b"const" in words or b"volatile" in words):
        element, words = head, []  # What is pointed to is const, not the elements.
    element += b" " + stars
    numbers = _numbers(target.type)
    extents = []
    for position, extent in enumerate(declared.extents):
        if extent is not None:
            extents.append(syntax.text(extent))
        elif numbers is not None and position < len(numbers):
            extents.append(str(numbers[position]).encode())
        else:
            raise DeclinedError("its extents are not known")
    return LocalArray(
        target,
        declared,
        b" ".join(element.split()),
        b"const" in words,
        b"volatile" in words,
        tuple(extents),
        alignment,
    )


def alignment_of(declared: Declared, syntax: Syntax) -> bytes:
    """The alignment in front of a declaration, with the blanks behind it; empty without one."""
    start = declared.statement.start_byte
    found = _ALIGNED.search(syntax.code, max(0, start - 80), start)
    return found[0] if found is not None else b""


def is_for_device(function: Node, syntax: Syntax) -> bool:
    """Whether a function says itself that it is the device's: a macro may be empty for the host."""
    body = function.child_by_field_name("body")
    head = syntax.code[function.start_byte : body.start_byte] if body is not None else b""
    return bool({b"__device__", b"__global__"} & set(_SPLIT.findall(head)))


def is_for_host(target: Target, declared: Declared) -> bool:
    """Whether a variable's function, or a lambda in it, is compiled for the host too, or may be.

    Macros in its head may say so, another declaration of it, and what is no macro in sight.
    """
    nodes = [declared.function, *around(declared.statement, "lambda_expression")]
    heads = [
        target.syntax.code[node.start_byte : body.start_byte]
        for node in nodes
        for body in [node.child_by_field_name("body")]
        if body is not None
    ]
    words = words_of(heads)
    if not words & {b"__device__", b"__global__"}:
        return True
    name = target.syntax.function_name(declared.function)
    if name is None or b"__host__" in words or target.meanings.macro_has(words, _HOST):
        return True
    named = re.compile(rb"\b%b\s*\(" % re.escape(name))
    others = [
        text[max(text.rfind(mark, 0, one.start()) for mark in (b";", b"{", b"}")) + 1 : one.start()]
        for text in target.meanings.texts
        for one in named.finditer(text)
    ]
    return (
        b"__host__" in words_of(others)
        or target.meanings.macro_has(words_of(others), _HOST)
        or _has_unknown_macro(heads[0], name, target)
    )


def _has_unknown_macro(head: bytes, name: bytes, target: Target) -> bool:
    """Whether more words stand before a function's name than its type and known specifiers."""
    before = re.split(rb"\b%b\s*\(" % re.escape(name), head)[0]
    while (made := _NESTED.sub(b" ", before)) != before:
        before = made
    words = _SPLIT.findall(_SCOPED.sub(b" ", before))
    unknown = [
        one
        for one in words
        if one not in _SPECIFIERS
        and _TYPE_WORD.fullmatch(one) is None
        and not target.meanings.macros(one)
    ]
    is_spelled = any(_TYPE_WORD.fullmatch(one) is not None for one in words)
    return len(unknown) > (0 if is_spelled else 1)


def words_of(texts: Iterable[bytes]) -> set[bytes]:
    """The names in some texts."""
    return {word for text in texts for word in _SPLIT.findall(text)}


def is_plain(target: Target) -> bool:
    """Whether the elements' type, as the compiled kernels have it, is one of the language."""
    return all(
        _PLAIN.fullmatch(_element(hit.finding.type).replace("std::", "")) is not None
        for hit in target.hits
    )


def is_whole(written: str) -> bool:
    """Whether a type is one of whole numbers, or of arrays of them, or of pointers."""
    plain = re.sub(r"\[\d*\]|\b(?:const|volatile)\b|\bstd::", " ", written).strip()
    return bool(plain) and (plain.endswith("*") or _WHOLE.fullmatch(plain) is not None)


def is_arithmetic(written: str) -> bool:
    """Whether a type is one of the language's numbers."""
    plain = re.sub(r"\bstd::", "", written)
    return not plain.endswith("*") and _PLAIN.fullmatch(plain) is not None


def element_type(target: Target) -> bytes:
    """The type of an array's elements, as the compiled kernels have it; empty where none does."""
    return _element(target.type).encode()


def _element(type_: str | None) -> str:
    return (type_ or "").partition("[")[0].strip()


def is_reference(type_: bytes, meanings: Meanings) -> bool:
    """Whether a type as written is one of references, or may be."""
    words = words_of([type_])
    return b"&" in type_ or b"decltype" in words or any(map(meanings.is_reference, words))


def is_captured(use: Use, scope: Node, syntax: Syntax) -> bool:
    """Whether a lambda has the array, but by reference: what it copies would be the view alone."""
    for made in around(use.name, "lambda_expression"):
        if made.start_byte < scope.start_byte:
            return False
        captures = made.child_by_field_name("captures")
        if captures is None or syntax.text(captures).replace(b" ", b"") != b"[&]":
            return True
    return False


def why_not_declared(target: Target) -> str:
    """Why a target's declaration is not read, as the end of a sentence."""
    if target.name is None:
        return "no variable is known for it"
    if target.declared_at is None:
        return "nothing says where it is declared"
    found = target.syntax.declared(target.name, target.declared_at.line)
    if found is not None:
        return "its function is not read completely: macros may hide something"
    if "." in target.name or "->" in target.name:
        return "it is a member"
    forms = "a parameter, a capture, a macro, or an initializer in parentheses"
    if target.path.endswith(".py"):
        forms = f"the text of an ElementwiseKernel or ReductionKernel, {forms}"
    return f"line {target.declared_at.line} declares it in a form that is not read: {forms}"


def _is_hidden(name: Node, scope: Node, syntax: Syntax) -> bool:
    """Whether the scope declares another variable of the name, or gives it to a template."""
    wanted = syntax.text(name)
    for node in walk(scope):
        if node.type != "identifier" or node == name or syntax.text(node) != wanted:
            continue
        parent = node.parent
        if parent is None or not (parent.type in _NAMING or parent.type.endswith("declarator")):
            continue
        if node not in (parent.child_by_field_name("value"), parent.child_by_field_name("size")):
            return True
    return False


def _has_directives(value: Node, syntax: Syntax) -> bool:
    """Whether a list is of a form that the grammar reads otherwise than the compiler."""
    return value.has_error or re.search(rb"^[ \t]*#", syntax.text(value), re.MULTILINE) is not None


def _numbers(written: str | None) -> tuple[int, ...] | None:
    found = re.findall(r"\[(\d+)\]", written or "")
    return tuple(int(number) for number in found) or None


def _use(name: Node, dimensions: int, syntax: Syntax) -> Use:
    if is_sized(name, syntax):
        return Use(name, None, (), "size", name)
    element = name
    indices: list[Node] = []
    while (
        element.parent is not None
        and element.parent.type == "subscript_expression"
        and element.parent.child_by_field_name("argument") == element
        and len(indices) < dimensions
    ):
        element = element.parent
        given = element.child_by_field_name("indices")
        inside = [] if given is None else [n for n in given.named_children if n.type != "comment"]
        if len(inside) != 1:
            return Use(name, None, (), "other", element)
        indices.append(inside[0])
    above = name.parent
    if not indices and above is not None and above.type == "argument_list":
        call = above.parent
        if call is not None and call.type == "call_expression" and not is_cast(call):
            return Use(name, None, (), "passed", call)
    if len(indices) != dimensions:
        return Use(name, None, tuple(indices), "other", element)
    kind, whole = done_to(element, syntax)
    return Use(name, element, tuple(indices), kind, whole)


def done_to(element: Node, syntax: Syntax) -> tuple[UseKind, Node]:
    """What is done to an element, and the expression that does it."""
    inner = element
    while inner.parent is not None and inner.parent.type == "parenthesized_expression":
        inner = inner.parent
    above = inner.parent
    is_assigned = above is not None and above.type == "assignment_expression"
    if above is not None and is_assigned and above.child_by_field_name("left") == inner:
        operator = above.child_by_field_name("operator")
        plain = operator is None or syntax.text(operator) == b"="
        return ("assign" if plain else "update"), above
    if above is not None and above.type == "update_expression":
        return "increment", above
    return "read", element
