"""Which options of a host compiler change what a source's preprocessing gives.

nvcc preprocesses device code by its host compiler, with that compiler's options; NVRTC has none of
them. `PASSED` and `PASSED_ALIKE` are allow-lists of what nvcc may be given: nothing of them runs a
program, loads a library, or reads or writes a file. ``tests/toolchain/test_host_options.py`` asks
the installed compiler for the macros.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

PASSED_ALIKE = re.compile(
    r"-O(?:[0-3sgz]|fast)?|-pthread|-pedantic(?:-errors)?|-W(?:no-)?deprecated"
    r"|-f(?:no-)?(?:openmp|openmp-simd|openacc|fast-math|finite-math-only|associative-math"
    r"|unsafe-math-optimizations|reciprocal-math|math-errno|trapping-math|rounding-math"
    r"|signaling-nans|signed-zeros|single-precision-constant|cx-limited-range|short-enums"
    r"|ms-extensions|gnu-keywords|permissive|strict-enums|pic|PIC|pie|PIE|weak|gnu89-inline"
    r"|stack-protector(?:-all|-strong|-explicit)?)"
    r"|-f(?:exceptions|rtti|threadsafe-statics|sized-deallocation|signed-char|hosted)"
    r"|-fno-(?:unsigned-char|gnu-tm|openmp)"
    r"|-fcf-protection(?:=[a-z]+)?|-f(?:no-)?sanitize=[a-z,-]+|-mno-[\w.-]+"
    r"|-m(?:arch|cpu|tune|fpu|float-abi|fpmath|abi|cmodel)=[\w.+-]+"
    r"|-m(?:sse|avx|amx|fma|f16c|bmi|lzcnt|popcnt|aes|pclmul|sha|movbe|adx|rdrnd|gfni|vaes|cx16)"
    r"[\w.-]*"
)
"""Passed on; they change macros, but none that NVRTC and nvcc have in common."""

PASSED = re.compile(
    r"-f(?:no-)?(?:exceptions|rtti|threadsafe-statics|sized-deallocation|aligned-new|signed-char"
    r"|unsigned-char|short-wchar|char8_t|concepts|coroutines|gnu-tm|implicit-constexpr"
    r"|operator-names|dollars-in-identifiers)|-f(?:freestanding|no-hosted)|-ansi|-trigraphs"
)
"""Passed on; they change macros that NVRTC has too, or how text is read. So nvcc decides."""

DROPPED = re.compile(
    r"-[WglL]\S*|-[cwvrSEQsp]|-M[DFGMPQT]*|-m(?:64|(?:no-)?red-zone)"
    r"|-p(?:g|ie|ipe)|-(?:static|shared|save-temps|dump|quiet)\S*|-rdynamic|--coverage|/\S*"
    r"|-no(?:stdlib(?:\+\+)?|defaultlibs|startfiles|libc|-pie|-canonical-prefixes)"
    r"|-f(?:no-)?(?:strict-aliasing|strict-overflow|common|plt|wrapv(?:-pointer)?|trapv"
    r"|omit-(?:leaf-)?frame-pointer|(?:function|data|unique)-\w*sections|builtin(?:-\w+)?"
    r"|asynchronous-unwind-tables|unwind-tables|semantic-interposition|stack-clash-protection"
    r"|stack-check|merge-(?:all-)?constants|delete-null-pointer-checks|elide-constructors"
    r"|non-call-exceptions|ident|use-cxa-atexit|gnu-unique|test-coverage|standalone-debug"
    r"|color-diagnostics|show-column|optimize-sibling-calls|rename-registers|pipe|verbose-asm"
    r"|keep-inline-functions|enforce-eh-specs|fat-lto-objects|peel-loops|web|devirtualize\S*"
    r"|vectorize|slp-vectorize|new-infallible|isolate-erroneous-paths-\w+|crossjumping)"
    r"|-f(?:no-)?(?:visibility|diagnostics|lto|inline|unroll|tree|ipa|profile|dump|align|sched"
    r"|reorder|split|gcse|if-conversion|prefetch|stack-usage|debug|loop|graphite|lifetime-dse"
    r"|var-tracking|eliminate|branch|caller-saves|code-hoisting|ira|lra)(?:-[\w-]+)?(?:=\S*)?"
    r"|-f(?:message-length|max-errors|template-depth|template-backtrace-limit|fp-contract"
    r"|constexpr-(?:depth|loop-limit|ops-limit|cache-depth)|constexpr-steps|random-seed"
    r"|excess-precision|zero-call-used-regs|trivial-auto-var-init|use-ld|abi-compat-version"
    r"|debug-prefix-map|stack-limit-register|tls-model|vtable-verify)(?:=|-)\S*"
)
"""Dropped without a word, unless they are passed on: they change no macro, no header's place and no
text."""

_TRANSLATED = re.compile(r"-[IDU]\S*|-i(?:system|quote|dirafter|nclude|macros)\S*|-std=\S*")


def unshared(words: Iterable[str]) -> str | None:
    """The first of a host compiler's words with which NVRTC may read a source otherwise.

    Args:
        words: as nvcc hands them on; values of options that are words of their own included.
    """
    known = (PASSED_ALIKE, DROPPED, _TRANSLATED)
    options = (word for word in words if word.startswith("-"))
    return next((word for word in options if not any(one.fullmatch(word) for one in known)), None)
