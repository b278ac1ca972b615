"""Read variables from the DWARF that a debug compilation writes into its PTX.

Optimised code has no variable names. A second compilation with ``-G``, to PTX only, takes a small
part of the time of the first (measured: 7% for 20 kernels). It has every variable's name, type,
size, declaration line and place in its own depot. In PTX the sections are text (``.b8 1,2,3``,
labels for addresses); they are assembled to bytes here and parsed with pyelftools. Attributes:
DWARF 2, sections 3.3 and 4.
"""

from __future__ import annotations

import contextlib
import io
import re
from typing import Any

from elftools.common.exceptions import DWARFError, ELFError
from elftools.construct.core import ConstructError
from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo
from msgspec.structs import replace

from lmemscope.errors import FormatError
from lmemscope.formats.demangle import demangle
from lmemscope.formats.file_names import file_name
from lmemscope.model import Member, Variable

_SECTION = re.compile(
    r"^[ \t]*\.section[ \t]+(\.debug_\w+)[ \t]*\n[ \t]*\{\n(.*?)(?:^[ \t]*\}|\Z)",
    re.MULTILINE | re.DOTALL,
)
_FILE = re.compile(r'^[ \t]*\.file[ \t]+(\d{1,18})[ \t]+"((?:[^"\\\n]|\\.)*)"', re.MULTILINE)
_READ = (".debug_info", ".debug_abbrev", ".debug_str")
_BYTES = {str(value): value for value in range(256)}
_WIDTH = {".b8": 1, ".b16": 2, ".b32": 4, ".b64": 8}
_QUALIFIERS = {
    "DW_TAG_const_type": "const ",
    "DW_TAG_volatile_type": "volatile ",
    "DW_TAG_restrict_type": "",
}
_RECORDS = {
    "DW_TAG_structure_type": "struct",
    "DW_TAG_class_type": "class",
    "DW_TAG_union_type": "union",
}
_OF_ALL_THREADS = frozenset({4, 5, 8})
"""Constant, global and shared memory, as ``DW_AT_address_class`` of NVIDIA's compilers numbers PTX
state spaces (CUDA-GDB, "ptxStorageKind"); variables there are not in the frame."""
_REFERENCES = ("DW_TAG_reference_type", "DW_TAG_rvalue_reference_type")
_NUMBER = re.compile(r"-?[0-9]{1,20}")
_DEEPEST = 6
_LONGEST = 100
"""Maximum length of a chain of type aliases; more is a cycle."""
_MOST = 100_000
"""Maximum number of members in all records."""
_UNNAMED = re.compile(r"_Z.*E(U[tl].*_)$|__C\d+$|\.?_?anon")
"""Names that the front end gives to unnamed types: ``_ZZ1kvEUlifE_`` is a lambda's."""
_LOCAL = re.compile(r"_Z.*E(\d{1,9})([A-Za-z_]\w*)$")
"""A type local to a function: the length of its name, and the name."""
_DIMENSIONS = re.compile(r"(?<!\])(?:\[\d+\])+$")
_SUFFIXED = re.compile(r"\b(\d+)U?L{0,2}\b")
_COMMA = re.compile(r",(?=\S)")


def read_variables(ptx: str) -> tuple[Variable, ...]:
    """Variables of every function in a debug compilation's PTX, in declaration order.

    Variables in memory shared by all threads are omitted.

    Raises:
        FormatError: the sections cannot be read.
    """
    sections = {
        m.group(1): _assemble(m.group(2)) for m in _SECTION.finditer(ptx) if m.group(1) in _READ
    }
    if ".debug_info" not in sections:
        return ()
    files = {
        int(m.group(1)): file_name(m.group(2).encode("utf-8", "surrogateescape"))
        for m in _FILE.finditer(ptx)
    }
    odd = (LookupError, ValueError, ArithmeticError, AttributeError, TypeError, AssertionError)
    try:
        return tuple(_Reader(sections, files).variables())
    except (*odd, RecursionError, MemoryError, DWARFError, ELFError, ConstructError) as error:
        # These errors have a useful message; values of others may be very long.
        said = str(error) if isinstance(error, (DWARFError, ELFError)) else type(error).__name__
        raise FormatError("dwarf", f"debug information cannot be read: {said}") from error


