"""CuPy's NVRTC binding is loaded without CuPy's arrays, and whoever imports CuPy gets all of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.program import ROOT

BINDING = """
import time
loaded = 0
def getVersion():
    global loaded
    import cupy
    time.sleep({slow})
    cupy.{wants}
    loaded += 1
    return 13, 5
"""


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A CuPy of our own whose binding wants its logger, as the real one does."""
    (tmp_path / "cupy").mkdir()
    (tmp_path / "cupy" / "__init__.py").write_text("from cupy import _environment\nndarray = 1\n")
    (tmp_path / "cupy" / "_environment.py").write_text("def _log(text): pass\n")
    libs = tmp_path / "cupy_backends" / "cuda" / "libs"
    libs.mkdir(parents=True)
    for package in (libs, libs.parent, libs.parent.parent):
        (package / "__init__.py").touch()
    (libs / "nvrtc.py").write_text(BINDING.format(slow=0, wants="_environment._log"))
    return tmp_path


def python(code: str, *path: Path) -> str:
    """What a Python with these directories first on its path prints."""
    first = f"import sys; sys.path[:0] = {[str(entry) for entry in (*path, ROOT)]!r}\n"
    done = subprocess.run(
        [sys.executable, "-I", "-c", first + code],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


LOAD = "from lmemscope.tools.cupy_binding import binding\nnvrtc = binding()\n"


def test_the_library_is_loaded_and_the_package_is_not(packages: Path) -> None:
    asked = "print(nvrtc.loaded, 'cupy' in sys.modules, len(sys.meta_path))"
    before = python("print(len(sys.meta_path))", packages)
    assert python(LOAD + asked, packages) == f"1 False {before}"


def test_who_imports_the_package_later_gets_all_of_it(packages: Path) -> None:
    asked = "import cupy\nprint(cupy.ndarray, cupy._environment.__name__, cupy.__file__)"
    path = packages / "cupy" / "__init__.py"
    assert python(LOAD + asked, packages) == f"1 cupy._environment {path}"


def test_who_imports_it_meanwhile_waits_and_gets_all_of_it(packages: Path) -> None:
    module = packages / "cupy_backends" / "cuda" / "libs" / "nvrtc.py"
    module.write_text(BINDING.format(slow=0.5, wants="_environment._log"))
    both = """
import threading, time
got = []
def user():
    time.sleep(0.2)
    import cupy
    got.append(cupy.ndarray)
thread = threading.Thread(target=user)
thread.start()
from lmemscope.tools.cupy_binding import binding
nvrtc = binding()
thread.join()
print(nvrtc.loaded, got)
"""
    assert python(both, packages) == "1 [1]"


def test_a_binding_that_wants_more_of_the_package_gets_it_from_its_first_caller(
    packages: Path,
) -> None:
    module = packages / "cupy_backends" / "cuda" / "libs" / "nvrtc.py"
    module.write_text(BINDING.format(slow=0, wants="ndarray"))
    asked = "print(nvrtc.loaded, nvrtc.getVersion(), nvrtc.loaded, sys.modules['cupy'].ndarray)"
    assert python(LOAD + asked, packages) == "0 (13, 5) 1 1"


def test_a_package_that_is_there_already_is_left_alone(packages: Path) -> None:
    asked = "print(binding().loaded, sys.modules['cupy'] is cupy)"
    load = "import cupy\nfrom lmemscope.tools.cupy_binding import binding\n"
    assert python(load + asked, packages) == "0 True"


@pytest.mark.toolchain
def test_the_real_one_compiles_without_numpy_and_cupy_works_after_it() -> None:
    code = """
from lmemscope.tools import nvrtc
made = nvrtc.compile_program("__global__ void k() {}", "k.cu", ["--gpu-architecture=sm_90"], [])
print(len(made.cubin) > 100, "numpy" in sys.modules, "cupy" in sys.modules)
import cupy
print(cupy.ndarray.__name__)
"""
    assert python(code).split() == ["True", "False", "False", "ndarray"]
