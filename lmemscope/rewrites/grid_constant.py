"""Read the parameter in place

The kernel's parameter becomes `const __grid_constant__`: it is read in constant memory, without a
copy per thread (sm_70 and newer). Every declaration of the kernel changes, in included headers too.

Safe if only members are read: a parameter that is modified does not compile as const. Unsafe if a
function gets it, a member function is called, a reference binds to a part of it, an array in it
decays to a pointer, or classes have non-const operators: there may be a const overload, or a cast.
Reads at addresses that differ between lanes go through the L1 cache.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lmemscope.model import Edit, Rewriting
from lmemscope.rewrites.base import DeclinedError, Rewrite, Target
from lmemscope.rewrites.unevaluated import is_sized
from lmemscope.rewrites.value_uses import element_at, takes_value
from lmemscope.rewrites.written import (
    casts_const_away,
    homes,
    kernels,
    said_of,
)
from lmemscope.sources.syntax import around, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_ROOT = re.compile(r"[A-Za-z_]\w*")


def propose(target: Target) -> Iterator[Rewriting]:
    """The parameter's declarations."""
    if any("parameter-changed" in hit.case.shown for hit in target.hits):
        raise DeclinedError("the kernel changes its copy of the parameter")
    root = _ROOT.match(target.name or "")
    found = kernels(target)
    if root is None or not found:
        return
    if any(
        hit.case.object is not None and hit.case.object.function != hit.facts.name
        for hit in target.hits
    ):
        return
    edits: list[Edit] = []
    for kernel in found:
        made = _edits(target, kernel, root[0].encode())
        if made is None and target.cause == "param-copy":
            raise DeclinedError(f"the kernel's text shows no parameter `{root[0]}` to be a copy")
        if made is None:
            return
        edits += made
    if edits:
        name = root[0]
        shared = any(_is_shared(target, kernel, name.encode()) for kernel in found)
        yield Rewriting(
            "grid-constant",
            "unsafe" if shared else "safe",
            tuple(dict.fromkeys(edits)),
            f"read the parameter `{name}` in place",
            f"no function or operator that gets `{name}`, or a part of it, casts the const away or "
            "has another overload for it"
            if shared
            else None,
        )


def _edits(target: Target, kernel: Node, name: bytes) -> list[Edit] | None:
    """The edits for a kernel's declarations; None where it is no parameter that is a value.

    Raises:
        DeclinedError: something may change the parameter, or part of the kernel is not understood.
    """
    given = target.syntax.parameters(kernel)
    body = kernel.child_by_field_name("body")
    if body is None:
        return None
    position = next((n for n, one in enumerate(given) if _name(one, target) == name), None)
    if position is None:
        return None
    if body.has_error:
        line = next(one for one in walk(body) if one.type == "ERROR" or one.is_missing)
        raise DeclinedError(
            f"the kernel's text near line {line.start_point.row + 1} is in a form that is not read"
        )
    _check(target, body, name)
    edits: list[Edit] = []
    own = target.syntax.function_name(kernel)
    if own is None:
        return edits
    for place in homes(target, own):
        for said in said_of(own, place):
            others = place.syntax.parameters(said)
            if not _is_same((target, given), (place, others), said):
                continue  # Another function of the name.
            edit = _edit(place, others[position])
            if edit is None:
                if place is target and said == kernel:
                    return None
                continue
            edits.append(edit)
    return edits


def _is_shared(target: Target, kernel: Node, name: bytes) -> bool:
    """Whether more is taken of the parameter than values of its members."""
    body, syntax = kernel.child_by_field_name("body"), target.syntax
    if target.meanings.tells_const():
        return True  # An operator may be called where none is seen.
    for use in walk(body) if body is not None else ():
        if use.type != "identifier" or syntax.text(use) != name or is_sized(use, syntax):
            continue
        place = element_at(use, b"", 0, target)
        if place is None or place == use or not takes_value(place, b"", target):
            return True
    return False


def _edit(target: Target, parameter: Node) -> Edit | None:
    """The words that a parameter lacks; None of one that is no value, or is read in place."""
    declarator = parameter.child_by_field_name("declarator")
    if declarator is not None and declarator.type != "identifier":
        return None  # A pointer, a reference or an array: no value that is copied.
    kind = parameter.child_by_field_name("type")
    if kind is None or parameter.has_error:
        return None
    words = target.syntax.text(parameter).split()
    if b"__grid_constant__" in words:
        if target.cause != "param-copy":
            return None
        raise DeclinedError("it is `__grid_constant__` already, and copied where it is passed on")
    behind = [one for one in parameter.children if one.type == "type_qualifier"]
    is_const = any(target.syntax.text(one) == b"const" for one in behind)
    if any(target.syntax.text(one) == b"volatile" for one in behind):
        return None
    at = parameter.start_byte
    return target.edit(at, at, b"__grid_constant__ " if is_const else b"const __grid_constant__ ")


def _is_same(
    own: tuple[Target, Sequence[Node]], other: tuple[Target, Sequence[Node]], said: Node
) -> bool:
    """Whether parameters are those of one function; of an instance only their number tells.

    Args:
        own, other: the parameters, and the file that they stand in.
        said: the other declaration.
    """
    (target, given), (place, others) = own, other
    if len(given) != len(others):
        return False
    instance = said.type == "template_instantiation" or any(
        True for _ in around(said, "template_declaration")
    )
    return instance or all(
        _type(target, one) == _type(place, two) for one, two in zip(given, others, strict=True)
    )


def _type(target: Target, parameter: Node) -> tuple[bytes, int]:
    """A parameter's type as written, and how many pointers, references or arrays there are."""
    kind = parameter.child_by_field_name("type")
    default = parameter.child_by_field_name("default_value")
    marks = sum(
        one.type in ("*", "&", "&&", "[")
        for one in walk(parameter)
        if default is None or one.end_byte <= default.start_byte
    )
    return (b"" if kind is None else b"".join(target.syntax.text(kind).split())), marks


def _name(parameter: Node, target: Target) -> bytes | None:
    declarator = parameter.child_by_field_name("declarator")
    if declarator is None or declarator.type != "identifier":
        return None
    return target.syntax.text(declarator)


def _check(target: Target, body: Node, name: bytes) -> None:
    """That nothing could change the parameter but what does not compile once it is const.

    Raises:
        DeclinedError: something could.
    """
    syntax = target.syntax
    if name in syntax.macros:
        raise DeclinedError(f"`{name.decode(errors='replace')}` is a macro, too")
    for use in walk(body):
        if use.type != "identifier" or syntax.text(use) != name:
            continue
        line = use.start_point.row + 1
        if casts_const_away(use, syntax):
            raise DeclinedError(f"a cast on line {line} may take const away")
        if _is_address(use, target) and any(True for _ in around(use, "gnu_asm_expression")):
            raise DeclinedError(f"inline assembly gets the parameter's address on line {line}")


def _is_address(use: Node, target: Target) -> bool:
    return any(
        target.syntax.text(above).lstrip().startswith(b"&")
        for above in around(use, "pointer_expression")
    )


REWRITE = Rewrite(
    "grid-constant",
    frozenset({"param-copy", "dynamic-index", "rolled-loop"}),
    propose,
    __name__,
    nothing="it is not read as a parameter of the kernel that is only copied to be read",
)
