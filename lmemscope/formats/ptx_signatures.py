"""Signatures of PTX functions and of calls through pointers (``.func``, ``.callprototype``)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from lmemscope.errors import FormatError
from lmemscope.formats.ptx import PtxFunction, declared_parameters
from lmemscope.formats.ptx_tokens import tokenise

_PROTOTYPE = re.compile(rb"(?<![\w$%])([\w$%]+)\s*:\s*\.callprototype\b([^;]*);")
_REGISTER_BYTES = 4
"""Smaller numbers are passed with this size: CUDA's ABI widens them."""

Shape = tuple[bool, int]
"""A parameter's shape: whether it is a byte array, as for structures, and its bytes."""


@dataclass(frozen=True, slots=True)
class Signature:
    """What a call passes.

    Attributes:
        parameters, results: the shape of each, in order.
    """

    parameters: tuple[Shape, ...]
    results: tuple[Shape, ...]


def signature_of(function: PtxFunction) -> Signature:
    """What a function takes and returns."""
    return Signature(_shapes(function.parameters), _shapes(function.results))


def prototypes_of(function: PtxFunction) -> dict[str, Signature | None]:
    """Prototypes named by a function's calls through pointers, by label.

    None if it cannot be parsed, or if the label has several.
    """
    found: dict[str, Signature | None] = {}
    if b".callprototype" not in function.text:
        return found
    for match in _PROTOTYPE.finditer(function.text):
        label = match[1].decode()
        read = _read(match[2].decode("utf-8", "replace"))
        found[label] = read if found.get(label, read) == read else None
    return found


def _read(text: str) -> Signature | None:
    """``(results) _ (parameters)``, each of which is optional."""
    tokens, depth = list(tokenise(text)), 0
    for place, (kind, word, _) in enumerate(tokens):
        depth += {"(": 1, ")": -1}.get(word, 0)
        if kind == "name" and depth == 0:
            try:
                results = _shapes(declared_parameters(tokens[:place]))
                return Signature(_shapes(declared_parameters(tokens[place + 1 :])), results)
            except FormatError:
                return None
    return None


def _shapes(declared: Iterable[tuple[str, str, int]]) -> tuple[Shape, ...]:
    """Types of one size are equal: numbers are written ``.b64``, ``.u64`` or ``.f64``."""
    return tuple(_shape(kind, size) for _, kind, size in declared)


def _shape(kind: str, size: int) -> Shape:
    bits = re.sub(r"\D", "", kind)
    is_number = bits.isdigit() and int(bits) == 8 * size
    return (False, max(size, _REGISTER_BYTES)) if is_number else (True, size)
