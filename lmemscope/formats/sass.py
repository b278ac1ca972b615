"""Parse nvdisasm output: JSON (``-json -annotate``), or text where JSON fails.

A scan does not need it: `lmemscope.formats.sites` decodes local memory instructions from the bytes.
It is for display (``dump --sass``, evidence) and for tests, as an independent check.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lmemscope.errors import FormatError
from lmemscope.formats.instructions import INSTRUCTION_BYTES

_HEADER = re.compile(r"^\.text\.([^:\s]+):$")
_INSTRUCTION = re.compile(
    r"^\s+/\*([0-9a-f]{4,16})\*/\s+(?:(@!?U?P[T0-9]+)\s+)?([A-Z][\w.]*)\s*(.*)"
)
_NOTE = re.compile(r'\(\*"(\w+)"\*\)$')
_ADDRESS = re.compile(r"^\s+/\*([0-9a-f]{4,16})\*/")
_COUNT = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class SassInstruction:
    """One machine instruction.

    Attributes:
        pc: byte offset in the code section.
        opcode: with its modifiers (``STL.64``).
        operands: as printed, without spaces after commas.
        predicate: ``@P0``, ``@!P1`` or None.
        spill_refill: whether it is annotated as a register spill or refill.
    """

    pc: int
    opcode: str
    operands: str
    predicate: str | None
    spill_refill: bool

    @property
    def text(self) -> str:
        """The instruction on one line, in the usual SASS format."""
        guard = f"{self.predicate} " if self.predicate else ""
        return f"{guard}{self.opcode} {self.operands}".rstrip()


@dataclass(frozen=True, slots=True)
class DisassemblyRequest:
    """What to disassemble.

    Attributes:
        symbols: symbol indices of the functions to disassemble; None for none.
        live: whether to count live registers.
    """

    symbols: tuple[int, ...] | None
    live: bool


@dataclass(frozen=True, slots=True)
class Disassembly:
    """Instructions by function, and live registers by function and code offset."""

    instructions: Mapping[str, Sequence[SassInstruction]] = field(default_factory=dict)
    live: Mapping[str, Mapping[int, int]] = field(default_factory=dict)


NOT_DISASSEMBLED = Disassembly()


def parse_json(text: str) -> dict[str, tuple[SassInstruction, ...]]:
    """Instructions by function (code section) from nvdisasm's JSON.

    Before 13.5, a function that is not inlined into a kernel but follows it in its section is
    listed separately, with a start other than 0; the kernel's instructions then end before it.

    Raises:
        FormatError: it is not such JSON.
    """
    try:
        document: list[Any] = json.loads(text)
        found: dict[str, list[SassInstruction]] = {}
        section: list[SassInstruction] = []
        for function in document[1]:
            start = function["start"]
            if start == 0 or not found:
                section = found.setdefault(function["function-name"], [])
            section += (
                SassInstruction(
                    pc=start + index * INSTRUCTION_BYTES,
                    opcode=instruction["opcode"],
                    operands=instruction.get("operands", ""),
                    predicate=_guard(instruction.get("predicate")),
                    spill_refill=any(
                        note.get("info") == "SpillRefill"
                        for note in instruction.get("annotations", ())
                    ),
                )
                for index, instruction in enumerate(function["sass-instructions"])
            )
        return {name: tuple(instructions) for name, instructions in found.items()}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise FormatError("nvdisasm", "nvdisasm printed no JSON of the known form") from error


def parse_text(text: str) -> dict[str, tuple[SassInstruction, ...]]:
    """Instructions by function from a text listing (``-c``, with or without line comments)."""
    result: dict[str, list[SassInstruction]] = {}
    current: list[SassInstruction] | None = None
    for line in text.splitlines():
        header = _HEADER.match(line)
        if header:
            current = result.setdefault(header.group(1), [])
            continue
        if current is not None and (found := _instruction(line)) is not None:
            current.append(found)
    return {name: tuple(instructions) for name, instructions in result.items()}


def _instruction(line: str) -> SassInstruction | None:
    """The instruction on a line of a listing, or None."""
    code, semicolon, _ = line.partition(";")
    match = _INSTRUCTION.match(code.rstrip()) if semicolon else None
    if match is None:
        return None
    pc, predicate, opcode, operands = match.groups()
    note = _NOTE.search(operands, max(operands.rfind("(*"), 0))
    if note is not None:
        operands = operands[: note.start()].rstrip()
    is_spill = note is not None and note[1] == "SpillRefill"
    return SassInstruction(int(pc, 16), opcode, operands.replace(", ", ","), predicate, is_spill)


def _guard(predicate: str | None) -> str | None:
    # Measured on sm_100 and sm_120: for P2R the field contains the operand PR, which is not a
    # guard.
    return predicate if predicate is not None and predicate.startswith("@") else None


def parse_live_registers(text: str) -> dict[str, dict[int, int]]:
    """Live general registers at each instruction in a ``-plr -lrm count`` listing, by function.

    The first column after ``//`` counts them; see nvdisasm's header line.
    """
    result: dict[str, dict[int, int]] = {}
    current: dict[int, int] | None = None
    for line in text.splitlines():
        code, separator, counts = line.rpartition("// |")
        header = _HEADER.match(code.strip() if separator else line)
        if header:
            current = result.setdefault(header.group(1), {})
            continue
        match = _ADDRESS.match(code)
        number = counts.partition("|")[0].strip()
        if match and current is not None and _COUNT.fullmatch(number):
            current[int(match.group(1), 16)] = int(number)
    return result
