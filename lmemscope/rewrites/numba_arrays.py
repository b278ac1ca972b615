"""The local array of a Numba kernel, and its elements in shared memory instead.

A shared array has a column for each thread, and ``a[i]`` becomes ``a_lmem[i, a_lane]``. Who asks
for the length, or passes the array to a function, has a view of the column, ``a_lmem[:, a_lane]``:
its elements, length and shape are those of the array, and who needs elements that follow each other
is declined. (Through a view Numba uses generic addresses, which are slower.) It is safe where
``--block`` says the block; with ``launch_bounds`` it is a promise that no kernel of another module
calls the kernel as a function, which runs it in blocks that know of no bounds.
"""

from __future__ import annotations

import ast
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from lmemscope.model import Cause, Edit, Rewriting, SourceLocation, count
from lmemscope.rewrites.base import DeclinedError, Hit, RuledOutError
from lmemscope.rewrites.dynamic import BESIDE_DYNAMIC
from lmemscope.rules.launched import Block
from lmemscope.rules.shared import STATIC_BYTES
from lmemscope.sources.python_places import PythonText

_KEPT = frozenset({"size", "shape", "ndim", "dtype"})
"""Attributes that a view of a column shares with an array of its own."""
_DEPTH = 4
"""Functions that hand an array on to each other."""


@dataclass(frozen=True)
class NumbaTarget:
    """A local array of a Numba kernel that is to leave local memory.

    Attributes:
        cause, name, type, place, declared_at, path, hits, asked_block: as of
            `lmemscope.rewrites.base.Target`.
        text: of the file.
        kernel: name of the function.
        signatures: types of kernels that the user says.
    """

    cause: Cause
    name: str | None
    type: str | None
    place: SourceLocation | None
    declared_at: SourceLocation | None
    path: str
    text: PythonText
    kernel: str
    hits: tuple[Hit, ...]
    asked_block: int | None = None
    signatures: tuple[str, ...] = ()

    @cached_property
    def block(self) -> Block | None:
        """The block of the launches in the file, else that of ``launch_bounds``; None: not known.

        What the user says of it does not take back what a launch says.
        """
        launched = _launched(self.text, self.kernel)
        known = [Block(launched, "launches", is_exact=True)] if launched is not None else []
        if launched is None and self.bounded is not None:
            known = [Block(self.bounded, "launch_bounds", is_exact=False, source="launch-bounds")]
        if self.asked_block is not None:
            known.append(Block(self.asked_block, "--block", is_exact=True, source="option"))
        return max(known, key=lambda one: one.threads) if known else None

    @property
    def bounded(self) -> int | None:
        """Threads that no block of the kernel exceeds, by its ``launch_bounds``."""
        bounds = [hit.facts.launch_bounds for hit in self.hits]
        threads = [one.max_threads for one in bounds if one is not None and one.max_threads]
        return max(threads) if threads and len(threads) == len(bounds) else None


@dataclass(frozen=True, slots=True)
class NumbaArray:
    """The one assignment of an array.

    Attributes:
        function: of the kernel.
        statement: ``name = cuda.local.array(shape, dtype)``.
        module: how ``numba.cuda`` is called there.
        extents: of its shape.
        shape: each extent as written.
        dtype: as written.
        uses: every use of the name, in the kernel itself.
    """

    function: ast.FunctionDef
    statement: ast.Assign
    module: str
    extents: tuple[ast.expr, ...]
    shape: tuple[bytes, ...]
    dtype: bytes
    uses: tuple[ast.Name, ...]


