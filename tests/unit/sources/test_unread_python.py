"""Python files that reach a GPU compiler in ways that are not read, and those that do not."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from msgspec.structs import replace

from lmemscope.app.assemble import assemble
from lmemscope.app.plan import Plan
from lmemscope.config.settings import Settings
from lmemscope.discover.other_languages import left_out
from lmemscope.discover.walk import Discovery, Globs, discover
from lmemscope.model import Gap, SourceLocation, Unit
from lmemscope.sources.python import survey
from lmemscope.sources.python_words import is_worth_parsing
from tests.support.builders import facts, report_of

KERNEL = "def k(o, p):\n    o[0] = p[1]\n"
SOURCE = "(open('k.txt').read(), 'k')\n"
JIT = "from numba.cuda import jit as go\n"

UNREAD = {
    "globals": "from numba.cuda import *\n@globals()['jit']\n" + KERNEL,
    "numba by a star": "from numba.cuda import *\n@jit\n" + KERNEL,
    "numba by a star, called": f"from numba.cuda import *\n{KERNEL}jit(k)\n",
    "a compiler by a star": f"from cupy.cuda.compiler import *\n_NVRTCProgram{SOURCE}",
    "globals put together": "from numba import cuda\n@globals()['cu' + 'da'].jit\n" + KERNEL,
    "getattr put together": "import numba.cuda\n@getattr(numba.cuda, 'j' + 'it')\n" + KERNEL,
    "getattr under another name": f"import cupy\ng = getattr\ng(cupy, 'Raw' + 'Kernel'){SOURCE}",
    "getattr of what is returned": (
        f"import cupy\ndef m():\n    return cupy\ngetattr(m(), 'Raw' + 'Kernel'){SOURCE}"
    ),
    "attrgetter": f"import operator, cupy\noperator.attrgetter('Raw' + 'Kernel')(cupy){SOURCE}",
    "sys.modules": (
        "import sys, numba.cuda as q\nm = sys.modules['numba.cuda']\n"
        "@getattr(m, 'j' + 'it')\n" + KERNEL
    ),
    "vars": f"import cupy\nfor z in [cupy]:\n    vars(z)['RawKer' + 'nel']{SOURCE}",
    "members": f"import cupy, inspect\ndict(inspect.getmembers(cupy))['Raw' + 'Kernel']{SOURCE}",
    "an import by name": (
        "import importlib\nm = importlib.import_module('num' + 'ba.cuda')\n@m.jit\n" + KERNEL
    ),
    "a computed import": (
        "from importlib import import_module as im\nm = im(chr(110) + 'umba.cuda')\n"
        "j = getattr(m, 'ji' + 't')\nk = j(lambda o, p: None)\n"
    ),
    "text that is run": "exec(open('x').read())\n@j\n" + KERNEL,
    "a file that is run": "import runpy, numba\nrunpy.run_path('k.txt')\n",
    "an attribute of a class": (
        f"import cupy\nclass A:\n    m = cupy\n    def go(self, n):\n"
        f"        return getattr(self.m, n){SOURCE}"
    ),
    "a computed target": (
        "import numba\n@numba.vectorize(['f4(f4)'], target='cu' + 'da')\ndef f(x):\n    return x\n"
    ),
    "what was pickled elsewhere": "import cupy, pickle\nk = pickle.loads(f())\nk.launch()\n",
    "a pickled kernel": (
        "import cupy, pickle\nk = pickle.loads(pickle.dumps(cupy.fuse))\nk(lambda x: x)\n"
    ),
    "a reduction": "from numba import cuda\n@cuda.reduce\ndef f(a, b):\n    return a + b\n",
    "a fused function": "import cupy\n@cupy.fuse()\ndef f(x):\n    return x\n",
    "a module that is not found": "from elsewhere import jit\n@jit\n" + KERNEL,
}
THROUGH_A_MODULE = {
    "an import of a name": "from helpers import go as z\n@z\n" + KERNEL,
    "an attribute": "import helpers\n@helpers.go\n" + KERNEL,
    "all names": "from helpers import *\n@go\n" + KERNEL,
    "two modules": "from between import go\n@go\n" + KERNEL,
    "a relative import": "from .helpers import go\n@go\n" + KERNEL,
}
UNREAD |= {
    "CuPy's NVRTC": "from cupy_backends.cuda.libs import nvrtc\nnvrtc.createProgram(t)\n",
    "CuPy's driver": "from cupy.cuda import driver\ndriver.moduleLoadData(t)\n",
    "the driver": "from cuda.bindings import driver as d\nd.cuModuleLoadData(t)\n",
    "a jiterator": "import torch\nf = torch.cuda.jiterator._create_jit_fn(t)\n",
    "a callback": "import cupy\nwith cupy.fft.config.set_cufft_callbacks(cb_load=t):\n    pass\n",
    "a scan": "from pycuda.scan import InclusiveScanKernel as S\nk = S(int, 'a+b', preamble=t)\n",
    "a linked source": "from numba import cuda\nf = cuda.CUSource(t)\n",
    "the type of a kernel": f"import cupy\nc = cupy.RawKernel{SOURCE}\nk = type(c){SOURCE}",
    "the class of a kernel": f"import cupy as q\nc = q.RawKernel{SOURCE}\nk = c.__class__{SOURCE}",
    "object code": "from cuda.core import ObjectCode\nm = ObjectCode.from_cubin(t)\n",
    "the runtime's library": "from cuda.bindings import runtime as r\nr.cudaLibraryLoadData(t)\n",
    "NVVM": "from cuda.bindings import nvvm\nnvvm.compile_program(p, 0, [])\n",
    "pynvrtc": "from pynvrtc.compiler import Program\nProgram(t).compile()\n",
}
ORDINARY = {
    "CuPy's driver, asked": "from cupy.cuda import driver\ndriver.ctxGetCurrent()\n",
    "computed attributes": "import os\ndef f(x):\n    return getattr(os, x)()\n",
    "plugins": (
        "import importlib\ndef load(n):\n    m = importlib.import_module(n)\n"
        "    return getattr(m, 'main')()\n"
    ),
    "decorators": (
        "import functools\nclass A:\n    @property\n    def x(self):\n        return 1\n"
        "    @x.setter\n    def x(self, v):\n        pass\n    @functools.lru_cache\n"
        "    def y(self):\n        return globals()\n"
    ),
    "a method named as a built-in function": (
        "class A:\n    def eval(self, code):\n        return eval(code, {})\n"
        "    def code(self):\n        pass\n"
    ),
    "evaluated text": "def f(text):\n    return eval(text, globals(), locals())\n",
    "types": (
        "import cupy\nclass A:\n    def copy(self):\n        return self.__class__(self.x)\n"
        "    def like(self, other):\n        return type(other)(cupy.zeros(3))\n"
    ),
    "an encoding of bytes": "# coding: latin-1\nimport cupy\nname = 'x'\n",
    "methods of what is not known": (
        "import cupy\nd = eval('{}')\nx = d.keys()\nfor k in d.items():\n    x.append(k.lower())\n"
    ),
    "a copy by pickle": (
        "import cupy, pickle\ndef f(a):\n    b = pickle.dumps(a)\n"
        "    return pickle.loads(b).__repr__()\n"
    ),
    "CuTe DSL": "import cutlass.cute as cute, cupy\n@cute.jit\ndef f(x):\n    pass\n",
    "arrays": "import cupy as cp\nxp = cp\ndef f(x):\n    return xp.sqrt(x)\n",
}


@pytest.mark.parametrize("form", UNREAD)
def test_a_form_that_is_not_read_is_said(form: str, tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    file.write_text(UNREAD[form])
    assert is_worth_parsing(str(file))
    assert survey(str(file), "m.py").unread


@pytest.mark.parametrize(
    "text", ["# coding: utf-7\n#+AAo-import cupy\n", "# coding: unicode_escape\n#\\nimport cupy\n"]
)
def test_an_encoding_that_is_not_read_fails(text: str, tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    file.write_text(text)
    assert is_worth_parsing(str(file))
    assert survey(str(file), "m.py").programs is None


@pytest.mark.parametrize("form", THROUGH_A_MODULE)
def test_names_are_followed_through_modules(form: str, tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    file.write_text(THROUGH_A_MODULE[form])
    (tmp_path / "helpers.py").write_text(JIT)
    (tmp_path / "between.py").write_text("from helpers import go\n")
    assert is_worth_parsing(str(file))
    assert survey(str(file), "m.py").unread
    (tmp_path / "helpers.py").write_text("from functools import lru_cache as go\n")
    assert not survey(str(file), "m.py").unread


@pytest.mark.parametrize("form", ORDINARY)
def test_ordinary_files_are_not_said(form: str, tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    file.write_text(ORDINARY[form])
    assert survey(str(file), "m.py").unread == ()


def test_modules_that_import_each_other_are_followed_to_an_end(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("from b import *\nimport numba\n@go\n" + KERNEL)
    (tmp_path / "b.py").write_text("from a import *\nfrom c import go\n")
    (tmp_path / "c.py").write_text("import a, b\n" + JIT)
    assert survey(str(tmp_path / "a.py"), "a.py").unread


def test_kernels_of_other_languages_are_left_out_and_said(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text("__global__ void k() {}\n")
    (tmp_path / "t.py").write_text("import triton\n@triton.jit\n" + KERNEL)
    (tmp_path / "n.ipynb").write_text('{"cells": [{"source": ["import cupy"]}]}')
    (tmp_path / "plain.ipynb").write_text('{"cells": [{"source": ["import numpy"]}]}')
    (tmp_path / "k.cu.in").write_text("__global__ void @name@() {}\n")
    (tmp_path / "k.ltoir").write_bytes(b"")
    gap, _ = left_out(discover([str(tmp_path)], Globs(str(tmp_path))).others)
    assert isinstance(gap, Gap)
    assert (gap.stage, gap.kind) == ("walk", "note")
    assert all(name in gap.reason for name in ("t.py", "n.ipynb", "k.ltoir", "k.cu.in"))
    assert "plain" not in gap.reason


OTHER_LANGUAGES = {
    "k.hip": "__global__ void k(float *o) {}\n",
    "k.cuf": "subroutine k(a)\nend subroutine\n",
    "k.F90": "attributes(global) subroutine k(a)\nend subroutine\n",
    "k.jl": "using CUDA\n@cuda k(x)\n",
    "k.cl": "__kernel void k(__global float *o) {}\n",
    "cute.py": "import cutlass.cute as cute\n@cute.kernel\ndef k(x): pass\n",
    "beside.py": "import numpy, cutlass\n",
    "tile.py": "import cuda.tile as ct\n@ct.kernel\ndef k(x): pass\n",
    "tile_from.py": "from cuda import tile\n@tile.kernel\ndef k(x): pass\n",
    "pallas.py": "from jax.experimental import (\n pallas as pl)\nf = pl.pallas_call(k)\n",
}
PLAIN = {
    "host.hip": "int main() {}\n",
    "plain.f90": "subroutine s(a)\nend subroutine\n",
    "plain.jl": "x = 1\n",
    "image.py": "from skimage.transform import rotate, warp\nimport warping\n",
}


@pytest.mark.parametrize("name", [*OTHER_LANGUAGES, *PLAIN])
def test_files_of_other_languages_are_said_if_they_hold_kernels(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text("__global__ void k() {}\n")
    (tmp_path / name).write_text((OTHER_LANGUAGES | PLAIN)[name])
    found = discover([str(tmp_path)], Globs(str(tmp_path)))
    assert [Path(one).name for one in found.others] == [name] * (name not in PLAIN)
    gaps = [one for one in left_out(found.others) if isinstance(one, Gap) and name in one.reason]
    assert [(gap.stage, gap.kind) for gap in gaps] == [("walk", "note")] * (name not in PLAIN)


PTX = ".version 8.0\n.target sm_90\n.visible .entry k() { ret; }\n"
ELSEWHERE = {
    "k.kernel": "__global__ void k(float *o) { o[0] = 1; }\n",
    "k.mm": 'auto s = "__global__ void k(float *o) { o[0] = 1; }";\n',
    "k.ptx.in": f"// @name@\n{PTX}",
    "k.s": PTX,
    "tool": "#!/usr/bin/env python3\nimport cupy\ncupy.RawKernel(text, 'k')\n",
    "third_party/t.h": "template <int N> __global__ void k(float *o) { o[N] = 1; }\n",
    "lib.so.1.gz": "any",
    "k.cubin.zst": "any",
}
NOWHERE = {
    "k.md": "__global__ void k(float *o) { o[0] = 1; }\n",
    "k.def": "__global__ void k(float *o);\n",
    "main.s": ".globl main\nmain: ret\n",
    "tool": "#!/usr/bin/env python3\nprint(1)\n",
    "third_party/t.h": "template <int N> void k(float *o) { o[N] = 1; }\n",
    "data.csv.gz": "any",
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_kernels_under_other_endings_and_in_third_party_code_are_said(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / "third_party").mkdir()
    (tmp_path / "a.cu").write_text("__global__ void k() {}\n")
    (tmp_path / name).write_text(ELSEWHERE[name])
    (said,) = discover([str(tmp_path)], Globs(str(tmp_path))).others
    assert said == str(tmp_path / name)


@pytest.mark.parametrize("name", NOWHERE)
def test_what_holds_no_kernel_is_not_said(name: str, tmp_path: Path) -> None:
    (tmp_path / "third_party").mkdir()
    (tmp_path / "a.cu").write_text("__global__ void k() {}\n")
    (tmp_path / name).write_text(NOWHERE[name])
    assert discover([str(tmp_path)], Globs(str(tmp_path))).others == {}


@pytest.mark.parametrize(("member", "is_said"), [("p/lib.so.2", True), ("p/a.py", False)])
def test_packages_with_libraries_are_said(member: str, is_said: bool, tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text("__global__ void k() {}\n")
    with zipfile.ZipFile(tmp_path / "w.whl", "w") as package:
        package.writestr(member, b"any")
    assert bool(discover([str(tmp_path)], Globs(str(tmp_path))).others) is is_said


def test_third_party_headers_that_an_input_includes_are_not_unread(tmp_path: Path) -> None:
    (tmp_path / "third_party").mkdir()
    header = tmp_path / "third_party" / "t.h"
    header.write_text("__global__ void k(float *o) { o[0] = 1; }\n")
    (tmp_path / "a.cu").write_text('#include "third_party/t.h"\n')
    found = discover([str(tmp_path)], Globs(str(tmp_path)))
    planned = Plan(found, (), (), (), None, frozenset(), (), (), None)
    unit = Unit("a.cu", str(tmp_path / "a.cu"), "auto", "sm_90")
    (report,) = report_of(facts()).units

    def unread(sources: dict[str, str]) -> list[str]:
        results = [(unit, (replace(report, sources=sources),))]
        made = assemble(replace(planned, units=(unit,)), results, [], [], Settings())
        return [gap.reason for gap in made.gaps if str(header) in gap.reason]

    assert len(unread({})) == 1
    assert unread({str(header): "digest"}) == []


def test_variables_that_give_nvcc_options_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = Plan(Discovery(), (), (), (), None, frozenset(), (), (), None)
    unit = Unit("a.cu", "/a.cu", "auto", "sm_90")
    (report,) = report_of(facts()).units
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "-DHIDE")
    for frontend, times in (("nvcc", 1), ("nvrtc", 0)):
        results = [(unit, (replace(report, frontend=frontend),))]
        made = assemble(replace(planned, units=(unit,)), results, [], [], Settings())
        said = [gap.stage for gap in made.gaps if "NVCC_APPEND_FLAGS=-DHIDE" in gap.reason]
        assert said == ["build"] * times


def test_a_file_is_not_unread_if_its_kernels_are_in_a_cache_beside_it(tmp_path: Path) -> None:
    for name in ("seen.py", "unseen.py"):
        (tmp_path / name).write_text("import triton\n@triton.jit\ndef k(x): pass\n")
    (tmp_path / "a.cu").write_text("__global__ void k() {}\n")
    found = discover([str(tmp_path)], Globs(str(tmp_path)))
    planned = Plan(found, (), (), (), None, frozenset(), (), (), None)
    unit = Unit("a.cubin", "/a.cubin", "auto", "sm_90")

    def unread(path: str) -> list[str]:
        """The files that are named where a kernel of another file was read."""
        kernel = facts(location=SourceLocation(path, 2))
        reports = report_of(kernel).units
        made = assemble(replace(planned, units=(unit,)), [(unit, reports)], [], [], Settings())
        (gap,) = made.gaps
        return [name for name in ("/seen.py", "/unseen.py") if name in gap.reason]

    assert unread(str(tmp_path / "a.cu")) == ["/seen.py", "/unseen.py"]
    assert unread(str(tmp_path / "seen.py")) == ["/unseen.py"]


def test_an_instance_in_a_cpp_file_is_seen(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text("__global__ void k() {}\n")
    (tmp_path / "b.cc").write_text('#include "k.cuh"\ntemplate __global__ void k<64>(float *);\n')
    found = discover([str(tmp_path)], Globs(str(tmp_path)))
    assert [Path(one).name for one in found.headers] == ["b.cc"]


def test_a_decorator_of_the_users_own_that_makes_kernels_is_said(tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text(
        "from numba import cuda\nclass compiled:\n    def __init__(self, f):\n"
        "        self.k = cuda.jit(f)\ndef kept(f):\n    return f\n"
    )
    file = tmp_path / "m.py"
    file.write_text("from helpers import compiled\n@compiled\n" + KERNEL)
    (found,) = survey(str(file), "m.py").unread
    assert (found.line, "numba.cuda.jit" in found.form) == (2, True)
    file.write_text("from helpers import kept\n@kept\n" + KERNEL)
    assert not survey(str(file), "m.py").unread


def test_pycudas_kernels_are_not_called_cupys(tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    file.write_text(
        "from pycuda.elementwise import ElementwiseKernel\n"
        "k = ElementwiseKernel('float *x', 'x[i] = 0', 'k')\n"
    )
    (one,) = survey(str(file), "m.py").unread
    assert "a PyCUDA kernel" in one.form


@pytest.mark.parametrize(
    ("used", "is_said"),
    [
        ("import wraps\nk = wraps.made('float x', 'float y', 'y = x', 'k')", True),
        ("from wraps import made as go\nk = go('float x', 'float y', 'y = x', 'k')", True),
        ("from wraps import listed\nk = listed('float x', 'float y', 'y = x', 'k')", True),
        ("from wraps import named\nk = named('k')", False),
        ("from wraps import run\nrun(3)", False),
    ],
)
def test_a_text_that_another_module_compiles_is_said(
    used: str, is_said: bool, tmp_path: Path
) -> None:
    (tmp_path / "wraps.py").write_text(
        "import cupy\n"
        "def made(given, out, text, name):\n"
        "    return cupy.ElementwiseKernel(given, out, text, name)\n"
        "def listed(*parts):\n    return cupy.ElementwiseKernel(*parts)\n"
        "def named(name):\n    return cupy.RawKernel('__global__ void k() {}', name)\n"
        "def run(x):\n    k = cupy.RawKernel('__global__ void k(int) {}', 'k')\n    k(x)\n"
    )
    file = tmp_path / "m.py"
    file.write_text(f"{used}\n")
    said = survey(str(file), "m.py").unread
    assert [(one.line, "ElementwiseKernel" in one.form) for one in said] == [(2, True)] * is_said
