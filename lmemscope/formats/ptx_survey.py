"""What a PTX function says about local memory, before ptxas has seen it.

`survey_of` reads a parsed body. `survey` finds the same in the text, from the lines that
can matter alone: those with a ``.local`` of an unusual form, and, in functions that declare local
memory, those that name the stack pointer or a declared variable. What these lines cannot say for
certain, the parsed body says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from lmemscope.errors import FormatError
from lmemscope.formats.ptx_body import (
    Address,
    Body,
    Instruction,
    LocalDeclaration,
    parse_instruction,
    parse_local,
)
from lmemscope.formats.ptx_operands import displaced
from lmemscope.formats.ptx_scan import (
    ADDRESS,
    END_OF_LINE,
    LOADED,
    OFFSET,
    OPCODE_PARTS,
    STORED,
    Definition,
)
from lmemscope.formats.ptx_tokens import Token, tokenise

_STACK_POINTERS = frozenset({"%SP", "%SPL"})
_MOST_DECLARATIONS = 4
"""Whose names are looked for one by one; compilers put all of a function into one."""

_ACCESS = re.compile(
    rb"[ \t]*+(?>(?:@!?+%\w++[ \t]++)?)(?:"
    rb"(ld)(?>(?:\.(?:weak|volatile))?)\.local"
    + OPCODE_PARTS
    + LOADED
    + rb",[ \t]*+"
    + ADDRESS
    + rb"|"
    rb"st(?>(?:\.(?:weak|volatile))?)\.local"
    + OPCODE_PARTS
    + ADDRESS
    + rb",[ \t]*+"
    + STORED
    + rb")"
    + END_OF_LINE
)
_DECLARATION = re.compile(
    rb"[ \t]*+\.local[ \t]++\.align[ \t]++([1248]|16|32|64|128)[ \t]++\.b8[ \t]++"
    rb"([A-Za-z_$][\w$]*+)\[(0|[1-9]\d{0,17})\]" + END_OF_LINE
)
_NAMED = rb"([%A-Za-z_$][\w$%]*+)"
_STACK = re.compile(
    rb"[ \t]*+(?:"
    rb"add(?>(?:\.\w++){1,99})[ \t]++%\w++,[ \t]*+" + _NAMED + rb",[ \t]*+(0|[1-9]\d{0,17})|"
    rb"(mov|cvta)(?>(\.local)?)\.[bu](?:32|64)[ \t]++" + _NAMED + rb",[ \t]*+" + _NAMED + rb"|"
    rb"ld" + OPCODE_PARTS + LOADED + rb",[ \t]*+\[" + _NAMED + OFFSET + rb"\]|"
    rb"st" + OPCODE_PARTS + rb"\[" + _NAMED + OFFSET + rb"\],[ \t]*+" + STORED + rb"|"
    rb"(\.reg)[ \t]++\.b(?:32|64)[ \t]++%SPL?+)" + END_OF_LINE
)
_NEAR = 200
_POINTER = re.compile(rb"SP(?<=%SP)")
_TRAILING_DIGITS = b"0123456789"


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


_NONE = LocalSurvey((), (), 0, 0, False)


def survey_of(body: Body) -> LocalSurvey:
    """Local memory in a parsed body."""
    counts = _Counts()
    objects = _Objects({declaration.name for declaration in body.locals})
    for instruction in body.instructions:
        counts.instruction(instruction)
        objects.instruction(instruction)
    return counts.survey(body.locals, objects)


def survey(text: bytes, found: Definition, body: Callable[[], Body]) -> LocalSurvey:
    """Local memory of a function: what `survey_of` says of its body.

    Args:
        text: the module's, without block comments.
        found: the function in it.
        body: parses it; called only where its lines one by one do not say enough.

    Raises:
        FormatError: ``body`` did.
    """
    if not found.others:
        if not found.loads and not found.stores:
            return _NONE
        return LocalSurvey((), (), found.loads, found.stores, False)
    quick = _Lines(text, found).survey()
    return survey_of(body()) if quick is None else quick


def statements_of(line: bytes, number: int) -> tuple[list[list[Token]], list[Token]]:
    """The statements of one line, and the tokens of one that does not end on it.

    Labels and braces around statements are left out.
    """
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
    return statements, current


@dataclass(slots=True)
class _Counts:
    loads: int = 0
    stores: int = 0
    generic: bool = False

    def instruction(self, instruction: Instruction) -> None:
        parts = instruction.modifiers
        if "local" in parts:
            self.loads += instruction.isa.access == "load"
            self.stores += instruction.isa.access == "store"
            self.generic |= instruction.operation == "cvta" and "to" not in parts

    def survey(self, declarations: Iterable[LocalDeclaration], objects: _Objects) -> LocalSurvey:
        offsets = tuple(sorted(objects.offsets))
        return LocalSurvey(tuple(declarations), offsets, self.loads, self.stores, self.generic)


@dataclass(slots=True)
class _Objects:
    """Delimits objects; the depot's address registers are recognised by how they are made."""

    bases: set[str]
    offsets: set[int] = field(default_factory=set)

    def instruction(self, instruction: Instruction) -> None:
        moved = displaced(instruction)
        if moved is not None and instruction.isa.kind == "copy":
            self.moved(str(instruction.operands[0]), moved[0])
        elif moved is not None and moved[0] in self.bases:
            self.offsets.add(moved[1])
        for operand in instruction.operands:
            if isinstance(operand, Address):
                self.addressed(operand.base)

    def moved(self, to: str, what: object) -> None:
        if what in self.bases:
            self.bases.add(to)

    def addressed(self, base: str | None) -> None:
        if base in self.bases and not self.offsets:
            self.offsets.add(0)


