"""Read a table's elements from other lanes

A table of at most 32 constants in a kernel becomes one element in a register of each lane, and
`a[i]` becomes `__shfl_sync(0xffffffff, a_own, i)`.

Unsafe: the promise is that all blocks consist of whole warps. Declined if lanes may diverge or wait
for each other before or around a use (exits, conditions, locks, unknown macros or functions, inline
assembly, conditional compilation, loops not bounded by parameters or constants), outside kernels,
and for blocks in sight without whole warps. The trial also fails if the SASS shows such a thing
before a shuffle. One table for all threads is tried first; a shuffle is about a fifth faster than
that on an H100.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lmemscope.formats.demangle import short_name
from lmemscope.model import Edit, Rewriting
from lmemscope.rewrites.arrays import LocalArray, Use, local_array
from lmemscope.rewrites.base import DeclinedError, Rewrite, Target
from lmemscope.rewrites.declarations import declared_with
from lmemscope.rewrites.loops import constant_at
from lmemscope.rewrites.static_table import can_be_const
from lmemscope.rewrites.steady import assigned, is_steady
from lmemscope.rewrites.value_uses import takes_value
from lmemscope.rewrites.variables import Number
from lmemscope.rewrites.written import declarators, is_continued
from lmemscope.rules.launched import sizes_in_sight
from lmemscope.rules.launched_elsewhere import launch_sizes
from lmemscope.sources.syntax import FUNCTIONS, PLAIN_TYPES, around, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_LANES = 32
_TYPES = re.compile(
    rb"(?:const\s+)?(?:float|double|(?>(?:unsigned|signed|int|long|\s){1,99})|u?int(?:32|64)_t)\s*+"
)
"""What ``__shfl_sync`` takes as it is (CUDA C++ Programming Guide, "Warp Shuffle Functions")."""
_NUMBERS = re.compile(
    rb"(?:(?:unsigned|signed|char|short|int|long|\s)+|(?:std::)?(?:u?int\d+|size)_t)"
)
_LEAVING = (
    "return_statement",
    "break_statement",
    "continue_statement",
    "goto_statement",
    "labeled_statement",
    "gnu_asm_expression",
    "lambda_expression",
)
_PARTS = re.compile(rb"\b(?:return|break|continue|goto|asm|__asm|__asm__|__trap|__exit)\b")
_MADE = re.compile(_PARTS.pattern + rb"|#")
"""What leaves, and what makes words of others: a macro pastes them, or makes a string of them."""
_ENDS = re.compile(rb"\b(?:asm|__asm|__asm__|__trap|__exit)\b")
"""What in a function that is called may end the thread."""
_WAITS = re.compile(
    rb"\b(?:volatile|atomicCAS\w*|atomicExch\w*|__nanosleep|compare_exchange_\w+|acquire"
    rb"|test_and_set|__ld(?:cv|cg))\b"
)
"""What a lane waits with for another: that one may wait for it where all have to come."""
_CALLED = re.compile(rb"\b([A-Za-z_]\w*)\s*(?:<[^<>;]*>\s*)?\(")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_TOGETHER = frozenset(
    {
        "compound_statement",
        "declaration",
        "init_declarator",
        "expression_statement",
        "assignment_expression",
        "binary_expression",
        "parenthesized_expression",
        "argument_list",
        "call_expression",
        "subscript_expression",
        "subscript_argument_list",
        "cast_expression",
        "unary_expression",
        "for_statement",
        "condition_clause",
        "comma_expression",
        "initializer_list",
    }
)
"""Around a use, these are executed by all lanes that come to them, or by none."""
_EAGER = frozenset({b"+", b"-", b"*", b"/", b"%", b"&", b"|", b"^", b"<<", b">>"}) | frozenset(
    {b"==", b"!=", b"<", b"<=", b">", b">="}
)
"""Operators both of whose operands are computed, however they are spelled."""
_UNTIL = ("while_statement", "do_statement", "for_statement")
_UNIFORM = re.compile(rb"(?:blockDim|gridDim|blockIdx)\s*\.\s*[xyz]")
"""What all lanes of a block find alike."""
_READ = ("call_expression", "subscript_expression", "pointer_expression")
_COMPUTED = (*_READ, "field_expression")
"""What a loop's head may not have: lanes may find different values there."""


