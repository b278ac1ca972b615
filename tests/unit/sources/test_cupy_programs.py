"""CuPy programs of a Python file: which calls are read, and why one is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmemscope.sources.cupy import CupyProgram
from lmemscope.sources.cupy_generated import CupyTemplates, ParameterError
from lmemscope.sources.python import read_file

CODE = "C = '__global__ void k(int *p) {}'\n"


def programs(tmp_path: Path, text: str) -> list[CupyProgram]:
    path = tmp_path / "f.py"
    path.write_text(text)
    return [one for one in read_file(str(path), "f.py").programs if isinstance(one, CupyProgram)]


@pytest.mark.parametrize(
    "text",
    [
        "import cupy\nxp = cupy\nk = xp.RawKernel(C, 'k')",
        "from cupy import _core\nk = _core.ElementwiseKernel('T x', 'T y', 'y = x', 'k')",
        "from cupy._core import _kernel\nk = _kernel.ElementwiseKernel('T x', 'T y', 'y = x', 'k')",
        "from cupy._core import create_ufunc\nk = create_ufunc('k', ('f->f',), 'out0 = in0')",
    ],
)
def test_names_of_cupys_functions(tmp_path: Path, text: str) -> None:
    (found,) = programs(tmp_path, CODE + text)
    assert (found.name, found.problem) == ("k", None)


def test_cupy_by_another_module(tmp_path: Path) -> None:
    (tmp_path / "compat.py").write_text(
        "try:\n    import cupy\nexcept ImportError:\n    cupy = 0\n"
    )
    text = f"from compat import cupy\n{CODE}k = cupy.RawKernel(C, 'k') if cupy else None\n"
    (found,) = programs(tmp_path, text)
    assert found.source is not None


def test_cupy_as_an_attribute_of_another_module(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "wrapper.py").write_text(
        "try:\n    import cupy as cp\nexcept ImportError:\n    import numpy as cp\n"
    )
    text = f"from package import wrapper\ncp = wrapper.cp\n{CODE}k = cp.RawKernel(C, 'k')\n"
    (found,) = programs(package, text)
    assert found.source is not None


def test_a_signature_says_the_dimensions_of_raw_arrays(tmp_path: Path) -> None:
    text = (
        "import cupy\nk = cupy.ElementwiseKernel("
        "'raw T a, float32 b, S c', 'raw T d', 'd[i] = a[i] + b + c', 'k')\n"
    )
    (found,) = programs(tmp_path, text)
    assert found.generated is not None
    templates = CupyTemplates("@parameters@", "", ())
    chosen = found.generated.of_signature("int32[:, ::1], float32[:,:], int64, int32[:,:,:]")
    source = found.generated.program(chosen, templates)
    for declared in ("CArray<int, 2, 1, 1> a", "CArray<float, 1, 1, 1> _raw_b", "long long c"):
        assert declared in source
    assert "CArray<int, 3, 1, 1> d" in source
    with pytest.raises(ParameterError, match="has 2"):
        found.generated.of_signature("int32[:,:], float32")


def test_only_the_program_that_is_computed_is_refused(tmp_path: Path) -> None:
    text = f"import cupy\n{CODE}a = cupy.RawKernel(C, 'a')\nb = cupy.RawKernel(f(), 'b')\n"
    first, second = programs(tmp_path, text)
    assert (first.problem, second.source) == (None, None)
    assert second.problem is not None
    assert "`f`" in second.problem


def test_name_expressions_by_a_comprehension(tmp_path: Path) -> None:
    text = (
        f"import cupy\n{CODE}TYPES = [cupy.float32, cupy.complex128]\n"
        "from cupy._core._scalar import get_typename\n"
        "m = cupy.RawModule(code=C, name_expressions=[f't<{get_typename(t)}>' for t in TYPES])\n"
    )
    (found,) = programs(tmp_path, text)
    assert found.name_expressions == ("t<float>", "t<thrust::complex<double>>")


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ("ElementwiseKernel('T', 'T y', 'y = 1', 'k')", "syntax error in its parameter 'T'"),
        ("ElementwiseKernel('text x', 'T y', 'y = 1', 'k')", "text of its parameter x"),
        ("RawModule(path='made.cubin')", "made.cubin"),
        ("RawKernel(3, 'k')", "its source is no string"),
    ],
)
def test_what_cupy_would_refuse_is_refused(tmp_path: Path, call: str, why: str) -> None:
    (found,) = programs(tmp_path, f"import cupy\nk = cupy.{call}\n")
    assert found.problem is not None
    assert why in found.problem


def test_programs_of_one_call_are_bounded(tmp_path: Path) -> None:
    text = "import cupy\nfor n in range(300):\n    cupy.RawKernel(f'int a{n};', 'k')\n"
    found = programs(tmp_path, text)
    assert len(found) < 100
    assert found[-1].problem is not None
    assert "more programs" in found[-1].problem
