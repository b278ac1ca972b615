"""What launches in sight give a kernel's parameters: a promise that one breaks is not made."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lmemscope.rewrites.base import DeclinedError, Target
from lmemscope.rewrites.loops import constant_at
from lmemscope.rewrites.written import kernels
from lmemscope.rules.launch_syntax import parameter_name
from lmemscope.rules.launched_elsewhere import arguments
from lmemscope.sources.syntax import Syntax

if TYPE_CHECKING:
    from tree_sitter import Node


def check_given(name: bytes, most: int, target: Target, least: int | None = None) -> None:
    """That no launch in sight gives a parameter more than a number, or less than another.

    Args:
        name: of a kernel's parameter; of anything else nothing is known.
        most: the largest number.
        target: whose kernels are launched.
        least: the smallest number, or None.

    Raises:
        DeclinedError: one does.
    """
    sources = target.hits[0].case.sources
    for function in kernels(target) or ():
        names, kernel = _names(function, target.syntax), target.syntax.function_name(function)
        if name not in names or kernel is None:
            continue
        position = names.index(name)
        given = arguments(kernel.decode(), position, target.path, sources, target.files)
        for number, place in sorted(given, key=lambda one: -one[0]):
            if number > most:
                bound = f"more than {most}"
            elif least is not None and number < least:
                bound = f"less than {least}"
            else:
                continue
            is_own = os.path.abspath(place.file) == target.path
            file = "line " if is_own else f"{os.path.basename(place.file)}:"
            said = name.decode(errors="replace")
            raise DeclinedError(
                f"the launch at {file}{place.line} gives `{said}` {number}, {bound}"
            )


def check_bound(bound: Node, most: int, target: Target) -> None:
    """That no launch in sight makes a loop's bound more than a number.

    Args:
        bound: a kernel's parameter, perhaps with constants: ``4 * columns + 1``.
        most, target: as of `check_given`.

    Raises:
        DeclinedError: one does.
    """
    if bound.type == "identifier":
        check_given(target.syntax.text(bound), most, target)
    elif bound.type == "parenthesized_expression" and bound.named_child_count == 1:
        check_bound(bound.named_children[0], most, target)
    elif bound.type == "binary_expression":
        sides = [bound.child_by_field_name(side) for side in ("left", "right")]
        operator = bound.child_by_field_name("operator")
        first, second = (one and constant_at(one, target) for one in sides)
        sign = operator.type if operator is not None else ""
        if sides[0] is not None and second is not None and first is None:
            limits = {"+": most - second, "-": most + second}
            if second > 0:
                limits |= {"*": most // second, "/": most * second + second - 1}
            if sign in limits:
                check_bound(sides[0], limits[sign], target)
        elif sides[1] is not None and first is not None and second is None:
            if sign == "+":
                check_bound(sides[1], most - first, target)
            elif sign == "*" and first > 0:
                check_bound(sides[1], most // first, target)


def _names(function: Node, syntax: Syntax) -> list[bytes]:
    """The names of a function's parameters."""
    return [
        parameter_name(syntax.text(one).decode(errors="replace")).encode()
        for one in syntax.parameters(function)
    ]
