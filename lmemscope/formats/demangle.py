"""Demangle Itanium C++ names with the C++ runtime library that NVRTC is linked with.

A name that the library cannot demangle (``extern "C"``, compiler-generated names, names with an
unbounded spelling) is returned unchanged. Without libstdc++ every name is: output is harder to
read, but still correct.
"""

from __future__ import annotations

import ctypes
import functools
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lmemscope.formats.demangling_child import Child


_REFERENCES = re.compile(r"[ST][0-9A-Z]*_")
"""Substitutions and template parameters: references in a mangled name to its own parts."""
_FEW = 12
"""Number of references that cannot make a spelling large: each may double it."""
_SHORT = 4096
_STATIC_NAME = re.compile(r"__nv_static_(\d{1,9})_")
"""Precedes the mangled name of a static entity in relocatable code: the length of a name for the
file, which follows."""


_COPY = re.compile(r"(?<=.)\$\d+$")
_OPERATOR = re.compile(r"\boperator(?:\(\)|\W[^(]*)")


def original_name(name: str) -> str:
    """The function that ptxas cloned: ``_Z1fv`` for ``_Z1fv$1``; others are returned unchanged."""
    return _COPY.sub("", name)


@functools.cache
def demangle(name: str) -> str:
    """The C++ spelling of a mangled name, or the name itself.

    A clone made by ptxas has its number: ``f(int) [clone $1]``.
    """
    static = _STATIC_NAME.match(name)
    if static is not None:
        own = name[static.end() + int(static[1]) + 1 :]
        return demangle(own) if own.startswith("_Z") else name
    if not name.startswith("_Z"):
        return name
    own = original_name(name)
    if own != name:
        whole = demangle(own)
        return name if whole == own else f"{whole} [clone {name[len(own) :]}]"
    found = _runtime()
    if found is None:
        return name
    soname, library = found
    if len(name) > _SHORT or len(_REFERENCES.findall(name)) > _FEW:
        spelled = _child(soname).demangle(name.encode("utf-8", "replace"))
        return name if spelled is None else spelled.decode("utf-8", "replace")
    status = ctypes.c_int()
    pointer = library.__cxa_demangle(name.encode(), None, None, ctypes.byref(status))
    if not pointer:
        return name
    try:
        return ctypes.string_at(pointer).decode("utf-8", "replace")
    finally:
        library.free(ctypes.c_void_p(pointer))


ABI_TAG = re.compile(r"\[abi:[^\]]*\]")
_PIECE = re.compile(r"_\$_\d+$")
_STATIC_UNIT = re.compile(r"\b_INTERNAL_\w*::")
"""Prefix that NVIDIA's front end adds to names static in a file: hashes of its path."""
_LAMBDA = re.compile(r"\{lambda\((?:[^(){}]|\([^(){}]*\))*\)#(\d+)\}")
_LOCAL = re.compile(r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)(?: const| volatile| &&?)*(?=::)")
"""The parameters of a function that contains a local entity."""
_SCOPING = re.compile(r"[<> ({]|operator\(\)")
BRACKETS = re.compile(r"[<>]|[^<>]+")
"""Parts of a name between template brackets."""
_NUMBA_MODULE = "__lmemscope__::"


_CCCL_SCOPE = re.compile(r"(?:CUB|THRUST|_V)_\d{6}(?:_SM)?(?:_\d{2,4}[af]?){0,60}(?:_NS)?")
"""The inline namespace of CUB and Thrust, which sources never name: their version, and the
architectures listed by the build."""
_CCCL_STEMS = ("CUB_", "THRUST_", "_V_")
"""Each contains one of these: searching for them takes a tenth of the pattern's time."""
_CCCL = re.compile(rf"(?<!\w){_CCCL_SCOPE.pattern}::")
_CCCL_LENGTH = re.compile(r"(?<!\d)\d{2,3}(?=(?:CUB|THRUST|_V)_\d{6})")


def without_release(name: str) -> str:
    """A kernel's name, mangled or not, independent of the CUB and Thrust release."""
    if not any(one in name for one in _CCCL_STEMS):
        return name
    if not name.startswith("_Z"):
        return _CCCL.sub("", name)
    kept: list[str] = []
    position = 0
    for length in _CCCL_LENGTH.finditer(name):
        end = length.end() + int(length[0])
        if length.start() >= position and _CCCL_SCOPE.fullmatch(name, length.end(), end):
            kept.append(name[position : length.start()])
            position = end
    return "".join([*kept, name[position:]])


