"""An array's class carried into the functions that get it: copies of them that take the class.

A function that takes a pointer gets an overload beside it that takes the array as the class it has
become. Calls with the array choose it, and all other calls stay as they are. A function that
nothing else calls or names is changed in its place: its copy would leave it without a use.

Where a call has several arrays, each is carried for itself, and one patch of all needs a function
that takes all as classes. The first of them brings it: a template of whatever views the others may
become. Only a view fits its parameters, so that without one the compiler makes nothing of it. What
has a single call is changed in its place for each array, and needs none.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from lmemscope.model import Edit
from lmemscope.rewrites.arrays import Elements, Use, elements, is_for_device
from lmemscope.rewrites.base import DeclinedError, Target
from lmemscope.rewrites.in_place import Copy, Place, in_place
from lmemscope.rewrites.places import array_at, is_declared_name
from lmemscope.sources.edits import patched
from lmemscope.sources.syntax import FUNCTIONS, Syntax, is_broken, outermost, walk

if TYPE_CHECKING:
    from tree_sitter import Node

Spelling = Callable[[bytes, bool, Sequence[bytes]], bytes]
"""The type of a parameter, of its elements' type, whether they are const, and the extents."""
Body = Callable[[Elements, Callable[[Use], None]], tuple[Edit, ...]]
"""The edits of a function's body that uses the array by a parameter's name."""
Bodies = Callable[[Sequence[Elements], "Passing", bool], tuple[Edit, ...]]
"""The same of a body that knows places of the array by several parameters. The last argument says
whether other arrays may be among the function's parameters: the body then stands, without these
edits, in copies of theirs, too."""

_MOST = 6
"""Functions that an array is carried into."""
_MOST_BESIDE = 2
"""Other arrays of a call that a function may take as views, too: copies for each choice of them."""
_WORD = re.compile(rb"[A-Za-z_]\w*")
_INLINING = re.compile(rb"\b(?:__noinline__|__forceinline__)\s*")
_SPECIFIERS = frozenset(b"__device__ __host__ static const constexpr __restrict__".split())
_KEPT = (b"static", b"__shared__", b"__device__", b"__constant__")
_EXTENTS = (b"lmem_count", b"lmem_inner", b"lmem_innermost")
_ELSEWHERE = ("class_specifier", "struct_specifier", "linkage_specification")


