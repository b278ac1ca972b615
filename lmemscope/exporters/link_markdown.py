"""Linked programs in Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from lmemscope.exporters.escape_markdown import Markdown, Part, block, code, constant, line, table
from lmemscope.exporters.link_text import LinkText, link_texts
from lmemscope.model import Report

_EMPTY = constant("")
_HEADS = ("kernel", "registers:", "own frame:", "linked stack", "deepest path")
_SHOWN, _REMARKS, _LOG_LINES = 30, 20, 20


def linked_programs(report: Report) -> Iterator[Markdown]:
    """A section with a table per program; empty if none was linked."""
    found = link_texts(report)
    if not found:
        return
    yield from (_EMPTY, constant("## Linked programs"))
    for one in found:
        yield from _program(one)


def _program(link: LinkText) -> Iterator[Markdown]:
    yield from (_EMPTY, line(link.heading), _EMPTY)
    if link.failure:
        yield from (line(constant("- "), why) for why in link.failure)
        yield _EMPTY
        yield from block(link.log.strip().split("\n")[:_LOG_LINES])
        return
    kernels = link.kernels[:_SHOWN]
    if kernels:
        rows: list[list[Part]] = [[code(one.cells[0]), *one.cells[1:]] for one in kernels]
        yield from (*table(_HEADS, rows), _EMPTY)
    if len(link.kernels) > len(kernels):
        yield line(f"… and {len(link.kernels) - len(kernels)} more kernels with a stack.")
        yield _EMPTY
    if link.rest:
        yield from (line(link.rest), _EMPTY)
    remarks = [(code(k.cells[0]), said) for k in kernels for said in k.remarks]
    for named, text in remarks[:_REMARKS]:
        yield line(constant("- "), named, f": {text}")
    yield from (line(constant("- "), one) for one in link.remarks[:_REMARKS])
    left = max(len(remarks) - _REMARKS, 0) + max(len(link.remarks) - _REMARKS, 0)
    if left:
        yield line(constant("- "), f"… and {left} more remarks, in the HTML report")
