"""Kernels in Python files: CuPy read from the text, Numba run on request, Triton's caches."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lmemscope.sources.cupy import CupyProgram, cupy_options, read_programs
from lmemscope.sources.numba import find_kernels
from lmemscope.tools import python_child
from tests.support.program import DATA, run_program

HISTOGRAM = """
extern "C" __global__ void histogram(const unsigned char *data, unsigned *totals, int n) {
    unsigned bins[64] = {};
    for (int i = threadIdx.x; i < n; i += blockDim.x) ++bins[data[i] & 63];
    for (int b = 0; b < 64; ++b) atomicAdd(&totals[b], bins[b]);
}
"""


def programs(source: str, path: str = "/src/k.py") -> list[CupyProgram]:
    return list(read_programs(ast.parse(source), source, path).programs)


class TestCupyFound:
    def test_only_cupys_own_classes_count(self) -> None:
        source = (
            "import other\nk = other.RawKernel('x', 'k')\nclass RawModule: pass\nRawModule('y')"
        )
        assert programs(source) == []

    @pytest.mark.parametrize(
        "head",
        [
            "import cupy\nk = cupy.RawKernel(S, 'k')",
            "import cupy as cp\nk = cp.RawKernel(S, 'k')",
            "from cupy import RawKernel\nk = RawKernel(S, 'k')",
            "from cupy import RawKernel as R\nk = R(code=S, name='k')",
        ],
    )
    def test_ways_to_name_the_class(self, head: str) -> None:
        (found,) = programs(f"S = 'int a;'\n{head}")
        assert (found.name, found.kind) == ("k", "RawKernel")
        assert found.source == '#line 1 "/src/k.py"\nint a;\n'

    def test_options_and_name_expressions(self) -> None:
        (found,) = programs(
            "import cupy as cp\nOPT = ('-DN=4', '--std=c++14')\n"
            "m = cp.RawModule(code='int a;', options=OPT, name_expressions=['f<int>', 'f<float>'])"
        )
        assert found.name == "m"
        assert found.options == ("-DN=4", "--std=c++14")
        assert "--std=c++17" not in cupy_options(found.options)
        assert found.name_expressions == ("f<int>", "f<float>")

    def test_what_is_computed_is_said(self) -> None:
        source, options = programs(
            "import cupy\nimport sys\na = cupy.RawKernel(sys.argv[1], 'a')\n"
            "b = cupy.RawKernel('x', 'b', options=tuple(sys.argv))"
        )
        assert source.problem is not None
        assert options.problem is not None
        assert "its source depends on" in source.problem
        assert "its argument options depends on" in options.problem

    def test_options_are_those_that_cupy_compiles_with(self) -> None:
        (found,) = programs("import cupy\nk = cupy.RawKernel('x', 'k', ('-ftz=false',))")
        options = cupy_options(found.options)
        flushed = [option for option in options if "ftz" in option]
        assert flushed == ["-ftz=false", "-ftz=true"]  # NVRTC heeds the last.
        assert "--device-as-default-execution-space" in options

    @pytest.mark.parametrize(
        ("call", "doubt"),
        [
            ("RawKernel(S, 'k', (), 'nvcc')", "backend='nvcc'"),
            ("RawKernel(S, 'k', backend=B)", "backend='nvcc'"),
            ("RawKernel(S, 'k', backend=os.environ['B'])", "backend is computed"),
            ("RawKernel(S, 'k', jitify=True)", "jitify=True"),
            ("RawModule(code=S, jitify=os.environ)", "jitify is computed"),
            ("RawModule(code=S, options=('-DCUPY_USE_JITIFY',))", "-DCUPY_USE_JITIFY"),
            ("RawKernel(S, 'k', (), 'nvrtc', True)", "translate_cucomplex=True"),
            ("RawModule(code=S, options=('--pch-dir=x',))", "--pch-dir=x"),
            ("RawModule(code=S, headers={})", "headers"),
        ],
    )
    def test_what_may_make_other_code_is_doubted(self, call: str, doubt: str) -> None:
        (found,) = programs(f"import cupy, os\nS = 'int a;'\nB = 'nvcc'\nm = cupy.{call}")
        assert found.source is not None
        (said,) = found.doubts
        assert doubt in said

    @pytest.mark.parametrize(
        "call",
        [
            "RawKernel(S, 'k', ('-lineinfo', '-I', 'x', '--maxrregcount=32'), backend='nvrtc')",
            "RawKernel(S, 'k', enable_cooperative_groups=True, jitify=False)",
            "RawModule(code=S, name_expressions=('f<int>',), jitify=None)",
            "ElementwiseKernel('T x', 'T y', 'y = x', no_return=True, options=('-DN=4',))",
            "ReductionKernel('T x', 'T y', 'x', 'a + b', 'y = a', '0', reduce_type='float')",
        ],
    )
    def test_what_makes_the_same_code_is_not_doubted(self, call: str) -> None:
        (found,) = programs(f"import cupy\nS = 'int a;'\nm = cupy.{call}")
        assert (found.problem, found.doubts) == (None, ())

    @pytest.mark.parametrize("arguments", ["*A", "S, 'k', *A", "S, 'k', **A"])
    def test_arguments_that_are_unpacked_could_be_any(self, arguments: str) -> None:
        (found,) = programs(f"import cupy\nS = 'int a;'\nk = cupy.RawKernel({arguments})")
        assert found.problem is not None

    def test_equal_names_stay_apart(self) -> None:
        found = programs("import cupy\n" + "cupy.RawKernel('x', 'k')\n" * 3)
        assert [program.name for program in found] == ["k", "k#2", "k#3"]


@pytest.mark.toolchain
class TestCupy:
    def test_lines_and_names_are_those_of_the_file(self, tmp_path: Path) -> None:
        (tmp_path / "h.py").write_text(
            f"import cupy as cp\nk = cp.RawKernel('''{HISTOGRAM}''', 'h')\n"
        )
        done = run_program("scan", "h.py", "--arch", "sm_90", "--format", "json", cwd=tmp_path)
        (unit,) = done.document["units"]
        assert (unit["input"], unit["frontend"]) == ("h.py[h]", "cupy")
        (finding,) = unit["kernels"][0]["findings"]
        assert finding["cause"] == "dynamic-index"
        assert (finding["object"], finding["type"]) == ("bins", "unsigned int[64]")
        assert finding["location"] == {"file": "h.py", "line": 5}
        assert {"file": "h.py", "line": 5, "text": HISTOGRAM.splitlines()[3]} in unit[
            "source_lines"
        ]

    def test_code_of_another_compiler_is_missing_evidence(self, tmp_path: Path) -> None:
        (tmp_path / "h.py").write_text(
            "import cupy\n"
            "k = cupy.RawKernel('__global__ void k(int *p) { *p = 1; }', 'k', backend='nvcc')\n"
        )
        assert run_program("check", ".", cwd=tmp_path).code == 3
        assert run_program("scan", ".", cwd=tmp_path).code == 0

    def test_an_option_writes_no_file(self, tmp_path: Path) -> None:
        (tmp_path / "h.py").write_text(
            "import cupy\n"
            "k = cupy.RawKernel('__global__ void k(int *p) { *p = 1; }', 'k',\n"
            "                   ('-fdevice-time-trace=trace',))\n"
        )
        assert run_program("check", ".", cwd=tmp_path).code == 3
        assert [path.name for path in tmp_path.iterdir()] == ["h.py"]

    def test_one_broken_kernel_loses_nothing_else(self, tmp_path: Path) -> None:
        (tmp_path / "h.py").write_text(
            "import cupy as cp\nbad = cp.RawKernel('''\nint a = ;\n''', 'bad')\n"
            f"k = cp.RawKernel('''{HISTOGRAM}''', 'histogram')\nimport does_not_exist\n"
        )
        done = run_program("scan", "h.py", "--format", "json", cwd=tmp_path)
        assert done.code == 3
        units = {unit["input"]: unit for unit in done.document["units"]}
        assert "line 3: error" in units["h.py[bad]"]["failure"]["message"]
        assert units["h.py[histogram]"]["kernels"][0]["stack_frame"] == 256

    def test_templates_by_name_expression(self, tmp_path: Path) -> None:
        (tmp_path / "m.py").write_text(
            "import cupy\nN = 48\nm = cupy.RawModule(code=f'''\n"
            "template <typename T> __global__ void keep(const int *at, T *out) {{\n"
            "  T a[{N}] = {{}};\n  for (int i = 0; i < 999; ++i) a[at[i]] += 1;\n"
            "  for (int i = 0; i < {N}; ++i) out[i] = a[i];\n}}\n"
            "''', name_expressions=('keep<float>', 'keep<double>'))\n"
        )
        done = run_program("scan", "m.py", "--format", "json", cwd=tmp_path)
        assert done.kernel("keep<float>")["stack_frame"] == 4 * 48
        assert done.kernel("keep<double>")["stack_frame"] == 8 * 48
        assert done.kernel("keep<double>")["findings"][0]["location"]["line"] == 6

    def test_expressions_in_generated_kernels(self, tmp_path: Path) -> None:
        (tmp_path / "e.py").write_text(
            "import cupy\n"
            "pick = cupy.ElementwiseKernel('T x, raw T table, raw int32 at', 'T y', '''\n"
            "    T seen[40] = {};\n"
            "    for (int k = 0; k < 999; ++k) seen[at[k]] += table[k];\n"
            "    for (int k = 0; k < 40; ++k) y += seen[k] * x;\n"
            "''', 'pick')\n"
            "l2 = cupy.ReductionKernel('float32 x', 'float32 y', 'x * x', 'a + b',\n"
            "                            'y = sqrt(a)', '0', 'l2norm')\n"
        )
        done = run_program("scan", "e.py", "--format", "json", cwd=tmp_path)
        assert done.code == 0, done.err
        (finding,) = done.kernel("pick")["findings"]
        assert (finding["object"], finding["location"]) == ("seen", {"file": "e.py", "line": 4})
        assert done.kernel("l2norm")["stack_frame"] == 0
        gaps = {unit["input"]: unit["gaps"] for unit in done.document["units"]}
        assert "T taken as float32" in gaps["e.py[pick]"][0]["reason"]
        assert gaps["e.py[l2norm]"] == []

    def test_what_the_code_around_the_loop_uses_is_a_scalar(self, tmp_path: Path) -> None:
        (tmp_path / "e.py").write_text(
            "import cupy\n"
            "g = cupy.ElementwiseKernel('T x, int32 n', 'T y', 'y = exp(-x * x * r);', 'g',\n"
            "                           loop_prep='const double r { 0.5 / (n + 1) };')\n"
        )
        done = run_program("scan", "e.py", "--format", "json", cwd=tmp_path)
        assert done.code == 0, done.document["units"][0]["failure"]
        assert done.kernel("g")["stack_frame"] == 0

    def test_an_allowance_in_a_string_counts(self, tmp_path: Path) -> None:
        allowed = HISTOGRAM.replace(
            "    unsigned bins",
            '    // lmemscope: allow dynamic-index 256 "measured"\n    unsigned bins',
        )
        (tmp_path / "h.py").write_text(f"import cupy\nk = cupy.RawKernel('''{allowed}''', 'h')\n")
        assert run_program("check", "h.py", cwd=tmp_path).code == 0

    def test_a_directory_holds_python_files_with_kernels(self, tmp_path: Path) -> None:
        (tmp_path / "h.py").write_text(f"import cupy\nk = cupy.RawKernel('''{HISTOGRAM}''', 'h')\n")
        (tmp_path / "plain.py").write_text("print('RawKernel and cuda.jit are elsewhere')\n")
        done = run_program("scan", ".", "--format", "json", cwd=tmp_path)
        assert [unit["input"] for unit in done.document["units"]] == ["h.py[h]"]

    def test_a_rawkernel_of_cupyx_is_translated_on_request(self, tmp_path: Path) -> None:
        (tmp_path / "j.py").write_text(
            "from cupyx import jit\n@jit.rawkernel()\ndef twice(x, y, n):\n"
            "    i = jit.blockIdx.x * jit.blockDim.x + jit.threadIdx.x\n"
            "    if i < n:\n        y[i] = x[i] * 2\n"
        )
        refused = run_program("scan", "j.py", cwd=tmp_path)
        assert refused.code == 3
        assert "--run-python" in refused.out + refused.err
        signature = "twice(float32[:], float32[:], int32)"
        done = run_program(
            *("scan", "j.py", "--run-python", "--signature", signature, "--format", "json"),
            cwd=tmp_path,
        )
        assert done.kernel("twice")["stack_frame"] == 0


def test_what_is_no_python_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("import cupy\ncupy.RawKernel(\n")
    done = run_program("scan", "x.py", cwd=tmp_path)
    assert done.code == 3
    own = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert f"x.py is no Python {own}: line 2:" in done.out + done.err


def test_a_python_file_without_kernels_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("import cupy\n")
    done = run_program("scan", "x.py", cwd=tmp_path)
    assert done.code == 0, "a source that defines no kernel is a fact"
    assert "x.py holds no CuPy or Numba kernel" in done.out + done.err


NUMBA = """import numpy as np
from numba import cuda, float32
N = 64
open("ran.txt", "w").write("this file was run")