def array_of(target: NumbaTarget) -> NumbaArray:
    """The target's array in its file.

    Raises:
        DeclinedError: what stands there cannot be told to be that array alone.
    """
    text = target.text
    functions = [
        node
        for node in ast.walk(text.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == target.kernel
    ]
    if len(functions) != 1 or not isinstance(functions[0], ast.FunctionDef):
        raise DeclinedError(f"the file defines {target.kernel} more than once")
    function = functions[0]
    if len(function.decorator_list) != 1:
        raise DeclinedError("the kernel has another decorator, too")
    names = [
        node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == target.name
    ]
    stores = [node for node in names if not isinstance(node.ctx, ast.Load)]
    declared, is_elsewhere = None, False
    if target.declared_at is not None:
        declared = target.declared_at.line
        # The places of a report may be relative to where it was made.
        name = os.path.basename(target.declared_at.file)
        is_elsewhere = name != os.path.basename(target.path)
    if (
        not stores
        or is_elsewhere
        or (declared is not None and not function.lineno <= declared <= (function.end_lineno or 0))
    ):
        raise DeclinedError("it is an array of another function than the kernel")
    if len(stores) != 1 or any(
        isinstance(node, ast.arg) and node.arg == target.name for node in ast.walk(function)
    ):
        raise DeclinedError("its name is given another value, too")
    statement = text.parents[stores[0]]
    if (
        not isinstance(statement, ast.Assign)
        or len(statement.targets) != 1
        or not isinstance(statement.value, ast.Call)
        or not ast.unparse(statement.value.func).endswith(".local.array")
    ):
        raise DeclinedError("it is not assigned the array alone")
    call = statement.value
    given = dict(zip(("shape", "dtype"), call.args, strict=False))
    given |= {word.arg or "**": word.value for word in call.keywords}
    starred = any(isinstance(one, ast.Starred) for one in call.args)
    if {*given} != {"shape", "dtype"} or len(call.args) > 2 or starred:
        raise DeclinedError("cuda.local.array has other arguments than a shape and a type")
    shape = given["shape"]
    extents = shape.elts if isinstance(shape, ast.Tuple) else [shape]
    return NumbaArray(
        function,
        statement,
        ast.unparse(call.func).removesuffix(".local.array"),
        tuple(extents),
        tuple(text.source(one) for one in extents),
        text.source(given["dtype"]),
        tuple(node for node in names if isinstance(node.ctx, ast.Load)),
    )


def shared(target: NumbaTarget, array: NumbaArray) -> Rewriting:
    """Elements of a thread's column in the place of those of the array.

    Raises:
        DeclinedError: a use needs more than a column, or it does not fit.
    """
    text, block = target.text, target.block
    if block is None:
        raise DeclinedError("nothing says how many threads a block has (--block says it)")
    check_uses(target, array)
    _check_calls(target)
    size = max(hit.finding.type_bytes or hit.finding.bytes for hit in target.hits)
    if size * block.threads > STATIC_BYTES:
        raise RuledOutError(f"{size} bytes for each of {block.threads} threads do not fit")
    name = (target.name or "").encode()
    store, lane = name + b"_lmem", name + b"_lane"
    for taken in {store, lane} & text.words:
        raise DeclinedError(f"the name {taken.decode()} is taken")
    module = array.module.encode()
    thread, size_of = module + b".threadIdx.", module + b".blockDim."
    extents = b", ".join((*array.shape, b"%d" % block.threads))
    made = [
        b"%s = %s.shared.array((%s), %s)" % (store, module, extents, array.dtype),
        b"%s = %sx + %sx * (%sy + %sy * %sz)" % (lane, thread, size_of, thread, size_of, thread),
    ]
    edits = columns(target, array, store, lane, made)
    caveat = _caveat(target, block.threads)
    return Rewriting(
        "shared-memory",
        "unsafe" if caveat else "safe",
        tuple(sorted(edits)),
        f"keep `{target.name}` in shared memory, {size * block.threads} bytes for {block.threads} "
        "threads",
        caveat,
    )


def _check_calls(target: NumbaTarget) -> None:
    """Refuse a kernel that another function calls, or may: it runs in that one's blocks, too.

    Raises:
        DeclinedError: the file does more than launch it.
    """
    text = target.text
    if b"modules" in text.words and target.asked_block is None:
        raise DeclinedError("the file may launch what its text does not name")
    for node in ast.walk(text.tree):
        if isinstance(node, ast.Name) and node.id == target.kernel:
            parent = text.parents[node]
            if isinstance(parent, ast.Call) and parent.func is node:
                line = f"line {node.lineno} calls {target.kernel} as a function"
                raise DeclinedError(f"{line}, in blocks of another kernel's")
            is_asked = isinstance(parent, ast.Attribute) and parent.attr != "py_func"
            is_asked = is_asked or len(configuration(node, text)) > 1
            if not is_asked and target.asked_block is None:
                raise DeclinedError(f"line {node.lineno} uses {target.kernel} in another way")


def check_uses(target: NumbaTarget, array: NumbaArray) -> None:
    """Whether a column of a larger array is good for every use.

    Raises:
        DeclinedError: one needs more.
    """
    for use in array.uses:
        _check(use, array.function, len(array.shape), target, _DEPTH)


def columns(
    target: NumbaTarget, array: NumbaArray, store: bytes, lane: bytes, made: Sequence[bytes]
) -> list[Edit]:
    """The edits that have every use take a thread's column of another array.

    Args:
        target: the array's.
        array: whose elements they are.
        store, lane: names of the other array, and of the thread's number in it.
        made: statements in the place of the array's own.

    Raises:
        DeclinedError: something is written in a way that cannot be edited.
    """
    text = target.text
    indent = text.indent(array.statement)
    if indent is None:
        raise DeclinedError("its assignment shares a line with another statement")
    lines = [*made]
    indexed = [use for use in array.uses if isinstance(text.parents[use], ast.Subscript)]
    if len(indexed) < len(array.uses):
        whole = b", ".join(b":" for _ in array.shape)
        lines.append(b"%s = %s[%s, %s]" % ((target.name or "").encode(), store, whole, lane))
    start, end = text.start(array.statement), text.end(array.statement)
    edits = [Edit(target.path, start, end, (text.newline + indent).join(lines))]
    for use in indexed:
        edits += _in_column(use, store, lane, target)
    return edits


def _in_column(use: ast.Name, store: bytes, lane: bytes, target: NumbaTarget) -> Iterator[Edit]:
    """``a[i]`` as ``a_lmem[i, a_lane]``."""
    text = target.text
    parent = text.parents[use]
    if not isinstance(parent, ast.Subscript):
        return
    bracket = text.end(parent) - 1
    index = parent.slice
    behind = text.data[text.end(index) : bracket]
    is_odd = b"," in behind
    if isinstance(index, ast.Tuple):
        # A comma behind the last index, or parentheses around all of them.
        is_odd = is_odd or text.source(index).rstrip().endswith(b",")
        is_odd = is_odd or not index.elts or text.start(index) < text.start(index.elts[0])
    if is_odd:
        raise DeclinedError(f"line {use.lineno} writes its index in an odd way")
    yield Edit(target.path, text.start(use), text.end(use), store)
    yield Edit(target.path, bracket, bracket, b", " + lane)


def _caveat(target: NumbaTarget, threads: int) -> str | None:
    promises = []
    if threads != target.asked_block:
        # Its own launches keep to its bounds; those of a kernel that calls it do not know of them.
        what = "no kernel of another module calls it as a function, in blocks of more"
        most = f"no block that runs it has more than {count(threads, 'thread')}"
        promises.append(what if threads == target.bounded else most)
    if _has_dynamic(target.text, target.kernel):
        promises.append(BESIDE_DYNAMIC)
    return "; ".join(promises) or None


def _check(
    use: ast.Name, function: ast.FunctionDef, dimensions: int, target: NumbaTarget, depth: int
) -> None:
    """Refuse a use that a column is not good for."""
    text = target.text
    parent = text.parents[use]
    if _is_captured(use, function, text):
        raise DeclinedError(f"line {use.lineno} captures it in a function")
    if isinstance(parent, ast.Subscript) and parent.value is use:
        index = parent.slice.elts if isinstance(parent.slice, ast.Tuple) else [parent.slice]
        if len(index) != dimensions or any(isinstance(one, ast.Slice) for one in index):
            raise DeclinedError(f"line {use.lineno} takes a part of it")
        return
    if isinstance(parent, ast.Attribute) and parent.attr in _KEPT:
        return
    if isinstance(parent, ast.Call) and use in parent.args and isinstance(parent.func, ast.Name):
        if parent.func.id == "len":
            return
        _check_callee(parent, parent.args.index(use), dimensions, target, depth)
        return
    raise DeclinedError(f"line {use.lineno} uses it as a whole")


def _check_callee(
    call: ast.Call, position: int, dimensions: int, target: NumbaTarget, depth: int
) -> None:
    """Refuse a function that may need elements that follow each other."""
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    tree = target.text.tree
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
    bound = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)
    ]
    if len(found) != 1 or bound or not depth:
        raise DeclinedError(f"line {call.lineno} passes it to {name}, which cannot be seen")
    arguments = [*found[0].args.posonlyargs, *found[0].args.args]
    if position >= len(arguments) or any(isinstance(one, ast.Starred) for one in call.args):
        raise DeclinedError(f"line {call.lineno} passes it to {name} in another way")
    own = arguments[position].arg
    for node in ast.walk(found[0]):
        if isinstance(node, ast.Name) and node.id == own:
            if not isinstance(node.ctx, ast.Load):
                raise DeclinedError(f"{name} gives its parameter {own} another value")
            _check(node, found[0], dimensions, target, depth - 1)


