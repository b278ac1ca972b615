"""Find where a source depends on its toolkit's version, so that another toolkit may differ.

Conditions are evaluated for the versions of both toolkits; one that is true for both, such as
``CUDART_VERSION >= 11000``, has the same result.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from lmemscope.files import cached_while_unchanged, read_beside
from lmemscope.sources.constants import SUFFIX, computed
from lmemscope.sources.macro_use import code

Version = tuple[int, int]
"""Major and minor."""

_ASKS = re.compile(
    rb"(?<![\w$])(?:__CUDACC_VER_(?:MAJOR|MINOR|BUILD)__|__CUDA_API_VER_(?:MAJOR|MINOR)__"
    rb"|CUDART_VERSION|CUDA_VERSION|__CUDART_API_VERSION"
    rb"|(?:CCCL|CUB|THRUST)_(?:(?:MAJOR|MINOR|SUBMINOR|PATCH)_)?VERSION"
    rb"|CUDA_STD_VERSION|_LIBCUDACXX_CUDA_API_VERSION)(?![\w$])"
)
"""Version macros of nvcc and the toolkit's headers (CUDA Toolkit, NVCC guide, "Identification
Macros"; ``cuda.h``, ``cuda_runtime_api.h`` and ``<cuda/version>``)."""
_DIRECTIVE = re.compile(rb"[ \t]*(?:#|%:)[ \t]*(?P<word>[a-z_]+)(?P<rest>.*)")
_DEFINED = re.compile(r"\bdefined\s*(?:\(\s*\w+\s*\)|\w+)")
_PARAMETERS = re.compile(rb"[ \t]*\w+(?:\([^()]*\))?")
_DEFINE = re.compile(rb"(?m:^)[ \t]*#[ \t]*define[ \t]+(\w+)((?:[ \t(][^\n]*)?)$")
_NUMBER = re.compile(r"0|[1-9]\d{0,9}", re.ASCII)
_COMPARED = re.compile(rb"[(&|!]\s*(?P<compared>\w+\s*(?:[<>]=?|[!=]=)\s*\w+)\s*[)&|]")
"""A comparison on its own."""
_PRINTS = re.compile(rb"(?:printf|cout|cerr|clog|LOG\w*|log|print|puts)\b[^;{}]*$")
_STATEMENT = 200
"""Number of characters before a name that show how it is used."""
_LONGEST = 400
"""Maximum length of a condition, in characters."""


@dataclass(frozen=True, slots=True)
class Question:
    """A use of a toolkit version macro.

    Attributes:
        name: of the macro.
        file: absolute; empty for command-line options.
        line: in the file; joined lines count as one.
    """

    name: str
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class _Said:
    """A text's code, if it names versions, and its macros with their bodies."""

    asking: bytes
    definitions: tuple[tuple[bytes, bytes], ...]


def asked_of_version(
    files: Iterable[str], defines: Iterable[str], here: Version, there: Version | None
) -> Question | None:
    """What in a compilation's texts another toolkit may treat differently, or None.

    Args:
        files: that it reads, except the toolkit's.
        defines: macros of its command line, ``NAME`` or ``NAME=VALUE``.
        here: version of the toolkit used here.
        there: version of the build's toolkit, if different; None if unknown.
    """
    given = "".join(f"#define {one.replace('=', ' ', 1)}\n" for one in defines).encode()
    texts = {"": _said(given), **{file: _said_in(file) for file in files}}
    if not any(one.asking for one in texts.values()):
        return None
    numbers = _numbers(texts.values())
    ours = {**numbers, **_values(here)}
    theirs = {**numbers, **_values(there)} if there is not None else None
    for file, said in texts.items():
        for name, line in _differing(said.asking, ours, theirs):
            return Question(name, file, line)
    return None


def _numbers(texts: Iterable[_Said]) -> dict[str, int]:
    """Macros that stand for one number wherever the texts define them."""
    found: dict[bytes, set[str]] = {}
    for text in texts:
        for name, body in text.definitions:
            found.setdefault(name, set()).add(body.decode("utf-8", "replace").strip())
    single = {name: SUFFIX.sub("", one.pop()) for name, one in found.items() if len(one) == 1}
    return {name.decode(): int(body) for name, body in single.items() if _NUMBER.fullmatch(body)}


@cached_while_unchanged(4096)
def _read(path: str) -> _Said:
    return _said(read_beside(path))