class Carrier:
    """Copies functions for an array.

    Args:
        target: whose array it is.
        extents: of the array, as its declaration has them.
        spelling: of parameters that take it.
        body: edits what a copy does with it.
        before: what each file that holds a copy needs before it.
        is_view: whether the class is a view, which other arrays may become beside this one: a
            template of a type and a number, of which a copy is the same elements.
        bodies: in the place of ``body``, where calls get places of the array (`Passing.places`).
    """

    def __init__(
        self,
        target: Target,
        extents: Sequence[bytes],
        spelling: Spelling,
        body: Body | None,
        before: Callable[[str, Syntax, Node], tuple[Edit, ...]],
        *,
        is_view: bool = False,
        bodies: Bodies | None = None,
    ) -> None:
        self._target, self._extents = target, tuple(extents)
        self._spelling, self._body, self._before = spelling, body, before
        self._is_view, self._bodies = is_view, bodies
        self._done: set[tuple[str, int, tuple[tuple[int, int], ...], tuple[int, ...]]] = set()
        self._copies: list[Copy] = []
        self._calls: dict[Place, Place | None] = {}

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The copies, and what they need before them; functions that are changed in place."""
        found: list[Edit] = []
        replaced = in_place(self._target, self._copies, self._calls)
        for one in self._copies:
            if one.place in replaced:
                found += () if one.has_views else (*one.before, *one.edits)
                continue
            found += one.before
            item, end = one.syntax.item(one.function), one.syntax.lines_end()
            copy = patched(one.syntax.source(item), one.edits, item.start_byte)
            # Another array's rewriting may bring the same copy.
            found.append(Edit(one.home, item.end_byte, item.end_byte, end + end + copy, "file"))
        return tuple(dict.fromkeys(found))

    def carry(
        self,
        path: str,
        syntax: Syntax,
        views: frozenset[bytes] = frozenset(),
        owner: Place | None = None,
    ) -> Passing:
        """Takes calls in a file that the array is an argument of.

        Args:
            path, syntax: of the file.
            views: parameters of the calling function that are views of other arrays there.
            owner: where the calling function begins, if it is one that the array is carried into.
        """
        return Passing(self, path, syntax, views, owner)

    def passed(
        self,
        path: str,
        syntax: Syntax,
        views: frozenset[bytes],
        call: Node,
        given: Mapping[int, int] | None,
        name: Node,
        owner: Place | None,
    ) -> None:
        """Copies what a call runs.

        Args:
            path, syntax, views, owner: as of `carry`.
            call: of the function.
            given: the arguments that are places of the array, by position, and how many subscripts
                each has until it is an element; None: the array itself is, by its name.
            name: of the array there.

        Raises:
            DeclinedError: the function cannot be copied.
        """
        called = call.child_by_field_name("function")
        list_ = call.child_by_field_name("arguments")
        line = name.start_point.row + 1
        if called is None or list_ is None or called.type == "field_expression":
            raise DeclinedError(f"line {line} gives it to a member function")
        written = syntax.text(called).partition(b"<")[0]
        named = _WORD.findall(written)[-1:]
        arguments = [one for one in list_.named_children if one.type != "comment"]
        if called.type == "identifier" and _is_variable(called, syntax):
            variable = syntax.text(called).decode(errors="replace")
            raise DeclinedError(
                f"`{variable}`, which line {line} gives it to, is not defined in sight: it is a "
                "variable"
            )
        if given is None:
            position = next(n for n, one in enumerate(arguments) if one == name)
            given = {position: len(self._extents)}
        if not named:
            raise DeclinedError(f"line {line} gives it to a function that is not known")
        self._calls[path, called.start_byte + written.rindex(named[0])] = owner
        beside = [
            n
            for n, one in enumerate(arguments)
            if n > min(given)
            and n not in given
            and self._is_view
            and self._may_be_view(one, syntax, views)
        ]
        self._copy(path, named[0].decode(), given, len(arguments), line, beside)

    def _copy(
        self,
        path: str,
        name: str,
        given: Mapping[int, int],
        count: int,
        line: int,
        beside: Sequence[int],
    ) -> None:
        home, syntax, function = self._definition(path, name, count, line)
        parameters = syntax.parameters(function)
        views = [one for one in beside if _is_pointer(parameters[one], syntax, name)]
        for chosen in _choices(views):
            key = (home, function.start_byte, tuple(sorted(given.items())), chosen)
            if key not in self._done:
                self._done.add(key)
                if len({one[:3] for one in self._done}) > _MOST:
                    raise DeclinedError("it is given to too many functions")
                self._written(home, syntax, function, name, line, given, chosen)

    def _written(
        self,
        home: str,
        syntax: Syntax,
        function: Node,
        name: str,
        line: int,
        given: Mapping[int, int],
        views: Sequence[int],
    ) -> None:
        if outermost(function, _ELSEWHERE) is not None:
            raise DeclinedError(f"`{name}` (line {line}) is a member or has C linkage")
        if not home.endswith((".cu", ".py")) and not is_for_device(function, syntax):
            raise DeclinedError(f"`{name}` (line {line}) is in a header that the host may read")
        body = function.child_by_field_name("body")
        if body is None or _calls_itself(function, name.encode(), syntax):
            raise DeclinedError(f"`{name}` (line {line}) calls itself")
        words = {syntax.text(one) for one in walk(body)}
        if words.intersection(_KEPT) or self._target.meanings.stores(words):
            raise DeclinedError(
                f"`{name}` (line {line}) has variables that its copy would not share"
            )
        item, extents = syntax.item(function), self._extents_in(syntax)
        made: list[Edit] = []
        deduced: list[bytes] = []
        uses: list[Elements] = []
        parameters = syntax.parameters(function)
        for position, dimensions in sorted(given.items()):
            parameter = parameters[position]
            own, element, is_const = _parameter(parameter, syntax, dimensions, name)
            if is_broken(function, syntax.text(own)):
                raise DeclinedError(f"`{name}` (line {line}) is not read completely")
            found = elements(home, syntax, own, body, dimensions, is_const=is_const)
            if any(use.kind == "size" for use in found.uses):
                raise DeclinedError(f"`{name}` (line {line}) asks for the size of its parameter")
            inner = extents[len(extents) - dimensions :]
            type_ = self._spelling(element, is_const, inner)
            made.append(Edit(home, parameter.start_byte, parameter.end_byte, type_ + found.name))
            heads = [b"int " + one for one in inner if one not in self._extents and one in type_]
            deduced += [one for one in heads if one not in deduced]
            uses.append(found)
        names: set[bytes] = set()
        for number, view in enumerate(views):
            heads, edit, known = self._as_view(home, syntax, function, view, number, name)
            deduced += heads
            made.append(edit)
            names.add(known)
        made += _with_parameters(home, item, deduced, name, line)
        passing = self.carry(home, syntax, frozenset(names), (home, function.start_byte))
        if self._bodies is not None:
            is_beside = any(
                b"*" in syntax.text(one) or b"[" in syntax.text(one)
                for number, one in enumerate(parameters)
                if number not in given
            )
            made += self._bodies(uses, passing, is_beside)
        elif self._body is not None:
            made += self._body(uses[0], passing)
        made += _inlined(home, function, syntax)
        before = self._before(home, syntax, function)
        copy = Copy(home, syntax, function, name.encode(), tuple(made), before, bool(views))
        self._copies.append(copy)

    def _may_be_view(self, argument: Node, syntax: Syntax, views: frozenset[bytes]) -> bool:
        """Whether an argument is the name of another array in local memory, which may leave it."""
        if argument.type != "identifier":
            return False
        name = syntax.text(argument)
        found = {one.name for hit in self._target.hits for one in hit.facts.objects}
        is_known = name.decode(errors="replace") in found
        return name in views or (is_known and array_at(name, argument, syntax) is not None)

    def _as_view(
        self, home: str, syntax: Syntax, function: Node, position: int, number: int, name: str
    ) -> tuple[list[bytes], Edit, bytes]:
        """What a template is given for a parameter that takes a view, that, and its name."""
        parameter = syntax.parameters(function)[position]
        own, _, _ = _parameter(parameter, syntax, 1, name)
        words = [b"lmem_%s_%d" % (one, number) for one in (b"View", b"Other", b"number")]
        for word in words:
            if word in syntax.words():
                raise DeclinedError(f"the name {word.decode()} is taken")
        view, element, count = words
        type_ = b"const " + view + b"<" + element + b", " + count + b"> "
        edit = Edit(home, parameter.start_byte, parameter.end_byte, type_ + syntax.text(own))
        heads = [b"template <class, int> class " + view, b"class " + element, b"int " + count]
        return heads, edit, syntax.text(own)

    def _extents_in(self, syntax: Syntax) -> tuple[bytes, ...]:
        """What a copy calls the extents: a name may mean nothing, or another thing, where it is."""
        found: list[bytes] = []
        for extent, name in zip(self._extents, _EXTENTS, strict=False):
            if name in syntax.words():
                raise DeclinedError(f"the name {name.decode()} is taken")
            found.append(extent if extent.isdigit() else name)
        return tuple(found)

    def _definition(self, path: str, name: str, count: int, line: int) -> tuple[str, Syntax, Node]:
        """The one definition of a function in the user's files."""
        found: list[tuple[str, Syntax, Node]] = []
        for file in dict.fromkeys((path, *map(os.path.abspath, self._target.files))):
            syntax = self._target.tree(file)
            if syntax is None or name.encode() not in syntax.code:
                continue
            found += [
                (file, syntax, one)
                for one in syntax.functions(name)
                if len(syntax.parameters(one)) >= count
            ]
        if len(found) != 1:
            is_macro = not found and bool(self._target.meanings.definitions((name.encode(),)))
            what = "is a macro" if is_macro else "is not defined in sight"
            what = "has several definitions" if found else what
            raise DeclinedError(f"`{name}`, which line {line} gives it to, {what}")
        return found[0]


