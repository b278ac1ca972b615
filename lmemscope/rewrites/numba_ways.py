"""Ways out of a Numba kernel's local array that change its launches, too (docs/questions).

``constant-parameter``: where all launches of the file pass one number for a parameter, the kernel
is told that number, and indices that are made of it may be constants. ``global-memory``: the host
allocates an array with a column for each thread, which launches pass as one more argument. Both
promise that nobody else launches the kernel in the old way.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from lmemscope.model import Edit, Rewriting
from lmemscope.rewrites.base import DeclinedError
from lmemscope.rewrites.numba_arrays import (
    NumbaArray,
    NumbaTarget,
    check_uses,
    columns,
    configuration,
)
from lmemscope.sources.python_places import PythonText

_NUMBERS = re.compile(r"(?:u?int(?:8|16|32|64)|float(?:16|32|64)|complex(?:64|128))")
"""Types that Numba's signatures and NumPy's dtypes have by one name."""
_PLAIN = (ast.Name, ast.Constant, ast.BinOp, ast.operator, ast.Load)
"""What may be evaluated twice."""


def constant_parameter(target: NumbaTarget, array: NumbaArray) -> Rewriting:
    """A parameter's one number, said at the beginning of the kernel.

    Raises:
        DeclinedError: launches in the file do not pass one, or none that may index the array.
    """
    text, function = target.text, array.function
    calls = _launches(target, array)
    if not calls:
        raise DeclinedError("no launch in its file shows the number of a parameter")
    indexing = _indexing(array, text)
    for position, name in enumerate(_parameters(function)):
        numbers = {_constant(call, position) for call in calls}
        number = numbers.pop()
        if name in indexing and number is not None and not numbers:
            break
    else:
        raise DeclinedError("no parameter that indexes it has one number in all launches")
    if any(one.id == name and _is_bound(one) for one in _names(function)):
        raise DeclinedError(f"the kernel gives {name} another value")
    first = next(one for one in function.body if not _is_docstring(one))
    indent = text.indent(first)
    if indent is None:
        raise DeclinedError("its first statement shares a line with another")
    at = text.start(first)
    said = b"%s = %d" % (name.encode(), number)
    edits = [Edit(target.path, at, at, said + text.newline + indent)]
    extent = array.extents[0]
    is_less = len(array.extents) == 1 and number < (text.integer(extent) or 0)
    if is_less and all(_is_below(use, name, array, text) for use in array.uses):
        edits.append(Edit(target.path, text.start(extent), text.end(extent), b"%d" % number))
    return Rewriting(
        "constant-parameter",
        "unsafe",
        tuple(sorted(edits)),
        f"compile `{target.kernel}` for `{name}` = {number}",
        f"every launch of it passes {number}, and no arithmetic with it needs to wrap at 32 bits",
    )


def global_memory(target: NumbaTarget, array: NumbaArray) -> Rewriting:
    """An array of the host's with a column for each thread, passed by each launch.

    Raises:
        DeclinedError: a use needs more than a column, or a launch cannot be edited.
    """
    text, function = target.text, array.function
    if function not in text.tree.body:
        raise DeclinedError("the kernel is made by a function, which its launches do not name")
    check_uses(target, array)
    dtype = array.dtype.decode().rpartition(".")[2].strip("\"'")
    if _NUMBERS.fullmatch(dtype) is None:
        raise DeclinedError(f"{array.dtype.decode()} is no type of numbers")
    _check_grid(function)
    extents = [text.integer(one) for one in array.extents]
    if any(extent is None for extent in extents):
        raise DeclinedError("its shape is no number that launches know")
    name = (target.name or "").encode()
    store, lane = name + b"_work", name + b"_lane"
    for taken in {store, lane} & text.words:
        raise DeclinedError(f"the name {taken.decode()} is taken")
    made = [b"%s = %s.grid(1)" % (lane, array.module.encode())]
    edits = [*columns(target, array, store, lane, made)]
    dimensions = b", ".join([b":"] * len(extents)) + b", ::1"
    edits += _in_signature(target, function, dtype.encode() + b"[%s]" % dimensions)
    last = function.args.args[-1]
    end = text.end(last)  # type: ignore[arg-type]
    edits.append(Edit(target.path, end, end, b", " + store))
    calls = _launches(target, array)
    if not calls:
        raise DeclinedError("its launches, which would pass one more array, are in other files")
    shape = ", ".join(map(str, extents))
    for call in calls:
        edits.append(_passed(call, shape, dtype, target, array))
    return Rewriting(
        "global-memory",
        "unsafe",
        tuple(sorted(edits)),
        f"`{target.name}` in global memory, a column for each thread, which launches pass",
        f"launches elsewhere pass a `{dtype}` array of ({shape}, threads) as the last argument, "
        "and grids have one dimension",
    )


def _launches(target: NumbaTarget, array: NumbaArray) -> list[ast.Call]:
    """The launches of the kernel in its file.

    Raises:
        DeclinedError: its name is used in another way.
    """
    text, found = target.text, []
    for node in ast.walk(text.tree):
        if isinstance(node, ast.Name) and node.id == target.kernel:
            parent = text.parents[node]
            call = text.parents.get(parent)
            is_launch = (
                isinstance(call, ast.Call)
                and call.func is parent
                and len(configuration(node, text)) > 1
                and not any(isinstance(one, ast.Starred) for one in call.args)
                and not call.keywords
                and len(call.args) == len(_parameters(array.function))
            )
            if not isinstance(call, ast.Call) or not is_launch:
                raise DeclinedError(f"line {node.lineno} uses {target.kernel} in another way")
            found.append(call)
    return found


def _parameters(function: ast.FunctionDef) -> Sequence[str]:
    given = function.args
    if given.vararg or given.kwarg or given.kwonlyargs or given.defaults or given.posonlyargs:
        raise DeclinedError("its parameters are no plain list")
    if not given.args:
        raise DeclinedError("it has no parameters")
    return [one.arg for one in given.args]


def _constant(call: ast.Call, position: int) -> int | None:
    """A number as written in a launch; None of anything else, such as a name that may change."""
    given = call.args[position]
    if isinstance(given, ast.Constant) and type(given.value) is int:
        return given.value
    return None


def _is_below(use: ast.Name, name: str, array: NumbaArray, text: PythonText) -> bool:
    """Whether a use is an element below a parameter's number: ``i % n``, or ``i in range(n)``."""
    parent = text.parents[use]
    if not isinstance(parent, ast.Subscript) or parent.value is not use:
        return False
    index = parent.slice
    if isinstance(index, ast.BinOp) and isinstance(index.op, ast.Mod):
        return isinstance(index.right, ast.Name) and index.right.id == name
    if not isinstance(index, ast.Name):
        return False
    node: ast.AST = use
    while node is not array.function:
        node = text.parents[node]
        if isinstance(node, ast.For) and ast.unparse(node.target) == index.id:
            stored = [one for one in _names(node) if one.id == index.id and _is_bound(one)]
            return len(stored) == 1 and ast.unparse(node.iter) == f"range({name})"
    return False


