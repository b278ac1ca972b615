"""CuPy programs of a Python file: which calls are read, and why one is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmemscope.sources.cupy import CupyProgram
from lmemscope.sources.cupy_captured import captured_programs
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
        "from chainer import cuda\nk = cuda.elementwise('T x', 'T y', 'y = x', 'k')(1)",
        "import chainer\nk = chainer.cuda.elementwise('T x', 'T y', 'y = x', 'k')",
        "from chainer.backends import cuda\n"
        "k = cuda.reduce('T x', 'T y', 'x', 'a + b', 'y = a', '0', 'k')",
        "from chainer.backends import cuda\nk = cuda.raw(C, 'k')",
        "from chainer import cuda\nk = cuda.cupy.RawKernel(C, 'k')",
    ],
)
def test_names_of_cupys_functions(tmp_path: Path, text: str) -> None:
    (found,) = programs(tmp_path, CODE + text)
    assert (found.name, found.problem) == ("k", None)


def test_each_caller_of_a_function_makes_its_own_kernel(tmp_path: Path) -> None:
    text = (
        "import cupy\n"
        "def _module(size):\n"
        "    return cupy.RawModule(code=f'__global__ void k() {{ int a[{size}]; }}')\n"
        "def small():\n    return _module(8)\n"
        "def large():\n    return _module(300)\n"
    )
    sources = [one.source or "" for one in programs(tmp_path, text)]
    assert sorted("a[300]" in one for one in sources) == [False, True]


def test_a_file_is_read_again_once_what_it_is_read_from_has_changed(tmp_path: Path) -> None:
    (tmp_path / "compat.py").write_text("import numpy as xp\n")
    importing = "from texts import C, xp\nk = xp.RawKernel(C, 'k')\n"
    (tmp_path / "texts.py").write_text("from compat import xp\n" + CODE)
    assert programs(tmp_path, importing) == []
    (tmp_path / "compat.py").write_text("import cupy as xp\n")
    (first,) = programs(tmp_path, importing)
    (tmp_path / "texts.py").write_text("from compat import xp\n" + CODE.replace("int", "float"))
    (second,) = programs(tmp_path, importing)
    assert first.source is not None
    assert second.source == first.source.replace("int", "float")


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


@pytest.mark.parametrize(
    ("body", "declared"),
    [
        ("b[i] = a[{i, f(0, i), 1}];", {"a": 3, "b": 1}),
        ("int at[] = {i, g(i, 1)}; b[i] = a[at]; // a[{1, 2, 3}]", {"a": 2, "b": 1}),
        ("const int at[4] = {}; b[at] = a[i];", {"a": 1, "b": 4}),
        ("int n = a.shape()[1] + b.strides()[2]; b[i] = a[n];", {"a": 2, "b": 3}),
        ("b[i] = s.a[{1, 2}] + a.shape()[i];", {"a": 1, "b": 1}),
    ],
)
def test_expressions_tell_the_dimensions_of_raw_arrays(
    tmp_path: Path, body: str, declared: dict[str, int]
) -> None:
    text = f"import cupy\nk = cupy.ElementwiseKernel('raw T a', 'raw T b', {body!r}, 'k')\n"
    (found,) = programs(tmp_path, text)
    assert found.generated is not None
    first = next(found.generated.assignments())
    source = found.generated.program(first, CupyTemplates("@parameters@", "", ()))
    for name, dimensions in declared.items():
        assert f"CArray<float, {dimensions}, 1, 1> {name}" in source
        assert (f"{name} taken as {dimensions}-dimensional" in first.note) == (dimensions > 1)


def tried(tmp_path: Path, inputs: str, body: str) -> list[dict[str, str]]:
    text = f"import cupy\nk = cupy.ElementwiseKernel({inputs!r}, 'T y', {body!r}, 'k')\n"
    (found,) = programs(tmp_path, text)
    assert found.generated is not None
    return [dict(one.types) for one in found.generated.assignments()]


def test_placeholders_of_indices_are_integers_first(tmp_path: Path) -> None:
    assert tried(tmp_path, "raw T x, raw I at", "y = x[at[i]]")[0] == {"T": "float32", "I": "int32"}


def test_mixtures_come_before_integers_alone(tmp_path: Path) -> None:
    order = tried(tmp_path, "raw T x, raw S at", "y = x[at[i]]")
    one, both = {"T": "float32", "S": "int32"}, {"T": "int32", "S": "int32"}
    assert order.index(one) < order.index(both)
    assert {"T": "float64", "S": "float64"} in order


def test_halves_are_tried_where_the_expressions_name_them(tmp_path: Path) -> None:
    assert {"T": "float16"} in tried(tmp_path, "T x", "y = (float16)x")
    assert {"T": "float16"} not in tried(tmp_path, "T x", "y = x")


def test_captured_programs_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "f.py"
    path.write_text("made here\n")
    made = [
        {
            "kind": kind,
            "arguments": ["T x", "T y", operation, *rest],
            "words": {},
            "file": str(path),
            "line": 1,
        }
        for kind, operation, *rest in (
            ("ElementwiseKernel", "y = x", "k"),
            ("ElementwiseKernel", "y = x", "k"),
            ("ElementwiseKernel", "y = -x", "k"),
            ("ReductionKernel", "x", "a + b", "y = a", "0", "r"),
        )
    ]
    names = [program.name for _, program in captured_programs(made, str(path))]
    assert names == ["k", "k#2", "r"]


def test_a_file_of_a_package_by_its_resources(tmp_path: Path) -> None:
    package = tmp_path / "above" / "kernels"
    package.mkdir(parents=True)
    for directory in (package.parent, package):
        (directory / "__init__.py").write_text("")
    (package / "k.cu").write_text("__global__ void k(int *p) {}\n")
    (tmp_path / "f.py").write_text("")
    text = (
        "import cupy\ntry:\n    from importlib.resources import files\n"
        "except ImportError:\n    from importlib_resources import files\n"
        "k = cupy.RawModule(code=files('above.kernels').joinpath('k.cu').read_text())\n"
        "m = cupy.RawModule(code=files('elsewhere').joinpath('k.cu').read_text())\n"
    )
    found, missing = programs(tmp_path, text)
    assert "k.cu" in (found.source or "")
    assert "elsewhere" in (missing.problem or "")
