"""Allow-lists of ptxas and NVRTC options that scanned files may set.

The options come with the scanned tree: from a build database, a configuration or a Python file.
Those passed on cannot run a program, load a library or write a file.

Spellings are those of ``ptxas --help`` and NVRTC's documentation ("Supported Compile Options").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

SCALAR = re.compile(r"[\w.+-]+")
"""Valid values of a translated option that is neither a path nor a macro."""


def _named(kind: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), kind)


_PTXAS_NUMBER = (
    "maxrregcount register-usage-level regUsageLevel minnctapersm device-function-maxrregcount "
    "func-maxrregcount split-compile maxntid"
)
_PTXAS_WORD = (
    "def-load-cache dlcm def-store-cache dscm force-load-cache flcm force-store-cache fscm "
    "allow-expensive-optimizations fmad enable-func-clone-sc position-independent-code pic "
    "device-stack-protector Ofast-compile Ofc sanitize opt-level O"
)
_PTXAS_VALUED = frozenset(f"{_PTXAS_NUMBER} {_PTXAS_WORD}".split())
"""ptxas options with a value that affect code."""

_PTXAS_FLAGS = frozenset(
    "disable-optimizer-constants disable-optimizer-consts dont-merge-basicblocks no-bb-merge "
    "return-at-end ret-end sp-bounds-check optimize-float-atomics opt-fp-atomics ewp "
    "extensible-whole-program preserve-relocs make-errors-visible-at-exit "
    "legacy-bar-warp-wide-behavior override-directive-values apply-controls g device-debug c "
    "compile-only O0 O1 O2 O3 O4".split()
)
"""ptxas options without a value that affect code."""

_PTXAS_DROPPED = re.compile(
    r"--?(v|verbose2?|v2|w|disable-warnings|warning-as-error|Werror|lineinfo|generate-line-info"
    r"|warn-[\w-]+|suppress-[\w-]+|annotate|compiler-annotations|jobserver|help|h|version|V)$"
    r"|--?(arch|gpu-name|m|machine|e|entry)(=|$)"
)
_PTXAS_REFUSED = re.compile(
    r"@|--?(o|output-file|optf|options-file|ias|input-as-string|astoolspatch)(=|$)"
)
_PTXAS_REFUSED_VALUED = frozenset("o output-file optf options-file ias input-as-string".split())
_PTXAS_DROPPED_VALUED = frozenset("arch gpu-name m machine e entry".split())


_NVRTC_VALUED = {
    **_named("text", "I include-path D define-macro U undefine-macro pre-include include"),
    **_named("ptxas", "Xptxas ptxas-options"),
    **_named("scalar", "std maxrregcount ftz prec-div prec-sqrt fmad dopt rdc Ofast-compile Ofc"),
    **_named("scalar", "relocatable-device-code device-stack-protector jump-table-density jtd"),
    **_named("scalar", "split-compile modify-stack-limit frandom-seed builtin-move-forward"),
    **_named("scalar", "builtin-initializer-list diag-suppress diag-error diag-warn"),
}
"""NVRTC options (its documentation, "Supported Compile Options") with a value. NVRTC does not use a
shell, so macros and directories may have any name."""

_NVRTC_FLAGS = frozenset(
    "dc device-c dw device-w ewp extensible-whole-program G device-debug lineinfo "
    "generate-line-info use_fast_math extra-device-vectorization restrict w disable-warnings "
    "device-as-default-execution-space default-device device-int128 device-float128 minimal "
    "no-source-include no-cache Wreorder err-no display-error-number no-err-no "
    "no-display-error-number brief-diagnostics brief-diag".split()
)
"""NVRTC options without a value. Precompiled headers and traces are left out: NVRTC writes them."""

_NVRTC_JOINED = "IDU"
"""One-letter NVRTC options whose value may follow without a space."""


@dataclass(frozen=True, slots=True)
class PtxasWords:
    """ptxas options: passed on, able to write or read elsewhere, and unlisted."""

    kept: tuple[str, ...]
    refused: tuple[str, ...]
    unknown: tuple[str, ...]


def ptxas_words(given: Sequence[str]) -> PtxasWords:
    """Classify the words of a ptxas command line."""
    kept: list[str] = []
    refused: list[str] = []
    unknown: list[str] = []
    words = iter(given)
    for word in words:
        name, equals, value = word.lstrip("-").partition("=")
        if name in _PTXAS_VALUED:
            value = value if equals else next(words, "")
            spelled = f"{word[: len(word) - len(word.lstrip('-'))]}{name}={value}"
            (kept if SCALAR.fullmatch(value) else refused).append(spelled)
        elif name in _PTXAS_FLAGS and not equals:
            kept.append(word)
        elif _PTXAS_REFUSED.match(word):
            if name in _PTXAS_REFUSED_VALUED and not equals:
                word = f"{word} {next(words, '')}"
            refused.append(word)
        elif _PTXAS_DROPPED.match(word):
            if name in _PTXAS_DROPPED_VALUED and not equals:
                next(words, "")
        else:
            unknown.append(word)
    return PtxasWords(tuple(kept), tuple(refused), tuple(unknown))


def nvrtc_words(words: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of an NVRTC command line that are passed on, and the others."""
    kept: list[str] = []
    refused: list[str] = []
    rest = iter(words)
    for word in rest:
        name, equals, value = word.lstrip("-").partition("=")
        spelled = [word]
        if not word.startswith("-"):
            refused.append(word)
            continue
        if not word.startswith("--") and word[1:2] in _NVRTC_JOINED and len(word) > 2:
            name, value = word[1], word[2:]
        elif name in _NVRTC_VALUED and not equals:
            value = next(rest, "")
            spelled.append(value)
        kind = _NVRTC_VALUED.get(name)
        if kind == "ptxas":
            read = ptxas_words(value.split(","))
            kept += [f"--ptxas-options={one}" for one in read.kept]
            refused += [f"--ptxas-options={one}" for one in (*read.refused, *read.unknown)]
        elif kind == "text" or (kind == "scalar" and SCALAR.fullmatch(value)):
            kept += spelled
        elif name in _NVRTC_FLAGS and not equals:
            kept.append(word)
        else:
            refused.append(" ".join(spelled))
    return tuple(kept), tuple(refused)
