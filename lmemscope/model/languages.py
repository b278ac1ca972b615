"""Source languages of kernels, and the wording of advice in each (settings, constructs).

Settings were read in numba-cuda 0.30, Triton 3.9, Warp 1.19, cuTile 1.7 and CuTe DSL 4.8; those of
CUDA.jl, rustc, Mojo, Halide and NVIDIA's HPC SDK were not tried.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

LanguageName = Literal[
    "cpp",
    "numba",
    "triton",
    "warp",
    "cutile",
    "cute-dsl",
    "python",
    "julia",
    "rust",
    "mojo",
    "fortran",
    "halide",
    "unknown",
]


class Language(Struct, frozen=True):
    """A source language for kernels.

    Attributes:
        is_cpp: whether advice may show CUDA C++.
        limit: setting that limits registers per thread; None if there is none.
        block: setting for the number of threads per block; None if there is none.
        spread: how to give each thread less of a tile; None if the author controls threads
            directly.
        bounds: setting that promises a maximum block size; None if there is none.
        smem_spilling: setting that spills to shared memory; None if there is none.
        unroll: how to unroll a loop with a constant trip count.
        inline: how to inline a function.
        shared: how to put an array in shared memory; None if the compiler decides.
        table: how to store a constant table once for all threads.
        prints: constructs that print or assert.
        fast_math: how to call the fast version of a trigonometric function.
        debug: how to request a debug build.
        lines: how to add line information.
    """

    is_cpp: bool = False
    limit: str | None = None
    block: str | None = None
    spread: str | None = None
    bounds: str | None = None
    smem_spilling: str | None = None
    unroll: str = "unroll the loop"
    inline: str = "have the function inlined"
    shared: str | None = None
    table: str = "keep the table in global memory, once for all threads"
    prints: str = "print or assert"
    fast_math: str | None = None
    debug: str = "the debug option of its compiler"
    lines: str = "the line information option of its compiler"


LANGUAGES: dict[LanguageName, Language] = {
    "cpp": Language(is_cpp=True, prints="printf or assert", lines="-lineinfo"),
    "numba": Language(
        limit="`max_registers`",
        block="the launch's threads per block",
        bounds="`launch_bounds`",
        unroll="give its loops constant trip counts",
        inline="pass `forceinline=True` to the `@cuda.jit` of the device function",
        shared="`cuda.shared.array`, with an index for the thread",
        table="use `cuda.const.array_like` of a NumPy array outside the kernel",
        prints="`print` or `assert`",
        fast_math="pass `fastmath=True` to `@cuda.jit`, or call `libdevice.fast_sinf` and its like",
        debug="`debug=True`",
        lines="`lineinfo=True` of `@cuda.jit`",
    ),
    "triton": Language(
        limit="`maxnreg`",
        block="`num_warps`",
        spread="raise `num_warps`, or make the block sizes smaller",
        unroll="use `tl.static_range`",
        inline="drop `noinline=True` from the called function's `@triton.jit`",
        table="load it from a tensor",
        prints="`tl.device_print` or `tl.device_assert`",
        fast_math="call `libdevice.fast_sinf` and its like",
        debug="`debug=True` or TRITON_DEBUG",
        lines="unset TRITON_DISABLE_LINE_INFO",
    ),
    "warp": Language(
        limit="`cuda_max_registers`",
        block="`block_dim` of the launch",
        bounds="`launch_bounds`",
        smem_spilling="`enable_cuda_smem_spilling=True`",
        unroll="use `range` with constant bounds, at most the module option `max_unroll`",
        inline="have the function inlined",
        shared='a tile (`wp.tile_zeros(..., storage="shared")`)',
        table="pass it as a `wp.array`",
        prints="`wp.printf`, `print` or `assert`",
        fast_math="set the module option `fast_math`",
        debug='`mode="debug"`',
        lines="`wp.config.lineinfo = True` and `wp.config.line_directives = True`",
    ),
    "cutile": Language(
        spread="make the tiles smaller, or lower `occupancy`",
        prints="`ct.printf` or `ct.assert_`",
        table="load it from an array",
    ),
    "cute-dsl": Language(
        block="`block` of the launch",
        spread="make the tiles smaller, or launch more threads",
        unroll="use `cutlass.range_constexpr`",
        table="load it from a tensor",
        prints="`cute.printf`",
        fast_math="pass `fastmath=True` to the function",
        lines="CUTE_DSL_LINEINFO=1",
    ),
    "python": Language(),
    "julia": Language(
        limit="`maxregs` of `@cuda`",
        block="`threads` of `@cuda`",
        bounds="`minthreads`, `maxthreads` and `blocks_per_sm` of `@cuda`",
        unroll="use `@unroll` of KernelAbstractions or a tuple with `ntuple(…, Val(N))`",
        inline="put `@inline` before the function",
        shared="`CuStaticSharedArray`",
        table="pass it as a `CuArray` or `Const`",
        prints="`@cuprintln`, `@assert` or an error's message",
        fast_math="use `@fastmath`, or `@cuda fastmath=true`",
        debug="`julia -g2`",
        lines="`julia -g1`",
    ),
    "rust": Language(
        unroll="use iterators over arrays of constant length",
        inline="put `#[inline(always)]` before the function",
        table="use a `static`",
        prints="a panic or `vprintf`",
        debug="`-C debuginfo=2`",
        lines='`-C debuginfo="line-tables-only"`',
    ),
    "mojo": Language(
        block="`block_dim` of the launch",
        unroll="use `comptime for` (`@parameter for` before Mojo 1.0)",
        inline="put `@always_inline` before the function",
        table="pass it as a buffer",
        debug="`mojo build -g2`",
        lines="`mojo build -g1`",
    ),
    "fortran": Language(
        limit="`-gpu=maxregcount:N`",
        block="the launch's threads per block",
        bounds="`launch_bounds`",
        inline="compile with `-Minline`",
        shared="an array with the attribute `shared`",
        table="give the array the attribute `constant`",
        prints="`print`",
        fast_math="compile with `-gpu=fastmath`",
        debug="`-g -gpu=debug`",
        lines="`-gpu=lineinfo`",
    ),
    "halide": Language(
        block="the schedule's `gpu_threads`",
        spread="split into smaller tiles in the schedule",
        unroll="`unroll` it in the schedule",
        shared="`store_in(MemoryType::GPUShared)`",
        table="pass it as a `Buffer`",
    ),
    "unknown": Language(),
}
"""By name. ``python`` is an unidentified compiler for Python, ``unknown`` any other."""
