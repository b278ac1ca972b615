"""Words by which a Python file may make kernels, whatever stands around them."""

from __future__ import annotations

import pytest

from lmemscope.sources.jit_packages import compiler_of
from lmemscope.sources.python_words import may_hold_kernels


@pytest.mark.parametrize(
    ("text", "may"),
    [
        (b"import cupyx.jit", True),
        (b"import acupy", False),
        (b"k = RawKernel(code, 'k')", True),
        (b"k = RawKernels", False),
        (b"from cuda . core import Program", True),
        (b"from xcuda.core import Program", False),
        (b"@nb.jit", True),
        (b"@nb\n  . jit", True),
        (b".jit", True),
        (b"@jax.jit", False),
        (b"@torch \n .jit", False),
        (b"@ajax.jit", True),
        (b"a.local . array(3)", True),
        (b"  from nb import a, jit", True),
        (b"x from nb import jit", False),
        (b"", False),
    ],
)
def test_signs(text: bytes, may: bool) -> None:
    assert may_hold_kernels(text) is may


@pytest.mark.parametrize(
    ("text", "compiler"),
    [
        (b"import triton\n@triton.jit\ndef k(): pass", "Triton"),
        (b"import triton\ntriton.cdiv(1, 2)", None),
        (b"x = 'triton jit'", None),
        (b"from cuda import tile", "cuTile"),
        (b"pl.pallas_call(f)", "Pallas"),
        (b"import cuda\ntile = 1", None),
    ],
)
def test_compilers(text: bytes, compiler: str | None) -> None:
    assert compiler_of(text) == compiler