def _assemble(text: str) -> bytes:
    """The bytes of a section; labels, which stand for addresses, are zero."""
    out = bytearray()
    for raw in text.splitlines():
        line = raw.strip()
        if not line or line.endswith(":"):
            continue
        directive, _, values = line.partition(" ")
        width = _WIDTH.get(directive)
        if width is None:
            raise FormatError("dwarf", f"unknown directive {directive} in a debug section")
        if width == 1:
            # Nearly every line is a list of bytes; others fail to parse.
            with contextlib.suppress(KeyError):
                out += bytes(map(_BYTES.__getitem__, values.split(",")))
                continue
        for value in values.split(","):
            item = value.strip()
            if _NUMBER.fullmatch(item):
                out += (int(item) & ((1 << 8 * width) - 1)).to_bytes(width, "little")
            else:
                out += bytes(width)
    return bytes(out)


class _Reader:
    def __init__(self, sections: dict[str, bytes], files: dict[int, str]) -> None:
        def section(name: str) -> Any:
            data = sections.get(name, b"")
            return DebugSectionDescriptor(io.BytesIO(data), name, 0, len(data), 0)

        code = DWARFInfo.__init__.__code__
        names = code.co_varnames[2 : code.co_argcount]
        # pyelftools takes one argument per section, None for those that PTX does not have.
        known = {f"{one.removeprefix('.')}_sec": one for one in _READ}
        arguments = {name: section(known[name]) if name in known else None for name in names}
        config = DwarfConfig(little_endian=True, machine_arch="x64", default_address_size=8)
        self._dwarf = DWARFInfo(config=config, **arguments)
        self._files = files
        self._members: dict[int, tuple[Member, ...]] = {}
        self._made = 0

    def variables(self) -> list[Variable]:
        result: list[Variable] = []
        for unit in self._dwarf.iter_CUs():
            for entry in unit.iter_DIEs():
                if entry.tag in ("DW_TAG_variable", "DW_TAG_formal_parameter"):
                    variable = self._variable(entry, len(result))
                    if variable is not None:
                        result.append(variable)
        return result

    def _variable(self, entry: Any, order: int) -> Variable | None:
        owner = _function_of(entry)
        abstract = _origin(entry)
        if owner is None or "DW_AT_name" not in abstract.attributes:
            return None
        space = entry.attributes.get("DW_AT_address_class")
        if space is not None and space.value in _OF_ALL_THREADS:
            return None
        kind = _referred(abstract, "DW_AT_type")
        declared = _function_of(abstract) or owner
        made = Variable(
            function=_linkage_name(declared),
            name=_text(abstract, "DW_AT_name"),
            type=type_name(kind),
            size=type_size(kind),
            file=self._files.get(_number(abstract, "DW_AT_decl_file"), ""),
            line=_number(abstract, "DW_AT_decl_line"),
            is_parameter=entry.tag == "DW_TAG_formal_parameter",
            members=self._members_of(kind),
            order=order,
        )
        target = self._target(kind)
        if target is None:
            return made
        # For a temporary bound to a reference, constness belongs to the reference only.
        plain = _behind(target, tuple(_QUALIFIERS))
        return replace(
            made,
            referent=replace(
                made,
                type=type_name(plain),
                size=type_size(plain),
                members=self._members_of(plain),
            ),
        )

    def _target(self, kind: Any) -> Any:
        """The type that a reference refers to; None for other types."""
        kind = _behind(kind, (*_QUALIFIERS, "DW_TAG_typedef"))
        if kind is None or kind.tag not in _REFERENCES:
            return None
        return _referred(kind, "DW_AT_type")

    def _members_of(self, entry: Any, depth: int = 0) -> tuple[Member, ...]:
        """Members of a record, or of an array's elements."""
        entry = _behind(entry, (*_QUALIFIERS, "DW_TAG_typedef", "DW_TAG_array_type"))
        if entry is None or entry.tag not in _RECORDS or depth > _DEEPEST:
            return ()
        if entry.offset not in self._members:
            result: list[Member] = []
            for child in entry.iter_children():
                found = self._member(child, depth)
                result += found
                self._made += len(found) + 1
                if self._made > _MOST:
                    raise ValueError("records hold each other")
            self._members[entry.offset] = tuple(result)
        return self._members[entry.offset]

    def _member(self, entry: Any, depth: int) -> list[Member]:
        """A member; those of an unnamed union or base class are inserted in its place."""
        if entry.tag not in ("DW_TAG_member", "DW_TAG_inheritance"):
            return []
        kind = _referred(entry, "DW_AT_type")
        if "DW_AT_data_member_location" not in entry.attributes and "DW_AT_external" in (
            entry.attributes
        ):
            return []  # static: not part of the object
        at, inner = _member_offset(entry), self._members_of(kind, depth + 1)
        name = _text(entry, "DW_AT_name") if "DW_AT_name" in entry.attributes else ""
        if not name or entry.tag == "DW_TAG_inheritance":
            return [replace(member, offset=at + member.offset) for member in inner]
        file = self._files.get(_number(entry, "DW_AT_decl_file"), "")
        line = _number(entry, "DW_AT_decl_line")
        return [Member(name, at, type_size(kind), type_name(kind), inner, file, line)]


