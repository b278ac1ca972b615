"""Whether an expression's value is all that the program takes of it.

A rewrite that puts something else in an expression's place, such as a copy, what is const or what
is not volatile, asks here: it may only do so where no reference, no overload, no operand that is
not evaluated and no macro can tell the two apart. What is not known to take a value may tell them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from lmemscope.rewrites.arrays import is_reference
from lmemscope.rewrites.base import Target
from lmemscope.rewrites.binding import is_called_variable, is_lambda, is_taken
from lmemscope.rewrites.purity import is_pure_call
from lmemscope.rewrites.reaching import handed_on, returns_reference
from lmemscope.rewrites.seen import is_library, is_qualified_library
from lmemscope.rewrites.variables import number_at
from lmemscope.rewrites.written import is_own
from lmemscope.sources.syntax import PLAIN_TYPES, Declared, Syntax, around, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_ASSIGNING = {"update_expression": "argument", "assignment_expression": "left"}
_READING = (
    *("unary_expression", "subscript_argument_list"),
    *("condition_clause", "for_statement", "do_statement", "expression_statement"),
    *("sizeof_expression", "array_declarator"),
)
_NUMBERS = ("primitive_type", "sized_type_specifier", "placeholder_type_specifier")
VECTORS = re.compile(rb"u?(?:char|short|int|long|longlong|float|double)[1-4]")
"""Types of the language's own, whose members are numbers."""
_NARROW = re.compile(rb"(?:__)?(?:half|nv_bfloat16|nv_fp8\w*|uint\d*|u?(?:char|short|long))[24]?")
"""Types of CUDA's headers that are numbers, or made of some."""
_REACHING = ("subscript_expression", "field_expression", "parenthesized_expression")
_THROUGH = ("subscript_expression", "field_expression", "pointer_expression")
_OPERATORS = {sign: re.compile(rb"\boperator\s*" + re.escape(sign)) for sign in (b"[", b"->", b"*")}
"""Of classes, which may be what seems to be a pointer."""
_NAMED_OBJECTS = ("identifier", "array_declarator", "pointer_declarator")
_LISTS = ("argument_list", "initializer_list")
_BY_VALUE = re.compile(
    rb"__(?!builtin_(?!expect)|is_|has_|type|alignof|decltype|reference)\w+|atomic\w+|printf"
    rb"|fetch_\w+|store"
)
"""Functions of the language's own and of its library, which take numbers by value."""
_BY_REFERENCE = frozenset((b"swap", b"move", b"forward", b"clamp"))
_ASKING = (
    *("decltype", "alignof_expression", "requires_expression", "requires_clause", "noexcept"),
    *("template_argument_list", "lambda_capture_specifier", "offsetof_expression"),
)
"""What asks something of an expression without evaluating it, or while it is compiled."""
_ASKING_NAMES = frozenset(
    b"noexcept typeid alignof _Alignof __alignof __alignof__ typeof __typeof __typeof__ decltype "
    b"__decltype requires __builtin_constant_p".split()
)
_ASKING_WORDS = re.compile(
    rb"#|\b(?:noexcept|typeid|_?alignof|_Alignof|__alignof(?:__)?|(?:__)?typeof(?:__)?|requires"
    rb"|(?:__)?decltype|__builtin_constant_p|__VA_OPT__)\b"
)
"""What a macro asks by, or makes another text with."""
_INPUT = re.compile(rb"\"[^\"mogXpV&+=]*+[mogXpV&+=]")
"""Constraints of an operand of inline assembly that need a place, or write it."""
_CASTS = re.compile(rb"\b(?:const|reinterpret|static)_cast\s*<[^<>]*&|\([\w:\s]+&\s*\)")
"""Casts to references: of what is const, to what is not, or of another type."""
_STREAM = re.compile(rb"\b(?:\w*[fiog])stream\b|\bcin\b")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_SPLICE = re.compile(rb"\\\r?\n")
_DEEPEST = 4

Apart = Literal["const", "reference", "volatile"]
"""What is put in an expression's place: a copy, or what is ``const``; or nothing, but no reference
to it may be kept, not by a class out of sight either; or what is not ``volatile``, which a
reference to what is const tells, too: a template may be deduced from it."""


def is_changed(use: Node) -> bool:
    """Whether what is subscripted is assigned to, or counted up or down."""
    node = use
    while node.parent is not None and node.parent.type in _REACHING:
        if node.parent.child_by_field_name("argument") not in (node, None):
            return False  # It is an index itself.
        node = node.parent
    above = node.parent
    if above is None or above.type not in ("assignment_expression", "update_expression"):
        return False
    return node != use and node != above.child_by_field_name("right")


