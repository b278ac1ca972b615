"""Places in a user's file: lines that are put before others, functions, what is evaluated when."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lmemscope.formats.demangle import plain_name
from lmemscope.model import Edit, KernelFacts, SourceLocation, is_library
from lmemscope.rewrites.base import Target
from lmemscope.rewrites.places import is_declared_name
from lmemscope.rewrites.seen import is_qualified_library
from lmemscope.sources.syntax import BRANCHES, PLAIN_TYPES, Syntax, around, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_REGISTER_CAP = re.compile(rb"__maxnreg__\s*\([^()]*\)\s*")
BLOCKS = ("compound_statement", "case_statement")
"""What statements stand in, one after the other."""


def is_here(target: Target, place: SourceLocation | None) -> bool:
    """Whether a location is in the file that may be edited."""
    return place is not None and os.path.abspath(place.file) == target.path


def in_file(target: Target, file: str) -> Target | None:
    """The target with another file of the user's to edit; None of a library's, or an unread one."""
    path = os.path.abspath(file)
    if path == target.path:
        return target
    syntax = None if is_library(file) else target.tree(path)
    return None if syntax is None else replace(target, path=path, syntax=syntax)


def homes(target: Target, *words: bytes) -> Iterator[Target]:
    """The target in each of its files, but a library's, that holds one of some words."""
    for path, syntax in target.trees(*words):
        if path == target.path:
            yield target
        elif not is_library(path):
            yield replace(target, path=path, syntax=syntax)


def files_of(target: Target) -> tuple[Target, ...]:
    """The target in each file that instructions of its findings come from."""
    files = dict.fromkeys(
        place.file
        for hit in target.hits
        for place in (
            hit.finding.location,
            *(frame.location for one in hit.case.accesses for frame in one.chain),
        )
        if place is not None
    )
    found = {target.path: target}
    for one in (in_file(target, file) for file in files):
        if one is not None:
            found.setdefault(one.path, one)
    return tuple(found.values())


def lines_of(target: Target) -> frozenset[int]:
    """Lines (1-based) of the file that the findings' instructions come from, callers included."""
    return frozenset(
        frame.location.line
        for hit in target.hits
        for access in (*hit.case.accesses, *hit.case.generic)
        for frame in access.chain
        if is_here(target, frame.location)
    )


def before(target: Target, node: Node, *lines: bytes) -> Edit | None:
    """An edit that puts lines of their own before a node; None where there can be none.

    No line can stand in a line that goes on behind a backslash, nor in a macro's arguments.
    """
    syntax = target.syntax
    begin, end = syntax.line_start(node.start_byte), syntax.lines_end()
    if is_continued(target, begin) or in_arguments(node, target):
        return None
    indent = syntax.indent(node)
    text = b"".join(indent + line + end for line in lines)
    if not syntax.data[begin : node.start_byte].strip():
        return target.edit(begin, begin, text)
    at = node.start_byte
    if not any(line.startswith(b"#") for line in lines):
        return target.edit(at, at, b"".join(line + b" " for line in lines))
    # The blanks between would be left at the end of the line.
    blanks = len(syntax.data[begin:at]) - len(syntax.data[begin:at].rstrip())
    return target.edit(at - blanks, at, end + text + indent)


def indent_unit(function: Node, syntax: Syntax) -> bytes:
    """The blanks by which a function's body is indented in it; two where it does not show."""
    body = function.child_by_field_name("body")
    inside = body.named_children if body is not None else ()
    first = next((one for one in inside if one.type != "comment"), None)
    if first is not None and first.start_point.row > function.start_point.row:
        outer, inner = syntax.indent(function), syntax.indent(first)
        if inner.startswith(outer) and inner != outer:
            return inner[len(outer) :]
    return b"  "


def may_be_body(statement: Node, syntax: Syntax) -> bool:
    """Whether a statement in a block may be the body of a macro's loop: ``EACH(i, n) f(i);``.

    What is put before such a statement, or left when it is gone, would be the body in its place.
    """
    one = statement.prev_sibling
    while one is not None and (
        one.type in ("comment", "preproc_call") or syntax.text(one).startswith(b"_Pragma")
    ):
        one = one.prev_sibling
    text = b"" if one is None else syntax.text(one)
    if one is not None and one.type in BRANCHES:
        text = text.removesuffix(b"#endif").rstrip()
    return text[-1:] not in (b";", b"{", b"}", b":")


def is_continued(target: Target, begin: int) -> bool:
    """Whether the line before one that begins somewhere goes on in it."""
    return target.syntax.data[:begin].rstrip(b"\r\n").endswith(b"\\") and begin > 0


def in_arguments(node: Node, target: Target) -> bool:
    """Whether a statement stands among a macro's arguments, where no directive may be.

    A function takes statements in a lambda alone; what is called in capitals is a macro.
    """
    in_lambda = False
    for above in around(node, "argument_list", "lambda_expression"):
        if above.type == "lambda_expression":
            in_lambda = True
            continue
        called = above.parent.child_by_field_name("function") if above.parent is not None else None
        if not in_lambda or called is None:
            return True
        if target.syntax.text(called).rpartition(b"::")[2].isupper():
            return True
    return False