def propose(target: Target) -> Iterator[Rewriting]:
    """An element in each lane, and a shuffle for each use."""
    array = local_array(target)
    values, declared = array.values, array.declared
    if values is None or len(array.extents) != 1 or not can_be_const(target, declared):
        return
    size = (array.numbers or (0,))[0]
    if not 1 < size <= _LANES or len(values) > size:
        return
    if all(
        hit.finding.index is not None and hit.finding.index.least_uniform == "uniform"
        for hit in target.hits
    ):
        raise DeclinedError("all lanes read one element")
    if array.is_volatile:
        raise DeclinedError("it is volatile")
    if _TYPES.fullmatch(target.meanings.spelled_out(array.element)) is None:
        raise DeclinedError(f"`{array.element.decode()}` is not told to be of 32 or 64 bits")
    length = declared.extents[0]
    if length is not None and constant_at(length, target) != size:
        raise DeclinedError("its length may be another in another instance")
    for threads in _blocks(target):
        if threads % _LANES:
            raise DeclinedError(f"a block of {threads} threads has no whole warps")
    _check_kernel(array)
    for use in array.uses:
        _check_use(use, array)
    yield Rewriting(
        "shuffle",
        "unsafe",
        tuple(_edits(target, array, size)),
        f"`{target.name}` with an element in each lane, handed over by `__shfl_sync`",
        "every block has whole warps, a multiple of 32 threads",
    )


def _blocks(target: Target) -> Iterator[int]:
    """Threads of the blocks of all launches in sight, and of bounds."""
    if target.block is not None:
        yield target.block.threads
    if target.bounded is not None:
        yield target.bounded
    for hit in target.hits:
        yield from sorted(sizes_in_sight(hit.facts, hit.case.sources))
        home = hit.facts.home
        if home is not None and hit.facts.kind == "entry":
            name = short_name(hit.facts.demangled)
            yield from sorted(launch_sizes(name, home, hit.case.sources))


def _check_kernel(array: LocalArray) -> None:
    """Refuse what lets lanes leave before others.

    Raises:
        DeclinedError: they may.
    """
    function, syntax = array.declared.function, array.syntax
    body = function.child_by_field_name("body")
    if body is None or not _is_kernel(array):
        raise DeclinedError("it is in no kernel, whose lanes begin together")
    if array.declared.scope != body:
        raise DeclinedError("it is declared in a block of its own")
    for node in walk(body):
        if node.type in _LEAVING:
            raise DeclinedError(f"line {node.start_point.row + 1} may part the lanes of a warp")
        asked = node.child_by_field_name("condition") if node.type in _UNTIL else None
        if asked is not None and any(one.type in _READ for one in walk(asked)):
            raise DeclinedError("its lanes may wait for each other")
        is_read = not (node.is_error or node.is_missing or node.type.startswith("preproc"))
        if not is_read:
            raise DeclinedError(f"line {node.start_point.row + 1} is not read in all ways")
    left = _PARTS.search(syntax.code_of(body))
    if left is not None:
        raise DeclinedError(f"`{left[0].decode()}` in its kernel may part the lanes of a warp")
    words, meanings = set(_WORD.findall(syntax.code_of(body))), array.target.meanings
    if meanings.is_conditional(words) or _MADE.search(meanings.definitions(words)) is not None:
        raise DeclinedError("a macro in its kernel may part the lanes of a warp")
    inside = syntax.code_of(body)
    reached = (inside, *meanings.reached(_CALLED.findall(inside)))
    if any(_ENDS.search(one) is not None for one in reached):
        raise DeclinedError("a function that its kernel calls may end a thread")
    if any(_WAITS.search(one) is not None for one in reached):
        raise DeclinedError("its lanes may wait for each other")
    for name in (array.name + b"_lane", array.name + b"_own"):
        if name in array.target.meanings.words:
            raise DeclinedError(f"the name {name.decode()} is taken")


