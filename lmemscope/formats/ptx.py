"""PTX text: a fast survey of all functions, and a full parse of the few that matter.

A file of 20 MB holds hundreds of thousands of lines, most of them in functions without local
memory. `PtxModule` therefore finds function headers and, inside each function, only the lines
that can speak of local memory (they contain ``local`` or ``%SP``), and tokenises those lines with
the same lexer that `PtxFunction.body` uses for a whole function, on demand.

How NVIDIA's compilers and LLVM lay out local memory in PTX (measured, see docs/how-it-works.md):
every stack object of a function is part of one ``.local`` array, the depot; ``%SPL`` holds its
address in the local window, ``%SP`` the generic one; ``add.u64 %rdN, %SPL, OFFSET`` is the
address of the object at that offset.
"""

from __future__ import annotations

import contextlib
import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from lmemscope.errors import FormatError
from lmemscope.formats.file_names import file_name
from lmemscope.formats.ptx_body import (
    Address,
    Body,
    Instruction,
    LocalDeclaration,
    number_of,
    parse_body,
    parse_instruction,
    parse_local,
)
from lmemscope.formats.ptx_initialisers import Initialisers
from lmemscope.formats.ptx_tokens import Token, tokenise
from lmemscope.model import InlineFrame, KernelKind, LaunchBounds, SourceLocation

_HEADER_WORDS = (b".entry", b".func")
_HEADER = re.compile(rb"[ \t]*(?:\.(?:visible|weak|extern|common)[ \t]+)*\.(entry|func)\b")
_PLAIN_ACCESS = re.compile(
    rb"[ \t]*(?:@!?%p\d+[ \t]+)?(ld|st)(?:\.(?:weak|volatile))?\.local[.\w]*[ \t]+"
    rb"(?:[{}%\w, \t]+,[ \t]*)?\[%rd?\d+(?:[+-]+\d+)?\](?:,[{}%\w, \t]+)?;[ \t]*$"
)
_PLAIN_ADDRESS = re.compile(
    rb"[ \t]*(?:add\.[us]64[ \t]+%rd\d+, %SPL?, (\d{1,18})|\.reg[ \t]+\.b64[ \t]+%SPL?);[ \t]*$"
)
_VERSION = re.compile(rb"^[ \t]*\.version[ \t]+\d+\.\d+", re.MULTILINE)
_TARGET = re.compile(rb"^[ \t]*\.target[ \t]+(sm_\w+)([^\n]*)", re.MULTILINE)
_LOC = re.compile(rb"\.loc[ \t]+(\d{1,18})[ \t]+(\d{1,18})")
_FILE = re.compile(rb'^[ \t]*\.file[ \t]+(\d{1,18})[ \t]+"((?:[^"\\\n]|\\.)*)"', re.MULTILINE)
_STRING_LABEL = re.compile(rb"^(\$L__info_string\w*):\s*((?:\.b8[^\n]*\n\s*)+)", re.MULTILINE)
_NAME = re.compile(rb"(?<![\w$])[A-Za-z_$][\w$]*")
_HEADER_DIRECTIVES = frozenset({".maxntid", ".minnctapersm", ".reqntid", ".maxnreg"})


@dataclass(frozen=True, slots=True)
class LocalSurvey:
    """What a function's lines say about local memory, before ptxas has seen them.

    Attributes:
        declarations: ``.local`` variables.
        object_offsets: distinct depot offsets whose address is taken from the stack pointer,
            ascending: they delimit the stack objects.
        ld_local, st_local: number of instructions.
        takes_generic_address: a ``cvta.local`` makes a generic address of a local one.
    """

    declarations: tuple[LocalDeclaration, ...]
    object_offsets: tuple[int, ...]
    ld_local: int
    st_local: int
    takes_generic_address: bool

    @property
    def bytes(self) -> int:
        """Bytes per thread declared."""
        return sum(declaration.size for declaration in self.declarations)

    @property
    def objects(self) -> int:
        """Stack objects: by offsets where the depot is addressed, else by declarations."""
        return max(len(self.object_offsets), len(self.declarations))