def _is_bound(name: ast.Name) -> bool:
    return not isinstance(name.ctx, ast.Load)


def _indexing(array: NumbaArray, text: PythonText) -> set[str]:
    """Names that the array's indices are made of, those that bound loops over it included."""
    found = {
        node.id
        for use in array.uses
        if isinstance(parent := text.parents[use], ast.Subscript)
        for node in ast.walk(parent.slice)
        if isinstance(node, ast.Name)
    }
    while True:
        more = {name for node in ast.walk(array.function) for name in _made_of(node, found)}
        if more <= found:
            return found
        found |= more


def _made_of(node: ast.AST, names: set[str]) -> Iterator[str]:
    """Names in what one of some names is assigned, or counts over."""
    targets: list[ast.expr] = []
    value: ast.expr | None = None
    if isinstance(node, ast.For):
        targets, value = [node.target], node.iter
    elif isinstance(node, ast.Assign):
        targets, value = node.targets, node.value
    elif isinstance(node, ast.AugAssign):
        targets, value = [node.target], node.value
    elif isinstance(node, ast.While):
        value = node.test if names & {one.id for one in _names(node)} else None
        targets = []
        if value is not None:
            yield from (one.id for one in _names(value))
        return
    if value is not None and any(isinstance(one, ast.Name) and one.id in names for one in targets):
        yield from (one.id for one in _names(value))


def _names(node: ast.AST) -> Iterator[ast.Name]:
    return (one for one in ast.walk(node) if isinstance(one, ast.Name))


def _is_docstring(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _check_grid(function: ast.FunctionDef) -> None:
    """Refuse a kernel of more than one dimension: `grid(1)` is no number of a thread then."""
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and node.attr in ("y", "z"):
            raise DeclinedError(f"line {node.lineno} speaks of another dimension than x")
        if (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).endswith(("grid", "gridsize"))
            and any(not (isinstance(a, ast.Constant) and a.value == 1) for a in node.args)
        ):
            raise DeclinedError(f"line {node.lineno} takes a grid of several dimensions")


def _in_signature(target: NumbaTarget, function: ast.FunctionDef, kind: bytes) -> Iterator[Edit]:
    """One more type in the decorator's signature, where it has one."""
    (decorator,) = function.decorator_list
    given = decorator.args if isinstance(decorator, ast.Call) else []
    if not given:
        return
    written = target.text.source(given[0])
    is_text = isinstance(given[0], ast.Constant) and isinstance(given[0].value, str)
    closing = written.rfind(b")")
    if len(given) > 1 or not is_text or closing < 0 or written[closing - 1 : closing] == b"(":
        raise DeclinedError("its signature is no text of one")
    at = target.text.start(given[0]) + closing
    yield Edit(target.path, at, at, b", " + kind)


def _passed(call: ast.Call, shape: str, dtype: str, target: NumbaTarget, array: NumbaArray) -> Edit:
    """The array as a launch's last argument."""
    text = target.text
    assert isinstance(call.func, ast.Subscript)
    kernel = call.func.value
    assert isinstance(kernel, ast.Name)
    grid, block = configuration(kernel, text)[:2]
    for one in (*ast.walk(grid), *ast.walk(block)):
        if not isinstance(one, _PLAIN):
            raise DeclinedError(f"line {call.lineno} computes its grid in the launch")
    threads = " * ".join(
        f"({ast.unparse(one)})" if isinstance(one, ast.BinOp) else ast.unparse(one)
        for one in (grid, block)
    )
    made = f'{array.module}.device_array(({shape}, {threads}), "{dtype}")'
    end = text.end(call.args[-1])
    return Edit(target.path, end, end, b", " + made.encode())
