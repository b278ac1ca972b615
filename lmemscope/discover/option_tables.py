"""Tables that decide about each compiler option in a build: an allow-list.

Build databases and configuration files come with the scanned tree, so none of their words reaches a
tool unless a table here allows it. A word is handled in one of these ways:

- it changes device code: *translated*;
- it changes nothing, or only names an output: *dropped*, because outputs are named here;
- it could run a program, load a library or write a file elsewhere: *refused* and reported, or
  *guarded*: passed on if the user trusts the build;
- it changes device code in a way that is not modelled: *unknown*, ignored and reported;
- it is in no table: treated as unknown, since any of the above could apply.

Host compiler options are in `lmemscope.sources.host_options`. Unlisted ones of the forms ``-f``,
``-m`` and the like are ignored without being reported; they matter only if a source depends on what
they may change.

Every other word that could matter and does not reach a tool is reported.

Spellings are those of nvcc (CUDA Compiler Driver NVCC, "NVCC Command Options"), of clang's CUDA
mode ("Compiling CUDA with clang") and of GCC ("Option Summary"). Words for ptxas and NVRTC are in
`lmemscope.sources.tool_words`.
"""

from __future__ import annotations

import re


def _named(kind: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), kind)


VALUED = {
    **_named("include", "I include-path"),
    **_named("quote", "iquote"),
    **_named("after", "idirafter"),
    **_named("system", "isystem system-include"),
    **_named("define", "D define-macro"),
    **_named("undefine", "U undefine-macro"),
    **_named("forced", "include pre-include"),
    **_named("std", "std"),
    **_named("ptxas", "Xptxas ptxas-options Xcuda-ptxas"),
    **_named("host-words", "Xcompiler compiler-options"),
    **_named("registers", "maxrregcount"),
    **_named("gencode", "gencode generate-code"),
    **_named("arch", "arch gpu-architecture cuda-gpu-arch offload-arch"),
    **_named("code", "code gpu-code"),
    **_named("for-nvcc", "nvcc_options"),
    **_named("rdc", "rdc relocatable-device-code"),
    **_named("host", "ccbin compiler-bindir"),
    **_named("response", "options-file optf"),
    **_named("both", "ftz prec-div prec-sqrt fmad device-stack-protector dopt"),
    **_named("both", "Ofast-compile Ofc jump-table-density jtd split-compile"),
    **_named("nvcc", "default-stream sanitize"),
    **_named("language", "x language"),
    **_named("output", "o output-file"),
    **_named("dropped", "MF MT MQ dependency-output dependency-target-name odir output-directory"),
    **_named("dropped", "l library L library-path Xlinker linker-options Xarchive archive-options"),
    **_named("dropped", "Xnvlink nvlink-options Xfatbin fatbin-options Xcudafe cudafe-options"),
    **_named("dropped", "diag-suppress diag-error diag-warn cudart cudadevrt threads t"),
    **_named("optimize", "O optimize"),
    **_named("dropped", "keep-dir target target-directory target-dir machine m arch-list std-host"),
    **_named("dropped", "host-linker-script hls compress-mode time fdevice-time-trace opt-info"),
    **_named("dropped", "optimization-info ftemplate-depth ftemplate-backtrace-limit brief-diag"),
    **_named("dropped", "brief-diagnostics frandom-seed static-global-template-stub dp ddp idp"),
    **_named("dropped", "drive-prefix dependency-drive-prefix input-drive-prefix qpp-config"),
    **_named("dropped", "device-entity-has-hidden-visibility"),
    **_named("elsewhere", "sysroot isysroot cuda-path"),
    **_named("dropped", "cuda-include-ptx no-cuda-include-ptx Werror"),
    **_named("dropped", "Xnvprune nvprune-options fmax-errors split-compile-extended"),
    **_named("dropped", "fdevice-time-trace-granularity"),
    **_named("guarded", "ldir libdevice-directory Xcicc cicc-options"),
    **_named("refused", "run-args arbin archiver-binary"),
    **_named("unknown", "tile-preview Xtileiras tileiras-options apply-controls e entries stdlib"),
    **_named("unknown", "fdevice-sanitize"),
}
"""Compiler options that take a value: after ``=``, as the next word, or directly after a one-letter
name."""