class PtxFunction:
    """A function definition.

    Attributes:
        name: mangled.
        kind: ``entry`` or ``function``.
        line: line of its header; `end_line` is the last line before the next function.
        text: from the header to the next function.
    """

    def __init__(self, name: str, kind: KernelKind, line: int, text: bytes, header: str) -> None:
        self.name, self.kind, self.line = name, kind, line
        self.text, self._header = text, header

    @property
    def end_line(self) -> int:
        """Last line that can belong to it."""
        return self.line + self.text.count(b"\n")

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

    @cached_property
    def first_loc(self) -> tuple[int, int] | None:
        """File index and line of its first ``.loc``: where the function is defined."""
        match = _LOC.search(self.text)
        return (int(match.group(1)), int(match.group(2))) if match else None

    @cached_property
    def survey(self) -> LocalSurvey:
        """Local memory, from the lines that can speak of it."""
        if b"/*" in self.text:
            return _survey(self.body.instructions, self.body.locals)
        instructions: list[Instruction] = []
        declarations: list[LocalDeclaration] = []
        loads = stores = 0
        offsets: set[int] = set()
        number, counted = self.line, 0
        for start, end in _lines_with(self.text, (b"local", b"%SP")):
            plain = _PLAIN_ACCESS.match(self.text, start, end)
            if plain is not None:
                # By far the most frequent line, and one that the lexer could not read otherwise.
                loads += plain.group(1) == b"ld"
                stores += plain.group(1) == b"st"
                continue
            address = _PLAIN_ADDRESS.match(self.text, start, end)
            if address is not None:
                if address.group(1) is not None:
                    offsets.add(int(address.group(1)))
                continue
            number += self.text.count(b"\n", counted, start)
            counted = start
            for statement in _statements(self.text[start:end], number):
                if statement[0][1] == ".local":
                    declarations += parse_local(statement)
                elif statement[0][0] != "dotted":
                    instructions.append(parse_instruction(statement, None))
        rest = _survey(instructions, declarations)
        return LocalSurvey(
            declarations=rest.declarations,
            object_offsets=tuple(sorted(offsets)) or rest.object_offsets,
            ld_local=rest.ld_local + loads,
            st_local=rest.st_local + stores,
            takes_generic_address=rest.takes_generic_address,
        )

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
        tokens = list(tokenise(self._header))
        name_at = next(i for i, token in enumerate(tokens) if token[1] == self.name)
        result: list[tuple[str, str, int]] = []
        statement: list[Token] = []
        for token in tokens[name_at + 1 :]:
            if token[1] in (",", ")"):
                if any(t[1] == ".param" for t in statement):
                    start = next(i for i, t in enumerate(statement) if t[1] == ".param")
                    kept = [t for t in statement[start:] if t[1] not in (".ptr", ".global")]
                    kinds = [t[1] for t in kept if t[0] == "dotted"]
                    result += [
                        (declaration.name, kinds[-1] if kinds else "", declaration.size)
                        for declaration in parse_local(kept)
                    ]
                statement = []
                if token[1] == ")":
                    break
            else:
                statement.append(token)
        return tuple(result)

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
        self.functions = tuple(self._find_functions())
        self._first_lines = [function.line for function in self.functions]
        self._opcodes: dict[int, tuple[str, ...]] = {}

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

    def chain(self, instruction: Instruction) -> tuple[InlineFrame, ...]:
        """Source location of an instruction, innermost first; empty without line information."""
        frames = []
        loc = instruction.loc
        while loc is not None:
            name = self.strings.get(loc.function) if loc.function is not None else None
            place = SourceLocation(self.files.get(loc.file, ""), loc.line)
            frames.append(InlineFrame(place, name))
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

    def _find_functions(self) -> list[PtxFunction]:
        text = self._text
        starts = [
            match
            for start, end in _lines_with(text, _HEADER_WORDS)
            if (match := _HEADER.match(text, start, end))
        ]
        result = []
        line, counted = 1, 0
        for index, match in enumerate(starts):
            begin = match.start()
            end = starts[index + 1].start() if index + 1 < len(starts) else len(text)
            line += text.count(b"\n", counted, begin)
            counted = begin
            brace = text.find(b"{", begin, end)
            if brace < 0 or text.find(b";", begin, brace) >= 0:
                continue  # a declaration
            kind: KernelKind = "entry" if match.group(1) == b"entry" else "function"
            header = text[begin:brace].decode("utf-8", "replace")
            name = _function_name(header)
            if name is not None:
                result.append(PtxFunction(name, kind, line, text[begin:end], header))
        return result


def _function_name(header: str) -> str | None:
    """The first name outside parentheses: return parameters come before it in parentheses."""
    depth = 0
    for kind, text, _ in tokenise(header):
        depth += (text == "(") - (text == ")")
        if kind == "name" and depth == 0:
            return text
    return None


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
    """The statements of one line, labels, braces and directives without semicolon left out."""
    statements: list[list[Token]] = []
    current: list[Token] = []
    for token in tokenise(line.decode("utf-8", "replace"), number):
        if token[1] == ";":
            if current:
                statements.append(current)
            current = []
        elif token[1] == ":" and len(current) == 1:
            current = []
        elif current or token[1] not in ("{", "}"):
            current.append(token)
    if current and current[0][0] == "name":
        statements.append(current)
    return statements


def _survey(instructions: list[Instruction], declarations: list[LocalDeclaration]) -> LocalSurvey:
    """Count and delimit; the depot's address registers are recognised by how they are made."""
    bases = {declaration.name for declaration in declarations}
    offsets: set[int] = set()
    loads = stores = 0
    generic = False
    for instruction in instructions:
        operation, parts = instruction.operation, instruction.modifiers
        operands = instruction.operands
        if operation in ("ld", "st") and "local" in parts:
            loads += operation == "ld"
            stores += operation == "st"
        if operation == "cvta" and "local" in parts and "to" not in parts:
            generic = True
        if operation in ("mov", "cvta") and len(operands) == 2 and operands[1] in bases:
            bases.add(str(operands[0]))
        elif (
            operation == "add"
            and len(operands) == 3
            and operands[1] in bases
            and (offset := number_of(operands[2])) is not None
        ):
            offsets.add(offset)
        for operand in operands:
            if isinstance(operand, Address) and operand.base in bases and not offsets:
                offsets.add(0)
    return LocalSurvey(tuple(declarations), tuple(sorted(offsets)), loads, stores, generic)
