"""Every regular expression of the program, and how its time grows with the length of a text.

Expressions are read out of the source: those that modules keep, and those that are written at the
call. Parts that are only known at run time stand as a short word.
"""

from __future__ import annotations

import ast
import functools
import importlib
import re
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import lmemscope

_ROOT = Path(lmemscope.__file__).parent
_SEARCHES = frozenset({"search", "finditer", "findall", "sub", "subn", "split"})
_METHODS = _SEARCHES | {"match", "fullmatch"}
_TINY, _SHORT, _LONG = 40, 600, 4800
_LEAST = 0.004
"""Seconds of processor time below which growth is noise."""

_VISIBLE = (
    "9 a _ ( ) { } [ ] < > , ; : . # \" ' - / * & = + % @ ? ! ~ $ \\ "
    ":: -> a, a( a< a: a. a= a* a& a[ <a, (a a:: a-> [0] a[0]. a[0] _Z 0x %r1, // /* */ ## [[ é"
)
RUNS = (*_VISIBLE.split(" "), " ", "\t", "\n", "\r", "\n ", " \n")
"""What is repeated to make the long token."""

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
ENDS = ("", "!", "\n;")


@dataclass(frozen=True, slots=True)
class Expression:
    """A regular expression, where it stands, and whether it is searched for or only matched."""

    place: str
    compiled: re.Pattern[str] | re.Pattern[bytes]
    searched: bool