def type_name(entry: Any) -> str:
    """The C++ spelling of a type, with array dimensions after the element type.

    Dimensions and ``volatile`` are shown even if a ``typedef`` names the type. Namespaces are
    unknown here. A type computed by a template (``type`` or ``MakeType<uchar, 3>``) is shown as its
    result, because its name alone is meaningless.
    """
    if entry is None:
        return "void"
    tag = entry.tag
    if tag == "DW_TAG_typedef" and (_is_array(entry) or _is_computed(entry) or _is_volatile(entry)):
        return type_name(_referred(entry, "DW_AT_type"))
    if tag in _QUALIFIERS:
        return _qualified(_QUALIFIERS[tag], _referred(entry, "DW_AT_type"))
    if tag == "DW_TAG_pointer_type":
        return type_name(_referred(entry, "DW_AT_type")) + " *"
    if tag in _REFERENCES:
        return type_name(_referred(entry, "DW_AT_type")) + " &"
    if tag == "DW_TAG_array_type":
        dimensions = "".join(f"[{count}]" for count in _dimensions(entry))
        element = type_name(_referred(entry, "DW_AT_type"))
        inner = _DIMENSIONS.search(element)
        at = inner.start() if inner is not None else len(element)
        return element[:at] + dimensions + element[at:]
    name = _text(entry, "DW_AT_name") if "DW_AT_name" in entry.attributes else ""
    local = _LOCAL.match(name)
    if local is not None and len(local.group(2)) == int(local.group(1)):
        return local.group(2)
    unnamed = _UNNAMED.match(name)
    if not name or unnamed is not None:
        is_closure = unnamed is not None and (unnamed.group(1) or "").startswith("Ul")
        return "(lambda)" if is_closure else f"(unnamed {_RECORDS.get(tag, 'type')})"
    return _written(name)


def _qualified(qualifier: str, entry: Any) -> str:
    """A type with a qualifier; a pointer's follows the star."""
    name = type_name(entry)
    behind = _behind(entry, tuple(_QUALIFIERS))
    if behind is not None and behind.tag == "DW_TAG_pointer_type":
        word = qualifier.strip()
        stars, own = name.rpartition("*")[::2]
        if not word or word in own.split():
            return name
        return f"{stars}*{own} {word}" if own else f"{stars}*{word}"
    return name if name.startswith(qualifier) else qualifier + name


