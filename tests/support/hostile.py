"""Reports whose every string is hostile, built from the document's own types.

A field that is added to the document is in these reports without a change here. Words of a fixed
vocabulary stay what they are, for a document with another one is refused; `variant` chooses which.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from typing import Any

from msgspec import inspect as _inspect

from lmemscope.exporters.json import parse_report
from lmemscope.formats.codec import encode
from lmemscope.formats.documents import schema_of
from lmemscope.model import Report
from lmemscope.rules import RULES

TEXTS = (
    "<script>alert(1)</script>",
    "</script></style></title><img src=x onerror=alert(1)>",
    '" onload="alert(1)" x=\'',
    "a|b\\|c",
    "`code` ``` ~~~",
    "```\n```",
    "one\ntwo\r\n# three\n\n<b>four</b>\n| a | b |\n|---|---|",
    "</details></pre></code><h1>out</h1>",
    "\x1b[31mred\x1b]0;title\x07\x1b]8;;http://x.test\x1b\\",
    "\x9b31m\x9d0;title\x9c\x90q\x9c\x7f\x08\x08\x00",
    "abc\u202etxt.uc\u2066\u2069\u200e\u061c",
    "zero\u200b\u200d\u2060\ufeff\u00ad\u3164\u034f",
    "a\x0bb\x0cc\x85d\u2028e\u2029f",
    "\ud800\udcff\ufffe\uffff\U000e0041",
    "[link](javascript:alert(1)) ![x](http://x.test/y.png) <http://x.test>",
    "see http://x.test/y www.x.test someone@x.test @someone #1 GH-1",
    "*bold* _it_ ~~no~~ # &lt; &copy; $x$",
    "\n::error file=a.cu,line=1::fake\n::add-mask::x",
    "::error::fake",
    "x ##[add-mask]y ##vso[task.setvariable]z",
    "%0A::error::fake%25",
    "../../etc/passwd?a=b#c",
    "javascript:alert(1)",
    "//host/share/a.cu",
    "# head",
    "    indented",
    "[bold red]rich[/] :smile:",
    "]]> <!-- --> <![CDATA[",
    "'; drop",
    "",
)
"""What an author of an input may write to make it more than text."""


_PLACES = frozenset({"object_index", "object", "others"})
"""Numbers of objects; a report has one object for each."""


def hostile(text: str, variant: int = 0) -> Report:
    """A report of this text; ``variant`` chooses among the words that a field allows."""
    return parse_report(encode(_document(text, variant)))


def strings_of(value: object) -> Iterator[str]:
    """Every string in a document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from strings_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings_of(item)


def document(text: str, variant: int = 0) -> str:
    """The same report as a saved file."""
    return json.dumps(_document(text, variant))


@functools.cache
def _type_of_report() -> _inspect.Type:
    return _inspect.type_info(Report)


def _document(text: str, variant: int) -> dict[str, Any]:
    made: dict[str, Any] = _built(_type_of_report(), text, variant)
    made["schema"] = schema_of(Report)
    for kernel in (kernel for unit in made["units"] for kernel in unit["kernels"]):
        for number, finding in enumerate(kernel["findings"]):
            rule = RULES[(variant + number) % len(RULES)]
            finding |= {"rule": rule.id, "name": rule.cause, "cause": rule.cause}
    (whole,) = made["units"]
    # One that was analysed, the same by the other route, and one that failed.
    analysed = {**whole, "failure": None, "frontend": "nvrtc"}
    other = {**analysed, "frontend": "nvcc", "kernels": [_heavier(one) for one in whole["kernels"]]}
    made["units"] = [analysed, other, {**whole, "kernels": []}]
    return made


def _heavier(kernel: dict[str, Any]) -> dict[str, Any]:
    sources = kernel["sources"]
    return {**kernel, "sources": {**sources, "ptxas": {**sources["ptxas"], "registers": 8}}}


def _built(kind: Any, text: str, variant: int, name: str = "", within: tuple[Any, ...] = ()) -> Any:
    """A value of a type; ``name`` is the field's, ``within`` the structures that it is in."""

    def inner(one: Any) -> Any:
        return _built(one, text, variant, name, within)

    if isinstance(kind, _inspect.StrType):
        return text
    if isinstance(kind, _inspect.BoolType):
        return bool(variant % 2)
    if isinstance(kind, _inspect.IntType):
        return 0 if name in _PLACES else 4
    if isinstance(kind, _inspect.FloatType):
        return 1.5
    if isinstance(kind, _inspect.LiteralType):
        return kind.values[variant % len(kind.values)]
    if isinstance(kind, _inspect.UnionType):
        return inner(next(one for one in kind.types if not isinstance(one, _inspect.NoneType)))
    if isinstance(kind, _inspect.VarTupleType):
        return [] if getattr(kind.item_type, "cls", None) in within else [inner(kind.item_type)]
    if isinstance(kind, _inspect.TupleType):
        return [inner(one) for one in kind.item_types]
    if isinstance(kind, _inspect.DictType):
        return {text: inner(kind.value_type)}
    if isinstance(kind, (_inspect.StructType, _inspect.DataclassType)):
        return {
            field.encode_name: _built(field.type, text, variant, field.name, (*within, kind.cls))
            for field in kind.fields
        }
    raise TypeError(f"no hostile value for {kind}")