def _is_kernel(array: LocalArray) -> bool:
    """Whether the function is said to be a kernel, by a macro maybe."""
    function, syntax = array.declared.function, array.syntax
    body = function.child_by_field_name("body")
    head = syntax.code[function.start_byte : function.end_byte if body is None else body.start_byte]
    words = set(_WORD.findall(head))
    return b"__global__" in words or b"__global__" in array.target.meanings.definitions(words)


def _check_use(use: Use, array: LocalArray) -> None:
    """Refuse a use that not all lanes come to.

    Raises:
        DeclinedError: they may not.
    """
    line = f"line {use.name.start_point.row + 1}"
    if use.kind != "read" or use.element is None or len(use.indices) != 1:
        raise DeclinedError(f"{line} does not read an element alone")
    meanings = array.target.meanings
    element = array.element.removeprefix(b"const ")
    if not takes_value(use.element, element, array.target):
        raise DeclinedError(
            f"{line} may bind a reference to an element, or depend on more than its value"
        )
    node: Node = use.element
    while node.parent is not None and node.parent != array.declared.scope:
        above = node.parent
        operator = above.child_by_field_name("operator")
        is_lazy = (
            above.type == "binary_expression"
            and operator is not None
            and array.syntax.text(operator) not in _EAGER
        )
        if above.type == "call_expression" and meanings.is_conditional(
            _CALLED.findall(array.syntax.text(above))
        ):
            raise DeclinedError(f"{line} hands an element to a macro that may leave it out")
        is_asked = above.child_by_field_name("condition") == node
        if above.type in ("if_statement", "conditional_expression") and is_asked:
            node = above
            continue
        if above.type not in _TOGETHER or above.type in FUNCTIONS or is_lazy:
            raise DeclinedError(f"{line} is not reached by all lanes together")
        if above.type == "for_statement" and (
            node != above.child_by_field_name("body") or not _is_uniform(above, array)
        ):
            raise DeclinedError(f"{line} is in a loop that lanes may leave at different times")
        node = above


def _is_uniform(loop: Node, array: LocalArray) -> bool:
    """Whether all lanes of a block turn a loop as often: its head has its counter, numbers, and
    parameters of the kernel that nothing changes."""
    head = [loop.child_by_field_name(one) for one in ("initializer", "condition", "update")]
    begin, _, update = head
    if begin is None or update is None or begin.type != "declaration" or None in head:
        return False
    kind = begin.child_by_field_name("type")
    if kind is None or not _is_number(kind, array) or not _is_automatic(begin):
        return False
    nodes = [one for part in head if part is not None for one in walk(part)]
    known = [one for one in nodes if _UNIFORM.fullmatch(array.syntax.text(one)) is not None]
    inside = {one.id for every in known for one in walk(every)}
    nodes = [one for one in nodes if one.id not in inside]
    if any(one.type in _COMPUTED or _is_class(one, array) for one in nodes):
        return False
    counters = [one for one in declarators(begin) if one.type == "identifier"]
    if len(counters) != 1 or not is_steady(_number(counters[0], loop), loop, array.target, update):
        return False
    counter = array.syntax.text(counters[0])
    return all(
        array.syntax.text(one) == counter or _is_fixed(one, array)
        for one in nodes
        if one.type == "identifier"
    )