@cuda.jit("void(float32[::1], int32[::1])", fastmath=True)
def histogram(out, at):
    bins = cuda.local.array(N, float32)
    for i in range(N):
        bins[i] = 0
    for i in range(at.size):
        bins[at[i]] += 1
    for i in range(N):
        out[i] = bins[i]

def make(size):
    @cuda.jit
    def window(x, out):
        ring = cuda.local.array((size, 2), np.float64)
        for i in range(x.size):
            ring[i % size, i % 2] = x[i]
            s = 0.0
            for j in range(size):
                s += ring[j, 0]
            out[i] = s
    return window

window16 = make(16)
"""
REFUSED = """from numba import cuda, float32
N = 4

@cuda.jit(device=True)
def helper(n):
    return cuda.local.array(n, float32)[0]

@cuda.jit
def by_parameter(x, n):
    a = cuda.local.array(n, dtype=float32)
    x[0] = a[0]

@cuda.jit
def by_expression(x):
    a = cuda.local.array(N * 2, float32)
    x[0] = a[0]

@cuda.jit
def by_size(x):
    m = x.size
    a = cuda.local.array((4, m), float32)
    x[0] = a[0, 0]
"""


def refusal_of(given: str, shape: str) -> str | None:
    """Why an array's shape is refused, behind a statement of its kernel."""
    (kernel,) = find_kernels(
        ast.parse(f"""from numba import cuda, float32
@cuda.jit
def k(x):
    {given}
    a = cuda.local.array({shape}, float32)
""")
    )
    return kernel.arrays[0].refusal