def takes_value(
    place: Node,
    element: bytes,
    target: Target,
    *,
    may_assign: bool = False,
    apart: Apart = "const",
    depth: int = _DEEPEST,
) -> bool:
    """Whether an expression's value is taken, and nothing can tell it from another of that value.

    Args:
        place: a variable's name, or an element or a member of one.
        element: its type.
        target: whose file it is in.
        may_assign: whether it may be assigned to, too.
        apart: what may not be told.
        depth: macros that may stand for each other.
    """
    if is_asked(place, target):
        return False
    asked = _Asked(element, target, apart, depth)
    return asked.takes(place, may_assign=may_assign)


def place_of(use: Node, declared: Declared, target: Target) -> Node | None:
    """The variable, element or member that a use is; None of an array, and of what is called."""
    kind = declared.statement.child_by_field_name("type")
    element = b"" if kind is None else target.syntax.text(kind)
    return element_at(use, element, len(declared.extents), target)


def element_at(use: Node, element: bytes, dimensions: int, target: Target) -> Node | None:
    """The element of an array that a use of its name is, or a member of one.

    Args:
        use: the array's name.
        element: the elements' type.
        dimensions: of the array; 0 of a variable that is none.
        target: whose file it is in.

    Returns:
        None of an array, and of what is called.
    """
    syntax, meanings = target.syntax, target.meanings
    if meanings.is_row(element):
        return None
    missing, node, member, depth = dimensions, use, b"", 0
    while (above := node.parent) is not None:
        if above.type == "parenthesized_expression":
            node = above
            continue
        if above.child_by_field_name("argument") != node:
            break
        is_array = bool(member) and meanings.turns_into_pointer(member, depth)
        if above.type == "subscript_expression" and (missing or is_array):
            missing, depth = max(missing - 1, 0), depth + 1
        elif above.type == "field_expression" and not missing and not is_array:
            field, operator = (above.child_by_field_name(one) for one in ("field", "operator"))
            if field is None or operator is None or syntax.text(operator) != b".":
                break
            member, depth = syntax.text(field), 0
            if VECTORS.fullmatch(element):
                member = b""
        else:
            break
        node = above
    is_called = node.parent is not None and node.parent.type == "call_expression"
    is_array = bool(member) and meanings.turns_into_pointer(member, depth)
    return None if missing or is_array or is_called else node


def is_asked(place: Node, target: Target) -> bool:
    """Whether something around an expression asks more of it than its value, or its text."""
    for above in around(place, *_ASKING, "call_expression"):
        if above.type != "call_expression":
            return True
        called = above.child_by_field_name("function")
        if called is None or called.start_byte <= place.start_byte < called.end_byte:
            continue
        name = target.syntax.text(called)
        if name in _ASKING_NAMES or target.meanings.macro_has((name,), _ASKING_WORDS):
            return True
    return False


