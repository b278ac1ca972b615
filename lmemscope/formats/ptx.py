"""PTX text: a fast survey of all functions, and a full parse of the few that matter.

A file of 20 MB holds hundreds of thousands of lines, most of them in functions without local
memory. `PtxModule` therefore scans the bytes once for headers and for what speaks of local memory
(`ptx_scan`), reads the few lines that this does not settle (`ptx_survey`), and parses whole
functions on demand, `PtxFunction.body`.

How NVIDIA's compilers and LLVM lay out local memory in PTX (measured, see docs/how-it-works.md):
every stack object of a function is part of one ``.local`` array, the depot; ``%SPL`` holds its
address in the local window, ``%SP`` the generic one; ``add.u64 %rdN, %SPL, OFFSET`` is the
address of the object at that offset.
"""

from __future__ import annotations

import contextlib
import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from lmemscope.errors import FormatError
from lmemscope.formats.file_names import file_name
from lmemscope.formats.ptx_body import (
    Body,
    Instruction,
    Loc,
    number_of,
    parse_body,
    parse_instruction,
    parse_local,
)
from lmemscope.formats.ptx_initialisers import Initialisers
from lmemscope.formats.ptx_isa import opcodes_in, operations, row_of, space_of
from lmemscope.formats.ptx_scan import Definition, code_of, definitions
from lmemscope.formats.ptx_survey import LocalSurvey, statements_of, survey
from lmemscope.formats.ptx_tokens import Token, tokenise
from lmemscope.model import InlineFrame, LaunchBounds, SharedVariable, SourceLocation

_VERSION = re.compile(rb"^[ \t]*\.version[ \t]+\d+\.\d+", re.MULTILINE)
_TARGET = re.compile(rb"^[ \t]*\.target[ \t]+(sm_\w+)([^\n]*)", re.MULTILINE)
_LOC = re.compile(rb"\.loc[ \t]+(\d{1,18})[ \t]+(\d{1,18})")
_FILE = re.compile(rb'^[ \t]*\.file[ \t]+(\d{1,18})[ \t]+"((?:[^"\\\n]|\\.)*)"', re.MULTILINE)
_STRING_LABEL = re.compile(rb"^(\$L__info_string\w*):\s*((?:\.b8[^\n]*\n\s*)+)", re.MULTILINE)
_SHARED = re.compile(rb"\.shared\s+(?:\.align\s+\d{1,9}\s+)?\.[bsuf]\d+\s+([\w$]+)")
_SIZED = re.compile(
    rb"\.shared\s+(?:\.align\s+(?P<align>\d{1,9})\s+)?\.[bsuf](?P<bits>\d{1,3})\s+(?P<name>[\w$]+)"
    rb"(?P<extents>(?:\[\d{1,12}\])*)\s*[;=]"
)
"""A variable in shared memory whose size does not come from the launch."""
_FLOATS = re.compile(
    rb"(?:^|[;:{}])[ \t]*(?:@!?%\w+[ \t]+)?(?!(?:ld|st|mov)\b)[a-z][\w.]*"
    rb"\.(?:b?f16(?:x2)?|t?f32(?:x2)?|f64)\b",
    re.MULTILINE,
)
_EXTERNAL = re.compile(
    rb"\.extern\s+\.(?:global|const)\s+\.align\s+(?:8|16)\s+\.[bu](?:8|64)\s+([\w$]+)"
)
"""A variable of another translation unit that may hold pointers."""
_NAME = re.compile(rb"(?<![\w$])[A-Za-z_$][\w$]*")
_CALL = re.compile(rb"\bcall(?:\.uni)?\s+(?:\([^()]*\)\s*,\s*)?([\w$%]+)")
_SEEN = operations(lambda row: row.is_seen)
_HEADER_DIRECTIVES = frozenset({".maxntid", ".minnctapersm", ".reqntid", ".maxnreg"})


