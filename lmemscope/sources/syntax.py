"""A user's file as a CUDA C++ syntax tree: declarations and uses of variables.

The grammar is tree-sitter's for CUDA. It parses one file before preprocessing, so the results of
macros are not visible. Code that edits by it must check `Syntax.is_broken` and `Syntax.macros`
first, and compile the result.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lmemscope.model.blanked import blanked_bytes

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_DECLARATORS = (
    "array_declarator",
    "init_declarator",
    "pointer_declarator",
    "reference_declarator",
    "parenthesized_declarator",
    "attributed_declarator",
)
_NAMES = ("identifier", "field_identifier")
_PRAGMA = re.compile(rb"^([ \t]*)#(?:[ \t](?=[ \t]*pragma\b)|p(?=ragma\b))", re.MULTILINE)
_QUALIFIER = re.compile(
    rb"\b__(?:maxnreg|cluster_dims|block_size)__\s*+\((?:[^();{}]|\([^();{}]{0,200}\)){0,200}\)"
)
"""Kernel qualifiers that the grammar does not know: it would parse what follows as another
declaration."""
FUNCTIONS = ("function_definition", "lambda_expression")
BRANCHES = ("preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif", "preproc_elifdef")
PLAIN_TYPES = ("primitive_type", "sized_type_specifier")
"""Types of numbers, which are not classes."""
_CASTS = (b"static_cast", b"reinterpret_cast", b"const_cast", b"dynamic_cast")
_CHANGING = {"update_expression": "argument", "assignment_expression": "left"}
_LABELLED = ("case_statement", "labeled_statement")
_OUTER = (
    "translation_unit",
    "declaration_list",
    "linkage_specification",
    "namespace_definition",
    *BRANCHES,
)
"""Nodes that contain the items of a namespace."""


@dataclass(frozen=True, slots=True)
class Declared:
    """A variable's declaration in a block.

    Attributes:
        statement: the whole declaration.
        declarator: of this variable, including its initializer.
        name: the name in it.
        array: its outermost array declarator; None if it is not an array.
        value: its initializer, or None.
        function: the outermost function that contains it.
        scope: the block in which it is visible.
    """

    statement: Node
    declarator: Node
    name: Node
    array: Node | None
    value: Node | None
    function: Node
    scope: Node

    @property
    def first(self) -> Node:
        """The declaration's first declarator: what precedes it applies to all of them."""
        return self.statement.children_by_field_name("declarator")[0]

    @property
    def extents(self) -> tuple[Node | None, ...]:
        """The extents as written, outermost first; None for ``[]``."""
        found: list[Node | None] = []
        node = self.array
        while node is not None and node.type == "array_declarator":
            found.append(node.child_by_field_name("size"))
            node = node.child_by_field_name("declarator")
        return tuple(reversed(found))


def _blanks(found: re.Match[bytes]) -> bytes:
    return re.sub(rb"[^\r\n]", b" ", found[0])