@functools.lru_cache(maxsize=1 << 16)
def short_name(demangled: str) -> str:
    """A kernel's name without return type, parameters, and scopes that sources never name.

    ``void running_mean<(int)32>(float const*, float*, int)`` gives ``running_mean<32>``, and an
    entity local to a function, such as a lambda, ``k::{lambda#1}::operator()``.
    """
    return scoped_name(without_release(demangled))


def scoped_name(demangled: str) -> str:
    """As `short_name`, with the inline namespaces of CUB and Thrust, as in earlier releases."""
    name = ABI_TAG.sub("", demangled.replace("(anonymous namespace)::", ""))
    name = _STATIC_UNIT.sub("", name)
    if name.startswith(_NUMBA_MODULE):
        # Numba mangles the qualified name: module, enclosing functions, and their marker.
        name = name.partition("(")[0].rpartition("::")[2] + "("
    depth = index = start = 0
    end = len(name)
    while (found := _SCOPING.search(name, index)) is not None:
        index, word = found.start(), found[0]
        if word in "<>":
            depth += 1 if word == "<" else -1
        elif depth == 0 and word == " ":
            start = index + 1
        elif depth == 0 and word == "{" and (made := _LAMBDA.match(name, index)) is not None:
            spelled = f"{{lambda#{made[1]}}}"
            name = name[:index] + spelled + name[made.end() :]
            index, end = index + len(spelled), len(name)
            continue
        elif depth == 0 and word == "(":
            inner = _LOCAL.match(name, index)
            if inner is None:
                end = index
                break
            name = name[:index] + name[inner.end() :]
            end = len(name)
            continue
        elif depth == 0 and word == "operator()":
            index = found.end()
            continue
        index += 1
    kept = name[start:end] or name
    for cast in ("(int)", "(unsigned int)", "(bool)", "(long)", "(unsigned long)", "(char)"):
        kept = kept.replace(f"<{cast}", "<").replace(f" {cast}", " ")
    return kept


def plain_name(demangled: str) -> str:
    """A function's unqualified name, without template arguments."""
    return scopes(demangled)[-1]


def scopes(demangled: str) -> list[str]:
    """The namespaces and classes of a function, and its name, without template arguments."""
    name = short_name(demangled)
    operator = _OPERATOR.search(name)
    at = len(name) if operator is None else operator.start()
    depth, kept = 0, ""
    for part in BRACKETS.findall(name[:at]):
        depth += part == "<"
        kept += part if not depth else ""
        depth -= part == ">"
    *outer, last = kept.split("::")
    return [*outer, operator[0] if operator is not None else last.strip()]


def variable_name(symbol: str) -> str:
    """A variable's name as written in the source, from its symbol in PTX.

    ``_ZZ4statPiE6primes``, which is ``stat(int*)::primes``, gives ``primes``; namespaces are kept.
    A part of a variable that NVVM split is called ``…primes_$_0``.
    """
    full = _STATIC_UNIT.sub("", demangle(_PIECE.sub("", symbol)))
    return full.rpartition(")::")[2]


def symbol_text(symbol: str) -> str:
    """How to display a PTX symbol in a sentence: functions by their short name.

    PTX numbers parameters from 0: ``_Z1kPf_param_2`` gives ``parameter 2``.
    """
    function, is_parameter, number = symbol.rpartition("_param_")
    if is_parameter and number.isdigit():
        return f"parameter {number} of {short_name(demangle(function))}"
    return short_name(demangle(symbol)) if symbol.startswith("_Z") else symbol


@functools.cache
def _runtime() -> tuple[str, ctypes.CDLL] | None:
    for soname in ("libstdc++.so.6", "libc++abi.so.1"):
        try:
            library = ctypes.CDLL(soname)
        except OSError:
            continue
        library.__cxa_demangle.restype = ctypes.c_void_p
        return soname, library
    return None


@functools.cache
def _child(soname: str) -> Child:
    # Imported late: most programs do not need it.
    from lmemscope.formats.demangling_child import Child

    return Child(soname)
