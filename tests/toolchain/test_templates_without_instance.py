"""A template that nothing instantiates is missing evidence, also beside a namesake that is used."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.program import run_program

pytestmark = pytest.mark.toolchain

BODY = "{ float a[N]; for (int j = 0; j < N; j++) a[j] = o[j]; o[0] = a[p[0]]; }"
TEMPLATE = f"template <int N> __global__ void k(float *o, int *p) {BODY}\n"
USED = "template __global__ void k<64>(float *, int *);\n"
SHORTER = (
    "template <int N> __global__ void k(float *o) { o[0] = N; }\n"
    "template __global__ void k<1>(float *);\n"
)
HIDDEN = {
    "an overload": {"a.cu": TEMPLATE + SHORTER},
    "an overload before": {"a.cu": SHORTER + TEMPLATE},
    "in another namespace": {"a.cu": f"namespace {{ {TEMPLATE} }} namespace m {{ {SHORTER} }}\n"},
    "in a header": {"t.cuh": TEMPLATE, "a.cu": f'#include "t.cuh"\n{SHORTER}'},
}
SHOWN = {
    "both": {"a.cu": TEMPLATE + SHORTER + USED},
    "alternatives": {"a.cu": f"#ifdef OTHER\n{TEMPLATE}#else\n{TEMPLATE}#endif\n{SHORTER}{USED}"},
    "in a header": {"t.cuh": TEMPLATE, "a.cu": f'#include "t.cuh"\n{SHORTER}{USED}'},
    "calls alone": {
        "a.cu": "__device__ __forceinline__ void f(float *o, int *p, int n) { o[p[0]] = n; }\n"
        "template <int N> __global__ void k(float *o, int *p) { f(o, p, N); }\n" + SHORTER + USED
    },
    "a specialization": {
        "a.cu": f"{TEMPLATE}{SHORTER}"
        "template <> __global__ void k<64>(float *o, int *p) { o[0] = p[0]; }\n"
    },
    "empty": {"a.cu": f"template <int N> __global__ void k(float *, int *) {{}}\n{SHORTER}{USED}"},
    "a macro's": {
        "a.cu": f"#define MAKE(n) {TEMPLATE.replace(' k', ' n')}MAKE(k)\n{SHORTER}{USED}"
    },
}


def missing(files: dict[str, str], tmp_path: Path) -> bool:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    ran = run_program("check", ".", cwd=tmp_path)
    assert ("instan" in ran.out + ran.err) == (ran.code == 3), ran.out + ran.err
    return ran.code == 3


@pytest.mark.parametrize("form", HIDDEN)
def test_beside_a_namesake(form: str, tmp_path: Path) -> None:
    assert missing(HIDDEN[form], tmp_path)


@pytest.mark.parametrize("form", SHOWN)
def test_a_template_with_an_instance(form: str, tmp_path: Path) -> None:
    assert not missing(SHOWN[form], tmp_path)
