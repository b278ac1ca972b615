"""Import a user's file and compile one Numba or CuPy JIT kernel; a separate process, on request.

    python -P python_child.py REQUEST ANSWER

REQUEST and ANSWER are JSON files. The user's code may print, exit or hang: the parent reads nothing
but ANSWER, and has a time limit.
"""

from __future__ import annotations

import json
import math
import os
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any


class NotMadeError(Exception):
    """The file ran, but did not define the requested kernel."""


def main() -> None:
    """Read the request, compile the kernel, write the answer."""
    request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    try:
        answer = _jit(request) if request["kind"] == "jit.rawkernel" else _numba(request)
    except NotMadeError as error:
        answer = {"error": str(error)}
    except BaseException as error:  # noqa: BLE001 - the user's code may raise anything
        answer = {"error": f"{type(error).__name__}: {error}"}
    Path(sys.argv[2]).write_text(json.dumps(answer), encoding="utf-8")


def _numba(request: dict[str, Any]) -> dict[str, Any]:
    from numba import cuda

    given: dict[Any, list[Any]] = {}
    options: dict[Any, dict[str, Any]] = {}
    made: list[Any] = []
    plain = cuda.jit

    def lazy(func_or_sig: Any = None, *arguments: Any, **keywords: Any) -> Any:
        """`cuda.jit` that compiles nothing yet: with a signature it would query a device."""
        if isinstance(func_or_sig, types.FunctionType):
            made.append(plain(func_or_sig, *arguments, **keywords))
            return made[-1]

        def decorate(function: Callable[..., Any]) -> Any:
            if func_or_sig is not None:
                listed = func_or_sig if isinstance(func_or_sig, list) else [func_or_sig]
                given.setdefault(function, []).extend(listed)
            options[function] = keywords
            made.append(plain(*arguments, **keywords)(function))
            return made[-1]

        return decorate

    cuda.jit = lazy
    # A package may skip its kernels if there is no GPU.
    cuda.is_available = lambda: True
    namespace, ended = {}, None
    try:
        namespace = _run(request["path"])
    except BaseException as error:  # the user's code may raise anything
        # Kernels made before the error exist, for example if launching one failed without a GPU.
        if not any(one.py_func.__name__ == request["name"] for one in made):
            raise
        said = (str(error).strip().splitlines() or ["no message"])[0]
        ended = f"{type(error).__name__}: {said.rstrip(': ')}"
    dispatcher, others = _find({**dict(enumerate(made)), **namespace}, request, "py_func")
    signatures = request["signatures"] or given.get(dispatcher.py_func, [])
    if not signatures:
        return {"missing": "signature"}
    signature = _signature(signatures[0], dispatcher.py_func)
    chosen = options.get(dispatcher.py_func, {})
    major, minor = divmod(int(request["arch"].removeprefix("sm_").rstrip("af")), 10)
    _pretend(major, minor)
    _keep_lines()
    recorded = _recorded_arrays()
    ptx, _ = cuda.compile_ptx(
        dispatcher.py_func,
        signature,
        cc=(major, minor),
        lineinfo=True,
        fastmath=bool(chosen.get("fastmath")),
        launch_bounds=chosen.get("launch_bounds"),
    )
    return {
        "ptx": ptx,
        "registers": chosen.get("max_registers"),
        "signature": str(signatures[0]),
        "others": len(signatures) - 1,
        "namesakes": others,
        "ended": ended,
        "parameters": _parameters(dispatcher.py_func, signature),
        "arrays": [
            recorded.get((os.path.abspath(request["path"]), array["line"]))
            or _evaluated(dispatcher.py_func, array)
            for array in request["arrays"]
        ],
    }


def _signature(given: Any, function: Callable[..., Any]) -> Any:
    """A signature as Numba takes it; its text may use the file's names and Numba's types."""
    from numba import types as kinds
    from numba.core import sigutils
    from numba.cuda.random import xoroshiro128p_type

    if not isinstance(given, str):
        return given
    own = {"xoroshiro128p_type": xoroshiro128p_type, **function.__globals__}
    made = eval(given, {**own, **vars(kinds)})
    return sigutils.normalize_signature(made)[0] if isinstance(made, tuple) else made