class PtxFunction:
    """A function definition.

    Attributes:
        name: mangled.
        kind: ``entry`` or ``function``.
        line: line of its header; `end_line` is the last line before the next function.
    """

    def __init__(self, code: bytes, found: Definition) -> None:
        self.name, self.kind, self.line = found.name, found.kind, found.line
        self._code, self._found = code, found

    @cached_property
    def text(self) -> bytes:
        """From the header to the next function, with blanks for block comments."""
        return self._code[self._found.begin : self._found.end]

    @property
    def end_line(self) -> int:
        """Last line that can belong to it."""
        return self.line + self._code.count(b"\n", self._found.begin, self._found.end)

    @property
    def is_visible(self) -> bool:
        """Whether code of another module may call it."""
        return any(
            text in (".visible", ".weak", ".extern") for _, text, _ in tokenise(self._header)
        )

    @property
    def thread_dimensions(self) -> int:
        """Dimensions of its block that it asks for: 1, or up to the last of ``%tid``, ``%ntid``."""
        return next((n for n, word in ((3, b"tid.z"), (2, b"tid.y")) if word in self.text), 1)

    @property
    def has_rows(self) -> bool | None:
        """Whether ``.reqntid`` makes warps 32 neighbours in x; None where it is not said."""
        required = self._directives.get(".reqntid")
        if required is None:
            return None
        return required[0] % 32 == 0 or all(extent == 1 for extent in required[1:])

    @property
    def only_prints(self) -> bool:
        """Whether it calls ``vprintf`` and does nothing else that anybody can see.

        What a function returns its caller can see.
        """
        called = {found[1] for found in _CALL.finditer(self.text)}
        if b"func_retval" in self.text:
            return False
        if called != {b"vprintf"}:
            return False
        return all(
            space_of(opcode) in ("local", "param") or not row_of(opcode).is_seen
            for opcode in opcodes_in(self.text, _SEEN)
        )

    @cached_property
    def first_loc(self) -> tuple[int, int] | None:
        """File index and line of its first ``.loc``: where the function is defined."""
        match = _LOC.search(self._code, self._found.begin, self._found.end)
        return (int(match.group(1)), int(match.group(2))) if match else None

    @cached_property
    def survey(self) -> LocalSurvey:
        """Local memory, as `body` has it, but for the few lines that can speak of it.

        Raises:
            FormatError: these lines are so unusual that all of it had to be read, and could not.
        """
        return survey(self._code, self._found, lambda: self.body)

    @cached_property
    def body(self) -> Body:
        """The whole function, parsed.

        Raises:
            FormatError: it cannot be read.
        """
        return parse_body(self.text.decode("utf-8", "replace"), self.line)

    @property
    def launch_bounds(self) -> LaunchBounds | None:
        """From ``.maxntid``/``.reqntid`` (product of its dimensions) and ``.minnctapersm``."""
        values = self._directives
        threads = values.get(".maxntid") or values.get(".reqntid")
        blocks = values.get(".minnctapersm")
        if threads is None and blocks is None:
            return None
        product = 1
        for dimension in threads or ():
            product *= dimension
        return LaunchBounds(product if threads else None, blocks[0] if blocks else None)

    @property
    def max_registers(self) -> int | None:
        """``.maxnreg`` (``__maxnreg__``), or None."""
        value = self._directives.get(".maxnreg")
        return value[0] if value else None

    @cached_property
    def parameters(self) -> tuple[tuple[str, str, int], ...]:
        """Name, PTX type and bytes of each parameter, in order."""
        tokens, name_at = self._named
        return tuple(declared_parameters(tokens[name_at + 1 :]))

    @cached_property
    def results(self) -> tuple[tuple[str, str, int], ...]:
        """What it returns, as `parameters`; nothing of a kernel."""
        tokens, name_at = self._named
        return tuple(declared_parameters(tokens[:name_at]))

    @cached_property
    def _named(self) -> tuple[list[Token], int]:
        """The header's tokens, and which of them is the function's name."""
        tokens = list(tokenise(self._header))
        return tokens, next(i for i, token in enumerate(tokens) if token[1] == self.name)

    @cached_property
    def _header(self) -> str:
        return self._code[self._found.begin : self._found.brace].decode("utf-8", "replace")

    @cached_property
    def _directives(self) -> dict[str, list[int]]:
        """Performance-tuning directives of the header with their numbers."""
        result: dict[str, list[int]] = {}
        current: list[int] | None = None
        for kind, text, _ in tokenise(self._header):
            if kind == "dotted":
                current = result.setdefault(text, []) if text in _HEADER_DIRECTIVES else None
            elif kind == "number" and current is not None:
                current.append(number_of(text) or 0)
            elif text != ",":
                current = None
        return result