class _UnclearError(Exception):
    """Lines one by one do not say enough."""


class _Lines:
    """A function's survey from some of its lines."""

    def __init__(self, text: bytes, found: Definition) -> None:
        self._text, self._found = text, found
        self._counts = _Counts(found.loads, found.stores)
        self._declarations: list[LocalDeclaration] = []
        self._declared: set[int] = set()
        self._instructions: dict[int, list[Instruction]] = {}
        self._braces: dict[bytes, int] = {}
        self._line, self._counted = found.line, found.begin

    def survey(self) -> LocalSurvey | None:
        """None where the whole body has to be parsed."""
        try:
            self._read_others()
            objects = self._objects()
        except (_UnclearError, FormatError):
            return None
        return self._counts.survey(self._declarations, objects)

    def _read_others(self) -> None:
        text, counts = self._text, self._counts
        read_to = self._found.brace
        for at in self._found.others:
            if at < read_to:
                continue
            start, read_to = self._line_of(at)
            access = _ACCESS.match(text, start)
            if access is not None:
                counts.loads += access[1] is not None
                counts.stores += access[1] is None
                continue
            declaration = _DECLARATION.match(text, start)
            if declaration is not None:
                self._declare(declaration)
                continue
            stack = _STACK.match(text, start)
            if stack is not None and stack[3] is not None:
                counts.generic |= stack[4] is not None and stack[3] == b"cvta"
                continue
            self._instructions[start] = self._read(start, read_to)
            for instruction in self._instructions[start]:
                counts.instruction(instruction)

    def _objects(self) -> _Objects:
        """Objects in the declared variables, from all lines that name them or a stack pointer."""
        names = {declaration.name for declaration in self._declarations}
        objects = _Objects(set(names))
        if not names:
            return objects
        if len(names) > _MOST_DECLARATIONS:
            raise _UnclearError
        lines = self._mentions({name.encode().rstrip(_TRAILING_DIGITS) for name in names})
        for start in sorted(lines):
            if start in self._declared:
                continue
            stack = lines[start]
            if stack is None:
                if start not in self._instructions:
                    self._instructions[start] = self._read(start, self._line_of(start)[1])
                for instruction in self._instructions[start]:
                    if instruction.operation in names:
                        raise _UnclearError  # an operand of a statement that begins before
                    objects.instruction(instruction)
                continue
            added, offset, move, _, to, what, loaded, stored, _ = stack.groups()
            if added is not None:
                if added.decode() in objects.bases:
                    objects.offsets.add(int(offset))
            elif move is not None:
                objects.moved(to.decode(), what.decode())
            elif loaded is not None or stored is not None:
                objects.addressed((loaded or stored).decode())
            elif start > self._first(b"{"):
                raise _UnclearError  # perhaps a name of inner braces
        if not objects.bases <= names | _STACK_POINTERS:
            raise _UnclearError  # lines that name other registers matter too
        return objects

    def _declare(self, match: re.Match[bytes]) -> None:
        start = match.start()
        if start > self._first(b"}"):
            raise _UnclearError  # perhaps behind the function's end
        align, name, size = match.groups()
        self._declared.add(start)
        self._declarations.append(
            LocalDeclaration(name.decode(), int(align), int(size), self._number(start))
        )

    def _read(self, start: int, end: int) -> list[Instruction]:
        """Instructions of a line that holds whole statements."""
        statements, rest = statements_of(self._text[start:end], self._number(start))
        if rest:
            raise _UnclearError
        instructions = []
        for statement in statements:
            if statement[0][0] == "dotted":
                if (
                    statement[0][1] != ".local"
                    or end > self._first(b"}")
                    or (statement is statements[0] and not self._is_begun(start))
                ):
                    raise _UnclearError
                self._declarations += parse_local(statement)
                continue
            instruction = parse_instruction(statement, None)
            if not "a" <= instruction.opcode[0] <= "z":
                raise _UnclearError  # an operand of a statement that begins before
            instructions.append(instruction)
        return instructions

    def _is_begun(self, start: int) -> bool:
        """Whether a line surely begins with a statement: one has ended just before."""
        before = self._text[max(self._found.brace, start - _NEAR) : start].rstrip()
        return before.endswith((b";", b"{", b"}")) and b"//" not in before

    def _mentions(self, names: Iterable[bytes]) -> dict[int, re.Match[bytes] | None]:
        """Lines with a stack pointer or what begins as a name, by start, in their usual form."""
        lines: dict[int, re.Match[bytes] | None] = {}
        text, begin, end = self._text, self._found.brace, self._found.end
        read_to = begin
        for pointer in _POINTER.finditer(text, begin, end):
            if pointer.start() >= read_to:
                read_to = self._mention(pointer.start(), lines)
        for name in names:
            at = text.find(name, begin, end)
            while at >= 0:
                at = text.find(name, self._mention(at, lines), end)
        return lines

    def _mention(self, at: int, lines: dict[int, re.Match[bytes] | None]) -> int:
        """Read the line around a position; returns where it has been read to."""
        brace = self._found.brace
        start = self._text.rfind(b"\n", brace, at) + 1 or brace + 1
        if start not in lines:
            lines[start] = _STACK.match(self._text, start)
        match = lines[start]
        return match.end() if match is not None else self._line_of(at)[1]

    def _line_of(self, at: int) -> tuple[int, int]:
        brace, end = self._found.brace, self._found.end
        start = self._text.rfind(b"\n", brace, at)
        line_end = self._text.find(b"\n", at, end)
        return (start if start >= 0 else brace) + 1, line_end if line_end >= 0 else end

    def _first(self, brace: bytes) -> int:
        """Where the body's first one is, that which opens it left out."""
        if brace not in self._braces:
            at = self._text.find(brace, self._found.brace + 1, self._found.end)
            self._braces[brace] = at if at >= 0 else self._found.end
        return self._braces[brace]

    def _number(self, start: int) -> int:
        if start < self._counted:
            self._line, self._counted = self._found.line, self._found.begin
        self._line += self._text.count(b"\n", self._counted, start)
        self._counted = start
        return self._line
