"""Generate the kernels that CuPy makes around expressions.

`ElementwiseKernel`, `ReductionKernel` and ufuncs contain expressions; when called, CuPy generates a
kernel for the types and shapes of the call. Here, a call with contiguous arrays of fewer than 2³¹
elements is assumed, with types that the result names. Raw arrays have the dimensions from a
signature, or those with which the expressions index them, else one as in CuPy. The text around the
expressions comes from the installed CuPy (`tools.cupy_templates`), for reductions without CUB.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from lmemscope.sources.cupy_dimensions import dimensions_of
from lmemscope.sources.located_text import Place, Text, at, joined
from lmemscope.sources.python_values import C_TYPES, DataType, data_type

_HALF = '#include "cupy/float16.cuh"\n\n'
_BLOCK = 512
"""Threads per block for a reduction, unless CuPy's optimiser chooses others."""
_INDICES = dict.fromkeys("IJKLMN", "int32")
"""Types of placeholders with these names: a sparse matrix's indices and sizes."""
_USUAL = {**_INDICES, **dict.fromkeys("CZ", "complex64"), "B": "int8"}
"""Usual types of placeholders with these names, if float32 does not compile."""
_TRIED = ("float32", "float64", "int32", "complex64")
_MIXED = ("float32", "int32", "complex64")
_MOST_MIXED = 6
"""Maximum number of placeholders with mixed types; there are 3 to this power combinations."""
_ALSO_TRIED = "float16"
"""Tried for expressions that mention it; CuPy's headers declare it without a body for other types.
"""
_MOST = 24
"""Maximum number of type assignments to try."""
_ARRAY = re.compile(r"\[(\s*:+\s*(?:1\s*)?(?:,\s*:+\s*(?:1\s*)?)*)\]")
_PART = re.compile(r"(?:[^,\[\]]|\[[^\[\]]*\])+")
"""A type in a signature; commas in brackets separate an array's dimensions."""


_CODE = ("operation", "map_expr", "loop_prep", "after_loop")
_MARK = re.compile(r"@(\w+)@")