def _said_in(path: str) -> _Said:
    try:
        return _read(path)
    except OSError:
        return _said(b"")


def _said(data: bytes) -> _Said:
    text = code(data)
    # Most texts name no version.
    return _Said(text if _ASKS.search(text) is not None else b"", tuple(_DEFINE.findall(text)))


def _values(version: Version) -> dict[str, int]:
    major, minor = version
    whole = 1000 * major + 10 * minor
    return {
        "__CUDACC_VER_MAJOR__": major,
        "__CUDACC_VER_MINOR__": minor,
        "__CUDA_API_VER_MAJOR__": major,
        "__CUDA_API_VER_MINOR__": minor,
        "CUDART_VERSION": whole,
        "CUDA_VERSION": whole,
        "__CUDART_API_VERSION": whole,
    }


def _differing(
    text: bytes, ours: Mapping[str, int], theirs: Mapping[str, int] | None
) -> Iterator[tuple[str, int]]:
    """Version names, with lines, on whose values something in a text depends."""
    for found in _ASKS.finditer(text):
        name = found[0].decode()
        if theirs is not None and name in ours and ours[name] == theirs[name]:
            continue
        start = text.rfind(b"\n", 0, found.start()) + 1
        end = text.find(b"\n", start)
        line = text[start : end if end >= 0 else None]
        directive = _DIRECTIVE.match(line)
        is_alike = (
            _is_directive_alike(directive, ours, theirs)
            if directive is not None
            else _PRINTS.search(text, max(0, found.start() - _STATEMENT), found.start()) is not None
            or any(
                one.start() <= found.start() - start < one.end()
                and _same(one["compared"], ours, theirs, as_condition=True)
                for one in _COMPARED.finditer(line)
            )
        )
        if not is_alike:
            yield name, 1 + text.count(b"\n", 0, start)


def _is_directive_alike(
    directive: re.Match[bytes], ours: Mapping[str, int], theirs: Mapping[str, int] | None
) -> bool:
    """Whether a directive that names versions has the same effect for both."""
    word, rest = directive["word"], directive["rest"]
    if word in (b"if", b"elif"):
        return _same(rest, ours, theirs, as_condition=True)
    if word == b"define":
        named = _PARAMETERS.match(rest)
        body = rest[named.end() if named is not None else 0 :]
        return _ASKS.search(body) is None or _same(body, ours, theirs, as_condition=False)
    # Both define it; another use undefines or displays it.
    return True


def _same(
    written: bytes,
    ours: Mapping[str, int],
    theirs: Mapping[str, int] | None,
    *,
    as_condition: bool,
) -> bool:
    """Whether an expression has the same value for both, or the same truth as a condition."""
    text = _DEFINED.sub("1", written.decode("utf-8", "replace"))
    text = text.replace("&&", " and ").replace("||", " or ")
    text = SUFFIX.sub("", re.sub(r"!(?!=)", " not ", text)).strip()
    if len(text) > _LONGEST or theirs is None:
        return _ASKS.search(text.encode()) is None
    try:
        tree = ast.parse(f"({text})", mode="eval").body
        return _agree(tree, ours, theirs, as_condition=as_condition)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False


def _agree(
    node: ast.expr, ours: Mapping[str, int], theirs: Mapping[str, int], *, as_condition: bool
) -> bool:
    if isinstance(node, ast.BoolOp):
        return all(_agree(one, ours, theirs, as_condition=True) for one in node.values)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _agree(node.operand, ours, theirs, as_condition=True)
    both = _value(node, ours), _value(node, theirs)
    if None not in both:
        return both[0] == both[1] or (as_condition and all(both))
    names = (one.id for one in ast.walk(node) if isinstance(one, ast.Name))
    return not any(_ASKS.fullmatch(name.encode()) for name in names)


def _value(node: ast.expr, values: Mapping[str, int]) -> int | None:
    match node:
        case ast.Compare(left=left, ops=[sign], comparators=[right]):
            first, second = computed(left, values.get), computed(right, values.get)
            if first is None or second is None:
                return None
            order = (first > second) - (first < second)
            holds = {
                ast.Lt: order < 0,
                ast.LtE: order <= 0,
                ast.Gt: order > 0,
                ast.GtE: order >= 0,
                ast.Eq: order == 0,
                ast.NotEq: order != 0,
            }.get(type(sign))
            return None if holds is None else int(holds)
    return computed(node, values.get)
