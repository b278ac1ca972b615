"""Classify host compiler options by their effect on preprocessing.

nvcc preprocesses device code with its host compiler and that compiler's options; NVRTC has none of
them. `PASSED` and `PASSED_ALIKE` are allow-lists of what may be passed to nvcc: nothing in them
runs a program, loads a library, or reads or writes a file. `DROPPED` is an allow-list too: its
``-f`` options are those of GCC 12.2 that affect no macro, no reading of text, and no header search.
An unlisted option may do anything. ``tests/toolchain/test_host_options.py`` asks the installed
compiler for its macros.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

PASSED_ALIKE = re.compile(
    r"-O(?:[0-3sgz]|fast)?|-pthread|-pedantic(?:-errors)?|-W(?:no-)?(?:deprecated|pedantic|vla)"
    r"|-f(?:no-)?(?:openmp|openmp-simd|openacc|fast-math|finite-math-only|associative-math"
    r"|unsafe-math-optimizations|reciprocal-math|math-errno|trapping-math|rounding-math"
    r"|signaling-nans|signed-zeros|single-precision-constant|cx-limited-range|short-enums"
    r"|ms-extensions|gnu-keywords|permissive|strict-enums|pic|PIC|pie|PIE|weak|gnu89-inline"
    r"|stack-protector(?:-all|-strong|-explicit)?|inline|builtin(?:-\w+)?|cx-fortran-rules"
    r"|dwarf2-cfi-asm|new-ttp-matching)"
    r"|-ftree-parallelize-loops=\d+"
    r"|-f(?:exceptions|rtti|threadsafe-statics|sized-deallocation|signed-char|hosted)"
    r"|-fno-(?:unsigned-char|gnu-tm|openmp)"
    r"|-fcf-protection(?:=[a-z]+)?|-f(?:no-)?sanitize=[a-z,-]+|-mno-[\w.-]+"
    r"|-m(?:arch|cpu|tune|fpu|float-abi|fpmath|abi|cmodel)=[\w.+-]+"
    r"|-m(?:sse|avx|amx|fma|f16c|bmi|lzcnt|popcnt|aes|pclmul|sha|movbe|adx|rdrnd|gfni|vaes|cx16)"
    r"[\w.-]*"
)
"""Passed on; they affect macros, but none that NVRTC and nvcc share."""

PASSED = re.compile(
    r"-f(?:no-)?(?:exceptions|rtti|threadsafe-statics|sized-deallocation|aligned-new|signed-char"
    r"|unsigned-char|short-wchar|char8_t|concepts|coroutines|gnu-tm|implicit-constexpr"
    r"|operator-names|dollars-in-identifiers|non-call-exceptions|handle-exceptions"
    r"|new-inheriting-ctors|extended-identifiers)"
    r"|-f(?:freestanding|no-hosted|concepts-ts|abi-version=\d+|aligned-new=\d+)|-ansi|-trigraphs"
)
"""Passed on; they affect macros that NVRTC has too, or how text is read. Therefore nvcc decides."""

_WITHOUT_EFFECT: Mapping[str, str] = {
    "": "access-control aggressive-loop-optimizations align-functions align-jumps align-labels "
    "align-loops allocation-dce allow-store-data-races asm associative-math "
    "asynchronous-unwind-tables auto-inc-dec auto-profile bit-tests branch-count-reg "
    "branch-probabilities caller-saves canonical-system-headers check-data-deps check-new "
    "code-hoisting combine-stack-adjustments common compare-elim conserve-stack "
    "constexpr-fp-except cprop-registers crossjumping cse-follow-jumps cse-skip-blocks "
    "data-sections dce debug-types-section declone-ctor-dtor deduce-init-list defer-pop "
    "delete-dead-exceptions delete-null-pointer-checks devirtualize devirtualize-at-ltrans "
    "devirtualize-speculatively diagnostics-color diagnostics-generate-patch "
    "diagnostics-parseable-fixits dse early-inlining elide-constructors enforce-eh-specs "
    "expensive-optimizations ext-numeric-literals extern-tls-init fat-lto-objects "
    "finite-loops float-store fold-simple-inlines force-addr forward-propagate "
    "fp-int-builtin-inexact function-cse function-sections gcse gnu-keywords gnu-unique "
    "graphite graphite-identity guess-branch-probability harden-compares "
    "harden-conditional-branches hoist-adjacent-loads ident if-conversion2 "
    "implicit-inline-templates implicit-templates indirect-inlining inhibit-size-directive "
    "inline-atomics inline-functions inline-functions-called-once inline-small-functions "
    "instrument-functions isolate-erroneous-paths-attribute "
    "isolate-erroneous-paths-dereference ivopts jump-tables large-source-files lifetime-dse "
    "limit-function-alignment live-range-shrinkage lra-remat lto mem-report mem-report-wpa "
    "modulo-sched modulo-sched-allow-regmoves move-loop-invariants move-loop-stores "
    "ms-extensions nothrow-opt omit-frame-pointer openmp-simd opt-info "
    "optimize-register-move optimize-sibling-calls optimize-strlen pack-struct "
    "partial-inlining pcc-struct-return peel-loops peephole peephole2 permissive plt "
    "post-ipa-mem-report pre-ipa-mem-report predictive-commoning prefetch-loop-arrays "
    "pretty-templates printf-return-value profile ree reg-struct-return regmove "
    "rename-registers report-bug require-return-statement rerun-cse-after-loop "
    "reschedule-modulo-scheduled-loops save-optimization-record schedule-fusion "
    "schedule-insns schedule-insns2 section-anchors selective-scheduling "
    "selective-scheduling2 semantic-interposition short-enums show-column shrink-wrap "
    "shrink-wrap-separate signed-bitfields ssa-backprop ssa-phiopt stack-check "
    "stack-clash-protection stats stdarg-opt store-merging strict-aliasing strict-enums "
    "strict-overflow strict-volatile-bitfields strong-eval-order sync-libcalls "
    "test-coverage thread-jumps time-report time-report-details toplevel-reorder tracer "
    "trampolines trapv unconstrained-commons unit-at-a-time unroll-all-loops "
    "unroll-completely-grow-size unroll-loops unsafe-loop-optimizations unsigned-bitfields "
    "unswitch-loops unwind-tables use-cxa-atexit use-cxa-get-exception-ptr var-tracking "
    "var-tracking-assignments var-tracking-assignments-toggle var-tracking-uninit "
    "variable-expansion-in-unroller vect-cost-model verbose-asm version-loops-for-strides "
    "visibility-inlines-hidden visibility-ms-compat web whole-program wrapv wrapv-pointer "
    "zero-initialized-in-bss",
    "diagnostics-show-": "caret cwe labels line-numbers option path-depths template-tree",
    "eliminate-": "dwarf2-dups unused-debug-symbols unused-debug-types",
    "gcse-": "after-reload las lm sm",
    "ipa-": "bit-cp cp cp-alignment cp-clone icf icf-functions icf-variables matrix-reorg "
    "modref profile pta pure-const ra reference reference-addressable sra "
    "stack-alignment strict-aliasing struct-reorg vrp",
    "ira-": "hoist-pressure loop-pressure share-save-slots share-spill-slots",
    "keep-": "inline-functions static-consts static-functions",
    "loop-": "block flatten interchange nest-optimize parallelize-all strip-mine unroll-and-jam",
    "lto-": "odr-type-merging report report-wpa",
    "merge-": "all-constants constants debug-strings",
    "profile-": "abs-path arcs correction generate partial-training reorder-functions report use "
    "values",
    "reorder-": "blocks blocks-and-partition functions",
    "sanitize-": "address-use-after-scope recover undefined-trap-on-error",
    "sched-": "critical-path-heuristic dep-count-heuristic group-heuristic interblock "
    "last-insn-heuristic pressure rank-heuristic spec spec-insn-heuristic spec-load "
    "spec-load-dangerous stalled-insns stalled-insns-dep",
    "sel-sched-": "pipelining pipelining-outer-loops reschedule-pipelined",
    "split-": "ivs-in-unroller loops paths stack wide-types wide-types-early",
    "tree-": "bit-ccp builtin-call-dce ccp ch coalesce-vars copy-prop cselim dce dominator-opts "
    "dse forwprop fre loop-distribute-patterns loop-distribution loop-if-convert "
    "loop-if-convert-stores loop-im loop-ivcanon loop-optimize loop-vectorize "
    "partial-pre phiprop pre pta reassoc scev-cprop sink slp-vectorize slsr sra "
    "tail-merge ter vectorize vrp",
}
_ALONE = (
    "callgraph-info diagnostics-plain-output live-patching profile-info-section no-random-seed "
    "no-stack-limit stack-usage track-macro-expansion tree-coalesce-inlined-vars"
)
_VALUED = (
    "align-functions align-jumps align-labels align-loops auto-profile callgraph-info "
    "concepts-diagnostics-depth constexpr-cache-depth constexpr-depth constexpr-loop-limit "
    "constexpr-ops-limit debug-prefix-map excess-precision fp-contract inline-limit "
    "instrument-functions-exclude-file-list instrument-functions-exclude-function-list "
    "ira-algorithm ira-region ira-verbose lifetime-dse live-patching lto lto-compression-level "
    "lto-partition max-errors message-length openacc-dim opt-info pack-struct "
    "patchable-function-entry profile-dir profile-exclude-files profile-filter-files "
    "profile-generate profile-info-section profile-note profile-prefix-path profile-update "
    "profile-use random-seed reorder-blocks-algorithm sanitize-recover sanitize-sections "
    "sched-stalled-insns sched-stalled-insns-dep sched-verbose simd-cost-model stack-check "
    "stack-limit-register stack-limit-symbol stack-reuse strong-eval-order "
    "template-backtrace-limit template-depth tls-model track-macro-expansion "
    "trivial-auto-var-init use-ld vect-cost-model visibility vtable-verify zero-call-used-regs"
)
_OF_CLANG = (
    "ansi-escape-codes caret-diagnostics color-diagnostics limit-debug-info new-infallible "
    "slp-vectorize standalone-debug unique-basic-block-section-names unique-section-names "
    "vectorize"
)
"""Options from Clang's documentation ("Clang command line argument reference")."""


