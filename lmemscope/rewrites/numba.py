"""What is tried on the local arrays of Numba kernels: shared memory, and loops written out.

``unroll``: loops of a constant range, whose variable indexes the array, are written out. Numba has
no pragma for it. It is safe: a copy assigns the variable the value that it has in that iteration.
Where the range is a module's variable, another module may set that: then it is a promise, and so it
is that what the loop carries from turn to turn keeps its type, where the text does not tell that.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from lmemscope.model import Cause, Declined, Edit, Rewriting
from lmemscope.rewrites.base import DeclinedError, declined_by
from lmemscope.rewrites.cooperative import FITTING
from lmemscope.rewrites.numba_arrays import NumbaArray, NumbaTarget, array_of, shared
from lmemscope.rewrites.numba_carried import changing_types
from lmemscope.rewrites.numba_ways import constant_parameter
from lmemscope.sources.python_places import PythonText

_INDEXED: frozenset[Cause] = frozenset(
    {"dynamic-index", "rolled-loop", "large-array", "address-taken"}
)
_MOST_COPIES = 256
_MOST_LINES = 4096


def proposals(target: NumbaTarget) -> tuple[tuple[Rewriting, ...], tuple[Declined, ...]]:
    """Whatever may take a target out of local memory, and why other rewrites do not apply."""
    found: list[Rewriting] = []
    reasons: dict[Declined, list[str]] = {}
    if target.cause not in _INDEXED:
        return (), (Declined("of Numba kernels only local arrays of their own are rewritten"),)
    ways: dict[str, Callable[[NumbaTarget, NumbaArray], Rewriting]] = {
        "unroll": _unrolled,
        "constant-parameter": constant_parameter,
        "shared-memory": shared,
    }
    for name, way in ways.items():
        try:
            found.append(_promised(way(target, array_of(target)), target))
        except DeclinedError as declined:
            reasons.setdefault(declined_by(declined), []).append(name)
    return tuple(found), tuple(
        replace(why, rewrites=tuple(names)) for why, names in reasons.items()
    )


def _promised(rewriting: Rewriting, target: NumbaTarget) -> Rewriting:
    """A rewriting, unsafe where a cooperative grid that just fits the device may fit no more."""
    if b"this_grid" not in target.text.words:
        return rewriting
    caveat = f"{rewriting.caveat}; {FITTING}" if rewriting.caveat else FITTING
    return replace(rewriting, applicability="unsafe", caveat=caveat)


def _unrolled(target: NumbaTarget, array: NumbaArray) -> Rewriting:
    """The loops whose variables index the array, written out."""
    text = target.text
    counters = {
        node.id
        for use in array.uses
        if isinstance(parent := text.parents[use], ast.Subscript)
        for node in ast.walk(parent.slice)
        if isinstance(node, ast.Name)
    }
    found = (
        node
        for node in ast.walk(array.function)
        if isinstance(node, ast.For)
        and isinstance(node.target, ast.Name)
        and node.target.id in counters
        and _range(node, text) is not None
    )
    loops = sorted(found, key=lambda node: node.lineno)
    if not loops:
        raise DeclinedError("no loop of a constant range has a variable that indexes it")
    edits = []
    for loop in loops:
        if not any(other is not loop and loop in ast.walk(other) for other in loops):
            lines = _copies(loop, loops, text, text.indent(loop), 1)
            if len(lines) > _MOST_LINES:
                raise DeclinedError(f"the loop of line {loop.lineno} would take too many lines")
            first, last = text.line_start(loop.lineno), text.line_end(loop.end_lineno or 0)
            edits.append(Edit(target.path, first, last, text.newline.join(lines)))
    names = sorted({name for loop in loops for name in _names(loop)})
    carried = {name for loop in loops for name in changing_types(loop, array.function)}
    carried -= {one.target.id for one in loops if isinstance(one.target, ast.Name)}
    promises = [f"no other module gives {' or '.join(names)} another value"] if names else []
    if carried:
        # Numba gives what a loop carries one type, and written out each copy its own.
        told = ", ".join(f"`{name}`" for name in sorted(carried))
        promises.append(f"values of one type are all that is given to {told}")
    caveat = "; ".join(promises) or None
    lines_of = ", ".join(str(one.lineno) for one in loops)
    noun = "loop" if len(loops) == 1 else "loops"
    return Rewriting(
        "unroll",
        "unsafe" if caveat else "safe",
        tuple(sorted(edits)),
        f"write out {len(loops)} {noun} over `{target.name}` (line {lines_of})",
        caveat,
    )


def _names(loop: ast.For) -> list[str]:
    """Names of constants that a loop's range is made of."""
    arguments = loop.iter.args if isinstance(loop.iter, ast.Call) else []
    return [one.id for one in arguments if isinstance(one, ast.Name)]


