"""Comments that allow: for the kernel that the text has below them, and for no other."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from msgspec.structs import replace

from lmemscope.analysis import headers
from lmemscope.errors import UsageError
from lmemscope.gate.compare import compare
from lmemscope.model import CompileOptions, GateResult, Policy, UnitReport
from lmemscope.sources.cuda import read_cuda_source
from lmemscope.sources.headers import with_headers
from tests.support.builders import judged, report
from tests.support.program import run_program

A = '// lmemscope: allow dynamic-index 256 "measured"\n'
K = "__global__ void k(float *o, int *p) { }\n"
KERNEL = "k(float*, int*)"


def judge(
    tmp_path: Path, text: str, *compiled: str, options: CompileOptions | None = None, **files: str
) -> GateResult:
    """The gate's answer where each compiled kernel has a dynamic index of 80 bytes."""
    for name, held in files.items():
        (tmp_path / f"{name}.h").write_text(held)
    (tmp_path / "a.cu").write_text(text)
    given = options or CompileOptions()
    source = with_headers(read_cuda_source(text), str(tmp_path / "a.cu"), given)
    said = headers.directives_of(source, lambda header: header.path)
    kernels = tuple(judged(name, "dynamic-index") for name in compiled)
    (unit,) = report(*kernels).units
    unit: UnitReport = replace(unit, directives=said)
    whole = replace(report(*kernels), units=(unit,))
    return compare(whole, Policy(), None, today=date(2026, 11, 28))


def allowed(result: GateResult) -> list[str]:
    return sorted(one.kernel for one in result.accepted)


@pytest.mark.parametrize(
    ("text", "compiled", "kernels"),
    [
        (A + K, [KERNEL], ["k"]),
        (A + "\n// More.\n/* And more. */\n#pragma nv_diag_suppress 177\n" + K, [KERNEL], ["k"]),
        (A.replace("\n", "\r\n") + K, [KERNEL], ["k"]),
        ("__global__ void k(float *o, int *p) {\n" + A + "}\n", [KERNEL], ["k"]),
        # Overloads that the parameters tell apart, on whatever line.
        (A + K + "__global__ void k(float *o) {}", [KERNEL, "k(float*)"], ["k"]),
        (A + K[:-2] + "\n#line 2\n} __global__ void k(int *o, int *p) { }",
         [KERNEL, "k(int*, int*)"], ["k"]),
        (A + K + "namespace n { " + K + "}", [KERNEL, "n::" + KERNEL], ["k"]),
        (A + K + "__global__ void n::k(float *o, int *p) {}", [KERNEL, "n::" + KERNEL], ["k"]),
        ("namespace n {\n" + A + K + "}\n", ["n::" + KERNEL], ["n::k"]),
        (A + 'extern "C" ' + K, ["k"], ["k"]),
        (A + "template <int N>\n" + K, ["void k<1>(float*, int*)", "void k<2>(float*, int*)"],
         ["k<1>", "k<2>"]),
        (A + "template <int N>\nCG void k(float *o, int *p) {}\n",
         ["void k<1>(float*, int*)"], ["k<1>"]),
        ("#define CG __global__ static\n" + A + "CG void k(float *o, int *p) {}\n",
         [KERNEL], ["k"]),
        ("#define DEF(n) __global__ void n(float *o, int *p) {}\n" + A + "DEF(k)\nDEF(z)\n",
         [KERNEL, "z(float*, int*)"], ["k"]),
        ("#ifndef ONCE\n#define ONCE\n" + A + K + "#endif\n", [KERNEL], ["k"]),
        ("#if 0\nold\n#endif\n" + A + "#if 0\n" + K + "#endif\n" + K, [KERNEL], ["k"]),
        # A declaration is of the one kernel that has its name and parameters.
        (A + "__global__ void k(float *, int *);\n__global__ void k();\n" + K + "struct S {};",
         [KERNEL, "k()"], ["k"]),
    ],
)  # fmt: skip
def test_the_kernel_below_is_allowed(
    tmp_path: Path, text: str, compiled: list[str], kernels: list[str]
) -> None:
    assert allowed(judge(tmp_path, text, *compiled)) == kernels


