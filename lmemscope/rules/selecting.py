"""Advice to select an element by comparing, which needs no address: for small arrays."""

from __future__ import annotations

import re
from dataclasses import replace

from lmemscope.formats.demangle import short_name
from lmemscope.formats.statements import bracketed, closed_at
from lmemscope.model import Advice, LocalAccess, SourceLocation
from lmemscope.rules.aliases import casts_pointer, is_reinterpreted, namesakes
from lmemscope.rules.base import Case
from lmemscope.rules.declared import Declaration, declaration_of, is_governed, whole_statement
from lmemscope.rules.unrolling import spare_registers

_MOST = 32
_DECLARES = re.compile(
    r"(?:const\s+)?(?P<type>[A-Za-z_][\w:<>]*(?:\s[\w:<>]+)*)\s+(?P<name>\w+)\s*="
)
_BINDS = re.compile(r"(?:const\s+)?[A-Za-z_][\w:<>, ]*?(?:\s*[&*]+\s*(?:const\s+)?|\s+)\w+\s*[={(]")
"""A declaration of a reference or a pointer, or of what a constructor makes."""
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*(?:<[^<>]*>\s*)?\(")
_HARMLESS = re.compile(
    r"f?(?:min|max|abs|ma)f?|(?:__)?(?:sqrt|exp|exp2|log|log2|pow)f?|rsqrtf?|__ldg|make_\w+"
    r"|u?int\d+_t|int|unsigned|float|double|static_cast|reinterpret_cast"
)
"""Functions that do the same whichever lanes call them."""
_VECTOR = re.compile(
    r"(?:char|uchar|short|ushort|int|uint|long|ulong|longlong|ulonglong|float|double)"
    r"(?P<components>[234])"
)
_TESTED = re.compile(r"\s*(?:\}\s*)?while\b")
_HEADS = re.compile(r"(?:else\s+)?(?:if|for|while)\s*\(")


def selection(case: Case) -> tuple[Advice, ...]:
    """A comparison with each index, where the array is small, fits registers and has no pointer.

    A pointer to the array, in a function that is called or in a generic access, still needs its
    address; so does whatever else keeps it in memory.
    """
    made, found = declaration_of(case), case.object
    if made is None or found is None or not made.extents or made.elements > _MOST:
        return ()
    if found.also or case.generic or made.registers is None:
        return ()
    if namesakes(case) or (is_reinterpreted(case) and not _selects_elements(case, made)):
        return ()
    if made.registers > spare_registers(case) or _has_pieces_stored(case, made):
        return ()
    if any(access.function != found.function for access in case.accesses):
        return ()
    if found.function != case.facts.name and made.is_member:
        return ()
    text = (
        f"With {made.elements} elements, select by comparing with the index at each "
        f"dynamically indexed access, and unroll every loop over {case.name} that stays "
        f"rolled. This costs {made.elements} comparisons per access, and the elements need "
        "registers: keep it only if ptxas does not spill."
    )
    if case.alternatives:
        others = (f"`{one.name}`" if one.name else "the other object" for one in case.alternatives)
        text += (
            f" Do the same with {' and '.join(dict.fromkeys(others))}, and select between the "
            "values: do not select a pointer."
        )
    if made.is_member and "<" in f"{found.type}{short_name(case.facts.demangled)}":
        text += (
            f" {made.elements} is for this instance: in a template, write the extent as it is "
            "declared."
        )
    return (Advice(text, _code(case, made), rewrite="select"),)


def _selects_elements(case: Case, made: Declaration) -> bool:
    """Whether what the index selects is a whole element: other types at constant places are none.

    Compared with, an access stays the one that it is; at a constant place it always was.
    """
    place = case.index.location if case.index is not None else None
    if place is None or casts_pointer(case.sources, place):
        return False  # Several pieces of an element may be moved at a time.
    indexed = _accesses_on(case, place)
    return bool(indexed) and all(access.width == made.element_bytes for access in indexed)


def _has_pieces_stored(case: Case, made: Declaration) -> bool:
    """Whether a store is narrower than an element: compilers read less of one, never store less.

    Some pointer of another type leads to it then, wherever that was made.
    """
    size = made.element_bytes
    return (
        size is not None
        and made.is_arithmetic
        and any(one.is_store and one.width < size for one in (*case.accesses, *case.generic))
    )


def _accesses_on(case: Case, place: SourceLocation | None) -> list[LocalAccess]:
    """The accesses of a line, wherever it is inlined, and of what is inlined into it."""
    return [one for one in case.accesses if any(frame.location == place for frame in one.chain)]


def of_components(case: Case) -> tuple[Advice, ...]:
    """A comparison with each component of a vector that is indexed as if it were an array."""
    found, made = case.object, declaration_of(case)
    vector = _VECTOR.fullmatch(made.element or "") if made is not None else None
    if found is None or made is None or vector is None or made.extents or found.also:
        return ()
    count = int(vector["components"])
    width = (made.element_bytes or 0) // count
    indexed = _accesses_on(case, case.location)
    if case.generic or not indexed or any(access.width != width for access in indexed):
        return ()
    names = ", ".join(f"`.{letter}`" for letter in "xyzw"[:count])
    return (
        Advice(
            f"Select among the {count} components ({names}) by comparing with the index, in "
            f"an unrolled loop or one by one, instead of indexing {case.name}: it can then "
            "stay in registers."
        ),
    )


def _code(case: Case, made: Declaration) -> str | None:
    """The statement of the finding's line, rewritten; None where it is not simple enough."""
    place, index = case.location, case.index
    if place is None or index is None or index.expression is None:
        return None
    parts = _parts(index.expression, len(made.extents))
    if parts is None:
        return None
    if _TESTED.match(case.sources.line(place.file, place.line)) is not None:
        return None  # A loop's condition is computed anew in each turn.
    statement = whole_statement(case.sources, place.file, place.line)
    if ";" in statement[:-1] and _HEADS.match(statement) is None:
        statement = ""  # Several stand there, and only one would be under the comparison.
    brackets = r"\s*".join(rf"\[\s*{re.escape(part)}\s*\]" for part in parts)
    access = re.compile(rf"(?<![\w.>])(?P<array>(?:\w+(?:\.|->))*{made.name})\s*{brackets}")
    used = access.search(statement)
    line = case.sources.line(place.file, place.line)
    if used is None and re.search(rf"(?<![\w.>]){re.escape(made.path)}\s*\[", line) is None:
        return None  # The line knows it by another name: as a parameter, or through a reference.
    if any(len(one.chain) > 1 for one in _accesses_on(case, place)):
        # In another function the names of the declaration may be unknown.
        made = replace(made, written=tuple(str(extent) for extent in made.extents))
    names = _unused(statement + index.expression, len(parts))
    if used is not None and len(set(re.findall(access, statement))) == 1:
        made_of = _rewritten(
            statement,
            access,
            used["array"],
            parts,
            made,
            names,
            governed=is_governed(case.sources, place),
        )
        if made_of is not None:
            return made_of
    sites = _accesses_on(case, place)
    if not sites or any(site.is_store for site in sites) or made.element is None:
        return None
    array = used["array"] if used is not None else made.path
    inner = "".join(f"[{counter}]" for counter, _ in names)
    written = "".join(f"[{part}]" for part in parts)
    body = f"value = {array}{inner};"
    # In a method of a template the element's type is another one in each instance.
    is_inside = made.is_member and array != made.path
    first = "".join("[0]" for _ in names)
    lines = [
        f"auto value = {array}{first};" if is_inside else f"{made.spelled('value')}{{}};",
        *_loops(parts, made, names, body),
        f"// value instead of {array}{written}",
    ]
    return "\n".join(lines)


def _rewritten(
    statement: str,
    access: re.Pattern[str],
    array: str,
    parts: list[str],
    made: Declaration,
    names: list[tuple[str, str]],
    *,
    governed: bool,
) -> str | None:
    """The whole statement under a comparison: it is executed once, for the one index."""
    heads, rest = _split(statement)
    if access.search(heads) is not None:
        return None  # The condition itself needs the element.
    before = []
    declares = _DECLARES.match(rest)
    if declares is not None and declares["type"] not in ("return", "else", "case"):
        if declares["type"] == "auto" or "=" in rest[declares.end() :].replace("==", ""):
            return None
        before = [f"{declares['type']} {declares['name']}{{}};"]
        rest = f"{declares['name']} ={rest[declares.end() :]}"
    elif not re.match(r"[\w.>\[\]()+*-]", rest) or re.match(r"(return|else|do|case)\b", rest):
        return None
    elif _BINDS.match(rest) is not None:
        return None  # What it declares would end with the comparison.
    if before and (heads or governed):
        return None
    inner = "".join(f"[{counter}]" for counter, _ in names)
    body = access.sub(lambda _: f"{array}{inner}", rest)
    if re.search(rf"\b{re.escape(made.name)}\s*\[(?!{names[0][0]}\])", body):
        return None
    if any(_HARMLESS.fullmatch(name) is None for name in _CALLED.findall(body)):
        # Under a condition that differs from lane to lane, a shuffle or a barrier would be wrong.
        return None
    looped = _loops(parts, made, names, body)
    if heads:
        looped[0] = f"{heads} {{"
    return "\n".join([*before, *looped])


def _loops(
    parts: list[str], made: Declaration, names: list[tuple[str, str]], body: str
) -> list[str]:
    """The index once, the loop over each dimension, and the body under the comparison.

    In braces, so that it may stand several times in one block.
    """
    lines = [f"const int {at} = {part};" for part, (_, at) in zip(parts, names, strict=True)]
    for depth, ((counter, _), extent) in enumerate(zip(names, made.written, strict=True)):
        indent = "  " * depth
        lines.append(f"{indent}#pragma unroll")
        lines.append(f"{indent}for (int {counter} = 0; {counter} < {extent}; ++{counter})")
    condition = " && ".join(f"{counter} == {at}" for counter, at in names)
    lines.append(f"{'  ' * len(names)}if ({condition}) {body}")
    return ["{", *(f"  {line}" for line in lines), "}"]


def _parts(expression: str, dimensions: int) -> list[str] | None:
    """The index of each dimension: ``[i][j]`` of two, else the expression.

    What stands behind them is of the element: a pointer's own index.
    """
    if not expression.startswith("["):
        return [expression] if dimensions == 1 else None
    parts = bracketed(expression)
    return parts[:dimensions] if len(parts) >= dimensions else None


def _unused(text: str, dimensions: int) -> list[tuple[str, str]]:
    """A counter and an index for each dimension, of names that the text does not use."""
    words = set(re.findall(r"\w+", text))
    counters = [name for name in ("k", "m", "e", "u", "v", "k0", "k1", "k2") if name not in words]
    wanted = (
        ("at", "which", "chosen") if dimensions == 1 else ("row", "column", "i0", "i1", "i2", "i3")
    )
    indices = [name for name in wanted if name not in words]
    return list(zip(counters, indices, strict=False))[:dimensions]


def _split(statement: str) -> tuple[str, str]:
    """``if (…)`` and the like before a statement, and the statement."""
    position = 0
    while found := _HEADS.match(statement, position):
        position = closed_at(statement, found.end() - 1) or len(statement)
        while position < len(statement) and statement[position] == " ":
            position += 1
    return statement[:position].strip(), statement[position:]
