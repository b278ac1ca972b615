"""Which package compiles the kernels of a Python file, and what to scan in its place."""

from __future__ import annotations

import pytest

from lmemscope.sources.jit_packages import compiler_of, instead


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (b"import triton\nimport triton.language as tl\n@triton.jit\ndef k(): pass\n", "Triton"),
        (b"import numpy as np, triton\nk = triton.jit(f)\n", "Triton"),
        (b"from triton import (cdiv,\n    jit)\n@jit(debug=True)\ndef k(): pass\n", "Triton"),
        (b"from triton import jit as compiled\n@compiled\ndef k(): pass\n", "Triton"),
        (b"import triton\n@torch.jit.script\ndef f(): return triton.cdiv(3, 2)\n", None),
        (b"import triton\nimport warp as wp\n@wp.kernel\ndef k(): pass\n", "Warp"),
        (b"import warp as wp\nwp.launch(k, dim=3)\n", None),
        (b"from cuda import tile as ct\n", "cuTile"),
        (b"import cutlass.cute as cute\n", "CuTe DSL"),
        (b"out = pl.pallas_call(kernel, out_shape=shape)\n", "Pallas"),
        (b"import tritonclient\n", None),
        (b"import numpy\n", None),
    ],
)
def test_the_package_of_a_file(text: bytes, name: str | None) -> None:
    assert compiler_of(text) == name


def test_each_cache_is_named_once_and_only_what_has_one() -> None:
    said = instead(["Triton", "Warp", "Triton", "a notebook"])
    assert said.count("for Triton, ") == 1
    assert "TRITON_CACHE_DIR" in said
    assert "wp.compile_aot_module" in said
    assert instead(["a notebook"]) == ""