class Syntax:
    """A file's tree, without comments and branches that are never compiled.

    Attributes:
        data: the file's bytes, which a patch keeps or moves.
        code: the same with comments and the contents of literals blanked at unchanged positions;
            used for searching, counting and matching.
        uncommented: the same with literals kept.
        odd_line: the first line with unsupported tokens; None if there is none.

    Args:
        data: the file's bytes.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.code, self.uncommented, self.odd_line = blanked_bytes(data)

    @functools.cached_property
    def root(self) -> Node:
        """The tree, built on demand: for many files only the text is needed."""
        # A pragma may appear between any two tokens, like a comment. The grammar knows it only
        # between statements, and would end a loop header that one follows.
        text = _PRAGMA.sub(rb"\1//", self.uncommented)
        return _parser().parse(_QUALIFIER.sub(_blanks, text)).root_node

    def text(self, node: Node) -> bytes:
        """The text of a node, with comments blanked."""
        return self.uncommented[node.start_byte : node.end_byte]

    def code_of(self, node: Node) -> bytes:
        """The text of a node, with comments and the contents of literals blanked."""
        return self.code[node.start_byte : node.end_byte]

    def source(self, node: Node) -> bytes:
        """The bytes of a node, unchanged."""
        return self.data[node.start_byte : node.end_byte]

    def lines_end(self) -> bytes:
        """The file's line end."""
        return b"\r\n" if b"\r\n" in self.data else b"\n"

    def indent(self, node: Node) -> bytes:
        """The indentation of the line on which a node begins."""
        begin = self.line_start(node.start_byte)
        found = re.compile(rb"[ \t]*").match(self.data, begin)
        return found[0] if found is not None else b""

    def line_start(self, at: int) -> int:
        """Start of the line that contains a byte offset."""
        return self.data.rfind(b"\n", 0, at) + 1

    def declared(self, name: str, line: int) -> Declared | None:
        """The local variable of a name that is declared on a line (1-based)."""
        for node in self.on_line(line):
            if node.type not in _NAMES or self.text(node) != name.encode():
                continue
            found = self.declared_by(node)
            if found is not None:
                return found
        return None

    def declared_by(self, name: Node) -> Declared | None:
        """The local variable that a name in a declaration declares; None for other names."""
        array, value, node = None, None, name
        while node.parent is not None and node.parent.type in _DECLARATORS:
            parent = node.parent
            if not _is_field(parent, "declarator", node):
                return None
            if parent.type == "array_declarator":
                array = parent
            elif parent.type == "init_declarator":
                value = parent.child_by_field_name("value")
            node = parent
        statement = node.parent
        if statement is None or statement.type != "declaration":
            return None
        scope, function = statement.parent, outermost(statement, FUNCTIONS)
        while scope is not None and (scope.type.startswith("preproc_") or scope.type in _LABELLED):
            scope = scope.parent  # branches of `#if` and cases are not scopes
        if scope is None or function is None or not _is_field(statement, "declarator", node):
            return None
        return Declared(statement, node, name, array, value, function, scope)

    def uses(self, name: Node, scope: Node) -> tuple[Node, ...]:
        """Occurrences of a variable's name after its declaration within a scope, in order."""
        wanted = self.text(name)
        return tuple(
            node
            for node in walk(scope)
            if node.type in _NAMES
            and node.start_byte > name.start_byte
            and self.text(node) == wanted
            and (
                node.parent is None
                or node.parent.type != "field_expression"
                or not _is_field(node.parent, "field", node)
            )
        )

    def on_line(self, line: int) -> Iterator[Node]:
        """Nodes that begin on a line (1-based)."""
        row = line - 1
        pending = [self.root]
        while pending:
            node = pending.pop()
            if node.start_point.row == row:
                yield node
            pending += [
                child
                for child in reversed(node.children)
                if child.start_point.row <= row <= child.end_point.row
            ]

    def functions(self, name: str) -> tuple[Node, ...]:
        """Function definitions with an unqualified name."""
        wanted = name.encode()
        return tuple(one for one in self._definitions if self.function_name(one) == wanted)

    def functions_at(self, line: int) -> tuple[Node, ...]:
        """Function definitions that contain a line (1-based)."""
        row = line - 1
        return tuple(
            one for one in self._definitions if one.start_point.row <= row <= one.end_point.row
        )

    @functools.cached_property
    def _definitions(self) -> tuple[Node, ...]:
        """All function definitions, in order."""
        return tuple(one for one in walk(self.root) if one.type == "function_definition")

    def function_name(self, function: Node) -> bytes | None:
        """The unqualified name of a defined function."""
        node = function.child_by_field_name("declarator")
        while node is not None and node.type not in _NAMES:
            if node.type in ("qualified_identifier", "template_function"):
                node = node.child_by_field_name("name")
            else:
                node = node.child_by_field_name("declarator") or next(
                    (one for one in node.named_children if one.type.endswith("declarator")), None
                )
        return self.text(node) if node is not None else None

    def parameters(self, function: Node) -> tuple[Node, ...]:
        """The declarations of a function's parameters, in order."""
        node = function.child_by_field_name("declarator")
        while node is not None and node.type != "function_declarator":
            node = node.child_by_field_name("declarator") or next(
                (one for one in node.named_children if one.type.endswith("declarator")), None
            )
        found = node.child_by_field_name("parameters") if node is not None else None
        if found is None:
            return ()
        return tuple(one for one in found.named_children if one.type.endswith("declaration"))

    def item(self, node: Node) -> Node:
        """The namespace item that contains a node; new declarations can be inserted before it."""
        while node.parent is not None and node.parent.type not in _OUTER:
            node = node.parent
        return node

    def is_guard(self, branch: Node) -> bool:
        """Whether an ``#ifndef`` is an include guard: it defines the name first."""
        name = branch.child_by_field_name("name")
        first = next((one for one in branch.named_children if one != name), None)
        defined = first.child_by_field_name("name") if first is not None else None
        return (
            branch.type == "preproc_ifdef"
            and name is not None
            and defined is not None
            and first is not None
            and first.type == "preproc_def"
            and self.text(defined) == self.text(name)
        )

    def file_item(self, node: Node) -> Node:
        """The top-level item that contains a node: a namespace, if the node is in one."""
        found = node
        while node.parent is not None:
            if node.type not in BRANCHES and node.type != "translation_unit":
                found = node
            node = node.parent
        return found

    def documented_start(self, item: Node) -> int:
        """Start of the comment directly above an item; else of the item's line."""
        start = at = own = self.line_start(item.start_byte)
        is_open = False  # inside a multi-line comment, scanning upwards
        while at:
            begin = self.line_start(at - 1)
            text = self.data[begin:at].strip()
            if self.uncommented[begin:at].strip() or not (text or is_open):
                break
            begins = text.startswith(b"/*") or (text.startswith(b"//") and not is_open)
            if begins:
                start, is_open = begin, False
            elif text.endswith(b"*/"):
                is_open = True
            elif not is_open:
                break
            at = begin
        # Not inside another comment, nor in a branch that is never compiled.
        return start if blanked_bytes(self.data[:start] + b"x")[1].endswith(b"x") else own

    @functools.cached_property
    def macros(self) -> frozenset[bytes]:
        """Words in the bodies of the file's own macros, without their parameters."""
        found: set[bytes] = set()
        for node in walk(self.root):
            if node.type in ("preproc_def", "preproc_function_def"):
                value = node.child_by_field_name("value")
                given = node.child_by_field_name("parameters")
                body = self.text(value) if value is not None else b""
                own = self.text(given) if given is not None else b""
                word = rb"[A-Za-z_]\w*"
                found |= set(re.findall(word, body)) - set(re.findall(word, own))
        return frozenset(found)

    def words(self) -> frozenset[bytes]:
        """Every word in the file."""
        return frozenset(re.findall(rb"[A-Za-z_]\w*", self.code))


