"""The text around a launch: the call that it is, the macro that it is in, what is compiled."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lmemscope.formats.statements import closed_at, parts_of

_CALLED = re.compile(r"(?<!\w)([A-Za-z_]\w*)\s*(?:<[^;{}()<>]*>\s*)?\Z")
_CASTS = frozenset({"static_cast", "reinterpret_cast", "const_cast", "forward", "move"})
_BEFORE = 1000
"""Characters before an argument in which its call begins."""
_MACRO = re.compile(r"[ \t]*#[ \t]*define[ \t]+(\w+)(?:\(([^()]*)\))?")
_CONDITION = re.compile(
    r"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b[ \t]*(.*)$", re.MULTILINE
)
_DRIVER = frozenset({"cuLaunchKernel", "cuLaunchCooperativeKernel"})
_RUNTIME = frozenset({"cudaLaunchKernel", "cudaLaunchCooperativeKernel"})
_NUMBER = (
    r"(?:(?:const|unsigned|signed|long|short|char|int)\s+)*"
    r"(?:unsigned|signed|long|short|char|int|bool|(?:std\s*::\s*)?(?:u?int\d+_t|s?size_t|ptrdiff_t)"
    r"|u(?:int|char|short|long))"
)
_CAST = re.compile(rf"\(\s*{_NUMBER}\s*\)(?=\s*[\w(])")
_CAST_CALL = re.compile(rf"(?<!\w){_NUMBER}\s*\(")
_NAMED_CAST = re.compile(rf"(?<!\w)static_cast\s*<\s*{_NUMBER}\s*>\s*\(")
_QUALIFIER = re.compile(r"(?<![\w>])(?:[A-Za-z_]\w*\s*)?::\s*(?=[A-Za-z_])")
_ADDRESS = re.compile(r"^(?:\s*(?:\(\s*(?:const\s+)?void\s*\*\s*\)|&|const_cast\b.*?&))*")
_CONFIGURED = frozenset({"cudaLaunchKernelEx", "cudaLaunchKernelExC", "cuLaunchKernelEx"})


@dataclass(frozen=True, slots=True)
class Call:
    """A call that a text is an argument of.

    Attributes:
        name: of the function or macro.
        begin: offset of its parenthesis.
        position: of the argument.
    """

    name: str
    begin: int
    position: int


def called_with(text: str, offset: int) -> Call | None:
    """The innermost call around an offset, casts aside; None where it is no argument."""
    depth = position = 0
    for index in range(offset - 1, max(-1, offset - _BEFORE), -1):
        char = text[index]
        if char in ";{}" and not depth:
            return None
        if char in ")]":
            depth += 1
        elif char == "," and not depth:
            position += 1
        elif char in "([":
            depth -= 1
        if depth >= 0:
            continue
        depth = 0
        name = _CALLED.search(text[max(0, index - _BEFORE) : index])
        if char == "(" and name is not None and name[1] not in _CASTS:
            return Call(name[1], index, position)
        position = 0
    return None


def shape_of_call(name: str, given: Sequence[str], position: int) -> tuple[str, ...] | str | None:
    """Grid, block and shared memory of a runtime call that launches its argument.

    The name of its configuration where that has them; None where it is no such call.
    """
    if name in _RUNTIME and position == 0 and len(given) > 3:
        return (*given[1:3], *given[4:5])
    if name in _DRIVER and position == 0 and len(given) > 6:
        grid, block = ", ".join(given[1:4]), ", ".join(given[4:7])
        return (f"dim3({grid})", f"dim3({block})", *given[7:8])
    if name in _CONFIGURED and position == 1:
        return given[0].strip().lstrip("&").strip()
    return None


def arguments_of_call(
    name: str, given: Sequence[str], position: int, before: str
) -> tuple[str, ...]:
    """The kernel's arguments in such a call; none where they are not read.

    Args:
        name, given, position: as of `shape_of_call`.
        before: the text before the call, which has the list of their addresses.
    """
    if name == "cudaLaunchKernelEx":
        return tuple(given[position + 1 :])
    if name in _RUNTIME and len(given) > 3:
        listed = rf"(?<!\w){given[3].strip()}\s*\[[^\[\]]*\]\s*=?\s*\{{"
        found = [*re.finditer(listed, before)] if given[3].strip().isidentifier() else []
        end = closed_at(before, found[-1].end() - 1) if found else None
        if end is not None:
            parts = parts_of(before[found[-1].end() : end - 1])
            return tuple(_ADDRESS.sub("", one).strip() for one in parts)
    return ()


def without_casts(written: str) -> str:
    """An expression whose casts to numbers are left out, and qualifiers of its names."""
    text = _CAST_CALL.sub("(", _NAMED_CAST.sub("(", written))
    return _QUALIFIER.sub("", _CAST.sub("", text))


def configured(name: str, before: str) -> tuple[str, ...]:
    """Grid, block and shared memory of a launch's configuration, from the text before it."""
    plain = name.isidentifier()
    list_of = rf"\bcudaLaunchConfig_t\s+{name}\s*=?\s*\{{" if plain else r"(?!)"
    found = [*re.finditer(list_of, before)]
    end = closed_at(before, found[-1].end() - 1) if found else None
    if end is not None:
        parts = [one.strip() for one in parts_of(before[found[-1].end() : end - 1])]
        if len(parts) > 1 and not parts[0].startswith("."):
            return tuple(parts[:3])
    return (f"{name}.gridDim", f"{name}.blockDim", f"{name}.dynamicSmemBytes")


def parameter_name(written: str) -> str:
    """The name that a parameter declares: ``K k``, ``void (*k)(int)``; empty where none."""
    text = written.partition("=")[0]
    pointer = re.search(r"\(\s*[*&]\s*(?:const\s+)?(\w+)\s*\)", text)
    if pointer is not None:
        return pointer[1]
    words = re.findall(r"[A-Za-z_]\w*", text.partition("[")[0])
    return words[-1] if words else ""


def macro_around(text: str, offset: int) -> tuple[str, tuple[str, ...] | None] | None:
    """The macro in whose definition an offset is: its name, its parameters, None without a list."""
    start = text.rfind("\n", 0, offset) + 1
    while start > 1 and text[:start].endswith("\\\n"):
        start = text.rfind("\n", 0, start - 1) + 1
    found = _MACRO.match(text, start)
    if found is None:
        return None
    if found[2] is None:
        return found[1], None
    return found[1], tuple(one.strip() for one in found[2].split(","))


def is_compiled(text: str, offset: int) -> bool:
    """Whether an offset is not in a group of ``#if 0``."""
    if "#" not in text:
        return True
    skipped: list[bool] = []
    for found in _CONDITION.finditer(text, 0, offset):
        word, condition = found[1], found[2].strip()
        if word in ("if", "ifdef", "ifndef"):
            skipped.append(word == "if" and condition in ("0", "false"))
        elif skipped and word in ("elif", "else"):
            skipped[-1] = False
        elif skipped:
            skipped.pop()
    return not any(skipped)
