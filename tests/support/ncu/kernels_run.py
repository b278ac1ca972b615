"""Launches the kernels of the repository's kernels/ with data for each; needs CuPy and a GPU."""

import sys

import cupy
import numpy

root = sys.argv[1]


def module(name, *more):
    return cupy.RawModule(
        code=open(f"{root}/{name}.cu").read(), options=("-std=c++17", "-lineinfo", *more)
    )


random = cupy.random.RandomState(1)
floats = random.rand(1 << 20).astype("float32")
out = cupy.zeros(1 << 20, "float32")
doubles = random.rand(1 << 16)
ints = random.randint(0, 32, 1 << 20).astype("int32")
i32 = numpy.int32
for file, name, block, arguments in (
    ("rolled_loop", "reverse_rolled", 32, (floats, out)),
    ("volatile_local", "sum_volatile", 128, (floats, out, i32(500))),
    ("constant_table", "table_per_thread", 128, (ints + 40, out)),
    ("large_array", "decay_kept", 32, (floats, out)),
    ("call_with_array", "smooth_called", 128, (floats, out)),
    ("double_sin", "wave_any", 128, (doubles * 1e7,)),
    ("callee_saves", "model_by_pointer", 128, (doubles, doubles, i32(9), i32(1))),
    ("callee_saves", "model_called", 128, (doubles, doubles, i32(9), i32(1))),
    ("thirty_doubles", "thirty_doubles_capped", 512, (doubles, i32(20))),
    (
        "histogram",
        "histogram_private",
        128,
        (ints.view("uint8"), cupy.zeros(64, "uint32"), i32(5000)),
    ),
):
    kernel = module(file).get_function(name)
    kernel((132,), (block,), arguments)
    cupy.cuda.runtime.deviceSynchronize()
    print(name, flush=True)