def declared_parameters(tokens: Sequence[Token]) -> Iterator[tuple[str, str, int]]:
    """Name, PTX type and bytes of each ``.param`` up to the end of the first list of a header."""
    statement: list[Token] = []
    for token in tokens:
        if token[1] not in (",", ")"):
            statement.append(token)
            continue
        if any(t[1] == ".param" for t in statement):
            start = next(i for i, t in enumerate(statement) if t[1] == ".param")
            kept = [t for t in statement[start:] if t[1] not in (".ptr", ".global")]
            kinds = [t[1] for t in kept if t[0] == "dotted"]
            for declaration in parse_local(kept):
                yield declaration.name, kinds[-1] if kinds else "", declaration.size
        statement = []
        if token[1] == ")":
            return


class PtxModule:
    """A PTX file.

    Attributes:
        target: ``sm_90``, or None.
        is_debug: compiled with ``-G`` (``.target sm_90, debug``).
        functions: definitions, in file order.

    Raises:
        FormatError: the text holds no PTX.
    """

    def __init__(self, text: bytes) -> None:
        self._text = text
        target = _TARGET.search(text)
        if target is None and _VERSION.search(text) is None:
            raise FormatError("ptx", "the text holds neither .version nor .target: it is not PTX")
        self.target = target.group(1).decode() if target else None
        self.is_debug = target is not None and b"debug" in target.group(2)
        code = code_of(text)
        self.functions = tuple(PtxFunction(code, found) for found in definitions(code))
        self._first_lines = [function.line for function in self.functions]
        self._opcodes: dict[int, tuple[str, ...]] = {}
        self._chains: dict[int, tuple[Loc, tuple[InlineFrame, ...]]] = {}

    def function(self, name: str) -> PtxFunction | None:
        """The definition of that name, or None."""
        return self._by_name.get(name)

    def function_at(self, line: int) -> PtxFunction | None:
        """The function that holds a line, or None before the first one."""
        index = bisect_right(self._first_lines, line)
        return self.functions[index - 1] if index else None

    def line(self, number: int) -> str:
        """Text of a line, 1-based; empty outside the file."""
        lines = self._lines
        return lines[number - 1].decode("utf-8", "replace") if 0 < number <= len(lines) else ""

    def opcodes_at(self, number: int) -> tuple[str, ...]:
        """Opcodes of the instructions that begin on a line.

        The closing line of a call that is written over several lines counts as no instruction.
        """
        if number not in self._opcodes:
            found = []
            line = self._lines[number - 1] if self._has(number) else b""
            for statement in _statements(line, number):
                if statement[0][0] == "dotted":
                    continue
                with contextlib.suppress(FormatError):
                    found.append(parse_instruction(statement, None).opcode)
            self._opcodes[number] = tuple(found)
        return self._opcodes[number]

    @cached_property
    def files(self) -> dict[int, str]:
        """Path by index, from ``.file``."""
        return {
            int(match.group(1)): file_name(match.group(2)) for match in _FILE.finditer(self._text)
        }

    @cached_property
    def strings(self) -> dict[str, str]:
        """Names in ``.debug_str`` by label: functions that ``.loc`` says were inlined."""
        return {
            match.group(1).decode(): bytes(
                int(number) & 0xFF for number in re.findall(rb"(?<![b\w])\d{1,9}", match.group(2))
            )
            .rstrip(b"\0")
            .decode("utf-8", "replace")
            for match in _STRING_LABEL.finditer(self._text)
        }

    def takes_address(self, function: str) -> bool:
        """Whether a function's address is put into a register or a variable."""
        return function.encode() in self._addressed

    def initial_value(self, symbol: str) -> bytes | None:
        """Bytes that a variable of the module begins with; None without an initialiser.

        Only plain numbers are read: a variable that begins with addresses has no known bytes.
        """
        return self._initialised.value(symbol)

    def shared_bytes(self, functions: Iterable[str]) -> int:
        """Bytes of static shared memory that functions use, what they share counted once.

        Of code that is linked later ptxas reports none of ``.weak .shared``, a template's, and none
        of functions that are called.
        """
        texts = (found.text for found in map(self.function, functions) if found is not None)
        words = {word for text in texts if self._sized for word in _NAME.findall(text)}
        size = 0
        for name in sorted(words & self._sized.keys()):
            alignment, own = self._sized[name]
            size = -(-size // alignment) * alignment + own
        return size

    @cached_property
    def _sized(self) -> Mapping[bytes, tuple[int, int]]:
        """Alignment and bytes of each variable in shared memory."""
        found = {}
        for one in _SIZED.finditer(self._text):
            element = max(1, int(one["bits"]) // 8)
            extents = [int(text) for text in re.findall(rb"\d+", one["extents"])]
            found[one["name"]] = (int(one["align"] or element), element * math.prod(extents))
        return found

    def shared_of(self, kernel: str) -> tuple[SharedVariable, ...]:
        """Variables in shared memory that a kernel, or any function that is called, names.

        Those that its own body declares come first, in their order.
        """
        function = self.function(kernel)
        if function is None or b".shared" not in self._text:
            return ()
        body = function.text[: function.text.rfind(b"}")]
        declared = dict.fromkeys(one["name"] for one in _SIZED.finditer(body))
        texts = (body, *(one.text for one in self.functions if one.kind == "function"))
        named = {word for text in texts for word in _NAME.findall(text)}
        others = {one.encode() for one in self.shared} & named - declared.keys()
        found = ((name, True) for name in declared), ((name, False) for name in sorted(others))
        return tuple(
            SharedVariable(name.decode(), alignment, size, is_own)
            for one in found
            for name, is_own in one
            for alignment, size in [self._sized.get(name, (1, None))]
        )

    def has_floats(self, functions: Iterable[str]) -> bool:
        """Whether one of some functions computes with floating-point numbers, or converts them."""
        every = (self.function(name) for name in functions)
        return any(one is not None and _FLOATS.search(one.text) is not None for one in every)

    @cached_property
    def shared(self) -> frozenset[str]:
        """Names of variables in shared memory, of the module and of its functions."""
        return frozenset(name.decode() for name in _SHARED.findall(self._text))

    @cached_property
    def _external(self) -> frozenset[bytes]:
        return frozenset(_EXTERNAL.findall(self._text))

    def reads_external_pointer(self, name: str) -> bool:
        """Whether a function names another translation unit's variable that may hold pointers."""
        function = self.function(name) if self._external else None
        return function is not None and not self._external.isdisjoint(_NAME.findall(function.text))

    def chain(self, instruction: Instruction) -> tuple[InlineFrame, ...]:
        """Source location of an instruction, innermost first; empty without line information."""
        loc = instruction.loc
        if loc is None:
            return ()
        # Instructions of one place have one location; who keeps it keeps its identity.
        known = self._chains.get(id(loc))
        if known is None:
            known = self._chains[id(loc)] = (loc, self._chain(loc))
        return known[1]

    def _chain(self, at: Loc) -> tuple[InlineFrame, ...]:
        frames: list[InlineFrame] = []
        loc: Loc | None = at
        while loc is not None:
            name = self.strings.get(loc.function) if loc.function is not None else None
            place = SourceLocation(self.files.get(loc.file, ""), loc.line)
            frames.append(InlineFrame.at(place, name))
            loc = loc.inlined_at
        return tuple(frames)

    def _has(self, number: int) -> bool:
        return 0 < number <= len(self._lines)

    @cached_property
    def _addressed(self) -> frozenset[bytes]:
        """Functions whose names stand behind a ``mov`` or an equals sign on a line."""
        names = {function.name.encode() for function in self.functions}
        found: set[bytes] = set()
        for start, end in _lines_with(self._text, (b"mov", b"=")):
            places = (self._text.find(word, start, end) for word in (b"mov", b"="))
            first = min(place for place in places if place >= 0)
            found.update(match[0] for match in _NAME.finditer(self._text, first, end))
        return frozenset(names & found)

    @cached_property
    def _initialised(self) -> Initialisers:
        return Initialisers(self._text)

    @cached_property
    def _lines(self) -> list[bytes]:
        return self._text.split(b"\n")

    @cached_property
    def _by_name(self) -> dict[str, PtxFunction]:
        return {function.name: function for function in self.functions}


def _lines_with(span: bytes, words: tuple[bytes, ...]) -> list[tuple[int, int]]:
    """Start and end of each line that contains one of the words, in order."""
    found: dict[int, int] = {}
    for word in words:
        position = span.find(word)
        while position >= 0:
            end = span.find(b"\n", position)
            end = len(span) if end < 0 else end
            found[span.rfind(b"\n", 0, position) + 1] = end
            position = span.find(word, end)
    return sorted(found.items())


def _statements(line: bytes, number: int) -> list[list[Token]]:
    """The statements of one line, with that which goes on behind it."""
    statements, rest = statements_of(line, number)
    return [*statements, rest] if rest and rest[0][0] == "name" else statements
