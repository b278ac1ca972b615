"""Parse the body of a PTX function into instructions.

Grammar: PTX ISA 9, sections 4.1 to 4.6 (source format, statements, identifiers, constants) and 5
(state spaces). Runs in linear time, with one pass of one lexer. Lines are numbered as in the line
tables of cubins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

from lmemscope.errors import FormatError
from lmemscope.formats.ptx_isa import Opcode, parts_of_opcode, row_of
from lmemscope.formats.ptx_tokens import Scope, Token, integer, tokenise

_LARGEST = 1 << 63
_DEEPEST_INLINED = 200
_DEEPEST_BRACES = 100
"""Maximum inlining depth, and nesting of braces; compilers stop long before."""


@dataclass(frozen=True, slots=True)
class Address:
    """``[base+offset]``; base is a register or symbol, or None for an absolute address."""

    base: str | None
    offset: int


@dataclass(frozen=True, slots=True)
class Vector:
    """``{a, b, …}``."""

    items: tuple[str, ...]


Operand = str | Address | Vector
"""Registers (``%r1``), symbols and constants are kept as text."""


def number_of(operand: object) -> int | None:
    """The integer value of an operand (PTX ISA, 4.5); None for other operands."""
    return _number(operand) if isinstance(operand, str) else None


# A module has few distinct numbers, and analyses query each instruction's many times.
@lru_cache(maxsize=1 << 14)
def _number(text: str) -> int | None:
    try:
        return integer(text)
    except FormatError:
        return None


@dataclass(frozen=True, slots=True)
class Loc:
    """A ``.loc`` directive: line ``line`` of file ``file``.

    Attributes:
        function: label of the inlined function's name in ``.debug_str``, or None.
        inlined_at: the ``.loc`` of the call site, or None.
    """

    file: int
    line: int
    column: int
    function: str | None = None
    inlined_at: Loc | None = None

    @property
    def chain(self) -> Iterator[Loc]:
        """This location and the call sites it was inlined at, innermost first."""
        at: Loc | None = self
        while at is not None:
            yield at
            at = at.inlined_at


@dataclass(frozen=True, slots=True)
class Instruction:
    """One PTX instruction.

    Attributes:
        line: 1-based line in the PTX text (of its first token).
        predicate: ``%p1`` or ``!%p1``, or None.
        opcode: with all modifiers, such as ``ld.local.v4.f32``.
        operands: in order; a call's parenthesised lists and ``d|p`` are vectors.
        loc: the current source location.
        operation: the opcode's first part: ``ld``.
        isa: the effect of its opcode.
    """

    line: int
    predicate: str | None
    opcode: str
    operands: tuple[Operand, ...]
    loc: Loc | None
    operation: str = field(init=False, repr=False, compare=False)
    isa: Opcode = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Queried several times for each instruction, by every analysis.
        object.__setattr__(self, "operation", self.opcode.partition(".")[0])
        object.__setattr__(self, "isa", row_of(self.opcode))

    @property
    def modifiers(self) -> tuple[str, ...]:
        """The opcode's parts: ``("ld", "local", "v4", "f32")``."""
        return parts_of_opcode(self.opcode)

    @property
    def address(self) -> Address | None:
        """The first operand in brackets, or None."""
        return next((o for o in self.operands if isinstance(o, Address)), None)


@dataclass(frozen=True, slots=True)
class LocalDeclaration:
    """A ``.local`` variable: bytes per thread."""

    name: str
    align: int
    size: int
    line: int


@dataclass(slots=True)
class Body:
    """The text between a function's braces."""

    locals: list[LocalDeclaration] = field(default_factory=list)
    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    pragmas: list[tuple[int, str]] = field(default_factory=list)
    jump_tables: dict[str, tuple[str, ...]] = field(default_factory=dict)


def parse_body(text: str, first_line: int) -> Body:
    """Parse a function from its header on; text after its closing brace is ignored.

    Raises:
        FormatError: the function does not end, or a statement cannot be parsed.
    """
    return _BodyParser(tokenise(text, first_line)).parse()


