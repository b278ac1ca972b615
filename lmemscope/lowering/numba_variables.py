"""Determine which function declares each local array of a Numba kernel.

The kernel's file shows the arrays of all functions. Functions of other modules are found through
the line information of inlined PTX; their arrays have a type only if the text states it.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from lmemscope.files import text_beside
from lmemscope.formats.ptx import PtxModule
from lmemscope.model import Variable
from lmemscope.sources.numba import LocalArray, local_arrays
from lmemscope.sources.python_places import PythonText

_INLINED = re.compile(rb"\.loc[ \t]+(\d+) ([1-9]\d*) \d+, function_name ([\w$]+)")
_OWN = re.compile(rb"\.loc[ \t]+(\d+) ([1-9]\d*) \d+[ \t]*$", re.MULTILINE)
_NUMBER = re.compile(r"(?:u?int|float|complex)(8|16|32|64|128)")


def placed(variables: Sequence[Variable], path: str, ptx: bytes) -> tuple[Variable, ...]:
    """The variables in a kernel's PTX, each with the function that declares it.

    Args:
        variables: of the kernel's file, listed for every function in the PTX.
        path: of that file.
        ptx: with line information for inlined functions.
    """
    texts: dict[str, PythonText | None] = {}
    found: list[Variable] = []
    claimed: set[tuple[str, int]] = set()
    read: set[tuple[str, str, int]] = set()
    for name, file, line in _functions(PtxModule(ptx)):
        if file not in texts:
            texts[file] = _read(file)
        text = texts[file]
        function = _around(text.tree, line) if text is not None else None
        if text is None or function is None:
            continue
        if file != path:
            if (name, file, function.lineno) not in read:
                read.add((name, file, function.lineno))
                found += _declared(name, file, text, function)
            continue
        inside = range(function.lineno, (function.end_lineno or function.lineno) + 1)
        own = {(v.name, v.line): v for v in variables if not v.is_parameter and v.line in inside}
        claimed |= own.keys()
        found += [replace(variable, function=name) for variable in own.values()]
    # Functions that Numba inlined itself count as the kernel.
    rest = [v for v in variables if v.is_parameter or (v.name, v.line) not in claimed]
    return (*rest, *found)


def _functions(ptx: PtxModule) -> Iterator[tuple[str, str, int]]:
    """The functions in the PTX and those inlined into them: name, file and one line of each.

    A function of another file that Numba inlined itself has the name of the PTX function.
    """
    for function in ptx.functions:
        if function.first_loc is not None:
            file, line = function.first_loc
            yield function.name, ptx.files.get(file, ""), line
            for other, at in dict.fromkeys(_OWN.findall(function.text)):
                if int(other) != file:
                    yield function.name, ptx.files.get(int(other), ""), int(at)
    seen = set()
    for function in ptx.functions:
        for file, line, label in _INLINED.findall(function.text):
            name = ptx.strings.get(label.decode())
            if name is not None and name not in seen:
                seen.add(name)
                yield name, ptx.files.get(int(file), ""), int(line)


def _read(path: str) -> PythonText | None:
    data = text_beside(path)
    try:
        return PythonText(data) if data is not None else None
    except ValueError:
        return None


def _around(tree: ast.Module, line: int) -> ast.FunctionDef | None:
    """The innermost function around a line; decorators count as part of it."""
    inside = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and min([node.lineno, *(one.lineno for one in node.decorator_list)]) <= line
        and line <= (node.end_lineno or node.lineno)
    ]
    return max(inside, key=lambda node: node.lineno, default=None)


def _declared(
    name: str, file: str, text: PythonText, function: ast.FunctionDef
) -> Iterator[Variable]:
    """Local arrays with a stated type, in a function of another module."""
    for order, array in enumerate(local_arrays(function, text.tree)):
        kind = _type(array, text)
        if kind is not None and array.name:
            yield Variable(
                function=name,
                name=array.name,
                type=kind[0],
                size=kind[1],
                file=file,
                line=array.line,
                is_parameter=False,
                members=(),
                order=order,
            )


def _type(array: LocalArray, text: PythonText) -> tuple[str, int] | None:
    """An array's type and size in bytes, if its file states the element type and extents."""
    shape = ast.parse(array.shape, mode="eval").body
    extents = shape.elts if isinstance(shape, ast.Tuple | ast.List) else [shape]
    sizes = [text.integer_there(one) for one in extents]
    known = [size for size in sizes if size is not None]
    dtype = _dtype(array.dtype, text)
    number = _NUMBER.fullmatch(dtype)
    if number is None or not known or len(known) != len(sizes):
        return None
    return dtype + "".join(f"[{size}]" for size in known), math.prod(known) * int(number[1]) // 8


def _dtype(written: str, text: PythonText) -> str:
    """The last component of a type name, or of the value assigned to it if assigned only once."""
    given = [
        node.value
        for node in text.tree.body
        if isinstance(node, ast.Assign)
        and [ast.unparse(one) for one in node.targets] == [written]
        and text.bindings[written] == 1
    ]
    return (ast.unparse(given[0]) if given else written).rpartition(".")[2].strip("'\"")