@pytest.mark.parametrize(
    ("text", "compiled"),
    [
        # More than one may be meant: overloads by types that only a compiler knows, …
        (A + "__global__ void k(T *o) {}\n__global__ void k(U *o) {}", ["k(T*)", "k(U*)"]),
        (A + "template <class T> __global__ void k(T *o) {}\n"
         "template <> __global__ void k(float *o) {}\n", ["void k<float>(float*)"]),
        (A + "#if FAST\n" + K + "#else\n" + K + "#endif\n", [KERNEL]),
        ("#if FAST\n" + A + K + "#else\n" + K + "#endif\n", [KERNEL]),
        (A + K + "namespace { " + K + "}", [KERNEL, "(anonymous namespace)::" + KERNEL]),
        (A + K + "namespace n {\n#include \"b.h\"\n}", [KERNEL, "n::" + KERNEL]),
        # … a name that a macro changes, or gives to another, …
        ("#define k evil\n" + A + K, ["evil(float*, int*)"]),
        (A + K + "#define evil k\ntemplate <class T> __global__ void evil(T *o, int *p) {}",
         [KERNEL]),
        ("#define MAKE(n) __global__ void n(float *o, int *p) {}\n" + A + "template <int N>\n" + K
         + "MAKE(k)", ["void k<1>(float*, int*)"]),
        ("#define PASTE(a, b) a##b\n" + A + "#ifdef X\n" + K + "#endif\n"
         "__global__ void PASTE(, k)(float *o, int *p) {}", [KERNEL]),
        ("#define PASTE(a, b) a##b\n#ifdef X\n" + A + "__global__ void both(float *o) {}\n#endif\n"
         "__global__ void PASTE(bo, th)(float *o) {}", ["both(float*)"]),
        ("#define TWO(n) __global__ void n(float *o) {} __global__ void n(int *o) {}\n" + A
         + "TWO(k)\n", ["k(float*)", "k(int*)"]),
        ("#define DROP(x)\nDROP(" + A + K + ")\n" + "#include \"b.h\"\n", [KERNEL]),
        ("#define void void evil(); template <int> __global__ void\n" + A + K, [KERNEL]),
        # … or an include or a condition between.
        (A + "#include \"b.h\"\n", [KERNEL]),
        (A + "#include \"b.h\"\n" + K, [KERNEL]),
        # Not what the text says.
        ("auto s = R\"(\n" + A + ")\";\n" + K, [KERNEL]),
        ("auto s = R\"x(\n)\"\n" + A + ")x\";\n" + K, [KERNEL]),
        ("#if 0\n" + A + "#endif\n" + K, [KERNEL]),
        ("// \\\n" + A + K, [KERNEL]),
        (A[:-1] + " \\\n" + K + K.replace("k", "z"), ["z(float*, int*)"]),
        (A + K, ["\N{CYRILLIC SMALL LETTER KA}(float*, int*)"]),
        (A + "__global__ void \N{CYRILLIC SMALL LETTER KA}(float *o, int *p) {}\n", [KERNEL]),
        (A + K + "__global__ void k(float *o, int *p) <% %>", [KERNEL]),
        # Another ``k``, which has no namespace, where this one is not compiled.
        ("#ifdef X\nnamespace n {\n" + A + K + "}\n#endif\n"
         'extern "C" __global__ void k(float *o, int *p) {}\n', ["k"]),
        # ``B`` is ``k`` in one inclusion, and another in the next.
        ("#define B k\n#include \"c.h\"\n#undef B\n#define B z\n#include \"c.h\"\n",
         [KERNEL, "z(float*, int*)"]),
    ],
)  # fmt: skip
def test_what_may_be_another_kernel_is_not_allowed(
    tmp_path: Path, text: str, compiled: list[str]
) -> None:
    other = "CG void k(float *o, int *p) { }\n"
    repeated = A + "__global__ void B(float *o, int *p) { }\n"
    try:
        result = judge(tmp_path, text, *compiled, b=other, c=repeated)
    except UsageError:
        return  # The comment is refused, which passes nothing.
    assert allowed(result) == []
    assert result.verdict == "failed"


def test_an_allowance_that_holds_for_none_says_why(tmp_path: Path) -> None:
    text = A + "__global__ void k(T *o) {}\n__global__ void k(U *o) {}"
    result = judge(tmp_path, text, "k(T*)", "k(U*)")
    assert any("a.cu:1" in said and "more than one definition" in said for said in result.unused)


def test_an_expectation_that_may_be_of_two_kernels_is_missing_evidence(tmp_path: Path) -> None:
    text = "// lmemscope: expect frame=0\n__global__ void k(T *o) {}\n__global__ void k(U *o) {}"
    assert judge(tmp_path, text).missing
    assert judge(tmp_path, text).verdict == "undecided"


def test_a_macro_of_the_command_line_may_rename_a_kernel(tmp_path: Path) -> None:
    options = CompileOptions(defines=("k=evil",))
    assert allowed(judge(tmp_path, A + K, KERNEL, options=options)) == []


@pytest.mark.parametrize(
    "bytes_", ["-1", "0x100", "9" * 5000, "1e9", "\N{ARABIC-INDIC DIGIT NINE}"]
)
def test_bytes_are_a_decimal_number(tmp_path: Path, bytes_: str) -> None:
    with pytest.raises(UsageError, match=r"not an allowance|bytes is") as raised:
        judge(tmp_path, A.replace("256", bytes_) + K, KERNEL)
    assert raised.value.exit_code == 2


BODY = "float a[64]; for(int j=0;j<64;j++) a[j]=o[j]*j; for(int j=0;j<64;j++) o[j+64]=a[p[j]&63];"


@pytest.mark.toolchain
def test_a_second_kernel_is_not_hidden_by_lines(tmp_path: Path, own_store: Path) -> None:
    """By ``#line``, behind a macro of a header, on the closing line: in one compilation."""
    (tmp_path / "m.h").write_text("#define CG __global__\n")
    (tmp_path / "k.cu").write_text(
        f'#include "m.h"\n{A}CG void k(float*o,int*p){{ {BODY}\n}} CG void evil(float*o,int*p){{ '
        f"{BODY} }} __global__ void k(float*o,int*p,int q){{ {BODY} }}\n"
        f"#line 3\nnamespace n {{ CG void k(float*o,int*p){{ {BODY} }} }}\n"
    )
    done = run_program("check", "k.cu", "--arch", "sm_90", cwd=tmp_path)
    assert done.code == 1
    assert "Gate failed: 3 failures" in done.out
    assert all(f" {name}" in done.out for name in ("evil", "k", "n::k"))
    assert "1 finding known or allowed" in done.out
