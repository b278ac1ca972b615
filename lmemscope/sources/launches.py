"""Launches in device code, read from the text: what a compiler does not say, or did not take.

No C++ front end: names are compared as they stand, whatever their scopes, and a launch belongs to
the function whose body it is in. Numbers are what constants of the file and of that function make
of the text. It gives what PTX shows the source's own words, and is all there is of a file that does
not compile, as of those that CUDA 13 refuses because they synchronise on the device.
"""

from __future__ import annotations

import ast
import operator
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lmemscope.model import UNKNOWN_DIMENSIONS, Dimensions, LaunchStream, WrittenLaunch
from lmemscope.sources.code import Code, Token
from lmemscope.sources.conditions import Branch, branches

_QUALIFIERS = frozenset(("__global__", "__device__"))
_FARTHEST = 4096
"""Tokens that the arguments of a launch, or of a template, may take."""
_LONGEST = 400
"""Characters of a constant's text."""
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\n]+)", re.MULTILINE)
_SUFFIX = re.compile(r"(?<=[0-9a-fA-F])(?:[uU][lL]{0,2}|[lL]{1,2}[uU]?)\b")
_STREAMS: dict[str, LaunchStream] = {
    "": "default",
    "0": "default",
    "NULL": "default",
    "nullptr": "default",
    "cudaStreamTailLaunch": "tail",
    "cudaStreamFireAndForget": "fire-and-forget",
}
_OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.Div: operator.floordiv,
    ast.Mod: operator.mod,
}
_LARGEST = 1 << 31


@dataclass(frozen=True, slots=True)
class _Function:
    """A function that runs on the device: its body's tokens lie between ``begin`` and ``end``."""

    name: str
    is_kernel: bool
    begin: int
    end: int


def device_launches(text: str, code: Code) -> Iterator[WrittenLaunch]:
    """The launches in functions of a file that run on the device, in order.

    Args:
        text: of the file, decoded.
        code: its tokens.
    """
    if "<<<" not in text:
        return
    conditions = branches(text)
    hosts = [(one.first, one.last) for one in conditions if one.is_hosts]
    functions = list(_functions(code, _closings(code, conditions)))
    constants = _constants(text, code, functions)
    reaching = _Reaching(code, functions)
    for position, token in enumerate(code.tokens):
        if token.text != "<<<":
            continue
        around = [one for one in functions if one.begin < position < one.end]
        if not around or any(first < token.line < last for first, last in hosts):
            continue
        own = max(around, key=lambda one: one.begin)
        found = _launch(code, position, own, constants, reaching)
        if found is not None:
            yield found


def _launch(
    code: Code,
    position: int,
    own: _Function,
    constants: Mapping[str, str],
    reaching: _Reaching,
) -> WrittenLaunch | None:
    start = _name_before(code, position)
    closing = _closing(code, position)
    if start is None or closing is None:
        return None
    tokens = code.tokens
    child = _spelled(tokens[start:position])
    parts = _parts(tokens[position + 1 : closing - 2])
    known = {**constants, **_local_constants(code, own.begin, position)}
    grids = _grids(code, own.begin, position, known)
    grid, block, shared, stream = [*parts, [], [], [], []][:4]
    end = code.closing(closing + 1) if code.next_is(closing, "(") else closing
    bytes_ = _number(_spelled(shared), known) if shared else 0
    return WrittenLaunch(
        function=own.name,
        child=child,
        line=tokens[start].line,
        end_line=tokens[end].line,
        configuration=", ".join(_spelled(part) for part in parts),
        grid=_dimensions(grid, grids, known),
        block=_dimensions(block, grids, known),
        shared=bytes_,
        stream=_STREAMS.get(_spelled(stream), "named"),
        kernels=reaching.kernels(own),
    )


def _closings(code: Code, conditions: Sequence[Branch]) -> dict[int, int]:
    """Of each opening brace, the one that closes it.

    Alternatives may each open a brace that is closed once behind them: the first one that holds
    any code counts.
    """
    chosen: dict[int, Branch] = {}
    skipped: list[Branch] = []
    lines = sorted({token.line for token in code.tokens})
    for one in sorted(conditions, key=lambda one: one.first):
        at = bisect_right(lines, one.first)
        holds = at < len(lines) and lines[at] < one.last
        if holds and chosen.setdefault(one.group, one) is not one:
            skipped.append(one)
    left_out = {line for one in skipped for line in range(one.first + 1, one.last)}
    found: dict[int, int] = {}
    opened: list[int] = []
    for index, token in enumerate(code.tokens):
        if token.line in left_out:
            continue
        if token.text == "{":
            opened.append(index)
        elif token.text == "}" and opened:
            found[opened.pop()] = index
    return found