def _parameters(function: Callable[..., Any], signature: Any) -> list[str] | None:
    """The Python names of the PTX parameters; None if a type is passed in an unknown way.

    Numba passes an array as pointers to its object and its owner, its item count and item size, the
    data pointer, its shape and its strides; a tuple as its elements.
    """
    import inspect

    from numba import types as kinds
    from numba.core import sigutils

    def parts_of(name: str, kind: Any) -> list[str]:
        if isinstance(kind, kinds.BaseTuple):
            return [part for n, one in enumerate(kind) for part in parts_of(f"{name}[{n}]", one)]
        if isinstance(kind, kinds.Array):
            around = [f"{name}.{part}" for part in ("meminfo", "parent", "size", "itemsize")]
            axes = [f"{part}[{axis}]" for part in ("shape", "strides") for axis in range(kind.ndim)]
            return [*around, name, *(f"{name}.{axis}" for axis in axes)]
        if isinstance(kind, kinds.Complex):
            return [f"{name}.real", f"{name}.imag"]
        if isinstance(kind, kinds.Integer | kinds.Float | kinds.Boolean | kinds.Record):
            return [name]
        raise TypeError(f"{kind} is passed in another way")

    arguments, _ = sigutils.normalize_signature(signature)
    named = zip(inspect.signature(function).parameters, arguments, strict=False)
    try:
        return [part for name, kind in named for part in parts_of(name, kind)]
    except TypeError:
        return None


def _pretend(major: int, minor: int) -> None:
    """Make Numba compile device functions for the requested architecture.

    Numba compiles a function called by a kernel for the present device, and fails without one; it
    has no parameter for another architecture.
    """
    from numba.cuda import dispatcher

    device = types.SimpleNamespace(compute_capability=(major, minor))
    dispatcher.get_current_device = lambda: device


def _keep_lines() -> None:
    """Make Numba compile functions called by a kernel with line information, like the kernel.

    Numba decides this by each function's own decorator. Code that it inlines itself gets the
    caller's file, and the line of the caller's ``def`` if its own line is above that.
    """
    from numba.cuda import debuginfo, dispatcher
    from numba.cuda.lowering import CUDALower

    compiled = dispatcher.compile_cuda
    locate = debuginfo.DIBuilder._di_location  # noqa: SLF001 - there is no public way
    file: list[str] = [""]

    def with_lines(*arguments: Any, **keywords: Any) -> Any:
        return compiled(*arguments, **{**keywords, "lineinfo": not keywords.get("debug")})

    def line_of(lowering: Any, line: int) -> int:
        file[0] = os.path.abspath(lowering.loc.filename)
        return line

    def location(builder: Any, line: int) -> Any:
        if file[0] in ("", builder.filepath):
            return locate(builder, line)
        add, (directory, name) = builder.module.add_debug_info, os.path.split(file[0])
        other = add("DIFile", {"directory": directory, "filename": name})
        around = {"scope": builder.subprograms[-1], "file": other, "discriminator": 0}
        scope = add("DILexicalBlockFile", around)
        return add("DILocation", {"line": line, "column": 1, "scope": scope})

    dispatcher.compile_cuda = with_lines
    CUDALower._adjust_line_if_prologue = line_of  # noqa: SLF001 - as above
    debuginfo.DIBuilder._di_location = location  # noqa: SLF001 - as above


def _recorded_arrays() -> dict[tuple[str, int], dict[str, Any]]:
    """Local arrays by file and line, with the type and bytes that Numba compiled; filled meanwhile.

    If a line makes arrays of several types, such as in a generic function, it has neither.
    """
    from numba.cuda import cudaimpl
    from numba.cuda.lowering import CUDALower

    found: dict[tuple[str, int], dict[str, Any]] = {}
    at: list[Any] = [None]
    lower, make = CUDALower.lower_inst, cudaimpl._generic_array  # noqa: SLF001 - as above

    def lower_inst(lowering: Any, instruction: Any) -> Any:
        at[0] = instruction.loc
        return lower(lowering, instruction)

    def generic_array(context: Any, builder: Any, **keywords: Any) -> Any:
        if keywords["symbol_name"] == "_cudapy_lmem":
            dtype, shape = keywords["dtype"], keywords["shape"]
            width = context.get_abi_sizeof(context.get_data_type(dtype))
            dimensions = "".join(f"[{size}]" for size in shape)
            made = {"bytes": math.prod(shape) * width, "type": f"{dtype.name}{dimensions}"}
            where = os.path.abspath(at[0].filename), at[0].line
            if found.setdefault(where, made) != made:
                found[where] = {"bytes": None, "type": ""}
        return make(context, builder, **keywords)

    CUDALower.lower_inst = lower_inst
    cudaimpl._generic_array = generic_array  # noqa: SLF001 - as above
    return found