FLAGS = {
    **_named("fast", "use_fast_math ffast-math"),
    **_named("separate", "dc dw device-c device-w fgpu-rdc"),
    **_named("nvcc", "expt-relaxed-constexpr expt-extended-lambda extended-lambda"),
    **_named("nvcc", "relaxed-constexpr"),
    **_named("nvcc", "keep-device-functions no-host-device-initializer-list nohdinitlist"),
    **_named("nvcc", "no-host-device-move-forward nohdmoveforward"),
    **_named("both", "G device-debug restrict extra-device-vectorization"),
    **_named("both", "ewp extensible-whole-program"),
    **_named("linked", "dlto dlink-time-opt lto ltoir gen-opt-lto"),
    **_named("dropped", "c compile dlink device-link link lib cuda g debug pg profile lineinfo"),
    **_named(
        "dropped", "generate-line-info v verbose dryrun keep clean-targets clean list-gpu-code"
    ),
    **_named("dropped", "M MD MMD MM MP MG generate-dependencies generate-nonsystem-dependencies"),
    **_named(
        "dropped", "generate-dependencies-with-compile generate-dependency-targets E ptx cubin"
    ),
    **_named("dropped", "generate-nonsystem-dependencies-with-compile fatbin optix-ir save-temps"),
    **_named("dropped", "preprocess w disable-warnings res-usage resource-usage shared static r"),
    **_named("dropped", "forward-unknown-to-host-compiler forward-unknown-to-host-linker"),
    **_named("dropped", "forward-unknown-opts display-error-number err-no no-display-error-number"),
    **_named("dropped", "no-err-no source-in-ptx src-in-ptx allow-unsupported-compiler nodlink"),
    **_named("dropped", "no-device-link cuda-device-only cuda-host-only no-compress compress-all"),
    **_named("dropped", "expt-cuda-no-device-lambda-warning m64 m32 no-align-double qpp"),
    **_named("nvcc", "no-exceptions noeh"),
    **_named("dropped", "Wno-deprecated-gpu-targets nocudalib nocudainc prec-all"),
    **_named("dropped", "help version h V noprof dont-use-profile objdir-as-tempdir objtemp"),
    **_named(
        "dropped", "list-gpu-arch code-ls arch-ls jobserver augment-host-linker-script aug-hls"
    ),
    **_named("dropped", "relocatable-link relocatable-ptx reloc-ptx astoolspatch use-local-env"),
    **_named("dropped", "compile-as-tools-patch fdevice-syntax-only force-cl-env-setup Wreorder"),
    **_named("dropped", "verbose2 v2 prune concat skip-ptx-semantics-check utf-8"),
    **_named("dropped", "Wdefault-stream-launch Wmissing-launch-bounds Wconversion"),
    **_named("dropped", "Wext-lambda-captures-this Wno-deprecated-declarations"),
    **_named("refused", "run"),
    **_named("unknown", "enable-tile tile-only simt-only tilebc tilecubin tilefatbin"),
    **_named("unknown", "safety-compatibility safety-compat"),
}
"""Compiler options without a value."""

LONG = {
    "Ofc": "Ofast-compile",
    "jtd": "jump-table-density",
    "ewp": "extensible-whole-program",
}
"""NVRTC's spelling of names that nvcc also abbreviates."""

JOINED = "IDUxlLotO"
"""One-letter options whose value may follow without a space."""

HOST_VALUED = {
    **_named("include", "-I"),
    **_named("quote", "-iquote"),
    **_named("after", "-idirafter"),
    **_named("system", "-isystem"),
    **_named("define", "-D"),
    **_named("undefine", "-U"),
    **_named("forced", "-include -imacros"),
    **_named("again", "-Xpreprocessor"),
    **_named("dropped", "-o -MF -MT -MQ -Xassembler -Xlinker -T -u -z --param -arch -x"),
    **_named("elsewhere", "-isysroot"),
    **_named("refused", "-wrapper -B -specs --specs -Xclang -mllvm -iplugindir"),
}
"""Host compiler options that take a value as the next word."""

HOST_JOINED = "-isystem -idirafter -iquote -include -imacros -I -D -U".split()
"""Those whose value may follow without a space; longer names come before their prefixes."""

HOST_REFUSED = re.compile(
    r"@|-wrapper|-B|--?specs|-fplugin|-fpass-plugin|-iplugindir|-fmodule-mapper|-Xclang|-mllvm"
    r"|-load|--?ld-path|-fuse-ld=.*/"
)
"""Host compiler words that run a program, load a library or read options from elsewhere."""

HOST_NAMED = re.compile(r"-f(no-)?(gpu|cuda|hip|device|tile)-")
"""Host compiler words that clang's CUDA mode, or a newer nvcc, applies to device code."""

HOST_UNSAID = re.compile(r"-[fmOW]|-nostd|-undef")
"""Host compiler words that affect device code only through preprocessing; ignored without a report.
"""

INPUT = re.compile(
    r"[^`$;|&<>]*\.(cu|cuh|ptx|cubin|fatbin|[cCiSs]|cc|cp|cpp|cxx|c\+\+|ii|hh?|hpp|hxx|inl?|inc"
    r"|o|obj|a|lib|so|so\.[\d.]+|res|gpu|optixir|ltoir|bc|ll)"
)
"""A word that names a file for a compiler. Other words mean nothing to a compiler, only to the
shell they were written for."""