def _either(names: Iterable[str]) -> str:
    return "|".join(map(re.escape, names))


NAMES = tuple(
    f"{prefix}{rest}" for prefix, words in _WITHOUT_EFFECT.items() for rest in words.split()
)
"""GCC options, without ``-f`` or ``-fno-``, that do not affect macros, text or headers."""
DROPPED = re.compile(
    r"-W\S*|-[lL]\S*|-g(?!cc)[\w+=,.-]*|-[cwvrSEQsp]|-M[DFGMPQT]*|-m(?:64|(?:no-)?red-zone)"
    r"|-p(?:g|ie|ipe)|-(?:static|shared|save-temps|dump|quiet)\S*|-rdynamic|--coverage"
    r"|-no(?:stdlib(?:\+\+)?|defaultlibs|startfiles|libc|-pie|-canonical-prefixes)"
    r"|/(?!A?I|D|E|F|U|X|Y|d|ext|st|u)\S*|-f(?:no-)?(?:diagnostics|dump|analyzer)-[\w-]+(?:=\S*)?"
    rf"|-f(?:no-)?(?:{_either((*NAMES, *_OF_CLANG.split()))})"
    rf"|-f(?:{_either(_ALONE.split())})|-f(?:template-depth-\d+|(?:{_either(_VALUED.split())})=\S*)"
)
"""Dropped silently unless passed on: they affect no macro, no header search and no text. Warnings,
diagnostics, dumps and debug information never do, whatever their names."""