class TestNumbaRead:
    def test_kernels_and_their_arrays(self) -> None:
        histogram, window = find_kernels(ast.parse(NUMBA))
        assert histogram.signatures == ("void(float32[::1], int32[::1])",)
        assert [(a.name, a.shape, a.dtype, a.refusal) for a in histogram.arrays] == [
            ("bins", "N", "float32", None)
        ]
        assert window.name == "window"
        assert window.arrays[0].refusal is None, "a name of the enclosing function is constant"

    def test_why_a_shape_is_refused(self) -> None:
        found = {k.name: k.arrays[0].refusal for k in find_kernels(ast.parse(REFUSED))}
        assert found == {
            "by_parameter": "n is a parameter, known only when the kernel runs",
            "by_expression": "N * 2 is an expression, and Numba takes a name or an integer: "
            "give it a name first",
            "by_size": "m is a variable of the kernel, known only when the kernel runs",
        }

    def test_a_name_that_only_indexes_what_is_assigned_is_no_variable_of_the_kernel(self) -> None:
        assert refusal_of("x[M] += 1; x[M] = 2", "M") is None
        assert refusal_of("M += 1", "M") is not None

    @pytest.mark.parametrize(
        ("given", "shape"),
        [
            ("size = 32", "size"),
            ("size: int = 32", "(size, 2)"),
            ("m, size = 4, 8", "(m, size)"),
            ("m = 16\n    size = m", "size"),
            ("size = 4 if N else 8", "size"),
            ("size = x.size\n    size = 8", "size"),
            ("pass", "T[0]"),
            ("pass", "2 * 8"),
            ("n = len(x)", "n"),  # Of a tuple it is a constant.
            ("n = x.ndim", "(n, n)"),
        ],
    )
    def test_what_may_be_a_constant_is_left_to_numba(self, given: str, shape: str) -> None:
        assert refusal_of(given, shape) is None

    @pytest.mark.parametrize(
        ("given", "shape", "why"),
        [
            ("for n in range(4): pass", "n", "n is a variable of the kernel"),
            ("n = 1\n    n += 1", "n", None),
            ("n, m = x.shape", "m", "m is a variable of the kernel"),
            ("n = x.size", "(4, n + 1)", "n + 1 follows from n, a variable of the kernel"),
            ("pass", "2 * N", "2 * N is an expression"),
        ],
    )
    def test_what_is_no_constant_is_said(self, given: str, shape: str, why: str | None) -> None:
        refusal = refusal_of(given, shape)
        assert refusal is None if why is None else (refusal or "").startswith(why)


