"""Generate kernels of CuPy ufuncs: ``create_ufunc`` and ``create_reduction_func``.

A ufunc has a loop per combination of types, and most loops share a routine. One loop is read for
each routine, the most likely one: float32 if it exists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lmemscope.sources.cupy_generated import GeneratedKernel, Parameter, ParameterError
from lmemscope.sources.located_text import Place, Text, at
from lmemscope.sources.python_values import C_TYPES, Value, as_key, data_type, plain

_LIKELIEST = ("float32", "float64", "int32", "complex64")


def kernels_of(
    kind: str, arguments: Mapping[str, Value], texts: Mapping[str, Text], place: Place
) -> list[tuple[GeneratedKernel, str]]:
    """A kernel per routine, and which of its loops it is.

    Args:
        kind: the function that creates the ufunc.
        arguments: of its call, known.
        texts: its preamble and the code before the loop.
        place: of the call.

    Raises:
        ParameterError: CuPy would reject it.
    """
    name = plain(arguments.get("name"))
    loops = _loops(arguments.get("ops"), arguments.get("routine"))
    by_routine: dict[Value, list[tuple[tuple[str, ...], tuple[str, ...], Value]]] = {}
    for loop in loops:
        by_routine.setdefault(as_key(loop[2]), []).append(loop)
    if not isinstance(name, str) or not by_routine:
        raise ParameterError("it has no name, or no loop")
    made = []
    for number, same in enumerate(by_routine.values()):
        inputs, outputs, routine = min(same, key=_likelihood)
        listed = f"{', '.join(inputs)} to {', '.join(outputs)}"
        note = f"the loop from {listed}, of {len(same)} with its routine"
        own = f"{name}__{number}" if len(by_routine) > 1 else name
        if kind == "create_ufunc":
            kernel = _elementwise(own, inputs, outputs, routine, texts, place)
        else:
            identity = arguments.get("identity")
            spelled = "" if identity is None else str(plain(identity))
            kernel = _reduction(own, inputs, outputs, routine, texts, place, spelled)
        made.append((kernel, note if len(same) > 1 else ""))
    return made


def _loops(ops: Value, routine: Value) -> list[tuple[tuple[str, ...], tuple[str, ...], Value]]:
    """Input and output types of each loop, and its routine; loops that raise errors are skipped."""
    found = []
    for one in ops if isinstance(ops, tuple | list) else ():
        kinds, own = (one[0], one[1]) if isinstance(one, tuple) else (one, None)
        if own is not None and not isinstance(own, Text | tuple):
            continue
        spelled = plain(kinds)
        before, arrow, behind = spelled.partition("->") if isinstance(spelled, str) else ("",) * 3
        types = [
            data_type(at(letter, ("", 0))) for letter in (before + behind if arrow else before)
        ]
        if not types or None in types:
            raise ParameterError(f"its loop {spelled!r} is not one of types")
        names = [one.name for one in types if one is not None]
        inputs = tuple(names[: len(before)])
        outputs = tuple(names[len(before) :]) if arrow else inputs
        if isinstance(own, tuple) and isinstance(routine, tuple):
            own = tuple(mine or other for mine, other in zip(own, routine, strict=False))
        found.append((inputs, outputs, routine if own is None else own))
    return found


def _likelihood(loop: tuple[tuple[str, ...], tuple[str, ...], Value]) -> tuple[int, ...]:
    kinds = loop[0]
    alike = len(set(kinds)) == 1 and kinds[0] in _LIKELIEST
    return (_LIKELIEST.index(kinds[0]) if alike else len(_LIKELIEST),)


def _elementwise(
    name: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    routine: Value,
    texts: Mapping[str, Text],
    place: Place,
) -> GeneratedKernel:
    """Arrays with the loop's own types, each element in a variable of that type."""
    if not isinstance(routine, Text):
        raise ParameterError("a routine of its is no string")
    read = [_parameter(f"in{n}", kind, is_const=True) for n, kind in enumerate(inputs)]
    written = [_parameter(f"out{n}", kind, is_const=False) for n, kind in enumerate(outputs)]
    values = "".join(f"const in{n}_type in{n}(_raw_in{n}[_ind.get()]);\n" for n in range(len(read)))
    values += "".join(f"out{n}_type out{n};\n" for n in range(len(written)))
    stores = "".join(f"\n_raw_out{n}[_ind.get()] = out{n};" for n in range(len(written)))
    operation = at(values, place) + routine + at(f"\n;{stores}", place)
    types = [(f"in{n}_type", kind) for n, kind in enumerate(inputs)]
    types += [(f"out{n}_type", kind) for n, kind in enumerate(outputs)]
    return GeneratedKernel(
        *(name, tuple(read), tuple(written)),
        {"operation": operation, "after_loop": at("", place), **texts},
        place,
        fixed=tuple(types),
    )


def _reduction(
    name: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    routine: Value,
    texts: Mapping[str, Text],
    place: Place,
    identity: str,
) -> GeneratedKernel:
    if not isinstance(routine, tuple) or len(routine) != 4:
        raise ParameterError("a routine of its is no tuple of four")
    listed = [at("", place) if one is None else one for one in routine]
    mapped, reduced, after, kind = listed
    if not all(isinstance(one, Text) for one in listed):
        raise ParameterError("a routine of its holds what is no string")
    expressions = {"map_expr": mapped, "reduce_expr": reduced, "post_map_expr": after}
    first = Parameter("type_in0_raw", "in0", raw=False, is_const=True)
    last = Parameter("type_out0_raw", "out0", raw=False, is_const=False)
    return GeneratedKernel(
        *(name, (first,), (last,), {**texts, **expressions, "after_loop": at("", place)}, place),
        identity,
        kind.value or C_TYPES[outputs[0]],
        (("type_in0_raw", inputs[0]), ("type_out0_raw", outputs[0])),
    )


def _parameter(name: str, kind: str, *, is_const: bool) -> Parameter:
    return Parameter(C_TYPES[kind], f"_raw_{name}", raw=True, is_const=is_const)
