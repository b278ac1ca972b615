"""Which package compiles the kernels of a Python file, and what to scan in its place."""

from __future__ import annotations

import pytest

from lmemscope.sources.jit_packages import compiler_of, instead


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (b"import triton\nimport triton.language as tl\n", "Triton"),
        (b"import numpy as np, triton\n", "Triton"),
        (b"import warp as wp\n", "Warp"),
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