class _BodyParser:
    def __init__(self, tokens: Iterator[Token]) -> None:
        self._tokens = tokens
        self._body = Body()
        self._scopes: list[Scope] = []
        self._opened = 0
        self._loc: Loc | None = None
        self._call_sites: dict[tuple[int, int, int], Loc] = {}
        self._depths: dict[tuple[int, int, int], int] = {}

    def parse(self) -> Body:
        for _, text, _ in self._tokens:
            if text == "{":
                break
        statement: list[Token] = []
        nested = 0
        for token in self._tokens:
            text = token[1]
            if not statement:
                while text == ".loc":
                    token = self._read_loc()
                    text = token[1]
                if text == "}":
                    if not self._scopes:
                        return self._body
                    self._leave()
                    continue
                if text == "{":
                    if len(self._scopes) == _DEEPEST_BRACES:
                        raise FormatError("ptx", f"braces are nested over {_DEEPEST_BRACES} deep")
                    self._opened += 1
                    self._scopes.append(Scope(self._opened, len(self._body.instructions)))
                    continue
                if text == ";":
                    continue
            if text == ";":
                self._statement(statement)
                statement, nested = [], 0
                continue
            if text == ":" and len(statement) == 1 and statement[0][0] == "name":
                self._label(statement[0][1])
                statement = []
                continue
            statement.append(token)
            nested += (text == "{") - (text == "}")
            if nested < 0:
                break
        raise FormatError("ptx", "a function has no end: the PTX is cut off")

    def _read_loc(self) -> Token:
        """Parse ``.loc file line column[, function_name X[+n], inlined_at file line column]``.

        The directive has no terminator, so the first token after it is returned.
        """
        here = self._place()
        function: str | None = None
        outer: Loc | None = None
        depth = 0
        token = next(self._tokens, ("end", "", 0))
        while token[1] == ",":
            word = self._next()[1]
            if word == "function_name":
                function = self._next()[1]
                token = self._next()
                if token[1] == "+":
                    self._next()
                    token = self._next()
            elif word == "inlined_at":
                place = self._place()
                outer = self._call_sites.get(place) or Loc(*place)
                depth = self._depths.get(place, 0) + 1
                token = next(self._tokens, ("end", "", 0))
            else:
                token = next(self._tokens, ("end", "", 0))
        if depth > _DEEPEST_INLINED:
            raise FormatError("ptx", f"calls are inlined more than {_DEEPEST_INLINED} deep")
        known = self._call_sites.get(here)
        if known is not None and here[1] and function is None and outer is None:
            # After code without a line, compilers do not repeat where the same place is inlined.
            # Line 0 is no place: code of several functions has it.
            self._loc = known
        else:
            self._loc = self._call_sites[here] = Loc(*here, function, outer)
            self._depths[here] = depth
        return token

    def _place(self) -> tuple[int, int, int]:
        """File, line and column from the next three tokens."""
        return integer(self._next()[1]), integer(self._next()[1]), integer(self._next()[1])

    def _next(self) -> Token:
        token = next(self._tokens, None)
        if token is None:
            raise FormatError("ptx", "a function has no end: the PTX is cut off")
        return token

    def _statement(self, tokens: list[Token]) -> None:
        if not tokens:
            return
        kind, text, line = tokens[0]
        if kind == "name" and len(tokens) > 1 and tokens[1][1] == ":":
            self._labelled_directive(text, tokens[2:])
            return
        if kind == "dotted":
            if text == ".local":
                self._body.locals += parse_local(tokens)
            elif text == ".pragma" and len(tokens) > 1:
                self._body.pragmas.append((line, tokens[1][1].strip('"')))
            elif text == ".reg" and self._scopes:
                self._declare(tokens[1:])
            return
        if self._scopes:
            tokens = [(k, self._register(t) if k == "name" else t, n) for k, t, n in tokens]
        self._body.instructions.append(parse_instruction(tokens, self._loc))

    def _declare(self, tokens: list[Token]) -> None:
        """Declare registers in the innermost braces: ``.b32 a, %t<3>``."""
        scope = self._scopes[-1]
        for position, (kind, name, _) in enumerate(tokens):
            if kind != "name":
                continue
            if [token[1] for token in tokens[position + 1 : position + 2]] == ["<"]:
                count = tokens[position + 2][1] if position + 2 < len(tokens) else ""
                scope.families[name] = integer(count)
            else:
                scope.registers[name] = scope.own("%" + name.lstrip("%"))

    def _register(self, name: str) -> str:
        """A name's unique form in the body: the innermost braces that declare it count."""
        for scope in reversed(self._scopes):
            found = scope.declared(name)
            if found is not None:
                return found
        return name

    def _label(self, name: str) -> None:
        """Define a label; inside braces it is local to them."""
        if self._scopes:
            self._scopes[-1].labels.add(name)
            name = self._scopes[-1].own(name)
        self._body.labels[name] = len(self._body.instructions)

    def _leave(self) -> None:
        """Close braces: branches inside prefer the labels defined there."""
        scope = self._scopes.pop()
        if not scope.labels:
            return
        instructions = self._body.instructions
        for index in range(scope.begin, len(instructions)):
            found = instructions[index]
            if found.operation == "bra" and found.operands[0] in scope.labels:
                target = scope.own(str(found.operands[0]))
                instructions[index] = replace(found, operands=(target, *found.operands[1:]))

    def _labelled_directive(self, label: str, tokens: list[Token]) -> None:
        if tokens and tokens[0][1] == ".branchtargets":
            self._body.jump_tables[label] = tuple(t for k, t, _ in tokens[1:] if k == "name")