def _is_fixed(name: Node, array: LocalArray) -> bool:
    """Whether a name is a constant's, or a parameter's of the kernel that is only read."""
    syntax, function = array.syntax, array.declared.function
    given, body = (function.child_by_field_name(one) for one in ("declarator", "body"))
    if given is None or body is None:
        return False
    same = [
        one
        for one in walk(given)
        if one.type == "identifier" and syntax.text(one) == syntax.text(name)
    ]
    if not same:
        return constant_at(name, array.target) is not None and _is_only_read(name, array)
    (parameter, *_) = (*around(same[0], "parameter_declaration"), None)
    kind = parameter.child_by_field_name("type") if parameter is not None else None
    if same[0].parent != parameter or kind is None or not _is_number(kind, array):
        return False  # A pointer, or what a class makes a number of.
    return assigned(_number(same[0], body), array.target) == ()


def _is_only_read(name: Node, array: LocalArray) -> bool:
    """Whether all that the function says of a name is what reads it: it may be a local's, too."""
    syntax, function = array.syntax, array.declared.function
    text = syntax.code_of(function)
    word = re.escape(syntax.text(name))
    every = re.findall(rb"(?<![\w.])%b(?!\w)" % word, text)
    read = re.findall(
        rb"(?:[-+/%%<]|[<>=!]=|(?<![<>=!])=)\s*%b\s*(?=[-+*/%%;)<>]|[=!]=)(?!\+\+|--|[-+*/%%]=)"
        % word,
        text,
    )
    return len(every) == len(read)


def _is_automatic(declaration: Node) -> bool:
    return not any(one.type == "storage_class_specifier" for one in declaration.children)


def _is_class(node: Node, array: LocalArray) -> bool:
    """Whether a name is a type's, and not told to be a number's."""
    return node.type == "type_identifier" and not _is_number(node, array)


def _is_number(kind: Node, array: LocalArray) -> bool:
    """Whether a type is one of the language's numbers, by another name maybe."""
    meant = array.target.meanings.spelled_out(array.syntax.text(kind))
    return kind.type in PLAIN_TYPES or _NUMBERS.fullmatch(meant) is not None


def _number(name: Node, scope: Node) -> Number:
    return Number(name, scope, None, is_signed=True, bits=64, is_const=False)


def _edits(target: Target, array: LocalArray, size: int) -> Iterator[Edit]:
    """The table once for all threads, each lane's element behind it, and the shuffles."""
    syntax, declared = array.syntax, array.declared
    if is_continued(target, syntax.line_start(declared.statement.start_byte)):
        raise DeclinedError("its declaration is in a macro")
    const = b"" if array.is_const else b"const "
    yield from declared_with(b"static __device__ " + const, declared, target)
    name, lines = array.name, syntax.lines_end() + syntax.indent(declared.statement)
    lane = b"%s_lane" % name
    last = b"" if size == _LANES else b" < %d ? %s : 0" % (size, lane)
    made = (
        b"unsigned %s" % lane,
        b'asm("mov.u32 %%0, %%%%laneid;" : "=r"(%s))' % lane,
        b"const %s %s_own = %s[%s%s]" % (array.element.strip(), name, name, lane, last),
    )
    end = declared.declarator.end_byte
    yield target.edit(end, end, b"".join(b";" + lines + one for one in made))
    for use in array.uses:
        assert use.element is not None
        (index,) = use.indices
        head, tail = use.element.start_byte, use.element.end_byte
        # A macro in the index may be an expression with a comma.
        is_list = target.meanings.is_list(_WORD.findall(syntax.text(index)))
        opened, closed = (b"(", b"))") if is_list else (b"", b")")
        edited = b"__shfl_sync(0xffffffffu, %s_own, %s" % (name, opened)
        yield target.edit(head, index.start_byte, edited)
        yield target.edit(index.end_byte, tail, closed)


REWRITE = Rewrite(
    "shuffle",
    frozenset({"const-table"}),
    propose,
    __name__,
    nothing="it is not read as a constant table of 2 to 32 elements with one index",
)