@dataclass(frozen=True, slots=True)
class CupyTemplates:
    """The code that the installed CuPy puts around expressions, as it reports itself.

    Attributes:
        elementwise, reduction: kernels with placeholders, ``@name@``.
        headers: included before the kernel.
    """

    elementwise: str
    reduction: str
    headers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter as written in a parameter list.

    Attributes:
        type: C++, or a placeholder: one letter.
        name: of the variable.
        raw: whether it is an array that the expression indexes itself.
        is_const: whether CuPy declares it const.
        scalar: whether it is a number rather than an array.
    """

    type: str
    name: str
    raw: bool
    is_const: bool
    scalar: bool = False


class ParameterError(Exception):
    """A parameter list or a signature that CuPy would reject; the text says why."""


def parameters(text: str, *, is_input: bool) -> tuple[Parameter, ...]:
    """The parameters in a list.

    Raises:
        ParameterError: CuPy would reject it.
    """
    found = []
    for part in text.strip().split(",") if text.strip() else ():
        words = part.split()
        if len(words) < 2:
            raise ParameterError(f"syntax error in its parameter {part.strip()!r}")
        kind, name = words[-2:]
        known = data_type(at(kind, ("", 0))) if len(kind) > 1 else None
        if known is None and len(kind) > 1:
            raise ParameterError(f"{kind} of its parameter {name} is no data type")
        is_const = is_input and "_non_const" not in words
        spelled = C_TYPES[known.name] if known is not None else kind
        found.append(Parameter(spelled, name, "raw" in words[:-2], is_const))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Assignment:
    """The types in a call.

    Attributes:
        types: data types of placeholders.
        scalars: parameters that are numbers; None if no call is known.
        dimensions: of arrays, by parameter; default 1. Without a call, those of raw arrays that the
            expressions index with more than one.
    """

    types: tuple[tuple[str, str], ...]
    scalars: frozenset[str] | None = None
    dimensions: tuple[tuple[str, int], ...] = ()

    @property
    def note(self) -> str:
        """The assumptions made for lack of a call; empty if there are none."""
        if self.scalars is not None or not (self.types or self.dimensions):
            return ""
        by_taken: dict[str, list[str]] = {}
        for name, kind in self.types:
            by_taken.setdefault(kind, []).append(name)
        for name, number in self.dimensions:
            by_taken.setdefault(f"{number}-dimensional", []).append(name)
        listed = "; ".join(
            f"{', '.join(names)} taken as {what}" for what, names in by_taken.items()
        )
        return f"{listed}, contiguous, for want of a call"


@dataclass(frozen=True, slots=True)
class GeneratedKernel:
    """Expressions from which CuPy generates a kernel.

    Attributes:
        name: of the kernel.
        inputs, outputs: their parameters.
        texts: the expressions, by CuPy's names for them.
        place: of the call.
        identity: of a reduction.
        reduce_type: of a reduction; else None.
        fixed: types of names that look like placeholders.
    """

    name: str
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    texts: Mapping[str, Text] = field(hash=False)
    place: Place
    identity: str = ""
    reduce_type: str | None = None
    fixed: tuple[tuple[str, str], ...] = ()

    @property
    def placeholders(self) -> tuple[str, ...]:
        """Types that a call determines, sorted."""
        fixed = dict(self.fixed)
        kinds = {one.type for one in (*self.inputs, *self.outputs)}
        return tuple(sorted(kind for kind in kinds if len(kind) == 1 and kind not in fixed))

    def assignments(self) -> Iterator[Assignment]:
        """Type assignments to try, most likely first.

        First float32, except for indices; then float64; mixtures, those with more float32 first;
        then one other type for all.
        """
        names = self.placeholders
        halves = any(_ALSO_TRIED in text.value for text in self.texts.values())
        tried = (*_TRIED, _ALSO_TRIED) if halves else _TRIED
        first = {name: _INDICES.get(name, "float32") for name in names}
        alone = [dict.fromkeys(names, kind) for kind in tried]
        usual = {name: _USUAL.get(name, "float32") for name in names}
        open_names = [name for name in names if name not in _INDICES][:_MOST_MIXED]
        mixed = (
            first | dict(zip(open_names, kinds, strict=True))
            for kinds in sorted(
                itertools.product(_MIXED, repeat=len(open_names)),
                key=lambda kinds: len(kinds) - kinds.count("float32"),
            )
            if len(set(kinds)) > 1
        )
        dimensions = self._indexed_dimensions()
        seen: set[tuple[tuple[str, str], ...]] = set()
        likely = [first, alone[0], usual, alone[1]]
        for types in [*likely, *itertools.islice(mixed, _MOST - len(likely) - len(alone)), *alone]:
            one = tuple(types.items())
            if one not in seen:
                seen.add(one)
                yield Assignment(one, dimensions=dimensions)
            if len(seen) == _MOST:
                return

    def _indexed_dimensions(self) -> tuple[tuple[str, int], ...]:
        raw = [one.name for one in (*self.inputs, *self.outputs) if one.raw]
        expressions = (self.texts[one].value for one in _CODE if one in self.texts)
        return tuple(dimensions_of(expressions, raw).items())

    def of_signature(self, signature: str) -> Assignment:
        """The types of a call: ``float32[:,:], int32`` for its inputs, and its outputs if given.

        Raises:
            ParameterError: such a call is not possible.
        """
        parts = [part.strip() for part in _PART.findall(signature) if part.strip()]
        every = (*self.inputs, *self.outputs)
        if len(parts) not in (len(self.inputs), len(every)):
            raise ParameterError(
                f"it takes {len(self.inputs)} arguments, or {len(every)} with its outputs, "
                f"and the signature has {len(parts)}"
            )
        types: dict[str, str] = {}
        scalars, dimensions = set(), {}
        for parameter, part in zip(every, parts, strict=False):
            array = _ARRAY.search(part)
            dimensions[parameter.name] = array[1].count(",") + 1 if array else 1
            named = _ARRAY.sub("", part).strip()
            kind = data_type(at(named, ("", 0)))
            if kind is None:
                raise ParameterError(f"{part} of the signature is no data type")
            if named == part and parameter in self.inputs:
                scalars.add(parameter.name)
            self._agree(parameter, kind, types)
        missing = [name for name in self.placeholders if name not in types]
        if missing:
            raise ParameterError(
                f"{', '.join(missing)} is a type of its outputs alone: give their types, too"
            )
        return Assignment(
            tuple(sorted(types.items())), frozenset(scalars), tuple(dimensions.items())
        )

    def _agree(self, parameter: Parameter, kind: DataType, types: dict[str, str]) -> None:
        if parameter.type in self.placeholders:
            known = types.setdefault(parameter.type, kind.name)
            if known != kind.name:
                raise ParameterError(f"{parameter.type} cannot be {known} and {kind.name}")
        elif parameter.type != C_TYPES[kind.name]:
            raise ParameterError(f"{parameter.name} is {parameter.type}, not {kind.name}")

    def program(self, chosen: Assignment, templates: CupyTemplates) -> str:
        """The kernel's source, with ``#line`` directives."""
        types = (*chosen.types, *self.fixed)
        inputs = tuple(self._with_kind(one, chosen) for one in self.inputs)
        used = {kind for _, kind in types} | {one.type for one in (*inputs, *self.outputs)}
        spelled = {name: C_TYPES[kind] for name, kind in types}
        if self.reduce_type is not None:
            types = (*types, ("IndexT", "int32"))
        head = _HALF if "float16" in used else ""
        head += "".join(f"typedef {C_TYPES[kind]} {name};\n" for name, kind in types)
        parts = self._parts(inputs, spelled, dict(chosen.dimensions))
        template = templates.elementwise if self.reduce_type is None else templates.reduction
        texts = [at("".join(f"#include <{one}>\n" for one in templates.headers), self.place)]
        for number, piece in enumerate(_MARK.split(template)):
            if number % 2 == 0:
                texts.append(at(piece, self.place))
                continue
            if piece == "preamble":
                texts.append(at(head, self.place))
            given = self.texts.get(piece)
            texts.append(at(parts[piece], self.place) if given is None else given)
        return joined(texts).as_program()

    def _with_kind(self, parameter: Parameter, chosen: Assignment) -> Parameter:
        """A parameter as an array or a number.

        A parameter used outside the loop is a number, since an array has no element there; so is a
        raw parameter that is never indexed.
        """
        if chosen.scalars is not None:
            is_scalar = parameter.name in chosen.scalars
        elif parameter.raw:
            is_scalar = parameter in self.inputs and self._is_never_indexed(parameter.name)
        else:
            around = "".join(self.texts[one].value for one in ("loop_prep", "after_loop"))
            is_scalar = parameter.name in re.findall(r"\w+", around)
        return Parameter(
            *(parameter.type, parameter.name, parameter.raw, parameter.is_const, is_scalar)
        )

    def _is_never_indexed(self, name: str) -> bool:
        """Whether an array's name occurs only next to arithmetic operators."""
        expressions = "\n".join(text.value for what, text in self.texts.items() if what in _CODE)
        name = re.escape(name)
        return re.search(rf"\b{name}\b", expressions) is not None and not re.search(
            rf"&\s*{name}\b|\b{name}\s*[\[.]|[(,]\s*{name}\s*[,)]", expressions
        )

    def _parts(
        self,
        inputs: tuple[Parameter, ...],
        spelled: Mapping[str, str],
        dimensions: Mapping[str, int],
    ) -> dict[str, str]:
        """The parts that CuPy puts into its template besides the user's expressions."""
        arrays = [one for one in (*inputs, *self.outputs) if not one.raw and not one.scalar]
        indexers = "CIndexer<1, 1> _ind"
        if self.reduce_type is not None:
            indexers = "CIndexer<1, 1> _in_ind, CIndexer<1, 1> _out_ind, const int _block_stride"
        listed = [
            _declared(one, spelled, dimensions.get(one.name, 1) if one.raw else 1)
            for one in (*inputs, *self.outputs)
        ]
        return {
            "parameters": ", ".join([*listed, indexers]),
            "name": self.name,
            "reduce_type": self.reduce_type or "",
            "block_size": str(_BLOCK),
            "identity": self.identity,
            "bindings": "\n".join(_bound(one, "_ind") for one in arrays) + "\n",
            "input_expr": "\n".join(_bound(o, "_in_ind") for o in arrays if o in inputs),
            "output_expr": "\n".join(_bound(o, "_out_ind") for o in arrays if o not in inputs),
        }


def _bound(parameter: Parameter, index: str) -> str:
    """The array element that an expression refers to by the array's name."""
    const = "const " if parameter.is_const else ""
    # For a reduction's inputs, CuPy copies the element.
    sign = " " if index == "_in_ind" and parameter.is_const else " &"
    return f"{const}{parameter.type}{sign}{parameter.name} = _raw_{parameter.name}[{index}.get()];"


def _declared(parameter: Parameter, spelled: Mapping[str, str], dimensions: int) -> str:
    kind = spelled.get(parameter.type, parameter.type)
    const = "const " if parameter.is_const else ""
    if parameter.scalar:
        return f"{const}{kind} {parameter.name}"
    name = parameter.name if parameter.raw else f"_raw_{parameter.name}"
    return f"{const}CArray<{kind}, {dimensions}, 1, 1> {name}"