@pytest.mark.toolchain
class TestNumba:
    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        (tmp_path / "n.py").write_text(NUMBA)
        return tmp_path

    def test_nothing_is_run_unasked(self, file: Path) -> None:
        done = run_program("scan", "n.py", cwd=file)
        assert done.code == 3
        assert "--run-python" in done.out + done.err
        assert not (file / "ran.txt").exists()

    def test_objects_are_named_and_placed(self, file: Path) -> None:
        done = run_program(
            *("scan", "n.py", "--run-python", "--format", "json"),
            *("--signature", "window(float64[::1], float64[::1])"),
            cwd=file,
        )
        assert done.code == 0, done.err
        found = {}
        for unit in done.document["units"]:
            assert unit["frontend"] == "numba"
            for kernel in unit["kernels"]:
                (finding,) = kernel["findings"]
                found[finding["object"]] = (finding["type"], finding["bytes"], finding["location"])
        assert found["bins"] == ("float32[64]", 256, {"file": "n.py", "line": 12})
        assert found["ring"][:2] == ("float64[16][2]", 256)

    def test_a_kernel_without_a_signature_says_how(self, file: Path) -> None:
        done = run_program("scan", "n.py", "--run-python", cwd=file)
        assert done.code == 3
        assert "window at line 18 has no signature" in done.out + done.err
        assert "--signature 'window(" in done.out + done.err
        assert "bins" in done.out, "the other kernel is analysed"

    def test_a_package_that_has_kernels_only_with_a_gpu(self, tmp_path: Path) -> None:
        """As stumpy: what would be put in their place without one cannot be compiled."""
        package = tmp_path / "pkg"
        package.mkdir()
        kernel = "@cuda.jit('void(float64[::1])')\ndef k(x):\n    x[0] = core.part(x[1])\n"
        head = "from numba import cuda\n"
        (package / "core.py").write_text(
            f"{head}@cuda.jit(device=True)\ndef part(x):\n    return x * 2\n"
            f"@cuda.jit('void(float32[::1])')\ndef k(x):\n    x[0] = 1\n"
        )
        (package / "gpu.py").write_text(f"{head}from . import core\n{kernel}")
        (package / "__init__.py").write_text(
            f"{head}from . import core\nif not cuda.is_available():\n    core.part = None\n"
        )
        done = run_program("scan", "pkg/gpu.py", "--run-python", "--format", "json", cwd=tmp_path)
        (unit,) = done.document["units"]
        assert unit["failure"] is None
        assert [one["stage"] for one in unit["gaps"]] == []
        assert "float64" in " ".join(unit["options"]), "not the other module's of this name"

    @pytest.mark.parametrize(
        ("decorator", "made"),
        [
            ("@cuda.jit('void(float32[::1])')", "small, large = make(4), make(200)"),
            ("@cuda.jit(['void(float32[::1])', 'void(float64[::1])'])", "only = make(4)"),
        ],
    )
    def test_what_is_not_compiled_of_a_name_is_missing_evidence(
        self, tmp_path: Path, decorator: str, made: str
    ) -> None:
        (tmp_path / "f.py").write_text(
            f"from numba import cuda\ndef make(size):\n    {decorator}\n    def k(x):\n"
            f"        x[0] = size\n    return k\n{made}\n"
        )
        done = run_program("check", "f.py", "--run-python", cwd=tmp_path)
        assert done.code == 3
        assert "1 more" in done.out + done.err

    def test_the_three_ways_out(self, tmp_path: Path) -> None:
        (tmp_path / "r.py").write_text(REFUSED)
        done = run_program("scan", "r.py", cwd=tmp_path)
        text = done.out + done.err
        assert done.code == 3
        assert "line 10: cuda.local.array(n, …): n is a parameter" in text
        for way in ("1. Choose the constant", "2. Two kernels", "3. One maximal array"):
            assert way in text

    @pytest.mark.parametrize(
        ("code", "limit", "said"),
        [
            ("import sys; sys.exit(7)", "60", "SystemExit: 7"),
            ("raise RuntimeError('no data')", "60", "RuntimeError: no data"),
            ("import os; os._exit(9)", "60", "ended the process with code 9"),
            ("while True: pass", "2.5", "took longer than 2 s"),
        ],
    )
    def test_a_file_that_misbehaves_when_run(
        self, tmp_path: Path, code: str, limit: str, said: str
    ) -> None:
        kernel = "@cuda.jit('void(float32[::1])')\ndef k(x):\n    x[0] = 1\n"
        (tmp_path / "b.py").write_text(f"from numba import cuda\n{code}\n{kernel}")
        done = run_program("scan", "b.py", "--run-python", "--timeout", limit, cwd=tmp_path)
        assert done.code == 3
        assert said in done.out + done.err


