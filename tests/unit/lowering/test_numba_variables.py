"""Local arrays of Numba's functions, placed by the lines of PTX."""

from __future__ import annotations

from pathlib import Path

from lmemscope.lowering.numba_variables import placed
from lmemscope.model import Variable

OWN = """from numba import cuda, float64
from walks import walk

@cuda.jit(device=True)
def inner(v):
    near = cuda.local.array(8, float64)
    return near[v]

@cuda.jit(device=True, inline=True)
def gone(v):
    lost = cuda.local.array(8, float64)
    return lost[v]

@cuda.jit
def k(v):
    own = cuda.local.array(8, float64)
    own[v] = inner(v) + walk(v) + gone(v)
"""
OTHER = """from numba import cuda
import numpy as np
from config import KIND
SIZE = 6
REAL = np.float32

@cuda.jit(device=True)
def walk(v):
    stack = cuda.local.array((2, SIZE), dtype=REAL)
    other = cuda.local.array(SIZE, KIND)
    return stack[0, v] + other[v]

@cuda.jit(device=True, inline=True)
def sunk(v):
    deep = cuda.local.array(SIZE, np.int16)
    deep[v] = 1
    return deep[0]
"""


def ptx(own: str, other: str) -> bytes:
    names = {"$L__info_string0": "_ZN1k5innerE", "$L__info_string1": "_ZN5walks4walkE"}
    strings = "".join(
        f"{label}:\n.b8 {','.join(str(ord(one)) for one in f'{name}' + chr(0))}\n"
        for label, name in names.items()
    )
    return f"""
.version 8.0
.target sm_90
.address_size 64
.visible .entry kernel(.param .u32 kernel_param_0)
{{
\t.loc 1 15 0
\t.loc 1 7 1, function_name $L__info_string0, inlined_at 1 17 1
\t.loc 2 17 1
\t.loc 2 11 1, function_name $L__info_string1, inlined_at 1 17 1
\tret;
}}
\t.file 1 "{own}"
\t.file 2 "{other}"
\t.section .debug_str
\t{{
{strings}\t}}
""".encode()


def test_each_is_of_the_function_that_makes_it(tmp_path: Path) -> None:
    own, other = tmp_path / "k.py", tmp_path / "walks.py"
    own.write_text(OWN)
    other.write_text(OTHER)
    lines = {"near": 6, "lost": 11, "own": 16}
    known = [
        Variable("kernel", name, "float64[8]", 64, str(own), line, False, (), order)
        for order, (name, line) in enumerate(lines.items())
    ]
    found = {
        (one.function, one.name, one.type, one.size, Path(one.file).name, one.line)
        for one in placed(known, str(own), ptx(str(own), str(other)))
    }
    assert found == {
        ("kernel", "own", "float64[8]", 64, "k.py", 16),
        # Numba inlined it itself: PTX has no function of its name.
        ("kernel", "lost", "float64[8]", 64, "k.py", 11),
        ("_ZN1k5innerE", "near", "float64[8]", 64, "k.py", 6),
        ("kernel", "deep", "int16[6]", 12, "walks.py", 15),
        # The type of `other` is another module's.
        ("_ZN5walks4walkE", "stack", "float32[2][6]", 48, "walks.py", 9),
    }