def _functions(code: Code, closings: Mapping[int, int]) -> Iterator[_Function]:
    """Functions with a body whose declaration says that they run on the device."""
    seen: set[int] = set()
    for position, token in enumerate(code.tokens):
        if token.text not in _QUALIFIERS:
            continue
        at = position + 1
        while at < len(code) and code[at].text not in (";", "{", "}", "="):
            at = code.closing(at) + 1 if code[at].text == "(" else at + 1
        if at >= len(code) or code[at].text != "{" or at in seen:
            continue
        seen.add(at)
        name = "operator()" if code.next_is(position, "(") else code.kernel_name(position)
        if name is not None:
            end = closings.get(at, code.closing(at))
            yield _Function(name, token.text == "__global__", at, end)


class _Reaching:
    """Which kernels reach a function, by the names that bodies hold."""

    def __init__(self, code: Code, functions: Sequence[_Function]) -> None:
        self._functions = functions
        names = {one.name for one in functions if not one.is_kernel}
        self._held = {
            one: {
                token.text
                for index, token in enumerate(code.tokens[one.begin : one.end], one.begin)
                if token.text in names and (code.next_is(index, "(") or code.next_is(index, "<"))
            }
            for one in functions
        }

    def kernels(self, wanted: _Function) -> tuple[str, ...]:
        """Names, in the order of their definitions."""
        if wanted.is_kernel:
            return (wanted.name,)
        kernels = [one for one in self._functions if one.is_kernel]
        return tuple(dict.fromkeys(one.name for one in kernels if self._reaches(one, wanted)))

    def _reaches(self, kernel: _Function, wanted: _Function) -> bool:
        if kernel.begin < wanted.begin < kernel.end:
            return True  # a lambda in its body
        seen: set[str] = set()
        work = set(self._held[kernel])
        while work:
            name = work.pop()
            if name == wanted.name:
                return True
            if name not in seen:
                seen.add(name)
                for one in self._functions:
                    if one.name == name and not one.is_kernel:
                        work |= self._held[one]
        return False


def _constants(text: str, code: Code, functions: Sequence[_Function]) -> dict[str, str]:
    """Texts of the macros, and of the constants outside of functions, that are numbers."""
    found: dict[str, str] = {}
    for match in _DEFINE.finditer(text):
        value = match[2].partition("//")[0].partition("/*")[0].strip()
        found[match[1]] = value if match[1] not in found else found[match[1]] and ""
    depth = 0
    for position, token in enumerate(code.tokens):
        depth += (token.text == "{") - (token.text == "}")
        if depth == 0 and token.text in ("const", "constexpr"):
            found |= _constant_at(code, position)
    return {name: value for name, value in found.items() if value and len(value) <= _LONGEST}


def _local_constants(code: Code, begin: int, end: int) -> dict[str, str]:
    """Constants that a body declares before a place."""
    found: dict[str, str] = {}
    for position in range(begin, end):
        if code[position].text in ("const", "constexpr"):
            found |= _constant_at(code, position)
    return found


def _constant_at(code: Code, position: int) -> dict[str, str]:
    """``const int NAME = TEXT;``"""
    at = position
    while at < len(code) and code[at].text not in (";", "{", "}", "(", ")", "="):
        at += 1
    if at >= len(code) or code[at].text != "=" or code[at - 1].kind != "word":
        return {}
    end = at
    while end < len(code) and code[end].text not in (";", "{", "}"):
        end += 1
    return {code[at - 1].text: _spelled(code.tokens[at + 1 : end])}


def _grids(code: Code, begin: int, end: int, known: Mapping[str, str]) -> dict[str, Dimensions]:
    """What variables of type ``dim3`` were declared as, the nearest declaration last."""
    found: dict[str, Dimensions] = {}
    position = begin
    while position < end:
        token = code[position]
        if token.text == "dim3" and code[position + 1].kind == "word":
            position = _declared(code, position + 1, found, known)
            continue
        if token.text in found and code[position + 1].text in ("=", "."):
            found[token.text] = UNKNOWN_DIMENSIONS  # changed since
        position += 1
    return found


def _declared(
    code: Code, position: int, found: dict[str, Dimensions], known: Mapping[str, str]
) -> int:
    """Read the declarators of a ``dim3``; the position behind them."""
    while position + 1 < len(code) and code[position].kind == "word":
        name, after = code[position].text, position + 1
        if code[after].text in ("(", "{"):
            closing = code.closing(after)
            arguments = _parts(code.tokens[after + 1 : closing])
            found[name] = _of_arguments(arguments, known)
            position = closing + 1
        elif code[after].text == "=":
            end = after
            while end < len(code) and code[end].text not in (",", ";"):
                end = code.closing(end) + 1 if code[end].text in ("(", "{") else end + 1
            found[name] = _dimensions(code.tokens[after + 1 : end], found, known)
            position = end
        else:
            found[name] = (1, 1, 1) if code[after].text in (",", ";") else UNKNOWN_DIMENSIONS
            position = after
        if position >= len(code) or code[position].text != ",":
            break
        position += 1
    return position