class TestTriton:
    def test_a_cache_directory(self) -> None:
        done = run_program("scan", str(DATA / "triton_cache"), "--format", "json")
        assert done.code == 0, done.err
        (unit,) = done.document["units"]
        assert unit["options"] == [
            *("num_warps=1", "num_stages=3", "num_ctas=1", "maxnreg=32", "triton_version=3.9.0")
        ]
        (kernel,) = unit["kernels"]
        assert kernel["name"] == "mix_rows"
        assert kernel["location"]["file"].endswith("rows.py")
        (finding,) = kernel["findings"]
        assert finding["cause"] == "register-spill"
        assert finding["location"]["file"].endswith("rows.py")
        assert kernel["sass"]["ldl"] > 300


@pytest.mark.toolchain
def test_a_directory_does_not_stand_for_what_would_have_to_be_run(tmp_path: Path) -> None:
    (tmp_path / "n.py").write_text(NUMBA)
    (tmp_path / "k.cu").write_text("__global__ void k(int *p) { *p = 1; }\n")
    done = run_program("scan", ".", "--format", "json", cwd=tmp_path)
    assert done.code == 0
    assert [unit["input"] for unit in done.document["units"]] == ["k.cu"]
    (note,) = done.document["notes"]
    assert note.startswith("n.py holds kernels that only running it would compile")
    assert note in run_program("check", ".", cwd=tmp_path).out.replace("\n", " ")
    assert not (tmp_path / "ran.txt").exists()