def repeats_group_possessively(compiled: re.Pattern[str] | re.Pattern[bytes]) -> bool:
    """Whether a group is followed by a repetition and a plus."""
    pattern = compiled.pattern
    text = pattern if isinstance(pattern, str) else pattern.decode("latin-1")
    outside = re.sub(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", "x", text, flags=re.DOTALL)
    return re.search(r"\)(?:[*+?]|\{[\d,]+\})\+", outside) is not None


def expressions() -> Iterator[Expression]:
    """All of them, each once for each place."""
    sources = {file: _read(file) for file in sorted(_ROOT.rglob("*.py"))}
    everywhere: dict[str, set[str]] = defaultdict(set)
    for source in sources.values():
        for name, methods in source.uses.items():
            everywhere[name] |= methods
    for file, source in sources.items():
        module = ".".join(("lmemscope", *file.relative_to(_ROOT).with_suffix("").parts))
        yield from _kept(module.removesuffix(".__init__"), source, everywhere)
        yield from _inline(module.removesuffix(".__init__"), source)


def grows(expression: Expression) -> str | None:
    """A text that takes more than linear time, in words; None where none of `RUNS` does."""
    is_bytes = isinstance(expression.compiled.pattern, bytes)
    for run in RUNS:
        for end in ENDS:
            told = f"{run!r} repeated, then {end!r}"
            if _seconds(expression, _text(is_bytes, run, end, _TINY)) > _LEAST:
                return f"{told}: exponential"
            short = _seconds(expression, _text(is_bytes, run, end, _SHORT))
            if short > 10 * _LEAST:
                return f"{told}: {short:.3f} s for {_SHORT} characters"
            if short > _LEAST / 20:
                text = _text(is_bytes, run, end, _LONG)
                if _grew(expression, text, short, 1) and _grew(expression, text, short, 3):
                    return f"{told}: {_LONG // _SHORT} times as long takes over 20 times as long"
    return None


def _grew(expression: Expression, text: str | bytes, short: float, times: int) -> bool:
    long = min(_seconds(expression, text) for _ in range(times))
    return long > _LEAST and long > 20 * short


@functools.cache
def _text(is_bytes: bool, run: str, end: str, size: int) -> str | bytes:
    text = run * (size // len(run)) + end
    return text.encode() if is_bytes else text


def _seconds(expression: Expression, text: str | bytes) -> float:
    compiled = expression.compiled
    begun = time.process_time()
    if expression.searched:
        for _ in compiled.finditer(text):  # type: ignore[arg-type]
            pass
    else:
        compiled.match(text)  # type: ignore[arg-type]
        compiled.fullmatch(text)  # type: ignore[arg-type]
    return time.process_time() - begun


@dataclass(frozen=True, slots=True)
class _Source:
    """What a module's text says of its expressions.

    Attributes:
        assigned: names that the module keeps.
        uses: for each name, the methods of expressions that are called on it.
        named: for each value that is assigned to a name, by its id, the name.
        calls: of functions of `re` outside of what the module keeps.
    """

    tree: ast.Module
    assigned: frozenset[str]
    uses: dict[str, set[str]]
    named: dict[int, str]
    calls: tuple[ast.Call, ...]


def _read(file: Path) -> _Source:
    tree = ast.parse(file.read_text("utf-8"))
    uses: dict[str, set[str]] = defaultdict(set)
    named: dict[int, str] = {}
    calls: list[ast.Call] = []
    assigned: set[str] = set()
    for top in tree.body:
        if isinstance(top, ast.Assign | ast.AnnAssign):
            targets = top.targets if isinstance(top, ast.Assign) else [top.target]
            assigned |= {target.id for target in targets if isinstance(target, ast.Name)}
        is_kept = not isinstance(top, _SCOPES)
        for node in ast.walk(top):
            if isinstance(node, ast.Attribute) and node.attr in _METHODS:
                of = node.value
                name = of.id if isinstance(of, ast.Name) else getattr(of, "attr", None)
                uses[str(name)].add(node.attr)
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        named[id(node.value)] = target.id
            elif isinstance(node, ast.Call) and not is_kept and node.args and _is_of_re(node.func):
                calls.append(node)
    return _Source(tree, frozenset(assigned), uses, named, tuple(calls))


def _is_of_re(function: ast.expr) -> bool:
    return (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.value.id == "re"
    )


def _kept(module: str, source: _Source, everywhere: dict[str, set[str]]) -> Iterator[Expression]:
    if module.endswith(("__main__", "_child")):
        return
    values = vars(importlib.import_module(module))
    for name in sorted(source.assigned):
        uses = source.uses.get(name, set()) if name.startswith("_") else everywhere.get(name, set())
        for value in _patterns(values.get(name)):
            searched = not uses or bool(uses & _SEARCHES)
            yield Expression(f"{module}.{name}", value, searched)


def _patterns(value: object, depth: int = 0) -> Iterator[re.Pattern[str] | re.Pattern[bytes]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth < 3 and isinstance(value, dict):
        for one in value.values():
            yield from _patterns(one, depth + 1)
    elif depth < 3 and isinstance(value, list | tuple | set | frozenset):
        for one in value:
            yield from _patterns(one, depth + 1)


def _inline(module: str, source: _Source) -> Iterator[Expression]:
    for call in source.calls:
        assert isinstance(call.func, ast.Attribute)
        written = _written(call.args[0], module)
        if written is not None and call.func.attr in {*_METHODS, "compile"}:
            uses = source.uses.get(source.named.get(id(call), ""), {call.func.attr})
            searched = not uses <= {"match", "fullmatch"}
            flags = re.DOTALL if "DOTALL" in ast.unparse(call) else 0
            flags |= re.MULTILINE if "MULTILINE" in ast.unparse(call) else 0
            try:
                compiled = re.compile(written, flags)
            except re.error:
                continue  # what stands for a part that is not known does not fit there
            yield Expression(f"{module}:{call.lineno}", compiled, searched)


def _written(node: ast.expr, module: str) -> str | bytes | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else _known(part, module)
            for part in node.values
        )
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod):
        left = _written(node.left, module)
        if isinstance(node.op, ast.Mod):
            return re.sub(rb"%[bs]", b"zq", left) if isinstance(left, bytes) else left
        right = _written(node.right, module)
        empty = b"" if isinstance(left or right, bytes) else ""
        if left is None and right is None:
            return None
        return (left or empty) + (right or empty)  # type: ignore[operator]
    return None


def _known(part: ast.expr, module: str) -> str:
    if isinstance(part, ast.FormattedValue) and isinstance(part.value, ast.Name):
        value = getattr(importlib.import_module(module), part.value.id, None)
        if isinstance(value, str):
            return value
    return "zq"