_TRANSLATED = re.compile(r"-[IDU]\S*|-i(?:system|quote|dirafter|nclude|macros)\S*")
_DIALECT = re.compile(r"-std=(?:c|gnu)\+\+(\w+)")
_DRAFTS = {"0x": "11", "1y": "14", "1z": "17", "2a": "20", "2b": "23", "2c": "26"}
_USUAL_DIALECT = "c++17"
"""Default dialect of nvcc and NVRTC."""


def unshared(words: Iterable[str], std: str | None) -> str | None:
    """The first host compiler word that may make NVRTC read a source differently.

    Args:
        words: as nvcc passes them on, including values that are separate words.
        std: the dialect requested from nvcc, or None.
    """
    known = (PASSED_ALIKE, DROPPED, _TRANSLATED)
    year = _year(f"-std={std or _USUAL_DIALECT}")
    for word in words:
        if not word.startswith("-") or any(one.fullmatch(word) for one in known):
            continue
        # GNU's dialect of the same year adds macros that NVRTC lacks; the texts show whether they
        # matter.
        if _year(word) is None or _year(word) != year:
            return word
    return None


def _year(word: str) -> str | None:
    dialect = _DIALECT.fullmatch(word)
    return None if dialect is None else _DRAFTS.get(dialect[1], dialect[1])
