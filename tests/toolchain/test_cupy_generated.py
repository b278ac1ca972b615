"""What CuPy generates and passes to NVRTC, against the installed CuPy's own functions."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from lmemscope.sources.cupy import cupy_options, read_programs
from lmemscope.tools.cupy_templates import templates
from tests.support.program import run_program

pytestmark = pytest.mark.toolchain

CUPYS_OWN = """
import cupy, json, numpy, sys
from cupy._core import _carray, _kernel, _reduction, core
array = lambda kind: _kernel._ArgInfo(1, cupy.ndarray, numpy.dtype(kind).type, 1, True, True)
number = lambda kind: _kernel._ArgInfo(3, object, numpy.dtype(kind).type, 0, True, True)
indexer = _kernel._ArgInfo(2, _carray.Indexer, None, 1, True, True)
types = _kernel._TypeMap((("T", numpy.float32),))
params = _kernel._get_param_info("T x, raw int64 at", True)
params += _kernel._get_param_info("T y", False) + _kernel._get_param_info("CIndexer _ind", False)
infos = (array("f"), array("q"), array("f"), indexer)
code = _kernel._get_elementwise_kernel_code(
    infos, types, params, "y = x + at[0]", "pick", "int a;", "", "")
types = _kernel._TypeMap((("T", numpy.float32), ("IndexT", numpy.int32)))
params = _kernel._get_param_info("T x", True) + _kernel._get_param_info("T y", False)
params += _kernel._get_param_info("CIndexer _in_ind, CIndexer _out_ind", False)
params += _kernel._get_param_info("int32 _block_stride", True)
infos = (array("f"), array("f"), indexer, indexer, number("i"))
reduced = _reduction._ReductionKernel_get_cached_function_code(
    1, 1, params, infos, types, "l2", 512, "T", "0", "x * x", "a + b", "y = sqrt(a)", "", ())
print(json.dumps([code, reduced, core.assemble_cupy_compiler_options(("-DA",)),
                  core.assemble_cupy_compiler_options(("-std=c++11",))]))
"""


@pytest.fixture(scope="module")
def cupys_own() -> list[object]:
    done = subprocess.run(
        [sys.executable, "-P", "-c", CUPYS_OWN], check=True, capture_output=True, text=True
    )
    answer: list[object] = json.loads(done.stdout)
    return answer


def words(source: object) -> list[str]:
    """Source without line directives, headers and blanks."""
    lines = str(source).splitlines()
    kept = [line for line in lines if not line.startswith(("#line", "#include"))]
    return " ".join(kept).replace("\\", "").split()


def generated(call: str) -> str:
    source = f"import cupy\nk = cupy.{call}"
    (program,) = read_programs(ast.parse(source), source, "/src/k.py").programs
    assert program.generated is not None, program.problem
    return program.generated.program(next(program.generated.assignments()), templates())


def test_an_elementwise_kernel_is_cupys_own(cupys_own: list[object]) -> None:
    call = "ElementwiseKernel('T x, raw int64 at', 'T y', 'y = x + at[0]', 'pick', True, 'int a;')"
    assert words(generated(call)) == words(cupys_own[0])


def test_a_reduction_is_cupys_own(cupys_own: list[object]) -> None:
    call = "ReductionKernel('T x', 'T y', 'x * x', 'a + b', 'y = sqrt(a)', '0', 'l2')"
    assert words(generated(call)) == words(cupys_own[1])


def test_options_are_cupys_own(cupys_own: list[object]) -> None:
    for given, own in ((("-DA",), cupys_own[2]), (("-std=c++11",), cupys_own[3])):
        assert isinstance(own, list)
        # The toolkit's headers follow; the last two are added behind all.
        assert list(cupy_options(given)[:-2]) == own[:-1]


PICK = "import cupy\nk = cupy.ElementwiseKernel({parameters}, {operation!r}, 'k')\n"


@pytest.mark.parametrize(
    ("parameters", "operation", "taken"),
    [
        ("'T x', 'T y'", "y = x", "T taken as float32"),
        ("'T x', 'T y'", "y = x & 3", "T taken as int32"),
        ("'T x', 'float64 y'", "y = fmod(x, 2.0)", "T taken as float64"),
        ("'C x', 'T y'", "y = x.real()", "C taken as complex64; T taken as float32"),
        ("'I n, T x', 'T y'", "y = n % 3 ? x : T(0)", "I taken as int32; T taken as float32"),
    ],
)
def test_types_are_tried_and_said(
    tmp_path: Path, parameters: str, operation: str, taken: str
) -> None:
    (tmp_path / "k.py").write_text(PICK.format(parameters=parameters, operation=operation))
    done = run_program("scan", "k.py", "--format", "json", cwd=tmp_path)
    (unit,) = done.document["units"]
    assert unit["failure"] is None
    assert [gap["reason"] for gap in unit["gaps"]] == [f"{taken}, contiguous, for want of a call"]


def test_a_signature_decides_the_types(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(
        PICK.format(
            parameters="'T x, I n', 'T y'", operation="static_assert(sizeof(T) == 8, ``); y = x"
        ).replace("``", '""')
    )
    signature = "k(float64[:], int32)"
    done = run_program("scan", "k.py", "--signature", signature, "--format", "json", cwd=tmp_path)
    (unit,) = done.document["units"]
    assert (unit["failure"], unit["gaps"]) == (None, [])


@pytest.mark.parametrize(
    ("signature", "said"),
    [
        ("k(float64)", "it takes 2 arguments"),
        ("k(float64[:], text)", "text of the signature is no data type"),
        ("other(float64)", "other"),
    ],
)
def test_a_signature_that_does_not_fit_is_refused(
    tmp_path: Path, signature: str, said: str
) -> None:
    (tmp_path / "k.py").write_text(PICK.format(parameters="'T x, I n', 'T y'", operation="y = x"))
    done = run_program("scan", "k.py", "--signature", signature, cwd=tmp_path)
    assert done.code in (2, 3)
    assert said in done.out + done.err


def test_a_dialect_that_cupy_refuses_is_refused_with_that_reason(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(
        "import cupy\nk = cupy.RawKernel('''#include <cupy/complex.cuh>\n"
        'extern "C" __global__ void k(thrust::complex<float> *p) { p[0] *= p[1]; }\n'
        "''', 'k', options=('-std=c++11',))\n"
    )
    done = run_program("scan", "k.py", cwd=tmp_path)
    assert done.code == 3
    assert "CuPy refuses it, too" in done.out + done.err


def test_a_ufunc_has_a_kernel_for_each_routine(tmp_path: Path) -> None:
    (tmp_path / "u.py").write_text(
        "from cupy import _core\nu = _core.create_ufunc(\n"
        "    'twice', ('f->f', 'd->d', ('i->i', 'out0 = in0 << 1')), 'out0 = 2 * in0')\n"
    )
    done = run_program("scan", "u.py", "--format", "json", cwd=tmp_path)
    units = {unit["input"]: unit for unit in done.document["units"]}
    assert set(units) == {"u.py[twice__0]", "u.py[twice__1]"}
    assert "float32" in units["u.py[twice__0]"]["gaps"][0]["reason"]
    assert all(unit["failure"] is None for unit in units.values())


MADE = """import os
import cupy as cp
from .sizes import N

