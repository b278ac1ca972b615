"""An array turned into a small class with ``get`` and ``set``: what each of its uses becomes.

Reading stays as it is where the array has one dimension, for the class has an ``operator[]`` that
returns a value: so whatever needs the element itself, such as a pointer or a reference to it, does
not compile, and is not offered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lmemscope.model import Edit
from lmemscope.rewrites.arrays import (
    Elements,
    Use,
    element_type,
)
from lmemscope.rewrites.base import DeclinedError, Target
from lmemscope.rewrites.loops import is_constant_name
from lmemscope.rewrites.meanings import Meanings
from lmemscope.rewrites.purity import is_pure, may_act
from lmemscope.rewrites.rows import check_indices
from lmemscope.rewrites.steady import is_only_named
from lmemscope.rewrites.value_uses import element_at, is_changed, takes_value
from lmemscope.rewrites.variables import number_at
from lmemscope.sources.edits import overlap
from lmemscope.sources.syntax import FUNCTIONS, around, outermost, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_NESTED = "an element of it is used within another use that is rewritten"
_WORD = re.compile(rb"[A-Za-z_]\w*")
_STILL = ("read", "size")
"""Uses of an array that change no element."""
_CHANGING = ("assignment_expression", "update_expression")
_CHANGED = ("identifier", "subscript_expression", "field_expression", "pointer_expression")


def accessor_edits(
    array: Elements,
    target: Target,
    pass_on: Callable[[Use], None],
    *,
    is_plain: bool,
) -> tuple[Edit, ...]:
    """The edits of all uses.

    Args:
        array: that becomes a class.
        target: of the array that all of it is done for.
        pass_on: is told of each call that the array is an argument of.
        is_plain: whether its elements are of a type of the language, whose operators are known.

    Raises:
        DeclinedError: one of them cannot be told to mean the same.
    """
    meanings, element = target.meanings, element_type(target)
    home = replace(target, path=array.path, syntax=array.syntax)
    if not is_plain and meanings.copies_otherwise():
        raise DeclinedError("a class may do something else when it is copied or assigned")
    if not is_plain and meanings.tells_const():
        raise DeclinedError("a class may tell an element from a copy that is const")
    rewriter = _Rewriter(array, home, is_plain=is_plain)
    edits: list[Edit] = []
    check_indices(array, home)
    for use in array.uses:
        if use.kind == "size":
            continue
        if use.kind == "passed":
            pass_on(use)
            continue
        line = use.name.start_point.row + 1
        if use.kind == "other":
            raise DeclinedError(f"line {line} uses it in another way than by one element")
        if _is_inside(use, array, meanings, is_plain=is_plain):
            raise DeclinedError(
                f"line {line} may change a copy of an element, or keep a part of it"
            )
        place = element_at(use.name, element, array.dimensions, home)
        if place is None or not takes_value(place, element, home, may_assign=True):
            raise DeclinedError(
                f"line {line} may bind a reference to an element, or depend on more than its value"
            )
        made = rewriter.edits(use)
        if made is None:
            raise DeclinedError(f"line {line} writes it in a form that is not rewritten")
        edits += made
    return joined(edits)


def joined(edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """Edits in order, insertions at one place as one.

    Raises:
        DeclinedError: one lies within another.
    """
    needed: set[tuple[str, bytes]] = set()
    made: list[Edit] = []
    for edit in sorted(edits):
        if edit.counts == "file":
            if (edit.file, edit.text) not in needed:
                needed.add((edit.file, edit.text))
                made.append(edit)
            continue
        last = made[-1] if made else None
        if last is None or (last.file, last.start, last.end) != (edit.file, edit.start, edit.end):
            made.append(edit)
        elif edit.start == edit.end and not {last.counts, edit.counts} & {"file", "head"}:
            made[-1] = replace(last, text=last.text + edit.text)
        elif edit != last:
            made.append(edit)
    if overlap(made):
        raise DeclinedError(_NESTED)
    return tuple(made)


_OPERANDS = frozenset(
    {
        "identifier",
        "number_literal",
        "char_literal",
        "true",
        "false",
        "subscript_expression",
        "call_expression",
        "field_expression",
        "parenthesized_expression",
    }
)


class _Rewriter:
    def __init__(self, array: Elements, home: Target, *, is_plain: bool) -> None:
        self._array, self._syntax = array, array.syntax
        self._home = home
        self._is_plain = is_plain
        self._dimensions = array.dimensions

    def edits(self, use: Use) -> list[Edit] | None:
        element = use.element
        if element is None:
            return None
        if use.kind == "read":
            return self._read(use)
        if self._array.is_const:
            return None
        if not self._is_plain and not _is_discarded(use.whole):
            return None  # What is done to the result would be done to a copy.
        if use.kind != "assign" and not self._is_plain:
            return None  # Its type may have operators of its own.
        counted = self._counted(use)
        if not counted and not all(is_pure(one, self._home) for one in use.indices):
            return None
        if counted and use.kind != "assign":
            return None
        if use.kind == "increment":
            return self._increment(use)
        left = use.whole.child_by_field_name("left")
        right = use.whole.child_by_field_name("right")
        operator = use.whole.child_by_field_name("operator")
        if left is None or right is None:
            return None
        given = b"=" if operator is None else self._syntax.text(operator)
        begin = [use.name, b".set(", *self._indices(use), b", "]
        # What is one operand has no need of parentheses.
        is_one = use.kind != "update" or right.type in _OPERANDS
        if use.kind == "update":
            begin += [*self._value(use), b" " + given.removesuffix(b"=") + b" "]
            begin.append(b"" if is_one else b"(")
        closing = b")" if is_one else b"))"
        if right.type == "initializer_list":
            return None
        given_words = set(_WORD.findall(self._syntax.text(right)))
        if counted & given_words or self._may_move(use, right):
            # Whether the index or the value comes first is not the same in a call.
            return None
        closed = self._array.edit(right.end_byte, right.end_byte, closing)
        return [
            self._replaced(use.whole.start_byte, right.start_byte, begin),
            replace(closed, counts="each"),
        ]

    def _counted(self, use: Use) -> set[bytes]:
        """Variables that the index counts up or down, where nothing else in it has effects."""
        found: set[bytes] = set()
        for index in use.indices:
            for node in walk(index):
                if node.type == "update_expression":
                    argument = node.child_by_field_name("argument")
                    if argument is None or argument.type != "identifier":
                        return set()
                    found.add(self._syntax.text(argument))
                elif node.type in ("assignment_expression", "call_expression"):
                    return set()
            if may_act(index, self._home):
                return set()
        return found

    def _may_move(self, use: Use, right: Node) -> bool:
        """Whether evaluating a value may change which element it is assigned to.

        C++17 evaluates the right side of an assignment first, compilers the index of a call. Of a
        compound assignment the value may not change the element either.
        """
        if self._counted(use) and not all(map(self._is_fixed, self._names(use, counted=True))):
            return True  # The value may read it by another name.
        if is_pure(right, self._home):
            return False
        if may_act(right, self._home) or (use.kind == "update" and not self._is_still(right)):
            return True
        is_fixed, changed = True, set[bytes]()
        for one in walk(right):
            if one.type == "lambda_expression":
                return True
            if one.type == "call_expression":
                is_fixed = False
            elif one.type in _CHANGING:
                part = one.child_by_field_name("left") or one.child_by_field_name("argument")
                if part is None or part.type not in _CHANGED:
                    return True
                is_fixed &= part.type == "identifier"
                changed.add(self._syntax.text(part))
        names = [*self._names(use)]
        return any(self._syntax.text(one) in changed for one in names) or not (
            is_fixed or all(map(self._is_fixed, names))
        )

    def _names(self, use: Use, *, counted: bool = False) -> Iterator[Node]:
        """The names in an index; those that it counts alone, where these are asked for."""
        for name in (one for index in use.indices for one in walk(index)):
            is_counted = name.parent is not None and name.parent.type == "update_expression"
            if name.type == "identifier" and (is_counted or not counted):
                yield name

    def _is_still(self, right: Node) -> bool:
        """Whether a value changes no element of the array, by its name or in a lambda."""
        others = (one.name for one in self._array.uses if one.kind not in _STILL)
        return not any(
            right.start_byte <= one.start_byte < right.end_byte
            or next(around(one, "lambda_expression"), None) is not None
            for one in others
        )

    def _is_fixed(self, name: Node) -> bool:
        """Whether nothing changes a variable of an index but what names it."""
        number = number_at(self._syntax.text(name), name, self._syntax)
        if number is not None:
            return number.is_const or is_only_named(number, self._home)
        function = outermost(name, FUNCTIONS)
        if function is None or is_constant_name(name, self._home):
            return function is not None
        # A branch of the preprocessor may declare it: what gets it, or a place of it, may not.
        own, code = re.escape(self._syntax.text(name)), self._syntax.code_of(function)
        taken = rb"&\s*(?:\w+\s*=\s*)?%b\b|[(,]\s*%b\s*[,)]|\[[&=][^\]]*\]\s*[({]" % (own, own)
        plain = rb"\b(?:int|unsigned|long|short|size_t)\s+(?:\w+\s*=[^;,]*,\s*)?%b\s*[=;,]" % own
        return re.search(taken, code) is None and re.search(plain, code) is not None

    def _increment(self, use: Use) -> list[Edit] | None:
        operator = use.whole.child_by_field_name("operator")
        if operator is None:
            return None
        is_postfix = operator.start_byte > use.whole.start_byte
        if is_postfix and not _is_discarded(use.whole):
            return None
        sign = self._syntax.text(operator)[:1]
        made = [use.name, b".set(", *self._indices(use), b", ", *self._value(use)]
        made.append(b" " + sign + b" 1)")
        return [self._replaced(use.whole.start_byte, use.whole.end_byte, made)]

    def _read(self, use: Use) -> list[Edit] | None:
        if self._dimensions == 1 or use.element is None:
            return []
        first, last = use.indices[0], use.indices[-1]
        edit = self._array.edit
        made = [
            edit(use.name.end_byte, first.start_byte, b".get("),
            edit(last.end_byte, use.element.end_byte, b")"),
        ]
        for one, other in zip(use.indices, use.indices[1:], strict=False):
            made.append(edit(one.end_byte, other.start_byte, b", "))
        return made

    def _indices(self, use: Use) -> list[Node | bytes]:
        made: list[Node | bytes] = [use.indices[0]]
        for index in use.indices[1:]:
            made += [b", ", index]
        return made

    def _value(self, use: Use) -> list[Node | bytes]:
        """The element as it is now."""
        opened, closed = (b"[", b"]") if self._dimensions == 1 else (b".get(", b")")
        return [use.name, opened, *self._indices(use), closed]

    def _replaced(self, start: int, end: int, parts: Iterable[Node | bytes]) -> Edit:
        """An edit that puts texts, and what nodes say, in the place of others."""
        text, kept = b"", []
        for one in parts:
            if not isinstance(one, bytes):
                kept.append((len(text), one.start_byte, one.end_byte))
            text += one if isinstance(one, bytes) else self._syntax.text(one)
        return replace(self._array.edit(start, end, text), kept=tuple(kept))


def _is_discarded(node: Node) -> bool:
    """Whether nobody uses the value of an expression."""
    parent = node.parent
    while parent is not None and parent.type == "comma_expression":
        node, parent = parent, parent.parent
    if parent is None:
        return False
    if parent.type == "for_statement":
        return parent.child_by_field_name("condition") != node
    return parent.type == "expression_statement"


def _is_inside(use: Use, array: Elements, meanings: Meanings, *, is_plain: bool) -> bool:
    """Whether something within an element is reached that a copy does not have, or may lose.

    Of a class, that is what its member functions do, and pointers that an array in it turns into.
    """
    element, syntax = use.element, array.syntax
    if element is None or use.kind != "read":
        return False
    for cast in around(element, "cast_expression", "call_expression", "expression_statement"):
        if cast.type == "expression_statement":
            break
        to = cast.child_by_field_name("type") or cast.child_by_field_name("function")
        text = syntax.text(to) if to is not None else b""
        if b"&" in text or text.startswith((b"const_cast", b"reinterpret_cast")):
            return True
    above = element.parent
    if is_plain or above is None or above.type != "field_expression":
        return False
    field = above.child_by_field_name("field")
    outer = above.parent
    if is_changed(use.name) or (outer is not None and outer.type == "call_expression"):
        return True
    if outer is not None and outer.type == "subscript_expression":
        return False
    return field is None or meanings.is_array(syntax.text(field))
