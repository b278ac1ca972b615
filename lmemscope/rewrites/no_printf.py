"""Compile the print out

The call of `printf` or `assert` goes between `#ifdef LMEMSCOPE_PRINT` and `#endif`, with an `if`
that controls only it; all calls that share the finding's buffer go together. If the condition may
have side effects, or the call is the body of a loop or of an `if` with `else`, an empty statement
replaces it.

Unsafe: nothing is printed or asserted without `-DLMEMSCOPE_PRINT`. Declined if the arguments may
have side effects, for a macro of the program, and for a kernel that only prints.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lmemscope.model import Edit, Rewriting, SourceLocation
from lmemscope.rewrites.base import DeclinedError, Rewrite, Target
from lmemscope.rewrites.purity import is_pure
from lmemscope.rewrites.written import BLOCKS, in_arguments, is_continued, is_here, may_be_body
from lmemscope.rules.printf_args import calls_at
from lmemscope.sources.syntax import BRANCHES

if TYPE_CHECKING:
    from tree_sitter import Node

_PRINTS = (b"printf", b"::printf", b"std::printf")
_CHECKS = (b"assert",)
_BODIES = ("if_statement", "else_clause", "for_statement", "while_statement", "for_range_loop")
"""Statements of which a single one may be the body, without braces."""

_WORD = re.compile(rb"\s*([A-Za-z_]\w*)")
_ELSE = re.compile(rb"\belse\b")


def propose(target: Target) -> Iterator[Rewriting]:
    """The statements of all calls behind the findings."""
    shown = [hit.facts.ptx for hit in target.hits]
    if all(one is not None and one.only_prints for one in shown):
        what = "kernel" if target.hits[0].facts.kind == "entry" else "function"
        raise DeclinedError(f"its {what} stores nothing, so printing is what it is for")
    names: set[bytes] = set()
    statements: list[Node] = []
    bodies: list[Node] = []
    places: set[SourceLocation] = set()
    for hit in target.hits:
        own = () if hit.finding.location is None else (hit.finding.location,)
        places.update(calls_at(hit.case) or own)
    if not all(is_here(target, place) for place in places):
        raise DeclinedError("not all calls are in one file")
    for line in sorted({place.line for place in places}):
        found = _calls(target, line)
        if not found:
            raise DeclinedError(f"line {line} has no call of printf or assert as it is written")
        for call, name in found:
            left = _statement(target, call)
            if not _is_the_librarys(name, target):
                raise DeclinedError(
                    f"`{name.decode()}` of line {line} may be the program's own, or a macro"
                )
            if left is None:
                raise DeclinedError(
                    f"line {line} may do more than print: its arguments are of a form that is not "
                    "known to do nothing, or it is no statement of its own"
                )
            names.add(name)
            statement, is_body = left
            if statement not in statements and statement not in bodies:
                (bodies if is_body else statements).append(statement)
    edits: list[Edit] = []
    for first, last in (*_runs(target, statements), *((one, one) for one in bodies)):
        is_body = first in bodies or may_be_body(first, target.syntax)
        made = _between(target, first, last, b";" if is_body else b"")
        if made is None or _has_else(target, last):
            raise DeclinedError("something else is on the lines of the calls")
        edits += made
    if not edits:
        raise DeclinedError("its calls have no line")
    lost = {"these messages are not printed": _PRINTS, "these assertions are not checked": _CHECKS}
    caveat = " and ".join(text for text, some in lost.items() if names & {*some})
    yield Rewriting(
        "no-printf",
        "unsafe",
        tuple(edits),
        "compile the print out unless -DLMEMSCOPE_PRINT is given",
        f"{caveat} unless the program is compiled with -DLMEMSCOPE_PRINT",
    )


def _calls(target: Target, line: int) -> list[tuple[Node, bytes]]:
    """Calls that begin on a line, or go on there."""
    found: list[tuple[Node, bytes]] = []
    for node in target.syntax.on_line(line):
        above: Node | None = node
        while above is not None and above.type != "call_expression":
            above = above.parent if above.type != "compound_statement" else None
        if above is None or any(above == one for one, _ in found):
            continue
        called = above.child_by_field_name("function")
        name = b"" if called is None else target.syntax.text(called)
        if name in (*_PRINTS, *_CHECKS):
            found.append((above, name))
    return found


def _statement(target: Target, call: Node) -> tuple[Node, bool] | None:
    """The statement that goes with a call, and whether an empty one takes its place.

    An `if` that it alone stands under goes with it; of any other statement it is the body. None
    where it cannot be left out.
    """
    own = call.parent
    given = call.child_by_field_name("arguments")
    if own is None or own.type != "expression_statement" or given is None:
        return None
    if not is_pure(given, target) or call.has_error or in_arguments(own, target):
        return None
    statement = own
    while statement.parent is not None and statement.parent.type not in (*BLOCKS, *BRANCHES):
        above = statement.parent
        condition = above.child_by_field_name("condition")
        is_if = above.type == "if_statement" and above.child_by_field_name("alternative") is None
        if not is_if or condition is None or not is_pure(condition, target):
            return (own, True) if own.parent is not None and own.parent.type in _BODIES else None
        if above.has_error:
            return None
        statement = above
    block = statement.parent
    if block is None or _is_all(statement):
        return None
    if block.type == "case_statement" and may_be_body(block, target.syntax):
        return own, True  # `switch (n) case 3: printf("");` would go on in the next statement.
    return statement, False


def _is_all(statement: Node) -> bool:
    """Whether a label would stand before a brace that closes, which not every C++ takes."""
    above = statement.parent
    if above is None or above.type != "case_statement" or above.next_named_sibling is not None:
        return False
    value = above.child_by_field_name("value")
    return all(one in (statement, value) or one.type == "comment" for one in above.named_children)


def _is_the_librarys(name: bytes, target: Target) -> bool:
    """Whether no macro of the program has the name, which might do more than print."""
    word = name.rpartition(b":")[2]
    return not target.meanings.definitions((word,))


def _runs(target: Target, statements: list[Node]) -> Iterator[tuple[Node, Node]]:
    """The first and the last of statements that follow each other with nothing in between."""
    run: list[Node] = []
    for one in sorted(statements, key=lambda node: node.start_byte):
        if run and target.syntax.data[run[-1].end_byte : one.start_byte].strip():
            yield run[0], run[-1]
            run = []
        run.append(one)
    if run:
        yield run[0], run[-1]


def _has_else(target: Target, last: Node) -> bool:
    """Whether a macro behind a statement may be an `else`, which would go with another `if`."""
    word = _WORD.match(target.syntax.code, last.end_byte)
    return word is not None and _ELSE.search(target.meanings.definitions((word[1],))) is not None


def _between(target: Target, first: Node, last: Node, instead: bytes) -> tuple[Edit, ...] | None:
    """The directives around statements that follow each other, and what stands there without."""
    syntax, end = target.syntax, target.syntax.lines_end()
    start, close = first.start_byte, last.end_byte
    begin = syntax.line_start(start)
    after = syntax.data.find(b"\n", close) + 1
    if any(is_continued(target, at) for at in (begin, syntax.line_start(close), after)):
        return None
    if syntax.data[begin:start].strip():
        opened = target.edit(start, start, end + b"#ifdef LMEMSCOPE_PRINT" + end)
    else:
        opened = target.edit(begin, begin, b"#ifdef LMEMSCOPE_PRINT" + end)
    closing = b"#else" + end + instead + end + b"#endif" if instead else b"#endif"
    return opened, _ended(target, close, end, closing)


def _ended(target: Target, close: int, end: bytes, closing: bytes) -> Edit:
    """What follows a statement on its line, a comment aside, begins a line behind the directive."""
    data = target.syntax.data
    stop = data.find(b"\n", close)
    stop = len(data) if stop < 0 else stop
    rest = data[close:stop].strip()
    if not rest or rest.startswith(b"//"):
        at = stop - 1 if data[:stop].endswith(b"\r") else stop
        return target.edit(at, at, end + closing)
    return target.edit(close, close, end + closing + end)


REWRITE = Rewrite(
    "no-printf",
    frozenset({"printf-args"}),
    propose,
    __name__,
    nothing="no call of printf or assert is in sight",
)
