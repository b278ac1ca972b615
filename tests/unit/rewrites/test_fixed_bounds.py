"""Launch bounds that another architecture, build or source may widen prove no room."""

from __future__ import annotations

import os

import pytest
from msgspec.structs import replace

from lmemscope.model import CompileOptions, LaunchBounds, SourceText
from lmemscope.rewrites import proposals
from lmemscope.rewrites.base import Target
from tests.support.rewriting import target

KERNEL = """\
%s
__global__ void %s k(const int *p, int *out, int n) {
  int a[24];
  a[n] = p[0];
  out[0] = a[p[1]];
}
"""
FUNCTION = """\
__device__ int work(const int *p, int n) {
  int a[24];
  a[n] = p[0];
  return a[p[1]];
}
__global__ void __launch_bounds__(64) k(const int *p, int *out, int n) { *out = work(p, n); }
"""


def applicability(text: str, *defines: str, **others: str) -> str:
    """That of shared memory for `a`, in a project with other files."""
    files = {"/p/a.cu": text, **{f"/p/{name}.cu": one for name, one in others.items()}}
    given = target(
        text, "a", "int[24]", block=None, launch_bounds=LaunchBounds(64, None), demangled="k"
    )
    (hit,) = given.hits
    sources = SourceText(
        lambda file: files.get(os.path.normpath(file), "").splitlines(),
        "/p/a.cu",
        CompileOptions(defines=defines),
        mentioning=lambda _, word: tuple(one for one, text in files.items() if word in text),
    )
    hit = replace(hit, case=replace(hit.case, sources=sources))
    given = replace(given, hits=(hit,), kernels=(hit.facts,), defines=defines)
    (shared,) = (one for one in proposals(given)[0] if one.rewrite == "shared-memory")
    return shared.applicability


@pytest.mark.parametrize(
    ("before", "bounds", "expected"),
    [
        ("", "__launch_bounds__(64)", "safe"),
        ("", "__launch_bounds__(64, MIN_BLOCKS)", "safe"),
        ("#define T 64", "__launch_bounds__(T)", "safe"),
        ("#define W 32\n#define T (2 * W)", "__launch_bounds__(T)", "safe"),
        ("constexpr int T = 64;", "__launch_bounds__(T)", "safe"),
        ("enum { T = 64 };", "__launch_bounds__(T)", "safe"),
        ("template <int T>", "__launch_bounds__(T)", "safe"),
        ("template <class T>", "__launch_bounds__(T::threads)", "safe"),
        (
            "#define V 64\nvoid f() { k<V><<<1, V>>>(); }\ntemplate <int T>",
            "__launch_bounds__(T)",
            "safe",
        ),
        (
            "#ifndef V\n#define V 64\n#endif\nvoid f() { k<V><<<1, V>>>(); }\ntemplate <int T>",
            "__launch_bounds__(T)",
            "unsafe",
        ),
        (
            "#ifndef V\n#define V 64\n#endif\ntemplate <int T = V>",
            "__launch_bounds__(T)",
            "unsafe",
        ),
        ("#define BOUNDS __launch_bounds__(64)", "BOUNDS", "safe"),
        ("#ifndef A_CUH\n#define A_CUH\n#define T 64\n#endif", "__launch_bounds__(T)", "safe"),
        ("#ifndef T\n#define T 64\n#endif", "__launch_bounds__(T)", "unsafe"),
        ("#ifndef T\n#define T 64\n#endif", "__launch_bounds__(T * 1)", "unsafe"),
        ("#ifndef T\n#define T 64\n#endif\nconst int U = T;", "__launch_bounds__(U)", "unsafe"),
        (
            "#if __CUDA_ARCH__ >= 900\n#define T 64\n#else\n#define T 128\n#endif",
            "__launch_bounds__(T)",
            "unsafe",
        ),
        (
            "#ifdef SMALL\nconstexpr int T = 64;\n#else\nconstexpr int T = 128;\n#endif",
            "__launch_bounds__(T)",
            "unsafe",
        ),
        ("#ifndef T\n#define T 64\n#endif\n#define B __launch_bounds__(T)", "B", "unsafe"),
        ("#ifndef B\n#define B __launch_bounds__(64)\n#endif", "B", "unsafe"),
        ("#include <elsewhere.h>", "__launch_bounds__(T)", "unsafe"),
    ],
)
def test_bounds_are_one_number_whatever_is_compiled(
    before: str, bounds: str, expected: str
) -> None:
    assert applicability(KERNEL % (before, bounds)) == expected


def test_bounds_of_the_command_line_are_those_of_one_build() -> None:
    text = KERNEL % ("", "__launch_bounds__(T)")
    assert applicability(text, "T=64") == "unsafe"


def test_a_file_that_is_known_by_two_paths_defines_a_macro_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Target, "files", ("/p/a.cu", "/p/../p/a.cu"))
    assert applicability(KERNEL % ("#define T 64", "__launch_bounds__(T)")) == "safe"


def test_every_declaration_counts() -> None:
    text = KERNEL % ("#ifndef T\n#define T 64\n#endif", "__launch_bounds__(64)")
    declared = "__global__ void __launch_bounds__(T) k(const int *p, int *out, int n);\n"
    assert applicability(text.replace("__global__", declared + "__global__", 1)) == "unsafe"


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ('#include "a.cu"\n__global__ void wide(int *p) { *p = work(p, 1); }\n', "unsafe"),
        ('#include "src/a.cu"\n', "unsafe"),
        ('#include "b.cu"\n// not a.cu\n', "safe"),
    ],
)
def test_a_source_that_another_one_includes_may_have_other_kernels(
    other: str, expected: str
) -> None:
    assert applicability(FUNCTION, b=other) == expected


def test_a_template_that_another_source_includes_may_have_other_instances() -> None:
    text = KERNEL % ("template <int T>", "__launch_bounds__(T)")
    assert applicability(text, b='#include "a.cu"\n') == "unsafe"
    fixed = KERNEL % ("", "__launch_bounds__(64)")
    assert applicability(fixed, b='#include "a.cu"\n') == "safe"


def test_a_file_of_the_same_name_beside_the_one_that_includes_it_is_another() -> None:
    other = {"q/a": "// another\n", "q/b": '#include "a.cu"\n'}
    assert applicability(FUNCTION, **other) == "safe"
    assert applicability(FUNCTION, **{"q/b": '#include "a.cu"\n'}) == "unsafe"
