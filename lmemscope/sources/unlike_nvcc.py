"""Find constructs that NVRTC reads differently from nvcc with its host compiler."""

from __future__ import annotations

import functools
import re

from lmemscope.sources.compiler_macros import LIBRARY_FUNCTIONS
from lmemscope.sources.host_names import DIRECTIVES
from lmemscope.sources.macro_use import code

READ_TWICE = "two equal headers that are read once, which GCC takes for one"

_ATTRIBUTE = "an attribute that NVRTC leaves out"
_COMMENT = re.compile(rb"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_WORD_OF_ATTRIBUTES = re.compile(rb"(?<![\w$])__attribute(?:__)?(?![\w$])")
_OF_A_NAME = re.compile(
    rb"(?<![\w$])(?:struct|class|union)\s*$"
    rb"|\b(?:bool|char|short|int|long|float|double|signed|unsigned)\b[\s*]+\w+\s*(?:\[\w*\]\s*)*$"
)
"""What may precede an attribute that does not apply to the type after its braces."""
_NO_LAYOUT = (
    rb"(?:__)?(?:always_inline|noinline|unused|used|deprecated|noreturn|visibility|cold|hot|pure"
    rb"|const|nothrow|nonnull|format|warn_unused_result)(?:__)?(?![\w$])"
)
"""Attributes of functions and variables, which do not affect a type's layout."""
_ALIKE = re.compile(
    rb"\s*\(\s*\(\s*(?:" + _NO_LAYOUT + rb"\s*(?:\([^()]*\)\s*)?(?:,\s*|(?=\))))*\)\s*\)"
)
_NAMED_ALIKE = re.compile(rb"(?m:^)[ \t]*(?:#|%:)[ \t]*define[ \t]+" + _NO_LAYOUT)
_DEFINED = re.compile(rb"(?m:^)[ \t]*(?:#|%:)[ \t]*define\b([^\n]*)")
_PLACE = "a line or a file that a text asks for, which NVRTC names otherwise"
_ASKED_PLACE = re.compile(rb"(?<![\w$])__(?:LINE|FILE)__(?![\w$])")
_BEFORE_PLACE = re.compile(rb"(?:^|[;{})\\\s])printf\s*+\([^;{}()]*,\s*$")
_BEHIND_PLACE = re.compile(rb"\s*[,)]")
DIRECTIVE = "a directive that only GCC's preprocessor obeys"
_DIRECTIVES = re.compile(
    rb"(?m:^)[ \t\v\f\0\xef\xbb\xbf]*(?:#|%:)[ \t\v\f]*+"
    rb"(?!(?:" + b"|".join(sorted(DIRECTIVES)) + rb")(?![\w$])|[\n\r]|\Z)"
    # An assertion, such as ``#if #machine(x86_64)``, which a macro may stand for.
    rb"|(?m:^)[ \t]*(?:#|%:)[ \t]*(?:el)?if(?![\w$])[^\n#]*#"
    rb"|(?m:^)[ \t]*(?:#|%:)[ \t]*define[ \t]+[\w$]++[ \t][^\n]*(?<![#%:])(?:#|%:)(?![#%:])"
)
_PRAGMA = "a pragma that nvcc's preprocessor obeys"
_TYPE = "the type of a function that the host's headers declare"
_WORD = re.compile(rb"[A-Za-z_]\w*+")

_READ_OTHERWISE = {
    _ATTRIBUTE: re.compile(
        rb"(?:\}|%>)\s*(?:\w+\s*)?__align__|\[\[\s*(?:using\s+)?(?:__)?gnu(?:__)?\s*:"
        rb"|\[\[\s*no_unique_address\b"
    ),
    "a string that NVRTC encodes otherwise": re.compile(
        rb'\b(?:u8|[uUL])R?"[^"\n]*[\x80-\xff]|"[^"\n]*\\(?:u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})'
    ),
    "pow, which NVRTC multiplies out": re.compile(rb"(?<![\w.>])pow\s*\("),
    "a question to a number that NVRTC answers with an int": re.compile(
        rb"(?<![\w.>])(?:signbit|is(?:nan|inf|finite|normal))\s*\("
    ),
    _PRAGMA: re.compile(
        rb"\b(?:push|pop)_macro\b|(?:(?:#|%:)\s*pragma\s+|_Pragma\s*\(\s*\"\s*)GCC\s+"
        rb"(?!diagnostic\b|unroll\b|ivdep\b|vector\b|visibility\b)"
    ),
    "a question of what functions throw, which the host's headers declare": re.compile(
        rb"\bnoexcept\s*\((?!\s*(?:true|false|[01])\s*\))"
        # Part of a function type; after a function's own declaration, other tokens follow.
        rb"|\b(?:noexcept|throw\s*\(\s*\))\s*[>,)]"
        rb"|\b(?:using\b[^;{}=]{0,200}=|typedef\b)[^;{}]{0,400}\b(?:noexcept|throw\s*\(\s*\))"
        rb"|(?m:^)[ \t]*(?:#|%:)[ \t]*define\b[^\n]*\b(?:noexcept\b|throw\s*\(\s*\))"
        rb"|(?:is|has)_nothrow_\w"
    ),
    _TYPE: re.compile(rb"(?!)"),  # `_of_a_function`
    _PLACE: re.compile(
        rb"\b__builtin_(?:LINE|FILE|FUNCTION|COLUMN|source_location)\b|\bsource_location\b"
        rb"|(?m:^)[ \t]*(?:#|%:)[ \t]*define[ \t]+printf\b"
    ),
    "an order of three ways, whose types the host's headers declare": re.compile(rb"<=>"),
    "virtual functions, whose tables NVRTC names by other symbols": re.compile(rb"\bvirtual\b"),
}
"""Constructs that NVRTC accepts but reads differently: structures have other sizes, or code
differs.

Measured with CUDA 13. GNU attributes after a type's braces or in double brackets (all except those
with a known meaning before a name). Strings with a wide or UTF-8 prefix, or that name characters by
number. Powers: for a number and an integer, the host's library uses two numbers, and NVRTC has an
overload that multiplies. Number classification, which is ``bool`` for nvcc and affects overloads
and ``auto``. Macros that a pragma saves and restores, and other effects of pragmas on GCC's
preprocessor. Host library functions, which its headers declare as not throwing (a part of their
type) and NVRTC does not. The line number within a macro's arguments over several lines, and the
name of a file. ``<=>``, whose types ``<compare>`` declares. The virtual table of an object made by
a template, for which NVRTC uses its own symbol where nvcc names it.
"""


_LIBRARY = frozenset(LIBRARY_FUNCTIONS)


@functools.lru_cache(maxsize=256)
def _of_a_function(names: frozenset[bytes]) -> re.Pattern[bytes]:
    """Where one of some functions is named for its type rather than called."""
    function = rb"(?:::\s*+|std\s*+::\s*+)?(?:" + b"|".join(sorted(names)) + rb")"
    return re.compile(
        rb"\bdecltype\s*\(\s*+(?:&\s*+)?" + function + rb"\s*\)"
        rb"|(?:(?<!&)&|[(,=?:])\s*+"
        + function
        + rb"\s*[),;:]|<\s*+(?:&\s*+)?"
        + function
        + rb"\s*[>,]"
        # A macro body that names one without calling it: any use of the macro may query its type.
        rb"|(?m:^)[ \t]*(?:#|%:)[ \t]*define\b[^\n]*?(?<![\w$.])"
        + function
        + rb"(?![\w$])(?![ \t]*\()"
    )


def read_otherwise(text: bytes) -> str | None:
    """What in a text NVRTC would read differently; None if nothing is known.

    Args:
        text: of a source or header, with continued lines joined.
    """
    # A comment may occur between any two tokens, and its opening characters in a literal.
    for shown in dict.fromkeys((text, code(text), _COMMENT.sub(b" ", text))):
        named = _LIBRARY.intersection(_WORD.findall(shown))
        for what, pattern in _READ_OTHERWISE.items():
            # A single pattern with all functions takes seconds in CUTLASS's headers.
            asked = _of_a_function(named) if what == _TYPE and named else pattern
            if asked.search(shown) is not None:
                return what
    shown = code(text)
    if _has_attribute(shown):
        return _ATTRIBUTE
    if _DIRECTIVES.search(shown) is not None:
        return DIRECTIVE
    return _PLACE if _asks_for_place(shown) else None


def _asks_for_place(text: bytes) -> bool:
    """Whether a line number or file name may affect the code; printing does not."""
    return any(
        _BEFORE_PLACE.search(text, max(0, found.start() - 500), found.start()) is None
        or _BEHIND_PLACE.match(text, found.end()) is None
        for found in _ASKED_PLACE.finditer(text)
    )


def _has_attribute(text: bytes) -> bool:
    """Whether an attribute may say more about a type than one before the type's name.

    After braces NVRTC ignores it, and a macro may stand for the brace, the word or the attribute.
    """
    if b"__attribute" in text and (
        _NAMED_ALIKE.search(text) is not None
        or any(
            _ALIKE.match(text, found.end()) is None
            and _OF_A_NAME.search(text, max(0, found.start() - 80), found.start()) is None
            for found in _WORD_OF_ATTRIBUTES.finditer(text)
        )
    ):
        return True
    return b"__align__" in text and any(map(_is_unbalanced, _DEFINED.findall(text)))


def _is_unbalanced(body: bytes) -> bool:
    opened, closed = ((b"{", b"<%"), (b"}", b"%>"))
    return sum(map(body.count, opened)) != sum(map(body.count, closed))
