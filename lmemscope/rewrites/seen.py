"""Whether a function is in sight: what it does with a reference is not known of others.

A function that is declared alone, that another file defines, that a macro makes, or of which one
overload has no body here, may keep the address of whatever it gets by reference. The language's own
functions do not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lmemscope.model.blanked import closed

_LIBRARY = re.compile(
    rb"__\w+|atomic\w+|v?printf|assert|make_\w+|shfl\w*|(?:tex|surf)(?:1|2|3|Cube)\w*|clock(?:64)?"
    rb"|mem(?:cpy|set)|(?:f|l|ll|u|ul|ull)?(?:min|max)|(?:l|ll)?abs|clamp|swap|move|forward"
    rb"|(?:acosh?|asinh?|atan2?|atanh|cbrt|ceil|copysign|cos(?:h|pi)?|cyl_bessel_i[01]|erf"
    rb"|erfc(?:inv|x)?|erfinv|exp(?:2|10|m1)?|fabs|fdim|fdivide|floor|fma|fmax|fmin|fmod|frexp"
    rb"|hypot|ilogb|is(?:finite|inf|nan)|j[01n]|ldexp|lgamma|l?lrint|l?lround|log(?:2|10|1p|b)?"
    rb"|modf|nan|nearbyint|nextafter|norm(?:3d|4d|cdf|cdfinv)?|pow|rcbrt|remainder|remquo|rhypot"
    rb"|rint|rnorm(?:3d|4d)?|round|rsqrt|scalbl?n|signbit|sin(?:h|pi|cos|cospi)?|sqrt|tanh?|tgamma"
    rb"|trunc|y[01n])f?"
)
"""Functions of the language's own, which keep nothing."""
_QUALIFIED = re.compile(rb"\s*(?:::\s*)?(?:std|cuda|thrust|cub|cooperative_groups|nvcuda)\s*::")
_NO_FUNCTION = frozenset(
    b"if for while switch return sizeof alignof decltype noexcept typeid catch static_assert "
    b"defined int char bool short long float double unsigned signed void auto "
    b"static_cast const_cast reinterpret_cast dynamic_cast alignas operator".split()
)
_NO_TYPE = frozenset(b"return else do case throw goto co_return co_yield new delete".split())
BODY = re.compile(
    rb"(?>(?:\s++|\b(?:const|noexcept|override|final|mutable|volatile|try)\b(?:\s*\([^(){};]*\))?|&"
    rb"|\[\[[^\[\]]*\]\]|->[^;{}]*+|:[^;{}]*+)*)\{"
)
"""What stands between a function's parameters and its body, up to its brace."""
_BEFORE = re.compile(rb"(?:\b([A-Za-z_]\w*)|[>*&\]])\s*\Z")
_QUALIFIER = re.compile(rb"(?<!::)(?:\b[A-Za-z_]\w*\s*(?:<[^<>;{}()]*>\s*)?::\s*)+\Z")
_PASTED = re.compile(rb"\b\w+(?:\s*##\s*\w+)+")
_LONGEST = 2000
_NAME = re.compile(rb"([*&>\s])(?<!\s\s)\s*[A-Za-z_]\w*\s*(?:=.*)?\Z", re.DOTALL)


def is_library(called: bytes) -> bool:
    """Whether what is called, as written, is the language's or a library's of the toolkit."""
    name = re.split(rb"::|\.|->", called.partition(b"<")[0])[-1].strip()
    if is_qualified_library(called):
        return True
    return name in _NO_FUNCTION or _LIBRARY.fullmatch(name) is not None


def is_qualified_library(called: bytes) -> bool:
    """Whether a name, as written, is one of a namespace of the toolkit's libraries."""
    return _QUALIFIED.match(called) is not None


def is_in_sight(name: bytes, texts: Sequence[bytes]) -> bool:
    """Whether each function of a name that takes references has a body in some texts.

    Args:
        name: of functions that no macro is called like.
        texts: blanked.
    """
    alone: list[tuple[bytes, ...]] = []
    whole: list[tuple[bytes, ...]] = []
    is_declared = False
    for given, is_defined in (one for text in texts for one in _declarations(name, text)):
        is_declared = True
        kinds = tuple(_kind(part) for part in given)
        (whole if is_defined else alone).append(kinds)
    return is_declared and all(
        kinds in whole or not any(b"&" in kind or b"..." in kind for kind in kinds)
        for kinds in alone
    )


def named(name: bytes) -> re.Pattern[bytes]:
    """A function's, a specialisation's or a lambda's name up to the bracket of its parameters."""
    own = re.escape(name)
    # What begins with a name, and not with a boundary, is found fast.
    begun = rb"%b(?<!\w%b)" % (own, own) if re.match(rb"\w", name) else rb"\b%b" % own
    return re.compile(rb"%b\s*(?:<[^;{}()]*>\s*|=\s*\[[^\]]*\]\s*)?\(" % begun)


def pastes(body: bytes, parameters: set[bytes], name: bytes) -> bool:
    """Whether tokens that a macro's body pastes may become a name."""
    for pasted in _PASTED.findall(body):
        tokens = re.findall(rb"\w+", pasted)
        parts = (rb"\w*" if one in parameters else re.escape(one) for one in tokens)
        if re.fullmatch(b"".join(parts), name) is not None:
            return True
    return False


def _declarations(name: bytes, text: bytes) -> Iterator[tuple[list[bytes], bool]]:
    """The parameters of the functions of a name, and whether their bodies follow."""
    for found in named(name).finditer(text):
        end = closed(text, found.end(), b"()", found.end() + _LONGEST)
        body = BODY.match(text, end)
        before = text[max(0, found.start() - _LONGEST) : found.start()]
        before = _QUALIFIER.sub(b"", before)
        kind = _BEFORE.search(before)
        is_typed = kind is not None and (kind[1] or b"") not in _NO_TYPE
        if body is None and not is_typed:
            continue
        yield _parts(text[found.end() : end - 1]), body is not None


def _parts(given: bytes) -> list[bytes]:
    """A list's parts; commas within brackets divide nothing."""
    depth, parts, at = 0, list[bytes](), 0
    for position in range(len(given)):
        one = given[position : position + 1]
        depth += (one in b"([{<") - (one in b")]}>")
        if one == b"," and depth <= 0:
            parts.append(given[at:position])
            at = position + 1
    return [*parts, given[at:]] if given.strip() else []


def _kind(parameter: bytes) -> bytes:
    """A parameter's type, without its name."""
    return b" ".join(_NAME.sub(rb"\1", parameter.strip()).split()).replace(b" &", b"&")
