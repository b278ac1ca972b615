"""Read device-side launches from source text, where a compiler shows nothing or fails.

This is not a C++ front end: names are compared as written, regardless of scope, and a launch
belongs to the function whose body contains it. Numbers are evaluated from constants in the file, in
the function, and in the template's launches. The result adds the source's wording to what PTX
shows. It is the only information about a file that does not compile, such as those that CUDA 13
rejects because they synchronise on the device.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from lmemscope.model import LaunchStream, WrittenLaunch
from lmemscope.sources.code import Code, Token
from lmemscope.sources.conditions import Branch, branches
from lmemscope.sources.constants import Constants, parts
from lmemscope.sources.device_functions import (
    DeviceFunction,
    Reaching,
    closings,
    device_functions,
    later_alternatives,
)

_STREAMS: dict[str, LaunchStream] = {
    "": "default",
    "0": "default",
    "NULL": "default",
    "nullptr": "default",
    "cudaStreamTailLaunch": "tail",
    "cudaStreamFireAndForget": "fire-and-forget",
}
Instances = dict[str, dict[tuple[int | None, ...], None]]
"""Numeric template arguments with which kernels are launched, by kernel."""


def device_launches(text: str, code: Code) -> Iterator[WrittenLaunch]:
    """The launches in a file's device functions, in order.

    Args:
        text: of the file, decoded.
        code: its tokens.
    """
    if "<<<" not in text or not ("__global__" in text or "__device__" in text):
        return
    walker = _Walker(text, code)
    if not walker.functions:
        return
    instances: Instances = {}
    for _ in walker.launches(instances, {}):
        pass
    known = {name: _agreed(found) for name, found in instances.items()}
    yield from walker.launches({}, known)


def _agreed(instances: Mapping[tuple[int | None, ...], None]) -> tuple[int | None, ...]:
    """The arguments shared by all launches of a template."""
    columns = zip(*instances, strict=False)
    return tuple(one[0] if len(set(one)) == 1 else None for one in columns)


def _lines_of(found: Iterable[Branch]) -> Iterator[int]:
    """The lines of branches, each once: branches may be nested."""
    behind = 0
    for one in sorted(found, key=lambda one: one.first):
        yield from range(max(one.first + 1, behind), one.last)
        behind = max(behind, one.last)


class _Walker:
    """Walks one file from its first token to its last."""

    def __init__(self, text: str, code: Code) -> None:
        self._text, self._code = text, code
        conditions = branches(text)
        self._skipped = later_alternatives(code, conditions)
        self._hosts = frozenset(_lines_of(one for one in conditions if one.is_hosts))
        self.functions = list(device_functions(code, closings(code, self._skipped)))
        self._reaching = Reaching(code, self.functions)

    def launches(
        self, instances: Instances, known: Mapping[str, tuple[int | None, ...]]
    ) -> Iterator[WrittenLaunch]:
        """The launches on the device.

        Args:
            instances: receives the template arguments of all launches, including the host's.
            known: for templates, the arguments that hold for all instances.
        """
        constants = Constants(self._text)
        waiting = sorted(self.functions, key=lambda one: -one.begin)
        opened: list[DeviceFunction] = []
        declared = 0
        # Launches are not nested: text that claims so would be read repeatedly.
        launched = -1
        for position, token in enumerate(self._code.tokens):
            while opened and opened[-1].end < position:
                opened.pop()
            if token.text == "{" and token.line not in self._skipped:
                values: dict[str, int] = {}
                if waiting and waiting[-1].begin == position:
                    own = waiting.pop()
                    opened.append(own)
                    given = zip(own.parameters, known.get(own.name, ()), strict=False)
                    values = {name: value for name, value in given if value is not None}
                constants.enter(values)
            elif token.text == "}" and token.line not in self._skipped:
                constants.leave()
            elif token.text == "<<<":
                start = _name_before(self._code, position)
                end = self._code.configuration_end(position)
                if start is None or end is None or start <= launched:
                    continue
                launched = end
                around = opened[-1] if opened else None
                self._note_instance(start, position, around, constants, instances)
                if around is not None and token.line not in self._hosts:
                    yield self._launch(start, position, end, around, constants)
            elif token.kind == "word" and position >= declared:
                declared = constants.declare(self._code, position)

    def _launch(
        self, start: int, position: int, closing: int, own: DeviceFunction, constants: Constants
    ) -> WrittenLaunch:
        code, tokens = self._code, self._code.tokens
        given = parts(tokens[position + 1 : closing - 2])
        grid, block, shared, stream = [*given, [], [], [], []][:4]
        end = code.closing(closing + 1) if code.next_is(closing, "(") else closing
        return WrittenLaunch(
            function=own.name,
            child=_spelled(tokens[start:position]),
            line=tokens[start].line,
            end_line=tokens[end].line,
            configuration=", ".join(_spelled(part) for part in given),
            grid=constants.dimensions(grid),
            block=constants.dimensions(block),
            shared=constants.number(shared) if shared else 0,
            stream=_STREAMS.get(_spelled(stream), "named"),
            kernels=self._reaching.kernels(own),
        )

    def _note_instance(
        self,
        start: int,
        position: int,
        own: DeviceFunction | None,
        constants: Constants,
        instances: Instances,
    ) -> None:
        """Record the arguments of a template's launch, unless it passes on its own parameters."""
        name = self._code.tokens[start:position]
        texts = [token.text for token in name]
        if "<" not in texts:
            return
        first = texts.index("<")
        arguments = parts(name[first + 1 : -1])
        handed_on = own is not None and any(
            len(one) == 1 and one[0].text in own.parameters for one in arguments
        )
        if first and not handed_on:
            values = tuple(constants.number(one) for one in arguments)
            instances.setdefault(texts[first - 1], {})[values] = None


def _name_before(code: Code, position: int) -> int | None:
    """Start of the name before ``<<<``: ``ns::kernel<…>``, ``object.member``, ``*pointer``."""
    at = position - 1
    if at >= 0 and code[at].text == ">":
        opening = code.angle_begin(at)
        if opening is None:
            return None
        at = opening - 1
    if at < 0 or code[at].kind != "word":
        return None
    while at >= 2 and code[at - 1].text in ("::", ".", "->") and code[at - 2].kind == "word":
        at -= 2
    return at


def _spelled(tokens: Sequence[Token]) -> str:
    """Tokens as text, spaced as a person would write them."""
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