def _is_captured(use: ast.Name, function: ast.FunctionDef, text: PythonText) -> bool:
    """Whether a use is in a function or class within the function."""
    node: ast.AST = text.parents[use]
    while node is not function:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            return True
        node = text.parents[node]
    return False


def _launched(text: PythonText, kernel: str) -> int | None:
    """The most threads of a block of the launches in a file; None where one cannot be read."""
    sizes: list[int | None] = []
    if text.bindings[kernel] > 1:
        return None
    for node in ast.walk(text.tree):
        if isinstance(node, ast.Name) and node.id == kernel and isinstance(node.ctx, ast.Load):
            launch = configuration(node, text)
            sizes.append(_threads(launch[1], text) if len(launch) > 1 else None)
    known = [size for size in sizes if size is not None]
    return max(known) if known and len(known) == len(sizes) else None


def configuration(name: ast.Name, text: PythonText) -> Sequence[ast.expr]:
    """What stands in the brackets of ``kernel[grid, block]``; empty where it is no launch."""
    parent = text.parents[name]
    if isinstance(parent, ast.Subscript) and parent.value is name:
        return parent.slice.elts if isinstance(parent.slice, ast.Tuple) else []
    return []


def _threads(block: ast.expr, text: PythonText) -> int | None:
    sizes = block.elts if isinstance(block, ast.Tuple) else [block]
    parts = [text.integer_there(one) for one in sizes]
    known = [one for one in parts if one is not None]
    return math.prod(known) or None if known and len(known) == len(parts) else None


def _has_dynamic(text: PythonText, kernel: str) -> bool:
    """Whether a launch asks for dynamic shared memory, or some kernel of the file takes it."""
    for node in ast.walk(text.tree):
        if isinstance(node, ast.Name) and node.id == kernel and isinstance(node.ctx, ast.Load):
            launch = configuration(node, text)
            if len(launch) > 3 and text.integer(launch[3]) != 0:
                return True
        if (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).endswith("shared.array")
            and any(
                text.integer(one) == 0 for one in (*node.args, *(w.value for w in node.keywords))
            )
        ):
            return True
    return False