class Passing:
    """Takes the calls in a function that an array is an argument of."""

    def __init__(
        self,
        carrier: Carrier,
        path: str,
        syntax: Syntax,
        views: frozenset[bytes],
        owner: Place | None,
    ) -> None:
        self._carrier, self._path, self._syntax, self._views = carrier, path, syntax, views
        self._owner = owner

    def __call__(self, use: Use) -> None:
        """Takes a call by the use of the array's name in it.

        Raises:
            DeclinedError: a function that gets it cannot be copied.
        """
        self._passed(use.whole, None, use.name)

    def places(self, call: Node, given: Mapping[int, int]) -> None:
        """Takes a call that gets places of the array.

        Args:
            call: it.
            given: by the arguments' positions, how many subscripts each has until it is an element.

        Raises:
            DeclinedError: as above.
        """
        self._passed(call, given, call)

    def _passed(self, call: Node, given: Mapping[int, int] | None, name: Node) -> None:
        own = (self._path, self._syntax, self._views)
        self._carrier.passed(*own, call, given, name, self._owner)


def _is_variable(name: Node, syntax: Syntax) -> bool:
    """Whether the function that a name is in declares a variable of the name."""
    function = outermost(name, FUNCTIONS)
    return function is not None and any(
        one.type == "identifier"
        and syntax.text(one) == syntax.text(name)
        and is_declared_name(one)
        and one.parent is not None
        and one.parent.type != "function_declarator"
        for one in walk(function)
    )