def make(kind):
    return cp.RawKernel('''
extern "C" __global__ void hist(const int *at, {t} *out, int m) {{
    {t} bins[{n}];
    for (int i = 0; i < {n}; ++i) bins[i] = 0;
    for (int i = 0; i < m; ++i)
        bins[at[i] % {n}] += 1;
    for (int i = 0; i < {n}; ++i) out[i] = bins[i];
}}
'''.format(t=kind, n=N), 'hist')

for kind in os.environ.get("KINDS", "int double").split():
    make(kind)((1,), (1,), ())
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "sizes.py").write_text("import os\nN = len(os.environ) * 0 + 24\n")
    (package / "kernels.py").write_text(MADE)
    return tmp_path


def test_kernels_are_taken_as_running_makes_them(package: Path) -> None:
    done = run_program(
        "scan", "package/kernels.py", "--run-python", "--format", "json", cwd=package
    )
    assert done.code == 0, done.out + done.err
    units = done.document["units"]
    assert [unit["kernels"][0]["stack_frame"] for unit in units] == [96, 192]
    for unit in units:
        (finding,) = unit["kernels"][0]["findings"]
        assert finding["location"] == {"file": "package/kernels.py", "line": 11}
        assert finding["related"][0]["line"] == 8 or finding["object"] == "bins"


def test_nothing_is_run_unless_asked(package: Path) -> None:
    done = run_program("scan", "package/kernels.py", cwd=package)
    assert done.code == 3
    assert "a module" in done.out + done.err or "depends on" in done.out + done.err
    assert "--run-python" in done.out + done.err


def test_what_was_made_before_an_error_is_read(package: Path) -> None:
    with (package / "package" / "kernels.py").open("a") as file:
        file.write("raise RuntimeError('no GPU')\n")
    done = run_program(
        "scan", "package/kernels.py", "--run-python", "--format", "json", cwd=package
    )
    assert len(done.document["units"]) == 2
    (gap,) = [gap for gap in done.document["gaps"] if gap["stage"] == "run"]
    assert "RuntimeError: no GPU" in gap["reason"]


def test_a_script_that_only_calls_what_makes_kernels_is_run(tmp_path: Path) -> None:
    (tmp_path / "makers.txt").write_text(
        "import cupy\ndef make(n):\n"
        "    return cupy.ElementwiseKernel('T x', 'T y', f'y = x * {n}', 'scaled')\n"
    )
    (tmp_path / "s.py").write_text(
        "import importlib.machinery as m\nimport importlib.util as u\nimport os\n"
        "path = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'makers.txt')\n"
        "spec = u.spec_from_loader('makers', m.SourceFileLoader('makers', path))\n"
        "made = u.module_from_spec(spec)\nspec.loader.exec_module(made)\n"
        "made.make(2)\nmade.make(3)\n"
    )
    done = run_program("scan", "s.py", "--run-python", "--format", "json", cwd=tmp_path)
    names = [unit["kernels"][0]["demangled"] for unit in done.document["units"]]
    assert (done.code, names) == (0, ["scaled", "scaled"])