def _written(name: str) -> str:
    """A type's name without scopes, with template arguments as in sources."""
    if name.startswith("_Z"):
        # An enumeration in a namespace or class: _ZN1a1b5ShadeE.
        return demangle(name).rpartition("::")[2]
    head, bracket, arguments = name.partition("<")
    if not bracket:
        return name
    plain = _COMMA.sub(", ", _SUFFIXED.sub(r"\1", arguments))
    return f"{head}<{plain.replace('> >', '>>').replace('> >', '>>')}"


def _is_computed(entry: Any) -> bool:
    """Whether a typedef is a template's result: an alias template, or its member ``type``."""
    name = _text(entry, "DW_AT_name") if "DW_AT_name" in entry.attributes else ""
    return name == "type" or "<" in name


def _is_volatile(entry: Any) -> bool:
    """Whether a type is volatile, behind its typedefs."""
    entry = _behind(entry, ("DW_TAG_typedef", "DW_TAG_const_type"))
    return entry is not None and entry.tag == "DW_TAG_volatile_type"


def _is_array(entry: Any) -> bool:
    """Whether a type is an array, ignoring typedefs and qualifiers."""
    entry = _behind(entry, (*_QUALIFIERS, "DW_TAG_typedef"))
    return entry is not None and entry.tag == "DW_TAG_array_type"


def _behind(entry: Any, tags: tuple[str, ...]) -> Any:
    """The first type of another kind in a chain of aliases, or None."""
    for _ in range(_LONGEST):
        if entry is None or entry.tag not in tags:
            return entry
        entry = _referred(entry, "DW_AT_type")
    raise ValueError("types stand for each other")


def type_size(entry: Any) -> int:
    """Size in bytes; 0 if unknown."""
    if entry is None:
        return 0
    if entry.tag == "DW_TAG_array_type":
        size = type_size(_referred(entry, "DW_AT_type"))
        for count in _dimensions(entry):
            size *= count
        return size
    if "DW_AT_byte_size" in entry.attributes:
        return _number(entry, "DW_AT_byte_size")
    if entry.tag in ("DW_TAG_pointer_type", *_REFERENCES):
        return 8
    return type_size(_referred(entry, "DW_AT_type"))


def _member_offset(entry: Any) -> int:
    place = entry.attributes.get("DW_AT_data_member_location")
    if place is None:
        return 0
    if isinstance(place.value, int):
        return place.value
    value = shift = 0
    for byte in place.value[1:]:
        value |= (byte & 0x7F) << shift
        shift += 7
    return value


def _dimensions(entry: Any) -> list[int]:
    counts = []
    for child in entry.iter_children():
        if child.tag == "DW_TAG_subrange_type":
            if "DW_AT_count" in child.attributes:
                counts.append(_number(child, "DW_AT_count"))
            elif "DW_AT_upper_bound" in child.attributes:
                counts.append(_number(child, "DW_AT_upper_bound") + 1)
    return counts


def _function_of(entry: Any) -> Any:
    """The subprogram or inlined subroutine that contains an entry."""
    parent = entry.get_parent()
    while parent is not None and parent.tag not in (
        "DW_TAG_subprogram",
        "DW_TAG_inlined_subroutine",
    ):
        parent = parent.get_parent()
    return parent


def _origin(entry: Any) -> Any:
    """The abstract instance of an inlined entry, or the declaration of a definition."""
    for attribute in ("DW_AT_abstract_origin", "DW_AT_specification"):
        if attribute in entry.attributes:
            return _origin(entry.get_DIE_from_attribute(attribute))
    return entry


def _linkage_name(function: Any) -> str:
    for entry in (function, _origin(function)):
        for attribute in ("DW_AT_MIPS_linkage_name", "DW_AT_linkage_name", "DW_AT_name"):
            if attribute in entry.attributes:
                return _text(entry, attribute)
    return ""


def _referred(entry: Any, attribute: str) -> Any:
    return entry.get_DIE_from_attribute(attribute) if attribute in entry.attributes else None


def _number(entry: Any, attribute: str) -> int:
    found = entry.attributes.get(attribute)
    return int(found.value) if found is not None else 0


def _text(entry: Any, attribute: str) -> str:
    value = entry.attributes[attribute].value
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