@pytest.mark.toolchain
def test_a_log_that_is_no_text_is_no_obstacle() -> None:
    """NVRTC 13.5 writes stray bytes into one of its warnings; CuPy decodes strictly."""
    path = "kernels/device_launch_pointer.cu"
    done = run_program("scan", path, "--no-cache", "--format", "json")
    assert done.code == 0
    assert done.kernel("parent_hands_over_local")["findings"][0]["cause"] == "device-launch"
    assert "pointer to local memory" in run_program("dump", path, "--log").out


@pytest.mark.toolchain
def test_a_users_file_does_not_outlive_who_asked_for_it(tmp_path: Path) -> None:
    """A worker may be stopped before its own time limit; the file it runs must end with it."""
    (tmp_path / "loop.py").write_text(
        "import os, pathlib\n"
        f"pathlib.Path({str(tmp_path / 'pid')!r}).write_text(str(os.getpid()))\n"
        "while True: pass\n"
    )
    request = {
        "kind": "jit.rawkernel",
        "path": str(tmp_path / "loop.py"),
        "name": "k",
        "arch": "sm_90",
        "signatures": ["k(int32)"],
        "arrays": [],
    }
    (tmp_path / "request.json").write_text(json.dumps(request))
    code = (
        "import sys\n"
        "from lmemscope.tools import process\n"
        f"process.run({[sys.executable, '-P', python_child.__file__]!r} + sys.argv[1:])\n"
    )
    asking = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "request.json"), str(tmp_path / "answer.json")],
        stdin=subprocess.PIPE,
    )
    deadline = time.monotonic() + 120
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    child = int((tmp_path / "pid").read_text())
    asking.kill()
    asking.wait()
    while Path(f"/proc/{child}").exists():
        assert time.monotonic() < deadline, "the user's file runs on"
        time.sleep(0.05)