def parse_local(tokens: list[Token]) -> list[LocalDeclaration]:
    """Parse ``.local .align 16 .b8 name[192]``, also with several names or dimensions.

    Raises:
        FormatError: a size is not a number or exceeds any memory; an alignment is not a power of
            two.
    """
    align, width, position = 1, 1, 1
    while position < len(tokens) and tokens[position][0] == "dotted":
        word = tokens[position][1]
        if word == ".align":
            position += 1
            align = integer(tokens[position][1] if position < len(tokens) else "")
            if not 0 < align < _LARGEST or align.bit_count() != 1:
                raise FormatError("ptx", "an alignment is no power of two")
        elif word in (".v2", ".v4"):
            width *= int(word[2:])
        else:
            bits = re.sub(r"\D", "", word)
            width *= max(integer(bits) // 8, 1) if bits else 1
        _check_size(width, word)
        position += 1
    result: list[LocalDeclaration] = []
    while position < len(tokens):
        kind, name, line = tokens[position]
        position += 1
        if kind != "name":
            continue
        size = width
        while position < len(tokens) and tokens[position][1] == "[":
            dimension = tokens[position + 1][1] if position + 1 < len(tokens) else ""
            # The brackets of an array of unknown size, such as `extern .shared`, are empty.
            size *= integer(dimension) if dimension != "]" else 0
            _check_size(size, name)
            position += 3 if dimension != "]" else 2
        result.append(LocalDeclaration(name, align, size, line))
    return result


def _check_size(size: int, of: str) -> None:
    if not 0 <= size < _LARGEST:
        raise FormatError("ptx", f"{of[:40]} has a size that no memory has")


def parse_instruction(tokens: list[Token], loc: Loc | None) -> Instruction:
    """One instruction statement, without its semicolon."""
    line, position, predicate = tokens[0][2], 0, None
    if tokens[0][1] == "@":
        negated = len(tokens) > 1 and tokens[1][1] == "!"
        position = 3 if negated else 2
        predicate = ("!" if negated else "") + tokens[position - 1][1] if len(tokens) > 1 else None
    if position >= len(tokens) or tokens[position][0] != "name":
        raise FormatError("ptx", f"line {line}: not an instruction: {_spell(tokens)}")
    opcode = tokens[position][1]
    position += 1
    while position < len(tokens) and tokens[position][0] == "dotted":
        opcode += tokens[position][1]
        position += 1
    try:
        operands = _operands(tokens, position)
    except (IndexError, ValueError) as error:
        raise FormatError(
            "ptx", f"line {line}: operands not understood: {_spell(tokens)}"
        ) from error
    found = Instruction(line, predicate, opcode, operands, loc)
    if len(operands) < found.isa.fewest:
        raise FormatError("ptx", f"line {line}: operands are missing: {_spell(tokens)}")
    return found


def _operands(tokens: list[Token], position: int) -> tuple[Operand, ...]:
    operands: list[Operand] = []
    parts: list[str] = []
    while position < len(tokens):
        text = tokens[position][1]
        if text == ",":
            if parts:
                operands.append("".join(parts))
                parts = []
        elif text == "[":
            address, position = _address(tokens, position + 1)
            operands += address
        elif text in ("{", "("):
            closing = "}" if text == "{" else ")"
            end = position + 1
            items: list[str] = []
            item = ""
            while tokens[end][1] != closing:
                if tokens[end][1] == ",":
                    items.append(item)
                    item = ""
                else:
                    item += tokens[end][1]
                end += 1
            if item:
                items.append(item)
            operands.append(Vector(tuple(items)))
            position = end
        elif text == "|":
            # Two destinations, as in setp, shfl and tex: %p1|%p2, {%r1,%r2}|%p.
            position += 1
            first = operands.pop() if operands and not parts else Vector(("".join(parts),))
            both = first.items if isinstance(first, Vector) else ()
            operands.append(Vector((*both, tokens[position][1])))
            parts = []
        else:
            parts.append(text)
        position += 1
    if parts:
        operands.append("".join(parts))
    return tuple(operands)


def _address(tokens: list[Token], position: int) -> tuple[list[Operand], int]:
    """Parse up to ``]``; texture operands contain a symbol and a coordinate vector."""
    base: str | None = None
    offset, sign = 0, 1
    inner: list[Operand] = []
    while tokens[position][1] != "]":
        kind, text, _ = tokens[position]
        if text == "-":
            sign = -sign
        elif kind == "number":
            offset += sign * integer(text)
            sign = 1
        elif text == "{":
            end = position
            while tokens[end][1] != "}":
                end += 1
            names = tuple(t for k, t, _ in tokens[position + 1 : end] if k in ("name", "number"))
            inner.append(Vector(names))
            position = end
        elif kind == "name":
            if base is None:
                base = text
            else:
                inner.append(text)
        position += 1
    return [Address(base, offset), *inner], position


def _spell(tokens: list[Token]) -> str:
    return " ".join(text for _, text, _ in tokens[:12])
