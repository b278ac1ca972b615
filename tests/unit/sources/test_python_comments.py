"""``# lmemscope:`` comments of Python files, and the kernels that they speak of."""

from __future__ import annotations

import ast

import pytest

from lmemscope.sources.numba import find_kernels
from lmemscope.sources.python_comments import anywhere, comments_of

SOURCE = """from numba import cuda
# lmemscope: allow dynamic-index 64 "above the decorators"
# and a word on it
@cuda.jit
def k(x):
    # lmemscope: expect dynamic-index
    x[0] = 1

# lmemscope: allow dynamic-index 8 "the other"
@cuda.jit
def other(x):
    x[0] = "# lmemscope: allow nothing"

y = 3  # lmemscope: allow dynamic-index 9 "nobody"
"""


def test_comments_above_and_in_a_kernel_are_its_own() -> None:
    found = comments_of(SOURCE, 5, ["k"], [5, 11])
    assert [(one.word, one.line, one.kernel) for one in found] == [
        ("allow", 2, "k"),
        ("expect", 6, "k"),
        ("allow", 14, ""),
    ]


def test_comments_of_a_statement_that_makes_kernels_speak_of_each() -> None:
    source = "import cupy\n# lmemscope: expect\nm = cupy.RawModule(\n  code='')\n"
    found = comments_of(source, 3, ["a", "b"], [3])
    assert [(one.line, one.kernel) for one in found] == [(2, "a"), (2, "b")]


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("def f(x): pass\nk = cuda.jit()(f)", ["f"]),
        ("def f(x): pass\nk = cuda.jit(f)", ["f"]),
        ("def f(x): pass\nk = cuda.jit('void(int32[:])')(f)", ["f"]),
        ("def f(x): pass\nk = cuda.jit(f, device=True)", []),
        ("k = cuda.jit(lambda x: x, device=True)", []),
        ("def f(x): pass\ndef f(x): pass\nk = cuda.jit()(f)", []),
    ],
)
def test_numba_kernels_that_calls_make(source: str, names: list[str]) -> None:
    tree = ast.parse(f"from numba import cuda\n{source}")
    assert [kernel.name for kernel in find_kernels(tree)] == names


def test_local_arrays_have_the_names_that_they_are_given() -> None:
    tree = ast.parse(
        "from numba import cuda\n@cuda.jit\ndef k(x):\n"
        "    a = cuda.local.array(2, x.dtype)\n"
        "    b: Any = cuda.local.array(2, x.dtype)\n"
        "    c, d = cuda.local.array(2, x.dtype), cuda.local.array(3, x.dtype)\n"
        "    f(cuda.local.array(2, x.dtype))\n"
    )
    (kernel,) = find_kernels(tree)
    assert sorted(array.name for array in kernel.arrays) == ["", "a", "b", "c", "d"]


def test_a_revision_has_comments_and_those_of_strings() -> None:
    source = "# lmemscope: allow volatile 8 'a'\nS = '''\n// lmemscope: allow alloca 'b'\n'''"
    assert anywhere(source) == [(1, "allow", "volatile 8 'a'"), (3, "allow", "alloca 'b'")]
