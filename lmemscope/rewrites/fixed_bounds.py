"""Whether the launch bounds of kernels are what they are now in every compilation of a project.

Shared memory for each thread is made for the bounds that were compiled. Where another architecture,
or a build with another ``-D``, has wider ones, its blocks would write beyond it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from lmemscope.formats.demangle import plain_name
from lmemscope.model import KernelFacts
from lmemscope.rewrites.base import Target
from lmemscope.rewrites.settled import are_settled
from lmemscope.rewrites.written import declarators, homes, said_of
from lmemscope.sources.syntax import Syntax, around

if TYPE_CHECKING:
    from tree_sitter import Node

_WORD = re.compile(rb"[A-Za-z_]\w*")
_GIVEN = re.compile(rb"<([^<>;{}()]{1,200})>")
_BOUNDS = re.compile(rb"__launch_bounds__")


def has_fixed_bounds(kernels: Iterable[KernelFacts], target: Target) -> bool:
    """Whether declarations in sight bound each of some kernels by one number.

    A parameter of the kernel's template is one, as long as all instances are in sight and no
    template's argument is a macro that may have another value.
    """
    return all(_is_fixed(one, target) for one in kernels)


def _is_fixed(facts: KernelFacts, target: Target) -> bool:
    name = plain_name(facts.demangled).encode()
    said = [(home, one) for home in homes(target, name) for one in said_of(name, home)]
    found = [
        (home, one, names)
        for home, one in said
        for names in [_names(one, _parameters(one, home), home)]
        if names is not None
    ]
    return bool(found) and all(are_settled(names, one, home) for home, one, names in found)


def _names(declaration: Node, parameters: frozenset[bytes], home: Target) -> set[bytes] | None:
    """Names that decide how many threads a declaration allows; None where it says nothing.

    Args:
        declaration: of a kernel.
        parameters: of its template.
        home: in whose file.
    """
    syntax, meanings = home.syntax, home.meanings
    for one in declaration.children:
        if one.type == "launch_bounds":
            first = next((node for node in one.named_children if node.type != "comment"), None)
            names = set() if first is None else set(_within(first, parameters, syntax))
            own, others = names & parameters, names - parameters
            if own and home.hits[0].case.sources.is_elsewhere(home.path):
                return names
            return others | _arguments(home) if own else others
    # A macro may say it, where the grammar does not read it as bounds.
    named = next(one for one in declarators(declaration) if one.type == "function_declarator")
    end = named.start_byte
    start = max(syntax.code.rfind(mark, 0, end) for mark in (b";", b"}", b"\n\n")) + 1
    words = set(_WORD.findall(syntax.code[start:end]))
    return words & meanings.macro_names if meanings.macro_has(words, _BOUNDS) else None


def _within(node: Node, parameters: frozenset[bytes], syntax: Syntax) -> Iterator[bytes]:
    """Names in an expression; of a member of a template's parameter, that of the parameter."""
    scope = node.child_by_field_name("scope") if node.type == "qualified_identifier" else None
    if scope is not None and syntax.text(scope) in parameters:
        yield syntax.text(scope)
    elif node.type.endswith("identifier") and not node.named_children:
        yield syntax.text(node)
    else:
        for one in node.named_children:
            yield from _within(one, parameters, syntax)


def _arguments(home: Target) -> set[bytes]:
    """Macros among the arguments of templates."""
    given = (part for text in home.meanings.texts for part in _GIVEN.findall(text))
    return {word for part in given for word in _WORD.findall(part)} & home.meanings.macro_names


def _parameters(declaration: Node, home: Target) -> frozenset[bytes]:
    """Names of the parameters of the templates around a declaration."""
    return frozenset(
        home.syntax.text(name)
        for template in around(declaration, "template_declaration")
        for given in [template.child_by_field_name("parameters")]
        if given is not None
        for one in given.named_children
        for name in [one.child_by_field_name("declarator") or next(iter(one.named_children), None)]
        if name is not None and name.type in ("identifier", "type_identifier")
    )