def _dimensions(
    part: Sequence[Token], grids: Mapping[str, Dimensions], known: Mapping[str, str]
) -> Dimensions:
    """Of a grid's or block's text: a number, ``dim3(…)``, a variable of that type."""
    if not part:
        return UNKNOWN_DIMENSIONS
    if part[0].text == "dim3" and len(part) > 1 and part[1].text in ("(", "{"):
        return _of_arguments(_parts(part[2:-1]), known)
    if part[0].text == "{":
        return _of_arguments(_parts(part[1:-1]), known)
    if len(part) == 1 and part[0].text in grids:
        return grids[part[0].text]
    number = _number(_spelled(part), known)
    # What is no number may be a grid of several dimensions.
    return UNKNOWN_DIMENSIONS if number is None else (number, 1, 1)


def _of_arguments(arguments: Sequence[Sequence[Token]], known: Mapping[str, str]) -> Dimensions:
    values = [_number(_spelled(one), known) for one in arguments if one]
    x, y, z = [*values, *([1] * 3)][:3]
    return x, y, z


def _number(text: str, known: Mapping[str, str], depth: int = 0) -> int | None:
    """The integer that a constant expression is; None for any other text."""
    if depth > 8 or len(text) > _LONGEST:
        return None
    try:
        tree = ast.parse(_SUFFIX.sub("", text).strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    value = _value(tree, known, depth)
    return value if value is not None and 0 <= value < _LARGEST else None


def _value(node: ast.expr, known: Mapping[str, str], depth: int) -> int | None:
    match node:
        case ast.Constant(value=int() as value):
            return value
        case ast.Name(id=name):
            return _number(known[name], known, depth + 1) if name in known else None
        case ast.BinOp(left=left, op=op, right=right):
            first, second = _value(left, known, depth), _value(right, known, depth)
            compute = _OPERATORS.get(type(op))
            if first is None or second is None or compute is None or second >= _LARGEST:
                return None
            if isinstance(op, ast.Div | ast.Mod) and not second:
                return None
            if isinstance(op, ast.LShift | ast.RShift) and not 0 <= second < 64:
                return None
            return int(compute(first, second))
    return None


def _name_before(code: Code, position: int) -> int | None:
    """Where the name before ``<<<`` begins: ``ns::kernel<…>``, ``object.member``, ``*pointer``."""
    at = position - 1
    if at >= 0 and code[at].text == ">":
        depth = 0
        inside = 0
        while at >= 0 and position - at < _FARTHEST:
            text = code[at].text
            inside += (text == ")") - (text == "(")
            depth += 0 if inside else (text == ">") - (text == "<")
            if depth == 0:
                break
            at -= 1
        at -= 1
    if at < 0 or code[at].kind != "word":
        return None
    while at >= 2 and code[at - 1].text in ("::", ".", "->") and code[at - 2].kind == "word":
        at -= 2
    return at


def _closing(code: Code, position: int) -> int | None:
    """The last of the three ``>`` that close a launch's configuration."""
    at, run = position + 1, 0
    while at < len(code) and at - position < _FARTHEST:
        text = code[at].text
        if text == "(":
            at, run = code.closing(at), 0
        elif text in (";", "{", "}") and text != "{":
            return None
        else:
            run = run + 1 if text == ">" else 0
            if run == 3:
                return at
        at += 1
    return None


def _parts(tokens: Sequence[Token]) -> list[list[Token]]:
    """Tokens split at the commas outside of brackets."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.text in ("(", "{", "[")) - (token.text in (")", "}", "]"))
        if token.text == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts if parts != [[]] else []


def _spelled(tokens: Sequence[Token]) -> str:
    """Tokens as text, with blanks where a person would write them."""
    text = ""
    for token in tokens:
        text += ("" if _is_glued(text, token.text) else " ") + token.text
    return text


def _is_glued(text: str, following: str) -> bool:
    if not text or text[-1] in "([{.:&!~<" or text.endswith("->"):
        return True
    if following in ("(", "[", "<"):
        return text[-1].isalnum() or text[-1] == "_"
    if following == ">":
        return "<" in text or text[-1] == ">"
    return following in (")", "]", ".", "::", ",", "->")