class _Asked:
    """What may tell an expression of a type from another one."""

    def __init__(self, element: bytes, target: Target, apart: Apart, depth: int) -> None:
        self._element, self._target, self._depth = element, target, depth
        self._syntax, self._meanings = target.syntax, target.meanings
        self._apart, self._is_strict = apart, apart != "const"

    def takes(self, place: Node, *, may_assign: bool = False) -> bool:
        """Whether what an expression stands in takes its value."""
        node, above = place, place.parent
        while above is not None:
            if above.type in _ASSIGNING and (
                above.child_by_field_name(_ASSIGNING[above.type]) == node
            ):
                if node != place or not may_assign:
                    return False
                if above.type == "update_expression" and above.children[0] == node:
                    return True  # What is read is what it was.
            elif above.type == "conditional_expression":
                if node == above.child_by_field_name("condition"):
                    return True
            elif above.type == "comma_expression":
                if node == above.child_by_field_name("left"):
                    return True
            elif above.type not in ("parenthesized_expression", "initializer_pair"):
                break
            node, above = above, above.parent
        return above is not None and self._takes(node, above)

    def _takes(self, node: Node, above: Node) -> bool:
        if above.type != "initializer_list" and is_taken(
            node,
            self._syntax,
            self._meanings,
            self._element,
            by_address=False,
            or_const=self._apart == "volatile",
        ):
            return False
        if above.type in ("binary_expression", "assignment_expression"):
            return self._is_operand(node, above)
        if above.type in _READING:
            return True
        if above.type == "return_statement":
            return not returns_reference(above, self._syntax, self._meanings)
        if above.type == "cast_expression":
            return self._is_copy(above.child_by_field_name("type"))
        if above.type in _THROUGH and above.child_by_field_name("argument") == node:
            return self._is_followed(node, above)
        if above.type == "gnu_asm_input_operand":
            return _INPUT.search(self._syntax.text(above)) is None
        if above.type in _LISTS:
            return self._is_listed(node, above)
        return above.type in ("init_declarator", "declaration") and self._is_made(above, node)

    def _is_operand(self, node: Node, above: Node) -> bool:
        """Whether an operator takes a value: of what is no number it may take a reference."""
        operator = above.child_by_field_name("operator")
        sign = b"=" if operator is None else self._syntax.text(operator)
        if any(
            self._apart == "volatile" or one.taking != "const"
            for one in self._meanings.references(b"operator" + sign, self._element)
        ):
            return False
        if sign not in (b"<<", b">>") or node != above.child_by_field_name("right"):
            return True
        # A stream may read into what it gets.
        left = above.child_by_field_name("left")
        name = b"" if left is None else self._syntax.text(left).strip(b"()")
        if left is None or number_at(name, left, self._syntax) is not None:
            return left is not None
        return not self._is_strict and not self._meanings.has(_STREAM)

    def _is_followed(self, node: Node, above: Node) -> bool:
        """Whether a pointer's value is followed: by a subscript, an arrow or an asterisk."""
        operator = above.child_by_field_name("operator")
        sign = b"[" if operator is None else self._syntax.text(operator)
        if sign == b"*" and self._is_misread(above):
            return True
        is_pointer = self._element.rstrip().endswith(b"*") or node.type == "field_expression"
        return is_pointer and sign in _OPERATORS and not self._meanings.has(_OPERATORS[sign])

    def _is_misread(self, above: Node) -> bool:
        """Whether ``(x) * a[i]`` reads as a cast of ``*a[i]``: the name is none of a type."""
        cast = above.parent
        kind = cast.child_by_field_name("type") if cast is not None else None
        if cast is None or kind is None or cast.type != "cast_expression":
            return False
        name = self._syntax.text(kind)
        return (
            _WORD.fullmatch(name) is not None and number_at(name, above, self._syntax) is not None
        )

    def _is_listed(self, node: Node, list_: Node) -> bool:
        """Whether what gets a list of arguments, or of values, takes one of them by value."""
        given = [one for one in list_.named_children if one.type != "comment"]
        position = next((at for at, one in enumerate(given) if one == node), None)
        handed = handed_on(node, self._syntax)
        if handed != node and not self.takes(handed):
            return False  # `std::max` returns a reference.
        above, inner = list_.parent, list_
        while above is not None and above.type in ("initializer_list", "initializer_pair"):
            inner, above = above, above.parent
        if above is None:
            return False
        if above.type == "call_expression":
            return (
                position is not None and inner == list_ and self._is_argument(above, position, node)
            )
        if above.type == "assignment_expression":
            return self._is_operand(inner, above)
        if above.type in ("compound_literal_expression", "return_statement"):
            return self._is_aggregate(_type_of(above))
        return above.type in ("init_declarator", "declaration") and self._is_made(above, inner)

    def _is_argument(self, call: Node, position: int, node: Node) -> bool:
        called = call.child_by_field_name("function")
        if called is None:
            return False
        text, meanings = self._syntax.text(called), self._meanings
        name = re.split(rb"<|::|\.|->", text.partition(b"<")[0])[-1].strip()
        if is_reference(text, meanings):
            return False
        if meanings.definitions((name,)):
            return self._is_in_macro(name, position)
        own = b"operator()" if self._is_object(call) else name
        if (own != name or is_lambda(called, self._syntax)) and (
            {"mutable", "anything", "const"} & meanings.taking_at(own, position)
        ):
            return False  # It may change the array itself while it holds a reference.
        if not self._may_bind(name, position):
            return False
        if meanings.reached((name,)):  # A call reads as a declaration, too.
            return True
        if is_pure_call(call, self._target):
            return True
        if _BY_VALUE.fullmatch(name) is not None or (
            is_library(name) and name not in _BY_REFERENCE and not is_qualified_library(text)
        ):
            return not is_own(called, self._target)
        return not self._is_strict and (
            meanings.is_type(name)  # `T(a[i])`
            or (own != name and not meanings.points_to_taking((name,)))
            or (meanings.taking_at(name, position) == {"value"} and not meanings.is_unseen(text))
        )

    def _is_object(self, call: Node) -> bool:
        return is_called_variable(call.child_by_field_name("arguments"), self._syntax)

    def _may_bind(self, name: bytes, position: int) -> bool:
        """Whether no function of a name may tell an argument by a reference to it, or keep that."""
        taking = self._meanings.taking_at(name, position)
        if self._is_strict or {"mutable", "anything"} & taking:
            return not {"mutable", "anything", "const"} & taking
        return "const" not in taking or not (
            self._meanings.takes_addresses(name)
            or any(_CASTS.search(body) is not None for body in self._meanings.reached((name,)))
        )

    def _is_in_macro(self, name: bytes, position: int) -> bool:
        """Whether a macro takes the value of its argument: its text is read as code is."""
        if not self._depth:
            return False
        for parameters, body in self._meanings.macros(name):
            if not parameters:
                return False
            own = [one.strip() for one in parameters.strip(b"()").split(b",")]
            at = min(position, len(own) - 1)
            wanted = own[at].removesuffix(b"...").strip() or b"__VA_ARGS__"
            text = _SPLICE.sub(b" ", body)
            for other in own:
                bare = other.removesuffix(b"...").strip() or b"__VA_ARGS__"
                # An element is no type, so `(x) * (y)` is a product.
                made = b"lmem_given[0]" if bare == wanted else b"lmem_other[0]"
                text = re.sub(rb"\b%b\b" % re.escape(bare), made, text)
            syntax = Syntax(b"void lmem_macro() { " + text + b"; }")
            if syntax.root.has_error:
                return False
            home = replace(self._target, syntax=syntax)
            for one in walk(syntax.root):
                is_given = one.type.endswith("identifier") and syntax.text(one) == b"lmem_given"
                if is_given and not (
                    one.parent is not None
                    and one.parent.type == "subscript_expression"
                    and takes_value(
                        one.parent,
                        self._element,
                        home,
                        apart=self._apart,
                        depth=self._depth - 1,
                    )
                ):
                    return False
        return True

    def _is_made(self, declarator: Node, value: Node) -> bool:
        """Whether an initializer makes a copy: no reference, and no object that may hold one."""
        if declarator.child_by_field_name("value") != value:
            return False
        named = declarator.child_by_field_name("declarator")
        statement = declarator.parent if declarator.type == "init_declarator" else declarator
        kind = None if statement is None else statement.child_by_field_name("type")
        if named is None or kind is None or named.type not in _NAMED_OBJECTS:
            return False
        if any(one.type == "reference_declarator" for one in walk(named)):
            return False
        is_deduced = kind.type == "placeholder_type_specifier"
        if is_deduced and b"decltype" in self._syntax.text(kind):
            return False
        if value.type in _LISTS:
            return not is_deduced and self._is_aggregate(kind)
        return is_deduced or self._is_copy(kind)

    def _is_aggregate(self, kind: Node | None) -> bool:
        """Whether an object of a type is made of values: a number, a vector, or a class in sight
        that has no references, and whose constructors take none."""
        if kind is None or self._is_number(kind):
            return kind is not None
        name = self._syntax.text(kind)
        if VECTORS.fullmatch(name) is not None:
            return True
        words = _WORD.findall(name.partition(b"<")[0])[-1:]
        return not self._is_strict and all(
            one in self._meanings.classes and not self._meanings.has_references(one)
            for one in words
        )

    def _is_copy(self, kind: Node | None) -> bool:
        """Whether what is made of an expression is a copy of it, by its type."""
        if kind is None or is_reference(self._syntax.text(kind), self._meanings):
            return False
        if self._is_number(kind) or self._is_strict:
            return self._is_number(kind)
        words = _WORD.findall(self._syntax.text(kind).partition(b"<")[0])
        name = words[-1] if words else b""
        return _NARROW.fullmatch(name) is not None or self._meanings.is_type(name)

    def _is_number(self, kind: Node) -> bool:
        """Whether a type is one of numbers or pointers, or the variable's own."""
        text = self._syntax.text(kind)
        if is_reference(text, self._meanings):
            return False
        inner = kind.child_by_field_name("type") if kind.type == "type_descriptor" else kind
        return (
            text == self._element
            or text.rstrip().endswith(b"*")
            or kind.type in _NUMBERS
            or (inner is not None and inner.type in PLAIN_TYPES)
        )


def _type_of(made: Node) -> Node | None:
    """The type of what a list of values makes: a literal's, or what its function returns."""
    if made.type == "return_statement":
        function = next(around(made, "function_definition", "lambda_expression"), None)
        is_named = function is not None and function.type == "function_definition"
        return function.child_by_field_name("type") if function is not None and is_named else None
    return made.child_by_field_name("type")
