"""Every regular expression of the program, and how its time grows with the length of a text.

Expressions are read out of the source: those that modules keep, and those that are written at the
call. Parts that are only known at run time stand as a short word.
"""

from __future__ import annotations

import ast
import importlib
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
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


def expressions() -> Iterator[Expression]:
    """All of them, each once for each place."""
    trees = {file: ast.parse(file.read_text("utf-8")) for file in sorted(_ROOT.rglob("*.py"))}
    everywhere = _uses(trees.values())
    for file, tree in trees.items():
        module = ".".join(("lmemscope", *file.relative_to(_ROOT).with_suffix("").parts))
        yield from _kept(module.removesuffix(".__init__"), tree, everywhere)
        yield from _inline(module.removesuffix(".__init__"), tree)


def grows(expression: Expression) -> str | None:
    """A text that takes more than linear time, in words; None where none of `RUNS` does."""
    for run in RUNS:
        for end in ENDS:
            told = f"{run!r} repeated, then {end!r}"
            if _seconds(expression, _text(expression, run, end, _TINY)) > _LEAST:
                return f"{told}: exponential"
            short = _seconds(expression, _text(expression, run, end, _SHORT))
            if short > 10 * _LEAST:
                return f"{told}: {short:.3f} s for {_SHORT} characters"
            if (
                short > _LEAST / 20
                and _grew(expression, run, end, short, 1)
                and _grew(expression, run, end, short, 3)
            ):
                return f"{told}: {_LONG // _SHORT} times as long takes over 20 times as long"
    return None


def _grew(expression: Expression, run: str, end: str, short: float, times: int) -> bool:
    text = _text(expression, run, end, _LONG)
    long = min(_seconds(expression, text) for _ in range(times))
    return long > _LEAST and long > 20 * short


def _text(expression: Expression, run: str, end: str, size: int) -> str | bytes:
    text = run * (size // len(run)) + end
    return text.encode() if isinstance(expression.compiled.pattern, bytes) else text


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


def _uses(trees: Iterable[ast.Module]) -> dict[str, set[str]]:
    """For each name, the methods of expressions that are called on it."""
    uses: dict[str, set[str]] = defaultdict(set)
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in _METHODS:
                of = node.value
                name = of.id if isinstance(of, ast.Name) else getattr(of, "attr", None)
                uses[str(name)].add(node.attr)
    return uses


def _kept(module: str, tree: ast.Module, everywhere: dict[str, set[str]]) -> Iterator[Expression]:
    own = _uses([tree])
    assigned = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    if module.endswith(("__main__", "_child")):
        return
    values = vars(importlib.import_module(module))
    for name in sorted(assigned):
        uses = own[name] if name.startswith("_") else everywhere[name]
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


def _inline(module: str, tree: ast.Module) -> Iterator[Expression]:
    own = _uses([tree])
    named = {
        id(node.value): target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    kept = {id(node) for one in tree.body if not isinstance(one, _SCOPES) for node in ast.walk(one)}
    for node in ast.walk(tree):
        if not (
            isinstance(node, ast.Call)
            and id(node) not in kept
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "re"
            and node.args
        ):
            continue
        written = _written(node.args[0], module)
        if written is not None and node.func.attr in {*_METHODS, "compile"}:
            uses = own.get(named.get(id(node), ""), {node.func.attr})
            searched = not uses <= {"match", "fullmatch"}
            flags = re.DOTALL if "DOTALL" in ast.unparse(node) else 0
            flags |= re.MULTILINE if "MULTILINE" in ast.unparse(node) else 0
            try:
                compiled = re.compile(written, flags)
            except re.error:
                continue  # what stands for a part that is not known does not fit there
            yield Expression(f"{module}:{node.lineno}", compiled, searched)


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