@pytest.mark.toolchain
def test_a_device_function_of_numba_needs_no_device(tmp_path: Path) -> None:
    pytest.importorskip("numba_cuda")
    (tmp_path / "k.py").write_text(
        "from numba import cuda\n\n"
        "@cuda.jit(device=True)\ndef twice(v):\n    return 2 * v\n\n"
        '@cuda.jit("void(int32[::1])")\ndef k(x):\n    x[0] = twice(x[1])\n'
    )
    for arch in ("sm_80", "sm_90"):
        arguments = ("k.py", "--run-python", "--arch", arch, "--format", "json")
        done = run_program("scan", *arguments, cwd=tmp_path)
        assert done.code == 0, done.err
        assert done.kernel("k")["stack_frame"] == 0


TWO = """from numba import cuda, float64
@cuda.jit
def k(x, at):
    m = cuda.local.array(9, float64)
    for j in range(9):
        m[j] = x[j]
    s = 0.0
    for j in range(x.shape[0]):
        s += m[at[j]]
    x[0] = s
"""


@pytest.mark.toolchain
def test_a_signature_belongs_to_a_module(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(TWO)
    (tmp_path / "b.py").write_text(TWO.replace("float64", "float32"))
    done = run_program(
        *("scan", "a.py", "b.py", "--run-python", "--format", "json"),
        *("--signature", "a:k(float64[::1], int32[::1])"),
        *("--signature", "k(float32[::1], int64[::1])"),
        cwd=tmp_path,
    )
    types = {unit["input"]: unit["options"][-1] for unit in done.document["units"]}
    assert types == {
        "a.py[k]": "--signature=void(float64[::1], int32[::1])",
        "b.py[k]": "--signature=void(float32[::1], int64[::1])",
    }
    (finding,) = done.document["units"][0]["kernels"][0]["findings"]
    assert [source["name"] for source in finding["index"]["sources"]] == ["at"]


@pytest.mark.toolchain
def test_a_kernel_that_is_launched_without_a_gpu_was_made(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        TWO.replace("@cuda.jit", "@cuda.jit('void(float64[::1], int32[::1])')")
        + "raise OSError('no driver')\n"
    )
    done = run_program("scan", "a.py", "--run-python", "--format", "json", cwd=tmp_path)
    (unit,) = done.document["units"]
    assert unit["failure"] is None
    assert "OSError: no driver" in unit["gaps"][0]["reason"]


@pytest.mark.toolchain
def test_a_comment_in_python_allows(tmp_path: Path) -> None:
    allowed = '# lmemscope: allow dynamic-index 256 "measured"\n'
    source = f"k = cupy.RawKernel('''{HISTOGRAM}''', 'histogram')\n"
    (tmp_path / "h.py").write_text(f"import cupy\n{allowed}{source}")
    assert run_program("check", "h.py", cwd=tmp_path).code == 0
    (tmp_path / "h.py").write_text(f"import cupy\n{source}")
    assert run_program("check", "h.py", cwd=tmp_path).code == 1


CALLED = """\ufefffrom numba import cuda, int32
SIZE = 48

def at(stack, i):
    return stack[i]

@cuda.jit(device=True)
def walk(order, n):
    stack = cuda.local.array(SIZE, int32)
    for i in range(n):
        stack[i] = order[i]
    total = 0
    for i in range(n):
        total += stack[order[i]]
    return total

@cuda.jit
def k(order, n, rng):
    nbc = 40
    ring = cuda.local.array((nbc,), int32)
    for i in range(n):
        ring[order[i]] = i
    order[0] = walk(order, n) + ring[n] + rng.shape[0]

def make():
    @cuda.jit
    def inner(order):
        order[0] = 1
    return inner
"""


@pytest.mark.toolchain
def test_arrays_of_functions_that_a_numba_kernel_calls(tmp_path: Path) -> None:
    """A file with a byte order mark, a size that a variable has, types of Numba's generators."""
    pytest.importorskip("numba_cuda")
    (tmp_path / "c.py").write_text(CALLED, encoding="utf-8")
    done = run_program(
        *("scan", "c.py", "--run-python", "--format", "json"),
        *("--signature", "k(int32[::1], int32, Array(xoroshiro128p_type, 1, 'C'))"),
        *("--signature", "inner(int32[::1])"),
        cwd=tmp_path,
    )
    found = {
        one["object"]: (one["type"], one["bytes"], one["location"]["line"], one["index"])
        for one in done.kernel("k")["findings"]
    }
    assert found["stack"][:3] == ("int32[48]", 192, 14)
    assert found["ring"][:3] == ("int32[40]", 160, 22)
    assert found["stack"][3]["uniformity"] == "uniform"
    failure = done.document["units"][1]["failure"]
    assert "running the file does not make it" in failure["message"]
    assert "Error" not in failure["message"]


@pytest.mark.toolchain
def test_arrays_of_one_size_in_functions_of_two_modules(tmp_path: Path) -> None:
    pytest.importorskip("numba_cuda")
    walk = (
        "@cuda.jit(device=True)\ndef {0}(order, n):\n"
        "    {1} = cuda.local.array(32, int32)\n"
        "    for i in range(n):\n        {1}[i] = order[i]\n"
        "    total = 0\n"
        "    for i in range(n):\n        total += {1}[n - i]\n"
        "    return total\n\n"
    )
    head = "from numba import cuda, int32\n"
    (tmp_path / "walks.py").write_text(head + walk.format("far", "there"))
    (tmp_path / "k.py").write_text(
        f"{head}from walks import far\n{walk.format('near', 'here')}"
        '@cuda.jit("void(int32[::1], int32)")\ndef k(order, n):\n'
        "    order[0] = near(order, n) + far(order, n)\n"
    )
    done = run_program("scan", "k.py", "--run-python", "--format", "json", cwd=tmp_path)
    found = {
        one["object"]: (one["type"], Path(one["location"]["file"]).name, one["location"]["line"])
        for one in done.kernel("k")["findings"]
    }
    assert found == {"here": ("int32[32]", "k.py", 10), "there": ("int32[32]", "walks.py", 9)}


@pytest.mark.toolchain
def test_a_tuple_is_named_by_its_elements(tmp_path: Path) -> None:
    pytest.importorskip("numba_cuda")
    (tmp_path / "a.py").write_text(
        "from numba import cuda, float64\n\n@cuda.jit\ndef k(x, pair, z):\n"
        "    own = cuda.local.array(32, float64)\n"
        "    for i in range(32):\n        own[i] = x[i] + z.real\n"
        "    x[0] = own[pair[0][1]] + pair[1]\n"
    )
    done = run_program(
        *("scan", "a.py", "--run-python", "--format", "json"),
        *("--signature", "k(float64[::1], Tuple((int32[::1], int32)), complex64)"),
        cwd=tmp_path,
    )
    (finding,) = done.kernel("k")["findings"]
    assert [one["name"] for one in finding["index"]["sources"]] == ["pair[0]"]
