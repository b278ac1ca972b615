"""Whether the launch bounds of kernels are what they are now in every compilation of a project.

Shared memory for each thread is made for the bounds that were compiled. Where another architecture,
or a build with another ``-D``, has wider ones, its blocks would write beyond it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from lmemscope.formats.demangle import plain_name
from lmemscope.model import KernelFacts
from lmemscope.rewrites.base import Target
from lmemscope.rewrites.settled import are_settled
from lmemscope.rewrites.written import declarators, in_file, said_of
from lmemscope.sources.syntax import around, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_WORD = re.compile(rb"[A-Za-z_]\w*")
_BOUNDS = re.compile(rb"__launch_bounds__")


def has_fixed_bounds(kernels: Iterable[KernelFacts], target: Target) -> bool:
    """Whether declarations in sight bound each of some kernels by one number.

    A parameter of the kernel's template is one, as long as all instances are in sight.
    """
    return all(_is_fixed(one, target) for one in kernels)


def _is_fixed(facts: KernelFacts, target: Target) -> bool:
    name = plain_name(facts.demangled).encode()
    homes = (in_file(target, file) for file in target.files)
    said = [(home, one) for home in homes if home is not None for one in said_of(name, home)]
    found = [
        (home, one, own) for home, one in said for own in [_names(one, home)] if own is not None
    ]
    return bool(found) and all(
        are_settled(own - _given_by_template(one, home), one, home) for home, one, own in found
    )


def _names(declaration: Node, home: Target) -> set[bytes] | None:
    """Names that decide how many threads a declaration allows; None where it says nothing."""
    syntax, meanings = home.syntax, home.meanings
    for one in declaration.children:
        if one.type == "launch_bounds":
            first = next((node for node in one.named_children if node.type != "comment"), None)
            inside = () if first is None else walk(first)
            return {syntax.text(node) for node in inside if node.type.endswith("identifier")}
    # A macro may say it, where the grammar does not read it as bounds.
    named = next(one for one in declarators(declaration) if one.type == "function_declarator")
    end = named.start_byte
    start = max(syntax.code.rfind(mark, 0, end) for mark in (b";", b"}", b"\n\n")) + 1
    words = set(_WORD.findall(syntax.code[start:end]))
    if not meanings.macro_has(words, _BOUNDS):
        return None
    return words & meanings.macro_names


def _given_by_template(declaration: Node, home: Target) -> set[bytes]:
    """Names of the template's parameters around a declaration that no other source contains."""
    if home.hits[0].case.sources.is_elsewhere(home.path):
        return set()
    return {
        home.syntax.text(node)
        for template in around(declaration, "template_declaration")
        for given in [template.child_by_field_name("parameters")]
        if given is not None
        for node in walk(given)
        if node.type in ("identifier", "type_identifier")
    }
