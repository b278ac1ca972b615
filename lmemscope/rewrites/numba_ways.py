"""Ways out of a Numba kernel's local array that change its launches, too (docs/questions).

``constant-parameter``: where all launches of the file pass one number for a parameter, the kernel
is told that number, and indices that are made of it may be constants. ``global-memory``: the host
allocates an array with a column for each thread, which launches pass as one more argument. Both
promise that nobody else launches the kernel in the old way.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from lmemscope.model import Edit, Rewriting, count
from lmemscope.rewrites.base import DeclinedError
from lmemscope.rewrites.numba_arrays import (
    NumbaArray,
    NumbaTarget,
    check_uses,
    columns,
)
from lmemscope.rewrites.numba_launches import (
    as_typed,
    check_module,
    check_number,
    in_signature,
    is_at_top,
    launches,
    one_more,
    parameters,
    passed_number,
    ptx_numbers,
)
from lmemscope.sources.python_places import PythonText

_NUMBERS = re.compile(r"(?:u?int(?:8|16|32|64)|float(?:16|32|64)|complex(?:64|128))")
"""Types that Numba's signatures and NumPy's dtypes have by one name."""


def constant_parameter(target: NumbaTarget, array: NumbaArray) -> Rewriting:
    """A parameter's one number, said at the beginning of the kernel.

    Raises:
        DeclinedError: launches in the file do not pass one, or none that may index the array.
    """
    text, function = target.text, array.function
    calls = launches(target, array)
    if not calls:
        raise DeclinedError("no launch in its file shows the number of a parameter")
    indexing = _indexing(array, text)
    told: dict[str, int] = {}
    written: dict[str, str] = {}
    variables: set[str] = set()
    for position, name in enumerate(parameters(function)):
        known = [passed_number(call, position, text) for call in calls]
        said = {one.value for one in known if one is not None}
        if name in indexing and len(said) == 1 and None not in known:
            check_number(target, array, position, name)
            told[name] = said.pop()
            written[name] = as_typed(told[name], position, name, target, array)
            variables |= {one.variable for one in known if one is not None and one.variable}
    if not told:
        raise DeclinedError("no parameter that indexes it has one known number in all launches")
    for one in _names(function):
        if one.id in told and _is_bound(one):
            raise DeclinedError(f"the kernel gives {one.id} another value")
    first = next(one for one in function.body if not _is_docstring(one))
    indent = text.indent(first)
    if indent is None:
        raise DeclinedError("its first statement shares a line with another")
    lines = [f"{name} = {number}".encode() for name, number in written.items()]
    at = text.start(first)
    inserted = b"".join(line + text.newline + indent for line in lines)
    edits = [Edit(target.path, at, at, inserted), *_shortened(target, array, told)]
    names = " or ".join(sorted(variables))
    numbers = " and ".join(map(str, told.values()))
    return Rewriting(
        "constant-parameter",
        "unsafe",
        tuple(sorted(edits)),
        f"compile `{target.kernel}` for "
        + ", ".join(f"`{name}` = {number}" for name, number in told.items()),
        f"every launch of it passes {numbers}"
        + (f"; no other module gives {names} another value" if names else ""),
        takes=ptx_numbers(target, function, told),
    )


def _shortened(target: NumbaTarget, array: NumbaArray, told: dict[str, int]) -> Iterator[Edit]:
    """An array of one dimension as long as a parameter's number, below which all indices are."""
    text = target.text
    if len(array.extents) != 1:
        return
    extent = array.extents[0]
    for name, number in told.items():
        if number < (text.integer(extent) or 0) and all(
            _is_below(use, name, array, text) for use in array.uses
        ):
            yield Edit(target.path, text.start(extent), text.end(extent), b"%d" % number)
            return


def global_memory(target: NumbaTarget, array: NumbaArray) -> Rewriting:
    """An array of the host's with a column for each thread, passed by each launch.

    Raises:
        DeclinedError: a use needs more than a column, or a launch cannot be edited.
    """
    text, function = target.text, array.function
    if not is_at_top(function, text):
        raise DeclinedError("the kernel is made in a function or class, not by its module")
    check_module(array, text)
    check_uses(target, array)
    owner, _, last = array.dtype.decode().rpartition(".")
    dtype = last.strip("\"'")
    if _NUMBERS.fullmatch(dtype) is None or not _is_of_types(owner, text):
        raise DeclinedError(f"{array.dtype.decode()} is no type that launches can name")
    is_word = last == dtype
    if not owner and is_word and not 0 < text.bindings[dtype] == _imports(dtype, text):
        raise DeclinedError(f"{dtype} may be another type there")
    _check_grid(function)
    if any(text.integer(one) is None for one in array.extents):
        raise DeclinedError("its shape is no number that launches know")
    # As written: of a module's variable another module may be in charge.
    extents = [ast.unparse(one) for one in array.extents]
    name = (target.name or "").encode()
    store, lane = name + b"_work", name + b"_lane"
    for taken in {store, lane} & text.words:
        raise DeclinedError(f"the name {taken.decode()} is taken")
    made = [b"%s = %s.grid(1)" % (lane, array.module.encode())]
    edits = [*columns(target, array, store, lane, made)]
    kind = f"{dtype}[{', '.join(':' for _ in extents)}, ::1]"
    edits += in_signature(target, function, kind.encode())
    parameters(function)
    end = text.parameters_end(function.args.args[-1])
    edits.append(Edit(target.path, end, end, b", " + store, adds=(target.kernel, kind)))
    size = max(hit.finding.type_bytes or hit.finding.bytes for hit in target.hits)
    calls = launches(target, array)
    if not calls:
        raise DeclinedError("its launches, which would pass one more array, are in other files")
    edits += (one_more(call, extents, dtype, target, array) for call in calls)
    return Rewriting(
        "global-memory",
        "unsafe",
        tuple(sorted(edits)),
        f"`{target.name}` in global memory, {count(size, 'byte')} for each thread, which launches "
        "pass",
        f"launches elsewhere pass a `{dtype}` array of ({', '.join(extents)}, threads) as the last "
        "argument, and grids and blocks are numbers, not tuples",
    )


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
        if (
            isinstance(node, ast.Attribute)
            and node.attr in ("y", "z")
            and ast.unparse(node.value).endswith(("Idx", "Dim"))
        ):
            raise DeclinedError(f"line {node.lineno} speaks of another dimension than x")
        if (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).endswith(("grid", "gridsize"))
            and any(not (isinstance(a, ast.Constant) and a.value == 1) for a in node.args)
        ):
            raise DeclinedError(f"line {node.lineno} takes a grid of several dimensions")


def _is_of_types(owner: str, text: PythonText) -> bool:
    """Whether what stands before a type's name is Numba or NumPy, or nothing does."""
    root = owner.partition(".")[0]
    if not root:
        return True
    origins = [
        alias.name if isinstance(node, ast.Import) else node.module or ""
        for node in ast.walk(text.tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if (alias.asname or alias.name.partition(".")[0]) == root
    ]
    known = {one.partition(".")[0] for one in origins} <= {"numba", "numpy"}
    return known and 0 < len(origins) == text.bindings[root]


def _imports(name: str, text: PythonText) -> int:
    """How often a file imports something of Numba's or NumPy's by its own name."""
    return sum(
        alias.name == name and alias.asname in (None, name)
        for node in ast.walk(text.tree)
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").partition(".")[0] in ("numba", "numpy")
        for alias in node.names
    )