def _range(loop: ast.For, text: PythonText) -> range | None:
    """The values of a loop's variable, where they are constants."""
    call = loop.iter
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.keywords:
        return None
    values = [text.integer(one) for one in call.args]
    known = [one for one in values if one is not None]
    if call.func.id != "range" or not 1 <= len(known) <= 3 or len(known) != len(values):
        return None
    if len(known) == 3 and not known[2]:
        return None
    return range(*known)


def _copies(
    loop: ast.For, chosen: Sequence[ast.For], text: PythonText, indent: bytes | None, copies: int
) -> list[bytes]:
    """The lines of a loop's iterations, one after the other."""
    values = _range(loop, text) or range(0)
    name = loop.target.id if isinstance(loop.target, ast.Name) else ""
    where = f"the loop of line {loop.lineno}"
    if not 0 < len(values) * copies <= _MOST_COPIES:
        raise DeclinedError(f"{where} has too many iterations to be written out")
    _check_body(loop, name, where)
    own = text.indent(loop.body[0])
    if indent is None or own is None or loop.body[0].lineno == loop.lineno:
        raise DeclinedError(f"{where} shares a line with another statement")
    made: list[bytes] = []
    for value in values:
        made.append(b"%s%s = %d" % (indent, name.encode(), value))
        before = loop.body[0].lineno - 1
        for statement in loop.body:
            if text.indent(statement) is None:
                raise DeclinedError(f"line {statement.lineno} holds two statements")
            last = statement.end_lineno or statement.lineno
            if isinstance(statement, ast.For) and statement in chosen:
                made += _copies(statement, chosen, text, indent, copies * len(values))
            else:
                made += [
                    _moved(text.line(number), own, indent) for number in range(before + 1, last + 1)
                ]
            before = last
    return made


def _moved(line: bytes, before: bytes, indent: bytes) -> bytes:
    """A line with the indentation of the loop; one in parentheses may have less."""
    return indent + line[len(before) :] if line.startswith(before) else line


def _check_body(loop: ast.For, name: str, where: str) -> None:
    """Refuse a body that does not mean the same when it is written again and again."""
    if loop.orelse:
        raise DeclinedError(f"{where} has an else")
    pending: list[ast.AST] = [*loop.body]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Break | ast.Continue):
            raise DeclinedError(f"{where} is left early")
        # What stands in an inner loop's body leaves that one; in its else, this one.
        pending += (
            node.orelse if isinstance(node, ast.For | ast.While) else ast.iter_child_nodes(node)
        )
    for node in (part for statement in loop.body for part in ast.walk(statement)):
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load):
            raise DeclinedError(f"{where} gives its variable another value")
        if isinstance(node, ast.Pow) or (isinstance(node, ast.Name) and node.id == "pow"):
            # Numba takes a constant exponent for another function, of another type.
            raise DeclinedError(f"{where} holds a power, whose type depends on its exponent")
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".array"):
            raise DeclinedError(f"{where} holds an array of its own")
        if isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            raise DeclinedError(f"{where} holds a function")
        if (
            isinstance(node, ast.JoinedStr)
            or (isinstance(node, ast.Constant) and isinstance(node.value, str))
        ) and node.end_lineno != node.lineno:
            raise DeclinedError(f"{where} holds a string of several lines")