def is_broken(node: Node, name: bytes) -> bool:
    """Whether a name is in a part of a node that the grammar could not parse.

    Parse errors elsewhere, such as a macro before a statement, do not affect where the name is
    used.
    """
    if not node.has_error:
        return False
    return any(
        one.type == "ERROR" and name in re.findall(rb"[A-Za-z_]\w*", one.text or b"")
        for one in walk(node)
    )


def is_cast(call: Node) -> bool:
    """Whether what the grammar parses as a call is a cast: ``static_cast<T>(x)``, ``int(x)``."""
    called = call.child_by_field_name("function")
    if called is not None and called.type == "template_function":
        name = called.child_by_field_name("name")
        return name is not None and name.text in _CASTS
    return called is not None and called.type == "primitive_type"


def walk(node: Node) -> Iterator[Node]:
    """A node and all of its descendants, in text order."""
    pending = [node]
    while pending:
        found = pending.pop()
        yield found
        if below := found.children:
            pending += below[::-1]


def holds(outer: Node, inner: Node) -> bool:
    """Whether a node is inside another one, or is the same."""
    return outer.start_byte <= inner.start_byte and inner.end_byte <= outer.end_byte


def changed(node: Node) -> Node | None:
    """What an assignment or an increment changes; None for other expressions."""
    field = _CHANGING.get(node.type)
    return None if field is None else node.child_by_field_name(field)


def first_named(node: Node) -> Node | None:
    """The first child that is not punctuation; None for an empty statement."""
    return next(iter(node.named_children), None)


def outermost(node: Node, types: tuple[str, ...]) -> Node | None:
    """The outermost enclosing node of given types."""
    found, above = None, node.parent
    while above is not None:
        if above.type in types:
            found = above
        above = above.parent
    return found


def around(node: Node, *types: str) -> Iterator[Node]:
    """Enclosing nodes of given types, innermost first."""
    above = node.parent
    while above is not None:
        if above.type in types:
            yield above
        above = above.parent


def _is_field(parent: Node, field: str, child: Node) -> bool:
    return any(one == child for one in parent.children_by_field_name(field))


@functools.cache
def _parser() -> Parser:
    import tree_sitter_cuda
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_cuda.language()))
