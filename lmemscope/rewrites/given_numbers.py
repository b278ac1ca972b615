"""What launches in sight give a kernel's parameters: a promise that one breaks is not made."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lmemscope.rewrites.base import DeclinedError, Target
from lmemscope.rewrites.written import kernels
from lmemscope.rules.launch_syntax import parameter_name
from lmemscope.rules.launched_elsewhere import largest_argument
from lmemscope.sources.syntax import Syntax

if TYPE_CHECKING:
    from tree_sitter import Node


def check_given(name: bytes, most: int, target: Target) -> None:
    """That no launch in sight gives a parameter more than a number.

    Args:
        name: of a kernel's parameter; of anything else nothing is known.
        most: the largest number.
        target: whose kernels are launched.

    Raises:
        DeclinedError: one does.
    """
    sources = target.hits[0].case.sources
    for function in kernels(target) or ():
        names, kernel = _names(function, target.syntax), target.syntax.function_name(function)
        if name not in names or kernel is None:
            continue
        position = names.index(name)
        largest = largest_argument(kernel.decode(), position, target.path, sources, target.files)
        if largest is not None and largest[0] > most:
            said, (number, place) = name.decode(errors="replace"), largest
            is_own = os.path.abspath(place.file) == target.path
            where = (
                f"line {place.line}" if is_own else f"{os.path.basename(place.file)}:{place.line}"
            )
            raise DeclinedError(f"the launch at {where} gives `{said}` {number}, more than {most}")


def _names(function: Node, syntax: Syntax) -> list[bytes]:
    """The names of a function's parameters."""
    return [
        parameter_name(syntax.text(one).decode(errors="replace")).encode()
        for one in syntax.parameters(function)
    ]