def is_own(called: Node, target: Target) -> bool:
    """Whether what is called may be the program's own function, variable or macro of the name."""
    text = target.syntax.text(called).partition(b"<")[0].strip()
    name = text.rpartition(b"::")[2].strip()
    if is_qualified_library(text):
        return bool(target.meanings.definitions((name,)))
    return bool(target.meanings.reached((name,))) or name in _declared_names(target.syntax)


@functools.lru_cache(maxsize=4)
def _declared_names(syntax: Syntax) -> frozenset[bytes]:
    """What a file declares that may be called: functions, also without a body, and variables."""
    return frozenset(
        syntax.text(one)
        for one in walk(syntax.root)
        if (is_declared_name(one) if one.type == "identifier" else _is_member(one))
        and not _is_number(one)
    )


def _is_member(name: Node) -> bool:
    above = name.parent
    return name.type == "field_identifier" and (
        above is not None and above.type in ("function_declarator", "field_declaration")
    )


def _is_number(name: Node) -> bool:
    """Whether a name is declared as a number, which is not called."""
    made = name.parent
    if made is not None and made.type == "init_declarator":
        made = made.parent
    kind = None if made is None else made.child_by_field_name("type")
    return kind is not None and kind.type in PLAIN_TYPES


def kernels(target: Target, of: Iterable[KernelFacts] | None = None) -> tuple[Node, ...] | None:
    """Definitions of kernels; None where one is not in the file.

    Args:
        target: in whose file they are.
        of: which; None means those that have the findings.
    """
    found: list[Node] = []
    for facts in (hit.facts for hit in target.hits) if of is None else of:
        place = facts.location
        name = plain_name(facts.demangled)
        if facts.kind != "entry" or place is None or not is_here(target, place):
            return None
        own = [
            node
            for node in target.syntax.functions(name)
            if node.start_point.row <= place.line - 1 <= node.end_point.row
        ]
        if len(own) != 1:
            return None
        found += [node for node in own if node not in found]
    return tuple(found)


def casts_const_away(use: Node, syntax: Syntax) -> bool:
    """Whether a use stands in a cast that could make what is const changeable."""
    for above in around(use, "cast_expression", "call_expression"):
        if above.type == "cast_expression":
            to = above.child_by_field_name("type")
            text = b"*&" if to is None else syntax.text(to)
            if (b"*" in text or b"&" in text) and b"const" not in text.split():
                return True
        called = above.child_by_field_name("function")
        if called is not None and syntax.text(called).startswith(b"const_cast"):
            return True
    return False


def said_of(wanted: bytes, target: Target) -> Iterator[Node]:
    """Definitions and declarations of functions of an unqualified name."""
    kinds = ("function_definition", "declaration", "template_instantiation", "field_declaration")
    for node in walk(target.syntax.root) if wanted in target.syntax.code else ():
        if node.type not in kinds or any(True for _ in around(node, "compound_statement")):
            continue
        if any(one.type == "function_declarator" for one in declarators(node)) and (
            target.syntax.function_name(node) == wanted
        ):
            yield node


def declarators(node: Node) -> Iterator[Node]:
    """The declarators around the name that a node declares, outermost first."""
    inner = node.child_by_field_name("declarator")
    while inner is not None:
        yield inner
        inner = inner.child_by_field_name("declarator") or next(
            (one for one in inner.named_children if one.type.endswith("declarator")), None
        )


def body_start(function: Node) -> int:
    """Where a function's body begins; of a declaration, where it ends."""
    body = function.child_by_field_name("body")
    return body.start_byte if body is not None else function.end_byte


def first_in(target: Target, body: Node, statement: bytes) -> Edit | None:
    """An edit that makes a statement a block's first; None where it cannot be placed."""
    syntax, at = target.syntax, body.start_byte + 1
    if body.type != "compound_statement" or is_continued(target, syntax.line_start(at)):
        return None
    inside = [one for one in body.named_children if one.type != "comment"]
    if not inside or inside[0].start_point.row == body.start_point.row:
        return target.edit(at, at, b" " + statement)
    return target.edit(at, at, syntax.lines_end() + syntax.indent(inside[0]) + statement)


def register_caps(target: Target, name: bytes) -> Iterator[Edit]:
    """Edits that take `__maxnreg__` out of each declaration of a kernel in the file.

    The grammar does not know them, and reads what is around them in many ways.
    """
    data = target.syntax.code
    for found in _REGISTER_CAP.finditer(data):
        begin = max(data.rfind(mark, 0, found.start()) for mark in (b";", b"{", b"}", b"\n#"))
        ends = [data.find(mark, found.end()) for mark in (b";", b"{")]
        end = min((one for one in ends if one >= 0), default=len(data))
        head = data[begin + 1 : end]
        if b"__global__" not in head:
            continue
        if re.search(rb"\b" + re.escape(name) + rb"\s*\(", head) is not None:
            yield target.edit(found.start(), found.end(), b"")