def _jit(request: dict[str, Any]) -> dict[str, Any]:
    import numpy
    from cupyx.jit import _compile, _cuda_types

    if not request["signatures"]:
        return {"missing": "signature"}
    namespace = _run(request["path"])
    kernel, _ = _find(namespace, request, "_func")
    types_ = []
    for text in request["signatures"][0].partition("(")[2].rpartition(")")[0].split(","):
        name, bracket, shape = text.strip().partition("[")
        dtype = numpy.dtype(name)
        if bracket:
            dimensions = shape.count(":") - shape.count("::") or 1
            types_.append(_cuda_types.CArray(dtype, dimensions, True, True))
        else:
            types_.append(_cuda_types.Scalar(dtype))
    attributes = ['extern "C"', "__global__"]
    # CuPy has no public way to translate a kernel without a device.
    function, mode = kernel._func, kernel._mode  # noqa: SLF001
    made = _compile.transpile(function, attributes, mode, types_, _cuda_types.void)
    return {"source": "#include <cupy/complex.cuh>\n#include <cupy/carray.cuh>\n" + made.code}


def _run(path: str) -> dict[str, Any]:
    import importlib.util

    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_run.py")
    spec = importlib.util.spec_from_file_location("_lmemscope_python_run", beside)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.run(path)  # type: ignore[no-any-return]


def _find(namespace: dict[Any, Any], request: dict[str, Any], attribute: str) -> tuple[Any, int]:
    """The named kernel, from the module or made by one of its functions, and the number of others.

    A kernel with that name in another module is used only if the file itself has none.
    """
    name = request["name"]
    named = {
        id(value): value
        for value in (namespace.get(name), *namespace.values())
        if getattr(getattr(value, attribute, None), "__name__", None) == name
    }
    path = os.path.abspath(request["path"])
    own = {key: value for key, value in named.items() if _file(getattr(value, attribute)) == path}
    found = own or named
    if not found:
        raise NotMadeError(
            "running the file does not make it: call the function that defines it, in the file "
            "and outside of if __name__ == '__main__'"
        )
    first, *others = found.values()
    return first, len(others)


def _file(function: Callable[..., Any]) -> str:
    return os.path.abspath(function.__code__.co_filename)


def _evaluated(function: Callable[..., Any], array: dict[str, str]) -> dict[str, Any]:
    """The bytes of a local array, from the values of its names where the kernel was defined."""
    import inspect

    import numpy

    known = inspect.getclosurevars(function)
    names = {**known.builtins, **known.globals, **known.nonlocals}
    # Names inside ``cuda.local.array(...)`` may be only attributes (np.float32).
    names = {**function.__globals__, **names}
    try:
        shape = eval(array["shape"], names)
        dtype = eval(array["dtype"], names)
        sizes = shape if isinstance(shape, tuple) else (shape,)
        if not hasattr(dtype, "bitwidth"):
            dtype = numpy.dtype(dtype)
        width = dtype.bitwidth // 8 if hasattr(dtype, "bitwidth") else dtype.itemsize
    except Exception:  # noqa: BLE001 - without a size the array keeps its line
        return {"bytes": None, "type": array["dtype"]}
    count = 1
    for size in sizes:
        count *= int(size)
    dimensions = "".join(f"[{size}]" for size in sizes)
    return {"bytes": count * width, "type": f"{getattr(dtype, 'name', dtype)}{dimensions}"}


if __name__ == "__main__":
    main()