def _is_pointer(parameter: Node, syntax: Syntax, function: str) -> bool:
    """Whether a parameter takes an array of one dimension."""
    try:
        _parameter(parameter, syntax, 1, function)
    except DeclinedError:
        return False
    return True


def _choices(positions: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Any of some parameters: all are as they were first."""
    for size in range(min(len(positions), _MOST_BESIDE) + 1):
        yield from itertools.combinations(positions[:_MOST_BESIDE], size)


def _with_parameters(
    path: str, item: Node, names: Sequence[bytes], function: str, line: int
) -> list[Edit]:
    """Template parameters of a copy, which each call's argument tells.

    Raises:
        DeclinedError: the copied function is an instance of a template.
    """
    if not names:
        return []
    text = b", ".join(names)
    given = item.child_by_field_name("parameters")
    if item.type != "template_declaration":
        return [Edit(path, item.start_byte, item.start_byte, b"template <" + text + b"> ")]
    if given is None or not given.named_children:
        raise DeclinedError(f"`{function}` (line {line}) is an instance of a template")
    at = given.end_byte - 1
    return [Edit(path, at, at, b", " + text)]


def _parameter(
    parameter: Node, syntax: Syntax, dimensions: int, function: str
) -> tuple[Node, bytes, bool]:
    """A parameter's name, its elements' type, and whether they are const.

    Raises:
        DeclinedError: it is neither a pointer nor an array of so many dimensions.
    """
    names = [
        node
        for node in walk(parameter)
        if node.type == "identifier"
        and node.parent is not None
        and node.parent.type.endswith("declarator")
        and node.parent.child_by_field_name("size") != node
    ]
    text = syntax.text(parameter)
    if len(names) != 1 or parameter.child_by_field_name("default_value") is not None:
        raise DeclinedError(f"`{function}` takes it as something else than a pointer")
    at = names[0].start_byte - parameter.start_byte
    head, tail = b" ".join(text[:at].split()), text[at + len(syntax.text(names[0])) :]
    extents = tail.count(b"[")
    shape = re.fullmatch(
        rb"(?P<type>[^*&()]+?) ?(?P<mark>\*|\( ?[*&])? ?"
        rb"(?:(?:const|__restrict__|__restrict|restrict) ?)*",
        head,
    )
    if shape is None:
        raise DeclinedError(f"`{function}` takes it as something else than a pointer")
    mark = (shape["mark"] or b"").replace(b" ", b"")
    taken = extents + (mark in (b"*", b"(*"))
    if taken != dimensions:
        raise DeclinedError(f"`{function}` takes it in another shape")
    words = re.findall(rb"[A-Za-z_]\w*", shape["type"])
    element = re.sub(rb"\bconst\b", b" ", shape["type"])
    if b"void" in words or b"volatile" in words or b"auto" in words:
        raise DeclinedError(f"`{function}` takes it as something else than a pointer")
    return names[0], b" ".join(element.split()), b"const" in words


def _inlined(path: str, function: Node, syntax: Syntax) -> list[Edit]:
    """The copy is inlined: a reference to the array would keep it in memory."""
    declarator = function.child_by_field_name("declarator")
    type_ = function.child_by_field_name("type")
    if declarator is None or type_ is None:
        return []
    head = syntax.code[function.start_byte : declarator.start_byte]
    found = _INLINING.search(head)
    if found is not None and found[0].startswith(b"__force"):
        return []
    if found is not None:
        start = function.start_byte + found.start()
        return [Edit(path, start, start + len(b"__noinline__"), b"__forceinline__")]
    plain = re.search(rb"\binline\b", head)
    if plain is not None:
        start = function.start_byte + plain.start()
        return [Edit(path, start, start + len(b"inline"), b"__forceinline__")]
    before = syntax.code[function.start_byte : type_.start_byte]
    words = set(re.findall(rb"[A-Za-z_]\w*", before))
    if words - _SPECIFIERS or any(one.type == "ERROR" for one in function.children):
        return []  # A macro, which may say it already.
    return [Edit(path, type_.start_byte, type_.start_byte, b"__forceinline__ ")]


def _calls_itself(function: Node, name: bytes, syntax: Syntax) -> bool:
    body = function.child_by_field_name("body")
    return body is not None and any(
        node.type == "identifier" and syntax.text(node) == name for node in walk(body)
    )
