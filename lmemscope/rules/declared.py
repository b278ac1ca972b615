"""What advice must know of a variable to write code for it: element, extents, size, spelling."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lmemscope.formats.statements import closed_at
from lmemscope.model import SourceLocation, SourceText
from lmemscope.rules.base import Case
from lmemscope.rules.remembered import Remembered

_ARRAY = re.compile(r"(?P<element>[^\[\]]*?)(?<!\s)\s*(?P<extents>(?:\[\d+\])+)")
_WRITTEN = r"(?P<element>[\w:<>, ]*[\w>][ *]*)\b{name}\s*(?P<extents>(?:\[[^\[\]]*\])+)"
_ATOM = re.compile(r"[\w.:]+")
"""What needs no parentheses beside an operator."""
_QUALIFIERS = re.compile(r"\b(?:const|constexpr|static|volatile|register|__restrict__)\b")
_SIZES = {
    **dict.fromkeys(("bool", "char", "signed char", "unsigned char", "int8_t", "uint8_t"), 1),
    **dict.fromkeys(("short", "unsigned short", "int16_t", "uint16_t", "ushort", "__half"), 2),
    **dict.fromkeys(("half", "__nv_bfloat16", "nv_bfloat16", "char2", "uchar2"), 2),
    **dict.fromkeys(("int", "unsigned int", "unsigned", "float", "int32_t", "uint32_t"), 4),
    **dict.fromkeys(("uint", "half2", "__half2", "char4", "uchar4", "short2", "ushort2"), 4),
    **dict.fromkeys(("long", "unsigned long", "long long", "unsigned long long", "double"), 8),
    **dict.fromkeys(("int64_t", "uint64_t", "size_t", "float2", "int2", "uint2"), 8),
    **dict.fromkeys(("float3", "int3", "uint3"), 12),
    # Numba's.
    **{f"{kind}{8 * size}": size for kind in ("int", "uint", "float") for size in (1, 2, 4, 8)},
    **dict.fromkeys(("float4", "int4", "uint4", "double2", "longlong2", "ulonglong2"), 16),
}
"""Sizes of built-in and vector types, as nvcc on 64-bit Linux has them."""
_ARITHMETIC = re.compile(
    r"bool|(?:(?:un)?signed )?(?:char|short|int|long|long long)|unsigned|float|double"
    r"|u?int\d+(?:_t)?|uint|ushort|uchar|size_t|float(?:16|32|64)"
)
_PADDING = 16

NO_TYPES = frozenset("return else case goto throw new delete".split())
"""Words that stand before a name where a type may, and declare nothing."""
_ALIASES = 4
"""Names that a type has one behind the other."""


def bytes_of(kind: str) -> int | None:
    """Bytes of a built-in or vector type, qualified or not; None for any other."""
    return _SIZES.get(_plain(kind))


@dataclass(frozen=True, slots=True)
class Declaration:
    """A variable as code that replaces it would declare it.

    Attributes:
        name: without the structures that it is a member of.
        path: as the source reaches it: ``particle.history``.
        element: its element's type, as the source or else the compiler spells it; None where
            neither spelling would compile at the place of the declaration.
        extents: the numbers of elements, outermost first; empty of what is no array.
        written: the same as the source spells them, where it does.
        element_bytes: None where not known.
        is_arithmetic: whether an element is one number.
        is_wide: whether an element of 8 or 16 bytes is loaded at once: a number, a vector, a
            pointer.
        has_initialiser: whether the declaration gives values.
    """

    name: str
    path: str
    element: str | None
    extents: tuple[int, ...]
    written: tuple[str, ...]
    element_bytes: int | None
    is_arithmetic: bool
    is_wide: bool
    has_initialiser: bool

    @property
    def is_member(self) -> bool:
        """Whether it is a part of a structure or union."""
        return self.path != self.name

    def spelled(self, name: str) -> str:
        """An element's declaration under another name."""
        kind = self.element or ""
        stars = "*" * kind.count("*") if kind.endswith("*") else ""
        return f"{kind.rstrip(' *')} {stars}{name}"

    @property
    def elements(self) -> int:
        """How many there are; 1 of what is no array."""
        return math.prod(self.extents)

    @property
    def registers(self) -> int | None:
        """What it takes in registers, where every element has its own; None where not known."""
        if self.element_bytes is None:
            return None
        return self.elements * -(-self.element_bytes // 4)


def declaration_of(case: Case) -> Declaration | None:
    """How the object of a case is declared; None where its name or type is not known for sure."""
    found = case.object
    if found is None or found.name is None or found.type is None or found.confidence == "possible":
        return None
    array = _ARRAY.fullmatch(found.type)
    if array is None and "[" in found.type:
        return None
    element = _plain(array["element"] if array is not None else found.type)
    extents = _numbers(array["extents"]) if array is not None else ()
    name = found.name.rpartition(".")[2].rpartition("->")[2]
    text = ""
    if found.declared is not None:
        text = case.sources.line(found.declared.file, found.declared.line)
    own = name == found.name
    spelled = re.search(_WRITTEN.format(name=re.escape(name)), text) if own else None
    written = tuple(str(extent) for extent in extents)
    meant = element
    exact = _share(found.type_size, math.prod(extents)) if found.type_size is not None else None
    if found.declared is not None and element not in _SIZES:
        meant = _underlying(element, case.sources, found.declared.file, exact)
    size = exact or _SIZES.get(meant)
    if size is None and element.endswith("*"):
        size = 8
    if size is None:
        size = _share(found.size, math.prod(extents))
    kind: str | None = element
    if spelled is not None and len(shape := _brackets(spelled["extents"])) == len(extents):
        # The compiler's spelling lacks namespaces; the source's is valid where it stands.
        kind = _plain(spelled["element"])
        if kind.partition(" ")[0] in NO_TYPES:
            kind = element
        # Braces: a Python program that writes the extent into the kernel's text.
        if all(shape) and "{" not in spelled["extents"]:
            written = tuple(_operand(one) for one in shape)
    else:
        # Behind another declarator, the extents alone stand with the name.
        shape = _behind_another(text, name, extents) if own else ()
        written = shape or written
        if not _is_spelled(text, element.rstrip(" *")):
            kind = None
    return Declaration(
        name=name,
        path=found.name,
        element=kind if kind and not kind.startswith("(") else None,
        extents=extents,
        written=written,
        element_bytes=size,
        is_arithmetic=_ARITHMETIC.fullmatch(meant) is not None,
        is_wide=meant in _SIZES or element.endswith("*"),
        has_initialiser=_initialised(text, re.split(r"\.|->", found.name)[0]),
    )


def _behind_another(text: str, name: str, extents: tuple[int, ...]) -> tuple[str, ...]:
    """Extents as the second or a later declarator of a line spells them; empty where none does."""
    for found in re.finditer(rf",[\s*]*\b{re.escape(name)}\s*(?P<extents>(?:\[[^\[\]]*\])+)", text):
        before = text[: found.start()]
        if any(before.count(one) != before.count(other) for one, other in ("()", "{}", "[]")):
            continue  # An argument of a call, or a value of a list.
        shape = _brackets(found["extents"])
        numbers = [int(one) if one.isdigit() else None for one in shape]
        pairs = zip(numbers, extents, strict=False)
        if len(shape) == len(extents) and all(n is None or n == extent for n, extent in pairs):
            return tuple(_operand(one) for one in shape) if all(shape) else ()
    return ()


def _operand(text: str) -> str:
    """An expression as it may stand beside an operator."""
    return text if _ATOM.fullmatch(text) else f"({text})"


def _underlying(name: str, sources: SourceText, file: str, size: int | None) -> str:
    """The built-in type that a name stands for, as the sources say it; itself, if they do not.

    Args:
        name: of the type.
        sources: that may say it, in branches of the preprocessor differently.
        file: that uses it.
        size: bytes of the type; None where not known.
    """
    main = sources.main or file
    files = dict.fromkeys(
        (file, *sources.quoted(file, searched=True), main, *sources.quoted(main, searched=True))
    )
    names = {name}
    for _ in range(_ALIASES):
        meant = dict.fromkeys(one for each in sorted(names) for one in _said(each, files, sources))
        known = next((m for m in meant if m in _SIZES and size in (None, _SIZES[m])), None)
        if known is not None:
            return known
        names = {one for one in meant if one not in _SIZES}
    return name


def _said(name: str, files: Iterable[str], sources: SourceText) -> Iterator[str]:
    """What files say that a name stands for."""
    said = re.compile(
        rf"\btypedef\s+(?P<old>[\w\s]+?)\s+{re.escape(name)}\s*;"
        rf"|\busing\s+{re.escape(name)}\s*=\s*(?P<new>[\w\s]+?)\s*;"
    )
    for file in files:
        text = sources.code(file)
        if name in text:
            yield from (_plain(one["old"] or one["new"]) for one in said.finditer(text))


def whole_statement(sources: SourceText, file: str, line: int) -> str:
    """The text of a line without its comment, stripped; empty where it is no whole statement."""
    text = sources.line(file, line).strip()
    code = sources.code_line(file, line)
    whole = text.endswith(";") and code.count("(") == code.count(")")
    return text if whole and "{" not in code and "}" not in code else ""


_STATEMENT_LINES = 12
_BLOCK_LINES = 2000
_RESTS: Remembered[tuple[SourceLocation, str], str] = Remembered()


def written_statement(sources: SourceText, place: SourceLocation) -> str | None:
    """The statement that begins on a line, as it stands there, on one line or on several.

    None where no whole statement does, or where it is all that an ``if``, an ``else`` or a loop
    without braces governs, or an ``else`` follows: something else would be governed without it.
    """
    if is_governed(sources, place):
        return None
    lines: list[str] = []
    for number in range(place.line, place.line + _STATEMENT_LINES):
        lines.append(sources.raw(place.file, number).rstrip())
        inside = range(place.line, number + 1)
        bare = "\n".join(sources.code_line(place.file, one) for one in inside).rstrip()
        whole = "\n".join(sources.uncommented_line(place.file, one) for one in inside)
        if whole.rstrip() != "\n".join(lines) or "{" in bare or "}" in bare:
            return None  # A comment would go with it.
        if bare.endswith(";") and bare.count("(") == bare.count(")"):
            if bare.count(";") > 1:
                return None
            last = SourceLocation(place.file, number)
            if re.match(r"else\b", _neighbour(sources, last, 1)):
                return None
            return "\n".join(lines).strip()
    return None


def is_governed(sources: SourceText, place: SourceLocation) -> bool:
    """Whether a line is all that an ``if``, an ``else`` or a loop without braces above governs."""
    before = _neighbour(sources, place, -1)
    return bool(before) and not before.endswith((";", "{", "}", ":")) and before[0] != "#"


def statement_from(sources: SourceText, place: SourceLocation) -> str:
    """What stands from a line on up to the end of a statement or the beginning of a block."""
    text = ""
    for number in range(place.line, place.line + _STATEMENT_LINES):
        text += f" {sources.line(place.file, number).strip()}"
        if ";" in text or "{" in text:
            break
    return text


def rest_of_block(sources: SourceText, declared: SourceLocation, name: str) -> str:
    """What stands behind a variable's declarator up to the end of the block that it is in."""
    return _RESTS.of(sources, (declared, name), lambda: _rest_of_block(sources, declared, name))


def _rest_of_block(sources: SourceText, declared: SourceLocation, name: str) -> str:
    first = sources.line(declared.file, declared.line)
    found = re.search(rf"(?<!\w){re.escape(name)}\s*(?:\[[^\[\]]*\]\s*)*", first)
    if found is None:
        return ""
    lines, depth = [first[found.end() :]], 0
    end = min(declared.line + _BLOCK_LINES, len(sources.lines(declared.file)) + 1)
    for number in range(declared.line + 1, end):
        code = sources.code_line(declared.file, number - 1)
        if number == declared.line + 1:
            own = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", code)
            code = code[own.end() :] if own is not None else code
        for brace in re.findall("[{}]", code):
            depth += 1 if brace == "{" else -1
            if depth < 0:
                return "\n".join(lines)
        lines.append(sources.line(declared.file, number))
    return "\n".join(lines)


def _neighbour(sources: SourceText, place: SourceLocation, step: int) -> str:
    """The next line with text before or after one, stripped; empty where none is near."""
    for far in range(1, _STATEMENT_LINES):
        text = sources.line(place.file, place.line + step * far).strip()
        if text:
            return text
    return ""


def _plain(element: str) -> str:
    return " ".join(_QUALIFIERS.sub(" ", element).split())


def _numbers(extents: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", extents))


def _brackets(extents: str) -> tuple[str, ...]:
    return tuple(text.strip() for text in re.findall(r"\[([^\[\]]*)\]", extents))


def _share(size: int, elements: int) -> int | None:
    """Bytes of one element, where padding behind the last one cannot make it another number."""
    if size % elements == 0 or elements >= _PADDING:
        return size // elements or None
    return None


def _is_spelled(text: str, element: str) -> bool:
    """Whether a type is known everywhere, or is a plain name that stands on this line."""
    return element in _SIZES or (
        re.fullmatch(r"[A-Za-z_]\w*", element) is not None
        and bool(re.search(rf"(?<![\w:]){re.escape(element)}\b", text))
    )


def _initialised(text: str, name: str) -> bool:
    found = re.search(rf"\b{re.escape(name)}\b\s*(?:\[[^\[\]]*\]\s*)*(?P<next>.?)", text)
    return found is not None and found["next"] in ("=", "{")


_INTRODUCER = re.compile(
    r"(?:^|[(,=?:;{}&|]|\breturn)\s*\[(?P<captures>[^\[\]]*)\]\s*"
    r"(?:__(?:device|host)__\s*)*(?:\(|\{|mutable\b|->)"
)
"""The beginning of a lambda."""


_HEAD = 2000
"""Characters of a function's parameters."""


def is_parameter(case: Case) -> bool:
    """Whether the object is a function's parameter, as its declaration's line shows."""
    found = case.object
    if found is None or found.name is None or found.declared is None:
        return False
    root = re.escape(re.split(r"\.|->", found.name)[0])
    code = case.sources.code(found.declared.file)
    begin = sum(map(len, code.splitlines(keepends=True)[: found.declared.line - 1]))
    named = re.search(rf"(?<![\w.>]){root}(?!\w)", code[begin:].partition("\n")[0])
    if named is None:
        return False
    before, depth = code[max(0, begin + named.start() - _HEAD) : begin + named.start()], 0
    if before.rstrip().endswith((",", "(")):
        return False  # It has no type there: an argument of a call or of a macro.
    for at in range(len(before) - 1, -1, -1):
        char = before[at]
        if char in ";{}":
            return False
        depth += (char == ")") - (char == "(")
        if depth < 0:
            return re.search(r"\b(?:for|if|while|switch)\s*$", before[:at]) is None
    return False


def is_capture(case: Case) -> bool:
    """Whether the object is what a lambda has captured by value: a member of its closure."""
    found = case.object
    if found is None or found.name is None or found.declared is None:
        return False
    text = case.sources.line(found.declared.file, found.declared.line)
    if _INTRODUCER.search(text) is None:
        return False
    root = re.split(r"\.|->", found.name)[0]
    declared = re.compile(rf"(?:^|[\s(,;{{])(?P<type>[A-Za-z_][\w:<>]*)[\s*&]+{re.escape(root)}\b")
    return all(one["type"] in NO_TYPES for one in declared.finditer(text))


def is_copied_to_lambda(case: Case) -> bool:
    """Whether a lambda behind an object's declaration captures it by copy, and uses it."""
    found = case.object
    if found is None or found.name is None or found.declared is None:
        return False
    root = re.split(r"\.|->", found.name)[0]
    code = rest_of_block(case.sources, found.declared, root)
    named = re.compile(rf"(?<![\w.>&]){re.escape(root)}(?!\w)")
    for one in _INTRODUCER.finditer(code):
        captures = one["captures"]
        if named.search(captures) is not None:
            return True
        body = code.find("{", one.end() - 1)
        if captures.lstrip().startswith("=") and f"&{root}" not in captures.replace(" ", ""):
            end = closed_at(code, body) if body >= 0 else None
            if named.search(code[body:end]) is not None:
                return True
    return False
